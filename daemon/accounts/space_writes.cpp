// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/space_writes.hpp"

#include "common/base/error_table.hpp"
#include "daemon/accounts/json_reads.hpp"
#include "daemon/accounts/objects.hpp"
#include "daemon/accounts/space_judge.hpp"
#include "daemon/accounts/user_requests.hpp"
#include "daemon/accounts/views.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

#include <optional>
#include <utility>

namespace zoo::accounts {

namespace {

using nlohmann::json;
using resources::Written;

constexpr int k_update_attempts = 5; ///< at an update whose writer named no resourceVersion

Error may_not_delete(const State& state, const authz::User& user, std::string_view name,
                     std::string_view default_role) {
  const auto space = state.spaces.find(name);
  const auto account =
      space && !space->account.empty() ? state.accounts.find(space->account) : nullptr;
  if (!account || !state.is_member(user, *account)) {
    return {Code::forbidden,
            fmt::format("user \"{}\" cannot delete space \"{}\": it takes the right to delete the "
                        "namespace",
                        user.name, name)};
  }
  return {Code::forbidden,
          fmt::format("user \"{}\" cannot delete space \"{}\": account \"{}\" binds \"{}\"; "
                      "\"kiosk-space-admin\" may",
                      user.name, name, account->name, members_of(account, default_role).role)};
}

/// Of a space that is new only its name, its labels and its annotations count: finalizers and
/// owners would hold it and others, and zood would have set them.
void keep_names_and_labels(json& object) {
  json metadata = json::object();
  for (const char* name : {"name", "labels", "annotations"}) {
    if (const auto found = object["metadata"].find(name); found != object["metadata"].end())
      metadata[name] = std::move(*found);
  }
  object["metadata"] = std::move(metadata);
  object.erase("status");
  object.erase("spec"); // finalizers are upstream's
}

void lay_template(json& object, const Account& account) {
  for (const auto& [member, from] : {std::pair{"labels", &account.space_labels},
                                     std::pair{"annotations", &account.space_annotations}}) {
    for (const auto& [key, value] : *from)
      if (for_templates(key)) object["metadata"][member][key] = value;
  }
}

Result<json> update_namespace(upstream::ControlApi& api, const std::string& name,
                              const json& object, const resources::WriteOptions& options) {
  auto done = api.update(namespace_path(name) + query_of(options), object);
  if (!done) return fail(as_space_error(done.error(), name));
  return done;
}

/// A space does not show these; who writes it back keeps them.
void keep_hidden(json& object, const json& live) {
  for (const auto key : {k_initializing, k_space_request}) {
    const auto at = json::json_pointer("/metadata/annotations") / std::string(key);
    if (live.contains(at)) object[at] = live.at(at);
  }
}

} // namespace

Result<void> SpaceWrites::admit(const resources::Who& who, resources::Verb verb,
                                std::string_view name) const {
  using resources::Verb;
  ZOO_TRY(const auto state, parts_.state());
  const auto user = user_of(who);
  switch (verb) {
  case Verb::create:
    if (may_on(*state, user, "create", k_tenancy_group, "spaces", {}) ||
        may_create_namespaces(*state, user))
      return {};
    return fail(Code::forbidden,
                "user \"{}\" cannot create spaces: an administrator allows it by ClusterRole "
                "\"kiosk-edit\"",
                user.name);
  case Verb::update:
  case Verb::patch: {
    if (may_in_namespace(*state, user, resources::verb_name(verb), name)) return {};
    const auto space = state->spaces.find(name);
    if (space && owns_space(*state, user, space->account)) return {};
    return fail(may_not_write(user, "update", name));
  }
  case Verb::remove:
    if (may_in_namespace(*state, user, "delete", name)) return {};
    return fail(may_not_delete(*state, user, name, parts_.default_cluster_role));
  default:
    return {};
  }
}

bool SpaceWrites::seen(const SpaceMoment& moment, const json& object, bool by_its_maker) const {
  parts_.step("seen");
  const auto version = resources::version_of(object);
  const auto uid = text_at(object, "/metadata/uid");
  return parts_.wait(
      [&](const State& state) {
        const auto space = state.spaces.find(moment.name);
        return space && space->uid == uid && space->revision >= version &&
               (!by_its_maker || shows(state, moment.user, *space));
      },
      parts_.seen_within);
}

Result<Written> SpaceWrites::create(const resources::Who& who, json space,
                                    const resources::WriteOptions& options) {
  return create_as(Form::space, who, std::move(space), options);
}

Result<Written> SpaceWrites::create_namespace(const resources::Who& who, json object,
                                              const resources::WriteOptions& options) {
  return create_as(Form::name_space, who, space_wished_by(std::move(object)), options);
}

Written SpaceWrites::written(Form form, json name_space, std::vector<std::string> warnings) {
  return {resources::make_object(form == Form::space ? space_shown_by(name_space)
                                                     : std::move(name_space)),
          std::move(warnings)};
}

Result<Written> SpaceWrites::create_as(Form form, const resources::Who& who, json space,
                                       const resources::WriteOptions& options) {
  ZOO_TRY_VOID(admit(who, resources::Verb::create, {}));
  ZOO_TRY(auto state, parts_.state());
  const SpaceMoment moment{std::move(state), user_of(who), text_at(space, "/metadata/name")};
  ZOO_TRY_VOID(check_space_name(moment.name, parts_.tenant_of));
  auto owner = text_at(space, "/spec/account");
  std::vector<std::string> warnings;
  const bool named = !owner.empty();
  if (!named) {
    ZOO_TRY(auto chosen,
            default_owner(*moment.state, moment.user, moment.name, parts_.single_account_default));
    owner = std::move(chosen.account);
    if (!chosen.warning.empty()) warnings.push_back(std::move(chosen.warning));
  }
  if (!owner.empty()) {
    // One that was made this moment may not have been heard of; reserve() asks once more.
    auto account = moment.state->accounts.find(owner);
    if (!account || !moment.state->is_member(moment.user, *account)) {
      const auto api = connections_.take();
      ZOO_TRY(account, fetch_account(*api, owner));
    }
    if (!moment.state->is_member(moment.user, *account) &&
        !may_create_namespaces(*moment.state, moment.user))
      return fail(no_member(moment.user, owner));
    if (account->deleting) return fail(account_goes(owner));
  }
  ZOO_TRY_VOID(check_reserved_keys(space, nullptr));
  if (moment.state->spaces.find(moment.name)) {
    return fail(Code::already_exists, "spaces.{} \"{}\" already exists", k_tenancy_group,
                moment.name);
  }
  auto object = namespace_of(space);
  keep_names_and_labels(object);
  return make(form, moment, std::move(object), owner, options, std::move(warnings));
}

Result<Written> SpaceWrites::make(Form form, const SpaceMoment& moment, json object,
                                  const std::string& owner, const resources::WriteOptions& options,
                                  std::vector<std::string> warnings) {
  const auto shown = [&](json made) { return written(form, std::move(made), std::move(warnings)); };
  const auto query = query_of(options);
  if (owner.empty()) { // nobody's: a namespace, no more
    const auto once = once_.take();
    auto made = (*once).create("/api/v1/namespaces" + query, object);
    if (!made) return fail(as_space_error(made.error(), moment.name));
    if (!options.dry_run) seen(moment, *made, false);
    return shown(*std::move(made));
  }
  const auto api = connections_.take();
  Timed timed(*api, parts_);
  const Wish wish{owner, moment.name, moment.user.name, parts_.now()};
  parts_.step("reserve");
  const Saga::Hold hold(saga_, moment.name);
  Reserved reserved;
  {
    const auto turn = saga_.turn(owner);
    ZOO_TRY(reserved, reserve(timed, wish, options.dry_run));
  }
  if (timed.over()) { // nobody goes on with what was only reserved
    (void)release(*api, owner, reserved.id);
    return fail(Code::timeout,
                "space \"{}\" was not created: the upstream is slow; try again in a moment",
                moment.name);
  }
  const auto& account = reserved.account;
  lay_template(object, *account);
  if (options.dry_run) {
    object["metadata"]["labels"][std::string(k_account_label)] = owner;
    auto made = (*api).create("/api/v1/namespaces" + query, object);
    if (!made) return fail(as_space_error(made.error(), moment.name));
    return shown(*std::move(made));
  }
  const SpaceRequest request{moment.user.name, owner, reserved.id, wish.now};
  auto begun = saga_.begin(timed, std::move(object), request, query);
  if (!begun) return fail(as_space_error(begun.error(), moment.name));
  auto ready = saga_.finish(timed, *begun, false);
  if (!ready) {
    if (!may_pass(ready.error().code())) return fail(as_space_error(ready.error(), moment.name));
    warnings.push_back(fmt::format("space \"{}\" is being initialised ({}): see kubectl get space "
                                   "{} -w",
                                   moment.name, ready.error().message(), moment.name));
    return shown(*std::move(begun));
  }
  // Members see it by their binding, if there is one.
  const bool by_its_maker = members_of(account, parts_.default_cluster_role).lets_in(moment.user);
  if (!seen(moment, *ready, by_its_maker))
    warnings.push_back(fmt::format("space \"{}\" is ready; it is seen in a moment", moment.name));
  return shown(*std::move(ready));
}

Result<Written> SpaceWrites::update(const resources::Who& who, json space,
                                    const resources::WriteOptions& options) {
  const bool own_version = !text_at(space, "/metadata/resourceVersion").empty();
  for (int attempt = 1;; ++attempt) {
    auto done = update_once(who, space, options);
    if (done || done.error().code() != Code::conflict || own_version ||
        attempt == k_update_attempts)
      return done;
  }
}

Result<Written> SpaceWrites::update_once(const resources::Who& who, const json& space,
                                         const resources::WriteOptions& options) {
  ZOO_TRY(auto state, parts_.state());
  const SpaceMoment moment{std::move(state), user_of(who), text_at(space, "/metadata/name")};
  const auto api = once_.take();
  const bool right = may_update_space(*moment.state, moment.user, moment.name);
  auto live = (*api).get(namespace_path(moment.name));
  if (!live && live.error().code() != Code::not_found)
    return fail(as_space_error(live.error(), moment.name));
  const auto known = live ? read_space(text_of(*live)) : nullptr;
  if (!known)
    return fail(right ? no_space(moment.name) : may_not_write(moment.user, "update", moment.name));
  if (!right && !owns_space(*moment.state, moment.user, known->account))
    return fail(may_not_write(moment.user, "update", moment.name));
  const auto before = tenancy_space(*known);
  ZOO_TRY_VOID(check_versions(space, *live, moment.name));
  ZOO_TRY_VOID(judge_change(moment, right, *known, before, space));
  const auto target = text_at(space, "/spec/account");
  auto object = namespace_of(space);
  // What was judged is what is written.
  if (text_at(object, "/metadata/resourceVersion").empty())
    object["metadata"]["resourceVersion"] = text_at(*live, "/metadata/resourceVersion");
  if (live->contains("spec")) object["spec"] = live->at("spec");
  keep_hidden(object, *live);
  auto changed = target != known->account ? move(*api, moment, std::move(object), options)
                                          : update_namespace(*api, moment.name, object, options);
  if (!changed) return fail(std::move(changed).error());
  if (!options.dry_run) seen(moment, *changed, false);
  return written(Form::space, *std::move(changed));
}

/// The owner changes (docs/decisions/186): reserved at the new one, then the label, then the
/// binding. What a zood that ends in between has not done the controller does, since the label says
/// it all.
Result<json> SpaceWrites::move(upstream::ControlApi& api, const SpaceMoment& moment, json object,
                               const resources::WriteOptions& options) {
  const auto target = text_at(object, k_account_label_at);
  AccountPtr account;
  std::string id;
  if (!target.empty()) {
    if (parts_.room) ZOO_TRY_VOID(parts_.room(target, moment.name));
    parts_.step("reserve");
    const auto turn = saga_.turn(target);
    ZOO_TRY(auto reserved,
            reserve(api, {target, moment.name, moment.user.name, parts_.now()}, options.dry_run));
    id = std::move(reserved.id);
    account = std::move(reserved.account);
    if (account->reconcile) lay_template(object, *account);
  }
  // The annotation would name the old owner.
  if (object["metadata"].contains("annotations"))
    object["metadata"]["annotations"].erase(std::string(k_account_label));
  parts_.step("label");
  auto changed = update_namespace(api, moment.name, object, options);
  if (!changed) {
    if (!may_pass(changed.error().code()) || changed.error().code() == Code::conflict)
      (void)release(api, target, id);
    return changed;
  }
  if (options.dry_run) return changed;
  parts_.step("binding");
  // Whatever fails from here on is made good by the controller.
  if (const auto bindings = bindings_in(api, moment.name)) {
    const auto found = bindings->find(moment.name);
    (void)put_bindings_right(api, moment.name,
                             found != bindings->end() ? found->second : std::vector<json>{},
                             members_of(account, parts_.default_cluster_role));
  }
  parts_.step("settle");
  (void)release(api, target, id);
  return changed;
}

Result<Written> SpaceWrites::remove(const resources::Who& who, const resources::Key& key,
                                    const resources::Preconditions& expected,
                                    const resources::WriteOptions& options) {
  ZOO_TRY_VOID(admit(who, resources::Verb::remove, key.name));
  const auto api = connections_.take();
  const auto live = (*api).get(namespace_path(key.name));
  if (!live) return fail(as_space_error(live.error(), key.name));
  if (!read_space(text_of(*live))) return fail(no_space(key.name));
  auto judged = expected;
  if (judged.uid.empty()) judged.uid = text_at(*live, "/metadata/uid");
  const auto gone = remove_for_user(*api, namespace_path(key.name), judged, options);
  if (!gone) return fail(as_space_error(gone.error(), key.name));
  if (text_at(*gone, "/kind") != "Namespace") return Written{};
  return written(Form::space, *gone);
}

} // namespace zoo::accounts
