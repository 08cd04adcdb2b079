// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/kinds.hpp"

#include "common/kube/json_reads.hpp"
#include "daemon/accounts/account.hpp"

#include <nlohmann/json.hpp>

namespace zoo::accounts {
namespace {

using nlohmann::json;
using resources::cell_of;
using resources::Column;
using resources::Field;
using resources::Verb;
using Type = Field::Type;

/// The metadata of what is stored upstream.
std::vector<Field> metadata() {
  auto out = resources::standard_metadata();
  out.push_back({"generateName", Type::text, "A name is made up that begins with this."});
  out.push_back({"deletionGracePeriodSeconds", Type::number, "Read-only."});
  out.push_back({"finalizers",
                 Type::list,
                 "Who must agree before it goes.",
                 {{"", Type::text, "One of them."}}});
  out.push_back(
      {"ownerReferences", Type::list, "What it goes with.", {{"", Type::open, "One of them."}}});
  out.push_back({"managedFields",
                 Type::list,
                 "Who has set which field.",
                 {{"", Type::open, "One of them."}}});
  out.push_back({"selfLink", Type::text, "Not used any more."});
  return out;
}

const std::vector<Verb> k_all_verbs = {Verb::get,    Verb::list,  Verb::watch, Verb::create,
                                       Verb::update, Verb::patch, Verb::remove};

Field subjects(std::string description) {
  return {"subjects",
          Type::list,
          std::move(description),
          {{"",
            Type::object,
            "A user, a group or a ServiceAccount.",
            {{"kind", Type::text, "User, Group or ServiceAccount."},
             {"apiGroup", Type::text,
              "rbac.authorization.k8s.io for users and groups; empty for a ServiceAccount."},
             {"name", Type::text, "The name of the user, group or ServiceAccount."},
             {"namespace", Type::text, "Of a ServiceAccount: where it is."}}}}};
}

Field space_template() {
  return {"spaceTemplate",
          Type::object,
          "What every space of the account gets.",
          {{"metadata",
            Type::object,
            "Labels and annotations of the spaces.",
            {{"labels", Type::map, "They win over those that a user gives."},
             {"annotations", Type::map, "They win over those that a user gives."},
             {"name", Type::text, "Has no meaning here."},
             {"creationTimestamp", Type::text, "Has no meaning here."}}}}};
}

Field account_spec() {
  return {
      "spec",
      Type::object,
      "What the account should be.",
      {subjects("The members of the account."),
       {"space",
        Type::object,
        "What holds for the spaces of the account.",
        {{"clusterRole", Type::text,
          "The ClusterRole that members have in each space. Default: admin; empty: none."},
         {"bindings",
          Type::list,
          "Members who have another role in each space.",
          {{"",
            Type::object,
            "Some members, and their role.",
            {{"clusterRole", Type::text, "The ClusterRole that they have in each space."},
             subjects("Those members.")}}}},
         {"limit", Type::number, "How many spaces the account may have. Default: any number."},
         {"templateInstances",
          Type::list,
          "Templates of each space.",
          {{"", Type::open, "One of them."}}},
         space_template(),
         {"reconcile", Type::flag,
          "Whether the template is kept on spaces that exist already. Default: true."}}},
       {"deletionPolicy", Type::text,
        "What becomes of the spaces when the account is deleted: Orphan (the default), Delete or "
        "Refuse."}}};
}

Field account_status() {
  const Field named{"", Type::object, "A space.", {{"name", Type::text, "Its name."}}};
  return {
      "status",
      Type::object,
      "What the account is; written by zood alone.",
      {{"namespaces", Type::list, "The spaces of the account.", {named}},
       {"pending", Type::list, "Spaces that are being made.", {{"", Type::open, "One of them."}}},
       {"failedSpaces",
        Type::list,
        "The last spaces that were not made, and why.",
        {{"", Type::open, "One of them."}}},
       {"conditions", Type::list, "The state in detail.", {{"", Type::open, "One of them."}}},
       {"waitingFor", Type::text, "What the deletion waits for."},
       {"observedGeneration", Type::number, "The generation of spec that this speaks of."}}};
}

/// "2/5": how many spaces there are, and may be.
std::string spaces_of(const json& account, std::int64_t) {
  const json none;
  const auto at = [&](const char* pointer) -> const json& {
    const json::json_pointer place(pointer);
    return account.contains(place) ? account.at(place) : none;
  };
  const auto& limit = at("/spec/space/limit");
  auto out = std::to_string(at("/status/namespaces").size());
  if (limit.is_number_integer()) out += "/" + std::to_string(limit.get<std::int64_t>());
  return out;
}

/// "pods 3/10, limits.cpu 500m/4"
std::string use_of(const json& quota, std::int64_t) {
  const json::json_pointer hard("/status/total/hard"), used("/status/total/used");
  if (!quota.contains(hard) || !quota.at(hard).is_object()) return "";
  std::string out;
  for (const auto& [name, limit] : quota.at(hard).items()) {
    const auto text = [&name = name](const json& list) {
      const auto found = list.is_object() ? list.find(name) : list.end();
      if (found == list.end()) return std::string("0");
      return found->is_string() ? found->get<std::string>() : found->dump();
    };
    out += (out.empty() ? "" : ", ") + name + ' ' +
           text(quota.contains(used) ? quota.at(used) : json::object()) + '/' +
           text(quota.at(hard));
  }
  return out;
}

std::string members_of(const json& account, std::int64_t) {
  auto count = kube::list_at(account, "/spec/subjects").size();
  for (const auto& binding : kube::list_at(account, "/spec/space/bindings"))
    count += kube::list_at(binding, "/subjects").size();
  return std::to_string(count);
}

Field instance_spec() {
  const Field parameter{
      "",
      Type::object,
      "One value.",
      {{"name", Type::text, "The name of the parameter."}, {"value", Type::text, "Its value."}}};
  return {"spec",
          Type::object,
          "The template and the values of its parameters.",
          {{"template", Type::text, "The name of the Template. It cannot be changed."},
           {"sync", Type::flag, "Whether a change of the Template is applied to this space, too."},
           {"parameters",
            Type::list,
            "Values of parameters that the Template declares.",
            {parameter}}}};
}

Field instance_status() {
  const Field made{"",
                   Type::object,
                   "One object of the space.",
                   {{"apiVersion", Type::text, "Its API and version."},
                    {"kind", Type::text, "Its kind."},
                    {"name", Type::text, "Its name."}}};
  return {
      "status",
      Type::object,
      "What became of it; written by zood alone.",
      {{"status", Type::text, "Deployed or Failed; empty while it is being made."},
       {"reason", Type::text, "Why it failed, as one word."},
       {"message", Type::text, "Why it failed, as a sentence."},
       {"templateResourceVersion", Type::text,
        "The resourceVersion of the Template that was applied."},
       {"templateManifests", Type::text, "Has no meaning here."},
       {"observedAt", Type::text, "When it was applied."},
       {"observedGeneration", Type::number, "The generation of spec that was applied, or failed."},
       {"kept", Type::flag, "Whether the objects are kept for the account that owns the space."},
       {"objects", Type::list, "The objects that were made.", {made}},
       {"conditions", Type::list, "The state in detail.", {{"", Type::open, "One of them."}}}}};
}

/// A text of the condition Ready.
std::function<std::string(const json&, std::int64_t)> cell_of_ready(std::string member) {
  return [member = std::move(member)](const json& object, std::int64_t) {
    const json::json_pointer at("/status/conditions");
    if (!object.contains(at)) return std::string();
    for (const auto& condition : object.at(at))
      if (resources::text_at(condition, "type") == "Ready")
        return resources::text_at(condition, member);
    return std::string();
  };
}

resources::Kind tenancy_kind(std::string resource, std::string kind, std::string singular) {
  resources::Kind out;
  out.group = k_tenancy_group;
  out.version = k_version;
  out.resource = std::move(resource);
  out.kind = std::move(kind);
  out.singular = std::move(singular);
  out.verbs = k_all_verbs;
  out.finalizers = true; // upstream heeds them
  out.metadata = metadata();
  return out;
}

} // namespace

resources::KindPtr space_kind(std::shared_ptr<resources::Backing> backing, SpaceCells cells) {
  const auto cell = [](std::function<std::string(const std::string&)> text) {
    return [text = std::move(text)](const json& object, std::int64_t) {
      return text ? text(resources::text_at(object, "metadata.name")) : std::string();
    };
  };
  auto out = tenancy_kind("spaces", "Space", "space");
  out.description = "Space is a namespace as the members of the account that owns it see it.";
  out.name_description = "The name of the namespace.";
  out.fields = {{"spec",
                 Type::object,
                 "Whose the space is.",
                 {{"account", Type::text,
                   "The account that owns the space. Without it the space is the account's of "
                   "which the user is a member, if there is only one."},
                  {"finalizers",
                   Type::list,
                   "Finalizers of the namespace.",
                   {{"", Type::text, "One of them."}}}}},
                {"status",
                 Type::object,
                 "How the space is; read-only.",
                 {{"phase", Type::text, "Initializing, Active or Terminating."}}}};
  out.applies = true;
  out.selectable = {"spec.account", "status.phase"};
  out.columns = {
      {"Name", "name", 0, "The name of the namespace.", cell_of("metadata.name")},
      {"Owner", "", 0, "The account that owns the space.", cell_of("spec.account", "")},
      {"Status", "", 0, "Initializing, Active or Terminating.", cell_of("status.phase", "")},
      {"Templates", "", 1, "How many of its templates are deployed, and how many there are.",
       cell(std::move(cells.templates))},
      {"Quota", "", 1, "What it uses of the quotas of its account, and its part of them.",
       cell(std::move(cells.quota))},
      {"Age", "", 0, "Time since the space was created.", resources::age_of()}};
  out.backing = std::move(backing);
  return std::make_shared<const resources::Kind>(std::move(out));
}

resources::KindPtr quota_kind(std::shared_ptr<resources::Backing> backing) {
  auto out = tenancy_kind("accountquotas", "AccountQuota", "accountquota");
  out.verbs = {Verb::get, Verb::list, Verb::watch};
  out.description =
      "AccountQuota is how much all spaces of an account may use together, as its members see it.";
  const Field list{"hard", Type::open, "For each resource how much the spaces may use together."};
  const Field used{"used", Type::open, "For each resource how much is used."};
  out.fields = {
      {"spec",
       Type::object,
       "The account and its limits.",
       {{"account", Type::text, "The account whose spaces share it."},
        {"quota", Type::open, "The limits, as in the spec of a ResourceQuota."}}},
      {"status",
       Type::object,
       "What is used; read-only.",
       {{"total", Type::object, "All spaces of the account together.", {list, used}},
        {"namespaces",
         Type::list,
         "Each space of the account.",
         {{"", Type::open, "One of them."}}},
        {"conditions", Type::list, "The state in detail.", {{"", Type::open, "One of them."}}}}}};
  out.selectable = {"spec.account"};
  out.columns = {{"Name", "name", 0, "The name of the quota.", cell_of("metadata.name")},
                 {"Account", "", 0, "The account whose spaces share it.", cell_of("spec.account")},
                 {"Use", "", 0, "What is used, and may be.", use_of},
                 {"Age", "", 0, "Time since the quota was created.", resources::age_of()}};
  out.backing = std::move(backing);
  return std::make_shared<const resources::Kind>(std::move(out));
}

resources::KindPtr instance_kind(std::shared_ptr<resources::Backing> backing) {
  auto out = tenancy_kind("templateinstances", "TemplateInstance", "templateinstance");
  out.namespaced = true;
  out.applies = true;
  // The end of a namespace would wait for this door, for each kind of a namespace that can be
  // deleted; and the garbage collector would follow every instance twice.
  out.untold = {Verb::remove};
  out.description = "TemplateInstance makes the objects of a Template in its space.";
  out.fields = {instance_spec(), instance_status()};
  out.selectable = {"spec.template", "status.status"};
  out.columns = {
      {"Name", "name", 0, "The name of the instance.", cell_of("metadata.name")},
      {"Template", "", 0, "The Template whose objects are made here.", cell_of("spec.template")},
      {"Status", "", 0, "Deployed, Failed, or nothing while it is being made.",
       cell_of("status.status", "")},
      {"Reason", "", 0, "Why it failed, or what it is at.", cell_of_ready("reason")},
      {"Message", "", 1, "The same as a sentence.", cell_of_ready("message")},
      {"Age", "", 0, "Time since the instance was created.", resources::age_of()}};
  out.backing = std::move(backing);
  return std::make_shared<const resources::Kind>(std::move(out));
}

resources::KindPtr account_kind(std::shared_ptr<resources::Backing> backing) {
  auto out = tenancy_kind("accounts", "Account", "account");
  out.description = "Account is a team: its members, and what its spaces are like.";
  out.strategy.own_status = "status: field is immutable: zood writes the status of accounts";
  // As kiosk's README has them; kiosk itself reads none of them.
  out.strategy.former = {{"spec.spaceClusterRole", "spec.space.clusterRole"},
                         {"spec.spaceLimit", "spec.space.limit"},
                         {"spec.spaceDefaultTemplates", "spec.space.templateInstances"}};
  out.fields = {account_spec(), account_status()};
  out.columns = {{"Name", "name", 0, "The name of the account.", cell_of("metadata.name")},
                 {"Spaces", "", 0, "How many spaces the account has, and may have.", spaces_of},
                 {"Members", "", 0, "How many subjects the account has.", members_of},
                 {"Age", "", 0, "Time since the account was created.", resources::age_of()}};
  out.backing = std::move(backing);
  return std::make_shared<const resources::Kind>(std::move(out));
}

resources::KindPtr namespace_kind(std::shared_ptr<resources::Backing> backing) {
  resources::Kind out;
  out.version = "v1";
  out.resource = "namespaces";
  out.kind = "Namespace";
  out.singular = "namespace";
  out.short_names = {"ns"};
  // Of patches only server-side apply comes here (AccountApi).
  out.verbs = {Verb::get, Verb::list, Verb::watch, Verb::create, Verb::patch};
  out.applies = true;
  out.metadata = metadata();
  out.description = "Namespace is a scope for names.";
  out.fields = {{"spec",
                 Type::object,
                 "What the namespace should be.",
                 {{"finalizers",
                   Type::list,
                   "Who must agree before it goes.",
                   {{"", Type::text, "One of them."}}}}},
                {"status",
                 Type::object,
                 "How the namespace is.",
                 {{"phase", Type::text, "Active or Terminating."},
                  {"conditions",
                   Type::list,
                   "What its deletion waits for.",
                   {{"", Type::open, "One of them."}}}}}};
  out.selectable = {"status.phase"};
  out.columns = {{"Name", "name", 0, "The name of the namespace.", cell_of("metadata.name")},
                 {"Status", "", 0, "The status of the namespace", cell_of("status.phase", "")},
                 {"Age", "", 0, "Time since the namespace was created.", resources::age_of()}};
  out.backing = std::move(backing);
  return std::make_shared<const resources::Kind>(std::move(out));
}

} // namespace zoo::accounts
