// SPDX-License-Identifier: Apache-2.0
#include "daemon/templates/deployer.hpp"

#include "common/base/error_table.hpp"
#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/client.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/upstream/outright.hpp"
#include "daemon/upstream/upstream_rbac.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <thread>
#include <utility>

namespace zoo::templates {
namespace {

using kube::text_at;
using kube::text_of;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::string_view k_rbac = "rbac.authorization.k8s.io";
/// Of fields, with the mark of the instance.
const std::string k_manager = "zoo-template-";
constexpr const char* k_apply_type = "application/apply-patch+yaml"; // JSON is YAML, too
/// Of an object that is looked at for its labels alone; all of it, where somebody else serves it.
constexpr std::string_view k_metadata =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
constexpr std::size_t k_longest_message = 2'048;
/// A chart that takes longer is told of in the status.
constexpr std::chrono::milliseconds k_at_once{200};
/// Upstream's authorizer hears of a new RoleBinding a moment after it was made.
constexpr std::chrono::milliseconds k_binding_heard{3'000}, k_binding_look{10};

std::string metadata_of(const json& object, const char* map, std::string_view key) {
  const auto at = json::json_pointer("/metadata") / map / std::string(key);
  return object.contains(at) && object.at(at).is_string() ? object.at(at).get<std::string>()
                                                          : std::string();
}

json owner_of(const Instance& instance) {
  return json::array({{{"apiVersion", fmt::format("{}/{}", k_group, k_version)},
                       {"kind", "TemplateInstance"},
                       {"name", instance.name},
                       {"uid", instance.uid}}});
}

std::string binding_name(const Instance& instance) { return "zoo:template:" + instance.name; }

/// Who waits for charts one after another: an account, a tenant of none, or a namespace of neither.
/// No account's name has a slash.
std::string whose_turn(const Surroundings& at, const std::string& name_space) {
  if (!at.account.empty()) return at.account;
  return at.tenant.empty() ? "namespace/" + name_space : "tenant/" + at.tenant;
}

/// What upstream's RBAC says to whom objects are made as, and no admission plugin does.
bool lacks_the_right(const Error& error, const std::string& tenant) {
  const auto user = tenant.empty() ? std::string(k_user)
                                   : fmt::format("{}{}", upstream::k_tenant_user_prefix, tenant);
  return error.code() == Code::forbidden &&
         error.message().find(fmt::format("User \"{}\" cannot", user)) != std::string::npos;
}

} // namespace

/// An attempt in progress.
struct Deployer::Attempt {
  upstream::ControlApi& api; ///< as zood
  const json& live;
  const Instance& instance;
  const Surroundings& at;
  const Clock::time_point until;
  const std::chrono::milliseconds chart_wait;
  std::string reason; ///< of the failure of the step that is being done
  bool bound_now = false;
  struct Made {
    std::string path, uid;
    ObjectRef ref;
  };
  std::vector<Made> made; ///< by this attempt
  std::vector<Applied> applied;
  json status; ///< as it stands upstream

  Kinds::Get reads() const {
    return [this](const std::string& path) { return api.get(path); };
  }
  Result<void> in_time() const {
    if (Clock::now() < until) return {};
    return fail(Code::timeout, "the upstream is slow");
  }
};

std::string instance_path(std::string_view name_space, std::string_view name) {
  return kube::path(
      {"apis", k_group, k_version, "namespaces", name_space, "templateinstances", name});
}

std::string template_path(std::string_view name) {
  return kube::path({"apis", k_group, k_version, "templates", name});
}

std::string digest_of(json object) {
  object.erase("status");
  if (auto metadata = object.find("metadata"); metadata != object.end() && metadata->is_object()) {
    for (const char* field : {"managedFields", "resourceVersion", "generation"})
      metadata->erase(field);
  }
  return crypto::hex_encode(crypto::view(crypto::sha256(text_of(object))));
}

Result<Outcome> Deployer::deploy(upstream::ControlApi& api, const json& live,
                                 const Surroundings& at, Clock::time_point until,
                                 std::chrono::milliseconds chart_wait) {
  const auto read = read_instance(live);
  if (!read) return fail(Code::internal, "a TemplateInstance was read without a name");
  const auto& instance = *read;
  Attempt attempt{api,
                  live,
                  instance,
                  at,
                  until,
                  chart_wait,
                  {},
                  false,
                  {},
                  {},
                  live.value("status", json::object())};
  Plan plan;
  auto planned = this->plan(attempt, plan);
  Result<void> done = planned;
  if (planned) {
    const auto as_template = acting_.take(instance.group(), at.tenant);
    done = [&]() -> Result<void> {
      attempt.reason = "ApplyManifests";
      ZOO_TRY_VOID(bind(attempt, plan.role));
      ZOO_TRY_VOID(apply(attempt, plan, *as_template));
      return prune(attempt, plan, *as_template);
    }();
    if (!done) take_back(attempt, *as_template);
  }
  if (done) {
    Report report;
    report.what = Report::What::deployed;
    report.template_version = plan.template_version;
    for (const auto& object : plan.objects)
      report.objects.push_back(ref_of(object));
    ZOO_TRY_VOID(write(attempt, std::move(report)));
    return Outcome{true, false, {}, {}, std::move(attempt.applied)};
  }
  auto message = done.error().message().substr(0, k_longest_message);
  if (attempt.reason == "Rendering" && done.error().code() == Code::timeout) {
    return Outcome{false, true, attempt.reason, std::move(message), {}};
  }
  if (may_pass(done.error().code())) return fail(std::move(done).error());
  return end_failed(attempt, attempt.reason, std::move(message));
}

Result<Outcome> Deployer::end_failed(Attempt& attempt, std::string reason, std::string message) {
  Report report;
  report.what = Report::What::failed;
  report.reason = reason;
  report.message = message;
  report.objects = attempt.instance.objects;
  ZOO_TRY_VOID(write(attempt, std::move(report)));
  return Outcome{false, false, std::move(reason), std::move(message), {}};
}

Result<Outcome> Deployer::refuse(upstream::ControlApi& api, const json& live, std::string reason,
                                 std::string message) {
  const auto instance = read_instance(live);
  if (!instance) return fail(Code::internal, "a TemplateInstance was read without a name");
  Surroundings nowhere;
  Attempt attempt{api,
                  live,
                  *instance,
                  nowhere,
                  Clock::time_point::max(),
                  {},
                  {},
                  false,
                  {},
                  {},
                  live.value("status", json::object())};
  return end_failed(attempt, std::move(reason), std::move(message));
}

Result<void> Deployer::clear(upstream::ControlApi& api, const json& live, const Surroundings& at,
                             Clock::time_point until) {
  const auto instance = read_instance(live);
  if (!instance) return fail(Code::internal, "a TemplateInstance was read without a name");
  if (instance->no_owner) return {};
  Attempt attempt{api, live, *instance, at, until, {}, {}, false, {}, {}, json::object()};
  const auto as_template = acting_.take(instance->group(), at.tenant);
  return prune(attempt, Plan{}, *as_template);
}

/// Everything that can be known before anything is written.
Result<void> Deployer::plan(Attempt& attempt, Plan& out) {
  const auto& instance = attempt.instance;
  attempt.reason = "TemplateNotFound";
  const auto stored = attempt.api.get(template_path(instance.template_name));
  if (!stored && stored.error().code() == Code::not_found)
    return fail(Code::not_found, "template \"{}\" not found", instance.template_name);
  if (!stored) return fail(stored.error());
  attempt.reason = "ErrorConvertingManifest";
  ZOO_TRY(const auto from, read_template(*stored));
  out.template_version = from.resource_version;
  out.role = from.role;
  attempt.reason = "AccountNotSelected";
  if (!from.accounts.is_null() &&
      (attempt.at.account.empty() || !selects(from.accounts, attempt.at.account_labels)))
    return fail(Code::forbidden, "template \"{}\" is not for {} (its field accounts)", from.name,
                attempt.at.account.empty()
                    ? fmt::format("namespace \"{}\", which no account owns", instance.name_space)
                    : fmt::format("account \"{}\"", attempt.at.account));
  attempt.reason = "ErrorValidatingParameters";
  ZOO_TRY(const auto values, choose_values(from.parameters, instance.values, from.name));
  const auto lookup = lookup_in(attempt.at, values);
  attempt.reason = "ErrorReplaceParameters";
  ZOO_TRY(auto objects, render_manifests(from, lookup));
  if (from.chart) {
    ZOO_TRY(const auto chart_values, render_values(*from.chart, lookup));
    attempt.reason = "ErrorHelm";
    if (!parts_.render) return fail(Code::invalid, "zood has no helm: see zooctl doctor");
    const ChartWish wish{*from.chart, instance.name_space, chart_values,
                         whose_turn(attempt.at, instance.name_space)};
    auto rendered = parts_.render(attempt.api, wish, std::min(k_at_once, attempt.chart_wait));
    if (!rendered && rendered.error().code() == Code::timeout) {
      attempt.reason = "Rendering";
      ZOO_TRY_VOID(tell_progress(attempt, rendered.error().message()));
      if (attempt.chart_wait > k_at_once)
        rendered = parts_.render(attempt.api, wish, attempt.chart_wait - k_at_once);
      if (rendered || rendered.error().code() != Code::timeout) attempt.reason = "ErrorHelm";
    }
    if (!rendered) return fail(std::move(rendered).error());
    ZOO_TRY(auto more, objects_of_yaml(*rendered));
    std::move(more.begin(), more.end(), std::back_inserter(objects));
  }
  attempt.reason = "ErrorConvertingManifest";
  ZOO_TRY(out.objects, stored_objects(attempt, std::move(objects)));
  if (out.objects.empty()) return fail(Code::invalid, "template \"{}\" has no objects", from.name);
  attempt.reason = "FindObjectMapping";
  for (auto& object : out.objects) {
    const auto ref = ref_of(object);
    ZOO_TRY(auto kind, kinds_.find(attempt.reads(), ref.api_version, ref.kind));
    if (!kind.namespaced)
      return fail(Code::invalid,
                  "{} would stand outside of the namespace: a template makes namespaced objects "
                  "alone",
                  ref.title());
    out.kinds.push_back(std::move(kind));
    auto& metadata = object["metadata"];
    if (!metadata["labels"].is_object()) metadata["labels"] = json::object();
    metadata["labels"][std::string(k_instance_label)] = mark_of(instance.name);
    if (instance.kept) metadata["labels"][std::string(k_kept_label)] = "true";
    // What the tenant is shown leads nowhere out of it.
    if (!instance.no_owner && attempt.at.tenant.empty())
      metadata["ownerReferences"] = owner_of(instance);
  }
  return {};
}

Result<std::vector<json>> Deployer::stored_objects(const Attempt& attempt,
                                                   std::vector<json> objects) {
  const auto& tenant = attempt.at.tenant;
  if (tenant.empty()) return prepare_objects(std::move(objects), attempt.instance.name_space);
  if (!parts_.inward) return fail(Code::invalid, "there are no tenants here");
  ZOO_TRY(auto prepared, prepare_objects(std::move(objects), attempt.at.name_space));
  for (auto& object : prepared) {
    auto stored = parts_.inward(tenant, object);
    if (!stored)
      return fail(Code::invalid, "{}: {}", ref_of(object).title(), stored.error().message());
    object = *std::move(stored);
  }
  return prepared;
}

/// The RoleBinding goes with the instance, which owns it.
Result<void> Deployer::bind(Attempt& attempt, const std::string& role) {
  const auto& instance = attempt.instance;
  const auto collection =
      kube::path({"apis", k_rbac, "v1", "namespaces", instance.name_space, "rolebindings"});
  const auto path = collection + kube::path({binding_name(instance)});
  const json wanted = {
      {"apiVersion", fmt::format("{}/v1", k_rbac)},
      {"kind", "RoleBinding"},
      {"metadata",
       {{"name", binding_name(instance)},
        {"namespace", instance.name_space},
        {"labels", {{k_kept_label, "true"}}},
        {"ownerReferences", owner_of(instance)}}},
      {"roleRef", {{"apiGroup", k_rbac}, {"kind", "ClusterRole"}, {"name", role}}},
      {"subjects",
       json::array({{{"apiGroup", k_rbac}, {"kind", "Group"}, {"name", instance.group()}}})}};
  ZOO_TRY_VOID(attempt.in_time());
  const auto there = attempt.api.get(path);
  if (!there && there.error().code() != Code::not_found) return fail(there.error());
  if (there) {
    const bool right = there->value("roleRef", json()) == wanted["roleRef"] &&
                       there->value("subjects", json()) == wanted["subjects"] &&
                       metadata_of(*there, "labels", k_kept_label) == "true" &&
                       text_at(*there, "/metadata/deletionTimestamp").empty();
    if (right) return {};
    // Its role has changed; or somebody else has put it there, to be in the way.
    ZOO_TRY_VOID(upstream::remove_outright(attempt.api, path, text_at(*there, "/metadata/uid")));
  }
  const auto made = attempt.api.create(collection, wanted);
  if (!made && made.error().code() == Code::already_exists)
    return fail(Code::conflict, "the RoleBinding of the instance is made by somebody else");
  if (!made) return fail(made.error());
  attempt.bound_now = true;
  return {};
}

/// May the instance apply an object of this name? One that is kept may in any case. Any other would
/// take what somebody else has made, and delete it when it goes itself.
Result<void> Deployer::admit_name(const Attempt& attempt, const KindPath& kind,
                                  const ObjectRef& ref, upstream::ControlApi& as_template) {
  if (attempt.instance.kept) return {};
  ZOO_TRY_VOID(attempt.in_time());
  const auto path = kind.object(attempt.instance.name_space, ref.name);
  auto live = as_template.get(path, k_metadata);
  // A role that may not read it, or not yet: zood looks itself, and tells no more than this.
  if (!live && lacks_the_right(live.error(), attempt.at.tenant))
    live = attempt.api.get(path, k_metadata);
  if (!live && live.error().code() == Code::not_found) return {};
  if (!live) return fail(live.error().code(), "{}: {}", ref.title(), live.error().message());
  const auto mark = metadata_of(*live, "labels", k_instance_label);
  if (mark == mark_of(attempt.instance.name)) return {};
  return fail(Code::invalid, "{} is {}: delete it, or give the template's another name",
              ref.title(),
              mark.empty() ? "there already, and somebody else has made it"
                           : "made by another instance already");
}

Result<json> Deployer::apply_once(Attempt& attempt, const std::string& path, const json& object,
                                  const kube::Query& query, upstream::ControlApi& as_template) {
  ZOO_TRY_VOID(attempt.in_time());
  ZOO_TRY(const auto response,
          as_template.request("PATCH", kube::with_query(path, query), k_apply_type, text_of(object),
                              "application/json"));
  if (response.status < 200 || response.status > 299) return fail(kube::error_of(response));
  auto out = json::parse(response.body, nullptr, false);
  if (!out.is_object()) return fail(Code::unavailable, "the upstream answered with no object");
  if (response.status == 201)
    attempt.made.push_back({path, text_at(out, "/metadata/uid"), ref_of(object)});
  attempt.bound_now = false; // it is heard of
  return out;
}

/// Fields that somebody else has set are taken from him; but those of another instance only for one
/// that is kept, or two would take them from each other for ever.
Result<json> Deployer::apply_one(Attempt& attempt, const KindPath& kind, const json& object,
                                 upstream::ControlApi& as_template) {
  const auto ref = ref_of(object);
  const auto& instance = attempt.instance;
  const auto path = kind.object(instance.name_space, ref.name);
  kube::Query query = {{"fieldManager", k_manager + mark_of(instance.name)}};
  const auto heard_by = Clock::now() + k_binding_heard;
  for (;;) {
    auto done = apply_once(attempt, path, object, query, as_template);
    if (done) return done;
    const auto& error = done.error();
    if (error.code() == Code::conflict && query.size() == 1) {
      const auto& said = error.message();
      if (!instance.kept && said.find(fmt::format(" with \"{}", k_manager)) != said.npos)
        return fail(Code::invalid, "{} is made by another instance already: {}", ref.title(), said);
      // Whose field it is may have come since the names were looked at.
      ZOO_TRY_VOID(admit_name(attempt, kind, ref, as_template));
      query.emplace_back("force", "true");
      continue;
    }
    if (!attempt.bound_now || !lacks_the_right(error, attempt.at.tenant) || Clock::now() > heard_by)
      return fail(error.code(), "{}: {}", ref.title(), error.message());
    std::this_thread::sleep_for(k_binding_look);
  }
}

Result<void> Deployer::apply(Attempt& attempt, const Plan& plan,
                             upstream::ControlApi& as_template) {
  const auto& instance = attempt.instance;
  const bool only_repairs = instance.stands() && instance.applied_version == plan.template_version;
  std::vector<std::size_t> due;
  for (std::size_t i = 0; i < plan.objects.size(); ++i) {
    // Others may do with it as they like.
    if (only_repairs && metadata_of(plan.objects[i], "annotations", k_drift) == "ignore") continue;
    due.push_back(i);
  }
  // All names first: one that is taken fails the instance before any of its objects is touched.
  for (const auto i : due)
    ZOO_TRY_VOID(admit_name(attempt, plan.kinds[i], ref_of(plan.objects[i]), as_template));
  // What is going to be made is written down first: a zood that ends in between leaves nothing that
  // the next one does not know of.
  std::set<ObjectRef> known(instance.objects.begin(), instance.objects.end());
  const auto before = known.size();
  for (const auto& object : plan.objects)
    known.insert(ref_of(object));
  if (known.size() != before) {
    Report report;
    report.reason = "Applying";
    report.message = fmt::format("{} objects are being applied", plan.objects.size());
    report.objects.assign(known.begin(), known.end());
    ZOO_TRY_VOID(write(attempt, std::move(report)));
  }
  for (const auto i : due) {
    ZOO_TRY(auto live, apply_one(attempt, plan.kinds[i], plan.objects[i], as_template));
    attempt.applied.push_back({plan.kinds[i], ref_of(plan.objects[i]), digest_of(std::move(live))});
  }
  return {};
}

/// What the template does not have any more, unless it says that it is to stay.
Result<void> Deployer::prune(Attempt& attempt, const Plan& plan,
                             upstream::ControlApi& as_template) {
  std::set<std::string> wanted;
  for (const auto& object : plan.objects)
    wanted.insert(ref_of(object).identity());
  for (const auto& ref : attempt.instance.objects) {
    if (wanted.contains(ref.identity())) continue;
    const auto kind = kinds_.find(attempt.reads(), ref.api_version, ref.kind);
    if (!kind && kind.error().code() == Code::not_found) continue; // its kind has gone
    if (!kind) return fail(kind.error());
    const auto path = kind->object(attempt.instance.name_space, ref.name);
    ZOO_TRY_VOID(attempt.in_time());
    const auto live = as_template.get(path);
    if (!live && live.error().code() == Code::not_found) continue;
    if (!live && lacks_the_right(live.error(), attempt.at.tenant))
      continue; // not with this role was it made
    if (!live) return fail(live.error().code(), "{}: {}", ref.title(), live.error().message());
    // It may be another instance's, or a user's own, by now.
    if (metadata_of(*live, "labels", k_instance_label) != mark_of(attempt.instance.name)) continue;
    if (metadata_of(*live, "annotations", k_resource_policy) == "keep") continue;
    const auto gone = as_template.remove_read(path, text_at(*live, "/metadata/uid"));
    if (!gone) return fail(gone.error().code(), "{}: {}", ref.title(), gone.error().message());
  }
  return {};
}

/// A failure leaves nothing behind that was not there before. What cannot be taken away now goes
/// with the instance, which owns it.
void Deployer::take_back(Attempt& attempt, upstream::ControlApi& as_template) {
  for (auto each = attempt.made.rbegin(); each != attempt.made.rend(); ++each) {
    const auto gone = as_template.remove_read(each->path, each->uid);
    if (!gone)
      log::warning("templates", "{} of instance {} stays: {}", each->ref.title(),
                   attempt.instance.key(), gone.error().text());
  }
}

/// One that stands stays Deployed while its next chart is rendered.
Result<void> Deployer::tell_progress(Attempt& attempt, const std::string& message) {
  Report report;
  report.reason = attempt.reason;
  report.message = message;
  report.objects = attempt.instance.objects;
  return write(attempt, std::move(report));
}

Result<void> Deployer::write(Attempt& attempt, Report report) {
  report.now = parts_.now();
  auto status = status_of(attempt.instance, attempt.status, report);
  if (status == attempt.status) return {};
  const auto& instance = attempt.instance;
  json patch = {{"metadata", {{"uid", instance.uid}}}, {"status", status}};
  for (const auto& [key, value] : attempt.status.items())
    if (!status.contains(key)) patch["status"][key] = nullptr;
  const auto done =
      attempt.api.merge_patch(instance_path(instance.name_space, instance.name) + "/status", patch);
  if (!done && done.error().code() != Code::not_found) return fail(done.error());
  attempt.status = std::move(status);
  return {};
}

} // namespace zoo::templates
