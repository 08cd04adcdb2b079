// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/space_templates.hpp"

#include "common/base/text.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/client.hpp"
#include "daemon/accounts/json_reads.hpp"
#include "daemon/accounts/paths.hpp"
#include "daemon/accounts/reservations.hpp"
#include "daemon/accounts/space_rules.hpp"
#include "daemon/upstream/control_api.hpp"
#include "daemon/upstream/outright.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace zoo::accounts {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;
using templates::k_kept_label;

constexpr std::size_t k_most_wished = 32; ///< templates in the annotation of a space
/// Of the deployment of one space's templates; what is not done by then the controller goes on
/// with.
constexpr std::chrono::milliseconds k_deploys{15'000};

json kind_of_instance() {
  return {{"apiVersion", config_api_version()}, {"kind", "TemplateInstance"}};
}

templates::Surroundings surroundings_of(const json& name_space, const Account* account) {
  templates::Surroundings out;
  out.name_space = text_at(name_space, "/metadata/name");
  out.namespace_labels = kube::texts_at(name_space, "/metadata/labels");
  out.namespace_annotations = kube::texts_at(name_space, "/metadata/annotations");
  if (account == nullptr) return out;
  out.account = account->name;
  const auto object = json::parse(account->object, nullptr, false);
  if (!object.is_object()) return out;
  out.account_labels = kube::texts_at(object, "/metadata/labels");
  out.account_annotations = kube::texts_at(object, "/metadata/annotations");
  return out;
}

/// What zood wants of an instance's spec, and nothing that upstream adds.
json spec_of(const json& instance) {
  const auto spec = instance.value("spec", json::object());
  return {{"template", spec.value("template", json())},
          {"sync", spec.value("sync", false)},
          {"parameters", spec.value("parameters", json::array())}};
}

bool is_kept(const json& instance) {
  const auto labels = kube::texts_at(instance, "/metadata/labels");
  const auto found = labels.find(k_kept_label);
  return found != labels.end() && found->second == "true";
}

bool is_right_instance(const json& live, const json& wanted) {
  if (!is_kept(live) || spec_of(live) != spec_of(wanted)) return false;
  for (const char* where : {"/metadata/labels", "/metadata/annotations"}) {
    const auto have = kube::texts_at(live, where);
    for (const auto& [key, value] : kube::texts_at(wanted, where)) {
      const auto found = have.find(key);
      if (found == have.end() || found->second != value) return false;
    }
  }
  return true;
}

/// Templates that the annotation of a namespace names, as instances that are nobody's but the
/// users'.
std::vector<json> wished_instances(const json& name_space) {
  std::vector<json> out;
  const auto text = annotation_of(name_space, k_space_templates);
  for (const auto part : text::split(text, ',')) {
    const auto name = text::trim(part);
    if (name.empty() || out.size() == k_most_wished) continue;
    auto one = kind_of_instance();
    one["metadata"] = {{"name", name}, {"namespace", text_at(name_space, "/metadata/name")}};
    one["spec"] = {{"template", name}};
    out.push_back(std::move(one));
  }
  return out;
}

Result<std::map<std::string, json, std::less<>>> kept_in(upstream::ControlApi& api,
                                                         const std::string& space) {
  std::map<std::string, json, std::less<>> out;
  ZOO_TRY(const auto list,
          api.get(kube::with_query(instances_path(space),
                                   {{"labelSelector", fmt::format("{}=true", k_kept_label)}})));
  ZOO_TRY(auto items, items_of(list, instances_path(space)));
  for (auto& item : items) {
    auto name = text_at(item, "/metadata/name");
    out.insert_or_assign(std::move(name), std::move(item));
  }
  return out;
}

} // namespace

std::vector<json> wanted_instances(const Account& account, std::string_view space) {
  std::vector<json> out;
  const auto object = json::parse(account.object, nullptr, false);
  const auto at = "/spec/space/templateInstances"_json_pointer;
  if (!object.is_object() || !object.contains(at) || !object.at(at).is_array()) return out;
  std::map<std::string, int> count;
  for (const auto& entry : object.at(at)) {
    const auto name = text_at(entry, "/spec/template");
    if (name.empty()) continue;
    auto one = kind_of_instance();
    // The n-th entry of one template keeps its name when others come and go.
    const auto suffix = crypto::short_digest(fmt::format("{}#{}", name, count[name]++));
    auto own = text_at(entry, "/metadata/name");
    if (own.empty()) {
      const auto start = text_at(entry, "/metadata/generateName");
      own = fmt::format("{}{}", start.empty() ? name + "-" : start, suffix);
    }
    one["metadata"] = {
        {"name", own},
        {"namespace", space},
        {"labels",
         {{std::string(k_kept_label), "true"}, {std::string(k_account_label), account.name}}}};
    for (const char* member : {"labels", "annotations"}) {
      for (const auto& [key, value] :
           kube::texts_at(entry, std::string("/metadata/").append(member).c_str()))
        if (!reserved_key(key)) one["metadata"][member][key] = value;
    }
    one["spec"] = spec_of(entry);
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<json> wanted_instances(const State& state, const TenantTerms& terms,
                                   std::string_view space) {
  std::vector<json> out;
  std::map<std::string, int> count;
  for (const auto& wish : terms.templates) {
    auto one = kind_of_instance();
    const auto suffix = crypto::short_digest(fmt::format("{}#{}", wish.name, count[wish.name]++));
    one["metadata"] = {{"name", fmt::format("tenant-{}-{}", wish.name, suffix)},
                       {"namespace", space},
                       {"labels", {{std::string(k_kept_label), "true"}}}};
    auto parameters = json::array();
    for (const auto& [name, value] : wish.parameters)
      parameters.push_back({{"name", name}, {"value", value}});
    one["spec"] = spec_of({{"spec", {{"template", wish.name}, {"parameters", parameters}}}});
    out.push_back(std::move(one));
  }
  const auto account = terms.account.empty() ? nullptr : state.accounts.find(terms.account);
  if (!account) return out;
  for (auto& one : wanted_instances(*account, space))
    out.push_back(std::move(one));
  return out;
}

templates::Surroundings surroundings_in(const State& state, const TenantTerms& terms,
                                        std::string_view id, std::string_view space) {
  const auto account = terms.account.empty() ? nullptr : state.accounts.find(terms.account);
  auto out = surroundings_of(json::object(), account.get());
  out.name_space = space.substr(id.size() + 1);
  out.tenant = id;
  return out;
}

std::optional<templates::Place> place_in(const State& state, const TenantSource* tenants,
                                         std::string_view name_space) {
  using Kind = templates::Place::State;
  templates::Place out;
  if (const auto of_tenant = state.tenant_spaces.find(name_space)) {
    const auto terms = tenants == nullptr ? std::nullopt : tenants->terms(of_tenant->tenant);
    if (!terms) return {};
    out.state = of_tenant->goes ? Kind::goes : Kind::open;
    out.at = surroundings_in(state, *terms, of_tenant->tenant, name_space);
    return out;
  }
  const auto space = state.spaces.find(name_space);
  if (!space) return {};
  if (systems_own(name_space)) {
    out.state = Kind::closed;
    return out;
  }
  out.state = space->phase == "Terminating"                      ? Kind::goes
              : space->initializing && !space->requester.empty() ? Kind::made
                                                                 : Kind::open;
  const auto account = space->account.empty() ? nullptr : state.accounts.find(space->account);
  out.at = surroundings_of(json::parse(space->object, nullptr, false), account.get());
  out.at.name_space = name_space;
  return out;
}

Result<void> SpaceTemplates::furnish(upstream::ControlApi& api, const std::string& space,
                                     const Account& account, std::chrono::milliseconds patience) {
  ZOO_TRY(const auto name_space, api.get(namespace_path(space)));
  auto wanted = wanted_instances(account, space);
  for (auto& one : wished_instances(name_space)) {
    const auto same = std::any_of(wanted.begin(), wanted.end(), [&](const json& other) {
      return other["metadata"]["name"] == one["metadata"]["name"];
    });
    if (!same) wanted.push_back(std::move(one));
  }
  return furnish(api, space, wanted, surroundings_of(name_space, &account), patience);
}

Result<void> SpaceTemplates::furnish(upstream::ControlApi& api, const std::string& space,
                                     const std::vector<json>& wanted,
                                     const templates::Surroundings& at,
                                     std::chrono::milliseconds patience) {
  const auto until = Clock::now() + k_deploys;
  if (wanted.empty()) return {};
  std::vector<json> made;
  for (const auto& one : wanted) {
    const auto path = templates::instance_path(space, text_at(one, "/metadata/name"));
    auto live = api.apply(path, one);
    if (!live && live.error().code() == Code::invalid && is_kept(one)) { // another's has the name
      ZOO_TRY_VOID(give_way(api, space, one, at));
      live = api.apply(path, one);
    }
    if (!live) return fail(std::move(live).error());
    made.push_back(*std::move(live));
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    const auto instance = templates::read_instance(made[i]);
    if (instance && instance->deployed && instance->observed == instance->generation) continue;
    const auto name = text_at(made[i], "/metadata/name");
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    ZOO_TRY(const auto outcome,
            keeper_.deploy_now(api, made[i], at, until, std::min(patience, left)));
    if (outcome.deployed) continue;
    if (outcome.waits)
      return fail(Code::timeout, "template {} ({} of {}): {}", text_at(made[i], "/spec/template"),
                  i + 1, made.size(), outcome.message);
    return fail(Code::invalid, "TemplateInstance \"{}\" failed with {}: {}", name, outcome.reason,
                outcome.message);
  }
  return {};
}

bool SpaceTemplates::any_kept(std::string_view space) const {
  const auto known = keeper_.table().in(space);
  return std::any_of(known.begin(), known.end(), [](const auto& each) { return each.kept; });
}

Result<void> SpaceTemplates::keep(upstream::ControlApi& api, const std::string& space,
                                  const Account* account) {
  if (account != nullptr) return keep(api, space, wanted_instances(*account, space), {});
  return any_kept(space) ? set_free(api, space) : Result<void>();
}

/// With what it has made: in a space upstream's garbage collector does that.
Result<void> SpaceTemplates::remove(upstream::ControlApi& api, const json& live,
                                    const templates::Surroundings& at) {
  if (!at.tenant.empty()) ZOO_TRY_VOID(keeper_.clear(api, live, at));
  return upstream::remove_outright(api,
                                   templates::instance_path(text_at(live, "/metadata/namespace"),
                                                            text_at(live, "/metadata/name")),
                                   text_at(live, "/metadata/uid"));
}

/// An instance of that name which somebody has made himself goes where its template is another one,
/// since that never changes. One of the same template is taken over, with what it has made: a space
/// that was let go and comes back has such.
Result<void> SpaceTemplates::give_way(upstream::ControlApi& api, const std::string& space,
                                      const json& wanted, const templates::Surroundings& at) {
  const auto live = api.get(templates::instance_path(space, text_at(wanted, "/metadata/name")));
  if (!live && live.error().code() == Code::not_found) return {};
  if (!live) return fail(live.error());
  if (is_kept(*live) || text_at(*live, "/spec/template") == text_at(wanted, "/spec/template"))
    return {};
  return remove(api, *live, at);
}

/// They stay, and are nobody's but the users'.
Result<void> SpaceTemplates::set_free(upstream::ControlApi& api, const std::string& space) {
  ZOO_TRY(const auto kept, kept_in(api, space));
  for (const auto& [name, live] : kept) {
    const json free = {{"metadata",
                        {{"uid", text_at(live, "/metadata/uid")},
                         {"labels", {{std::string(k_kept_label), nullptr}}}}}};
    const auto done = api.merge_patch(templates::instance_path(space, name), free);
    if (!done && done.error().code() != Code::not_found) return fail(done.error());
  }
  return {};
}

Result<void> SpaceTemplates::keep(upstream::ControlApi& api, const std::string& space,
                                  const std::vector<json>& wanted,
                                  const templates::Surroundings& at) {
  if (wanted.empty() && !any_kept(space)) return {};
  ZOO_TRY(auto kept, kept_in(api, space));
  for (const auto& one : wanted) {
    const auto name = text_at(one, "/metadata/name");
    const auto path = templates::instance_path(space, name);
    const auto found = kept.find(name);
    if (found != kept.end()) {
      if (is_right_instance(found->second, one)) continue;
      // The template of an instance never changes.
      if (text_at(found->second, "/spec/template") != text_at(one, "/spec/template"))
        ZOO_TRY_VOID(remove(api, found->second, at));
    } else {
      ZOO_TRY_VOID(give_way(api, space, one, at));
    }
    const auto done = api.apply(path, one);
    if (!done && done.error().code() == Code::not_found) return {}; // the space has gone
    if (!done) return fail(done.error());
  }
  for (const auto& [name, live] : kept) {
    const bool stays =
        std::any_of(wanted.begin(), wanted.end(), [&, &name = name](const json& one) {
          return text_at(one, "/metadata/name") == name;
        });
    if (!stays) ZOO_TRY_VOID(remove(api, live, at));
  }
  return {};
}

} // namespace zoo::accounts
