// SPDX-License-Identifier: Apache-2.0
#include "common/api/tenant.hpp"
#include "common/base/log.hpp"
#include "common/kube/client.hpp"
#include "daemon/accounts/json_reads.hpp"
#include "daemon/accounts/objects.hpp"
#include "daemon/accounts/space_judge.hpp"
#include "daemon/accounts/space_rules.hpp"
#include "daemon/accounts/space_writes.hpp"
#include "daemon/accounts/user_requests.hpp"
#include "daemon/accounts/views.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

#include <string_view>
#include <utility>

/// Server-side apply of spaces. Upstream knows which field manager has set which field, so the
/// merge is upstream's: once as a dry run, whose result is judged, and then with the version of the
/// object that it was judged on.
namespace zoo::accounts {
namespace {

using nlohmann::json;
using resources::Written;

constexpr std::string_view k_stale = "the space has changed while it was applied; apply it again";
constexpr int k_apply_attempts = 5;

/// What is applied to the namespace. A resourceVersion in it is a precondition.
json apply_config(const json& space, const json& live) {
  auto out = namespace_of(space);
  out.erase("status");
  auto& metadata = out["metadata"];
  for (const char* servers : {"creationTimestamp", "generation", "selfLink", "managedFields"})
    metadata.erase(servers);
  metadata["name"] = text_at(live, "/metadata/name");
  metadata["uid"] = text_at(live, "/metadata/uid");
  metadata["resourceVersion"] = text_at(live, "/metadata/resourceVersion");
  return out;
}

/// The labels and annotations of a space as a set of fields; its owner is a label, too.
json owned_fields(const json& space) {
  json out = json::object();
  const auto object = namespace_of(space);
  for (const char* member : {"labels", "annotations"}) {
    const auto at = json::json_pointer("/metadata") / member;
    if (!object.contains(at) || !object.at(at).is_object()) continue;
    for (const auto& [key, value] : object.at(at).items())
      out["f:metadata"]["f:" + std::string(member)]["f:" + key] = json::object();
  }
  return out;
}

/// After a space was made by an apply: gives the fields that were applied to the applying field
/// manager, as upstream does where it makes an object by an apply itself. Fields that this manager
/// leaves out of its next apply are removed then. If this fails the space stays all the same.
void own_by_apply(upstream::ControlApi& api, const std::string& name, const json& space,
                  const std::string& manager, std::int64_t now) {
  const auto live = api.get(namespace_path(name));
  if (!live || annotation_of(*live, k_initializing) == "true") return;
  auto owners = json::array();
  for (const auto& owner : live->at("metadata").value("managedFields", json::array())) {
    if (owner.value("manager", json()) != json(manager)) owners.push_back(owner);
  }
  owners.push_back({{"manager", manager},
                    {"operation", "Apply"},
                    {"apiVersion", "v1"},
                    {"time", api::rfc3339(now)},
                    {"fieldsType", "FieldsV1"},
                    {"fieldsV1", owned_fields(space)}});
  const json patch{{"metadata",
                    {{"resourceVersion", text_at(*live, "/metadata/resourceVersion")},
                     {"managedFields", std::move(owners)}}}};
  if (const auto done = api.merge_patch(namespace_path(name), patch); !done)
    log::warning(
        "accounts",
        "what was applied to space {} is not noted as applied, so that leaving it out of a "
        "later apply does not remove it: {}",
        name, done.error().text());
}

} // namespace

Result<void> SpaceWrites::admit_apply(const resources::Who& who, std::string_view name) const {
  ZOO_TRY(const auto state, parts_.state());
  const auto space = state->spaces.find(name);
  return admit(who, space ? resources::Verb::patch : resources::Verb::create, name);
}

Result<Written> SpaceWrites::apply(const resources::Who& who, std::string_view name, json space,
                                   const resources::WriteOptions& options) {
  return apply_as(Form::space, who, name, std::move(space), options);
}

Result<Written> SpaceWrites::apply_namespace(const resources::Who& who, std::string_view name,
                                             json object, const resources::WriteOptions& options) {
  object["metadata"]["name"] = std::string(name);
  return apply_as(Form::name_space, who, name, space_wished_by(std::move(object)), options);
}

Result<Written> SpaceWrites::apply_as(Form form, const resources::Who& who, std::string_view name,
                                      json space, const resources::WriteOptions& options) {
  ZOO_TRY(auto state, parts_.state());
  const SpaceMoment moment{std::move(state), user_of(who), std::string(name)};
  space["metadata"]["name"] = moment.name;
  const bool own_version = !text_at(space, "/metadata/resourceVersion").empty();
  for (int attempt = 1;; ++attempt) {
    json live;
    {
      const auto api = once_.take();
      auto found = (*api).get(namespace_path(moment.name));
      if (!found && found.error().code() != Code::not_found)
        return fail(as_space_error(found.error(), moment.name));
      if (found) live = *std::move(found);
    }
    const bool makes = live.is_null();
    auto done = makes ? create_as(form, who, space, options)
                      : apply_once(form, moment, live, space, options);
    if (done) {
      done->created = makes;
      if (makes && !options.dry_run) {
        const auto api = once_.take();
        own_by_apply(*api, moment.name, space, options.manager, parts_.now());
      }
      return done;
    }
    // Made, or changed, by somebody else in between.
    const auto code = done.error().code();
    const bool again = makes ? code == Code::already_exists
                             : code == Code::conflict && done.error().message() == k_stale;
    if (!again || own_version || attempt == k_apply_attempts) return done;
  }
}

Result<Written> SpaceWrites::apply_once(Form form, const SpaceMoment& moment, const json& live,
                                        const json& space, const resources::WriteOptions& options) {
  const bool right = may_update_space(*moment.state, moment.user, moment.name);
  const auto known = read_space(text_of(live));
  if (!known || (!right && !owns_space(*moment.state, moment.user, known->account)))
    return fail(may_not_write(moment.user, "update", moment.name));
  ZOO_TRY_VOID(check_versions(space, live, moment.name));
  const auto before = tenancy_space(*known);
  // The space that upstream's result is shown as leaves out some of these keys.
  ZOO_TRY_VOID(check_applied_keys(space, before));
  const auto api = once_.take();
  const auto config = apply_config(space, live);
  auto dry = options;
  dry.dry_run = true;
  const auto path = namespace_path(moment.name);
  const auto judged = apply_for_user(*api, path, config, dry);
  if (!judged) return fail(as_space_error(judged.error(), moment.name));
  const auto& wanted = judged->object;
  const auto shown = space_shown_by(wanted);
  ZOO_TRY_VOID(judge_change(moment, right, *known, before, shown));
  if (text_at(shown, "/spec/account") != known->account) {
    auto object = wanted;
    object["metadata"]["resourceVersion"] = text_at(live, "/metadata/resourceVersion");
    ZOO_TRY(auto moved, move(*api, moment, std::move(object), options));
    if (!options.dry_run) seen(moment, moved, false);
    return written(form, std::move(moved));
  }
  if (options.dry_run) return written(form, wanted);
  auto done = apply_for_user(*api, path, config, options);
  // The same was taken a moment ago: what conflicts is the version.
  if (!done && done.error().code() == Code::conflict) return fail(Code::conflict, "{}", k_stale);
  if (!done) return fail(as_space_error(done.error(), moment.name));
  seen(moment, done->object, false);
  return written(form, std::move(done->object));
}

} // namespace zoo::accounts
