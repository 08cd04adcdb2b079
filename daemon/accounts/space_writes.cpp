// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/space_writes.hpp"

#include "daemon/accounts/json_reads.hpp"
#include "daemon/accounts/objects.hpp"
#include "daemon/accounts/user_requests.hpp"
#include "daemon/accounts/views.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

#include <optional>
#include <utility>

namespace zoo::accounts {

/// What a write is judged by.
struct SpaceWrites::Moment {
  StatePtr state;
  authz::User user;
  std::string name; ///< of the space
};

namespace {

using nlohmann::json;
using resources::Written;

constexpr int k_attempts = 5; ///< at an update whose writer named no resourceVersion

std::string said_by_upstream(const Error& error) {
  auto text = error.message();
  const std::string theirs = "namespaces \"", ours = fmt::format("spaces.{} \"", k_tenancy_group);
  for (auto at = text.find(theirs); at != std::string::npos;
       at = text.find(theirs, at + ours.size()))
    text.replace(at, theirs.size(), ours);
  return text;
}

Error not_found(std::string_view name) {
  return {Code::not_found, fmt::format("spaces.{} \"{}\" not found", k_tenancy_group, name)};
}

/// An error of upstream about the namespace, as one about the space.
Error as_space(const Error& error, std::string_view name) {
  if (error.code() == Code::not_found) return not_found(name);
  return {error.code(), said_by_upstream(error)};
}

Error may_not(const authz::User& user, std::string_view verb, std::string_view name) {
  return {Code::forbidden,
          fmt::format("user \"{}\" cannot {} space \"{}\": it takes the right to {} the namespace, "
                      "or to be a member of the account that owns it",
                      user.name, verb, name, verb)};
}

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

bool may_update(const State& state, const authz::User& user, std::string_view name) {
  return may_in_namespace(state, user, "update", name) ||
         may_in_namespace(state, user, "patch", name);
}

bool may_give(const State& state, const authz::User& user, std::string_view account) {
  return account.empty() || may_on(state, user, "update", k_config_group, "accounts", account);
}

/// A member of the account that owns the space by this State; or one who may give it away.
bool owns(const State& state, const authz::User& user, std::string_view account) {
  if (account.empty()) return false;
  const auto known = state.accounts.find(account);
  return (known && state.is_member(user, *known)) || may_give(state, user, account);
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

/// The members of the account that gets a namespace have rights there, which a RoleBinding gives.
bool may_let_in(const State& state, const authz::User& user, const std::string& name_space) {
  authz::Attributes asked;
  asked.verb = "create";
  asked.group = "rbac.authorization.k8s.io";
  asked.resource = "rolebindings";
  asked.name_space = name_space;
  return state.rights->decide(user, asked).allowed;
}

/// Of a member's change: nothing that the account's template has set. Code::forbidden with the key.
Result<void> check_template_keys(const json& space, const json& before, const Account& account) {
  for (const auto& [member, from] : {std::pair{"labels", &account.space_labels},
                                     std::pair{"annotations", &account.space_annotations}}) {
    for (const auto& [key, value] : *from) {
      const auto at = json::json_pointer("/metadata") / member / key;
      const auto had = before.contains(at) ? before.at(at) : json();
      const auto has = space.contains(at) ? space.at(at) : json();
      if (had == has || has == value) continue;
      return fail(
          Code::forbidden,
          "metadata.{}: {} is set by the spaceTemplate of account \"{}\": ask who may change "
          "the account",
          member, key, account.name);
    }
  }
  return {};
}

void lay_template(json& object, const Account& account) {
  for (const auto& [member, from] : {std::pair{"labels", &account.space_labels},
                                     std::pair{"annotations", &account.space_annotations}}) {
    for (const auto& [key, value] : *from)
      if (for_templates(key)) object["metadata"][member][key] = value;
  }
}

/// The Space that shows a Namespace.
json space_of(const json& object) {
  const auto space = read_space(text_of(object));
  return space ? tenancy_space(*space) : json::object();
}

Written written(json object, std::vector<std::string> warnings = {}) {
  return {resources::make_object(std::move(object)), std::move(warnings)};
}

Result<json> put(upstream::ControlApi& api, const std::string& name, const json& object,
                 const resources::WriteOptions& options) {
  auto done = api.update(namespace_path(name) + query_of(options), object);
  if (!done) return fail(as_space(done.error(), name));
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
    if (space && owns(*state, user, space->account)) return {};
    return fail(may_not(user, "update", name));
  }
  case Verb::remove:
    if (may_in_namespace(*state, user, "delete", name)) return {};
    return fail(may_not_delete(*state, user, name, parts_.default_cluster_role));
  default:
    return {};
  }
}

bool SpaceWrites::seen(const Moment& moment, const json& object, bool by_its_maker) const {
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
  if (!object["metadata"].is_object()) object["metadata"] = json::object();
  const auto wished = object["metadata"].value("annotations", json::object());
  auto space = space_of(object);
  if (wished.is_object() && wished.contains(k_account_label)) {
    if (text_at(space, "/spec/account").empty() && wished.at(std::string(k_account_label)) != "")
      space["spec"]["account"] = wished.at(std::string(k_account_label));
    space["metadata"]["annotations"].erase(std::string(k_account_label));
  }
  return create_as(Form::name_space, who, std::move(space), options);
}

Result<Written> SpaceWrites::create_as(Form form, const resources::Who& who, json space,
                                       const resources::WriteOptions& options) {
  ZOO_TRY_VOID(admit(who, resources::Verb::create, {}));
  ZOO_TRY(auto state, parts_.state());
  const Moment moment{std::move(state), user_of(who), text_at(space, "/metadata/name")};
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

Result<Written> SpaceWrites::make(Form form, const Moment& moment, json object,
                                  const std::string& owner, const resources::WriteOptions& options,
                                  std::vector<std::string> warnings) {
  const auto shown = [&](json made) {
    return written(form == Form::space ? space_of(made) : std::move(made), std::move(warnings));
  };
  const auto query = query_of(options);
  if (owner.empty()) { // nobody's: a namespace, no more
    const auto once = once_.take();
    auto made = (*once).create("/api/v1/namespaces" + query, object);
    if (!made) return fail(as_space(made.error(), moment.name));
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
    if (!made) return fail(as_space(made.error(), moment.name));
    return shown(*std::move(made));
  }
  const SpaceRequest request{moment.user.name, owner, reserved.id, wish.now};
  auto begun = saga_.begin(timed, std::move(object), request, query);
  if (!begun) return fail(as_space(begun.error(), moment.name));
  auto ready = saga_.finish(timed, *begun, false);
  if (!ready) {
    if (!may_pass(ready.error().code())) return fail(as_space(ready.error(), moment.name));
    warnings.push_back(fmt::format("space \"{}\" is being initialised ({}): see kubectl get space "
                                   "{} -w",
                                   moment.name, ready.error().message(), moment.name));
    return shown(*std::move(begun));
  }
  // Members see it by their binding, if there is one.
  const bool by_its_maker = moment.state->is_member(moment.user, *account) &&
                            members_of(account, parts_.default_cluster_role).any();
  if (!seen(moment, *ready, by_its_maker))
    warnings.push_back(fmt::format("space \"{}\" is ready; it is seen in a moment", moment.name));
  return shown(*std::move(ready));
}

Result<Written> SpaceWrites::update(const resources::Who& who, json space,
                                    const resources::WriteOptions& options) {
  const bool own_version = !text_at(space, "/metadata/resourceVersion").empty();
  for (int attempt = 1;; ++attempt) {
    auto done = update_once(who, space, options);
    if (done || done.error().code() != Code::conflict || own_version || attempt == k_attempts)
      return done;
  }
}

Result<Written> SpaceWrites::update_once(const resources::Who& who, const json& space,
                                         const resources::WriteOptions& options) {
  ZOO_TRY(auto state, parts_.state());
  const Moment moment{std::move(state), user_of(who), text_at(space, "/metadata/name")};
  const auto api = once_.take();
  const bool right = may_update(*moment.state, moment.user, moment.name);
  auto live = (*api).get(namespace_path(moment.name));
  if (!live && live.error().code() != Code::not_found)
    return fail(as_space(live.error(), moment.name));
  const auto known = live ? read_space(text_of(*live)) : nullptr;
  if (!known)
    return fail(right ? not_found(moment.name) : may_not(moment.user, "update", moment.name));
  if (!right && !owns(*moment.state, moment.user, known->account))
    return fail(may_not(moment.user, "update", moment.name));
  for (const char* of : {"/metadata/uid", "/metadata/resourceVersion"}) {
    const auto given = text_at(space, of);
    if (!given.empty() && given != text_at(*live, of)) {
      return fail(Code::conflict,
                  "space \"{}\" has changed since it was read: read it again, and apply your "
                  "changes to that",
                  moment.name);
    }
  }
  const auto before = tenancy_space(*known);
  ZOO_TRY_VOID(check_reserved_keys(space, &before));
  const auto target = text_at(space, "/spec/account");
  if (target != known->account) {
    if (!may_give(*moment.state, moment.user, known->account) ||
        !may_give(*moment.state, moment.user, target)) {
      return fail(Code::forbidden,
                  "user \"{}\" cannot move space \"{}\" from {} to {}: it takes the right to "
                  "update both accounts in group {}",
                  moment.user.name, moment.name,
                  known->account.empty() ? "nobody" : fmt::format("account \"{}\"", known->account),
                  target.empty() ? "nobody" : fmt::format("account \"{}\"", target),
                  k_config_group);
    }
    if (!target.empty() && systems_own(moment.name)) {
      return fail(Code::forbidden, "namespace \"{}\" is the system's: no account owns it",
                  moment.name);
    }
    if (!target.empty() && !may_let_in(*moment.state, moment.user, moment.name)) {
      return fail(Code::forbidden,
                  "user \"{}\" cannot give space \"{}\" to account \"{}\": this gives its members "
                  "rights there, and takes the right to create rolebindings in it",
                  moment.user.name, moment.name, target);
    }
    if (known->initializing) {
      return fail(Code::conflict, "space \"{}\" is being initialised: move it when it is ready",
                  moment.name);
    }
  }
  auto same_owner = space;
  same_owner["spec"]["account"] = known->account;
  if (!right && !only_labels_differ(same_owner, before)) {
    return fail(Code::forbidden,
                "user \"{}\" may change labels and annotations of space \"{}\" alone: the rest "
                "takes the right to update the namespace",
                moment.user.name, moment.name);
  }
  const auto account = moment.state->accounts.find(known->account);
  if (!right && account) ZOO_TRY_VOID(check_template_keys(space, before, *account));
  auto object = namespace_of(space);
  // What was judged is what is written.
  if (text_at(object, "/metadata/resourceVersion").empty())
    object["metadata"]["resourceVersion"] = text_at(*live, "/metadata/resourceVersion");
  if (live->contains("spec")) object["spec"] = live->at("spec");
  keep_hidden(object, *live);
  auto changed = target != known->account ? move(*api, moment, std::move(object), options)
                                          : put(*api, moment.name, object, options);
  if (!changed) return fail(std::move(changed).error());
  if (!options.dry_run) seen(moment, *changed, false);
  return written(space_of(*changed));
}

/// The owner changes (docs/decisions/186): reserved at the new one, then the label, then the
/// binding. What a zood that ends in between has not done the controller does, since the label says
/// it all.
Result<json> SpaceWrites::move(upstream::ControlApi& api, const Moment& moment, json object,
                               const resources::WriteOptions& options) {
  const auto target = text_at(object, k_account_label_at);
  AccountPtr account;
  std::string id;
  if (!target.empty()) {
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
  auto changed = put(api, moment.name, object, options);
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
  if (!live) return fail(as_space(live.error(), key.name));
  if (!read_space(text_of(*live))) return fail(not_found(key.name));
  auto judged = expected;
  if (judged.uid.empty()) judged.uid = text_at(*live, "/metadata/uid");
  const auto gone = remove_for_user(*api, namespace_path(key.name), judged, options);
  if (!gone) return fail(as_space(gone.error(), key.name));
  if (text_at(*gone, "/kind") != "Namespace") return Written{};
  return written(space_of(*gone));
}

} // namespace zoo::accounts
