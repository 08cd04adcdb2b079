// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/accounts/account.hpp"
#include "daemon/accounts/ordered_table.hpp"
#include "daemon/authz/namespace_budget.hpp"
#include "daemon/authz/rights.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::accounts {

/// One namespace of the upstream, as the view of spaces needs it. Tenants' namespaces are none of
/// them. Immutable; any thread.
struct Space {
  std::string name, uid;
  std::string account;       ///< that owns it, by its label; "": nobody
  std::string phase;         ///< "Active", "Terminating"
  std::int64_t revision = 0; ///< metadata.resourceVersion
  bool initializing = false; ///< is being made: k_initializing
  std::string requester;     ///< the user that it is being made for; "" once it is made
  std::string object;        ///< the Namespace, as upstream wrote it (JSON)
};
using SpacePtr = std::shared_ptr<const Space>;

/// Namespaces in which the cluster and zood itself work: default, kube-... and zoo-... No account
/// owns one of them, whatever their labels say: its members would have rights there.
bool systems_own(std::string_view name);

/// One AccountQuota, as the view of quotas needs it. Immutable; any thread.
struct Quota {
  std::string name, uid, account;
  std::int64_t revision = 0;
  std::string object; ///< as upstream wrote it (JSON)
  /// By space: "pods 2/5": what it uses, and its slice.
  std::map<std::string, std::string, std::less<>> use;
};
using QuotaPtr = std::shared_ptr<const Quota>;
/// Null: this is no object with a name.
QuotaPtr read_quota(std::string_view object);

/// One TemplateInstance, as the view of them needs it. Immutable; any thread.
struct SpaceInstance {
  std::string name; ///< instance_key() of it
  std::string name_space, uid;
  std::int64_t revision = 0;
  bool deployed = false;
  bool kept = false; ///< zood keeps it, by the list of an account or a tenant
  /// Of one that is kept: the account whose list that is; "": none's.
  std::string account;
  std::string object; ///< as upstream wrote it (JSON)
};
using SpaceInstancePtr = std::shared_ptr<const SpaceInstance>;
/// Namespace and name in one word, in whose order the namespace comes first.
std::string instance_key(std::string_view name_space, std::string_view name);
/// Null: this is no object with a name in a namespace.
SpaceInstancePtr read_space_instance(std::string_view object);

/// Null: this is no Namespace with a name, or it is a tenant's.
SpacePtr read_space(std::string_view namespace_object);

/// One namespace of a tenant, as quotas and templates need it. Immutable; any thread.
struct TenantSpace {
  std::string name, uid;
  std::string tenant; ///< its ID
  bool goes = false;  ///< it is being deleted
};
using TenantSpacePtr = std::shared_ptr<const TenantSpace>;
/// Null: this is no Namespace with a name, or no tenant's: its label and the beginning of its name
/// say whose it is.
TenantSpacePtr read_tenant_space(std::string_view namespace_object);

/// Some names that belong to one name.
struct NameSet {
  std::string name;
  std::set<std::string, std::less<>> names;
};

/// What zood knows of namespaces, accounts and rights upstream, at one moment. A copy is cheap, and
/// shares what has not changed. Immutable once published; any thread.
struct State {
  OrderedTable<Space> spaces;
  OrderedTable<Account> accounts;
  OrderedTable<Quota> quotas;
  OrderedTable<SpaceInstance> instances; ///< by instance_key()
  authz::RightsPtr rights;               ///< null before they were read
  OrderedTable<TenantSpace> tenant_spaces;
  OrderedTable<NameSet> spaces_of_tenant; ///< by the tenant's ID
  /// By the account's name: its spaces, those that are Terminating among them.
  OrderedTable<NameSet> spaces_of_account;
  OrderedTable<NameSet> quotas_of_account; ///< by the account's name
  /// By authz::subject_key(): the accounts that have such a subject.
  OrderedTable<NameSet> accounts_of_subject;
  /// The newest resourceVersion seen on any of the streams: lists say it, and watches go on from
  /// it.
  std::int64_t revision = 0;
  std::uint64_t sequence = 0; ///< of the publication: 1, 2, 3, ...
  /// Namespaces with more roles and bindings than are kept of one.
  authz::NamespaceBudget::Crowded crowded;
  std::size_t restless = 0; ///< namespaces in which everybody's rights change too often
  /// Have these been read? Without them the rest is believed all the same.
  bool quotas_read = false, instances_read = false;
  /// Why this is not to be believed: something was not read yet, or has not been heard of for too
  /// long. Code::unavailable.
  std::optional<Error> trouble;

  /// The accounts that the user is a member of, by name: he, one of his groups, or the
  /// ServiceAccount that he is stands among their subjects.
  std::vector<AccountPtr> accounts_of(const authz::User& user) const;
  bool is_member(const authz::User& user, const Account& account) const;
  /// How many namespaces carry the account's label.
  std::size_t count_of(std::string_view account) const;
  /// Is there a namespace of this name, of whomever, that is not being deleted?
  bool stays(std::string_view name_space) const;
  /// Of its TemplateInstances how many are deployed, as "1/2"; "": it has none.
  std::string templates_text(std::string_view space) const;
  /// What it uses of its account's quotas, as "pods 2/5, services 0/3"; "": nothing is limited.
  std::string quota_text(std::string_view space) const;
  /// Calls `each` with the key of every TemplateInstance in the namespace, in order.
  template <typename Each>
  void visit_instances(std::string_view name_space, Each&& each) const {
    const auto before = instance_key(name_space, "");
    instances.visit(before, [&](const SpaceInstancePtr& one) {
      if (one->name_space != name_space) return false;
      each(one->name);
      return true;
    });
  }
};
using StatePtr = std::shared_ptr<const State>;

/// What a publication has changed.
struct Touched {
  std::vector<std::string> spaces;    ///< names, sorted, each once
  std::vector<std::string> accounts;  ///< likewise
  std::vector<std::string> quotas;    ///< likewise
  std::vector<std::string> instances; ///< likewise, of instance_key()
  std::vector<std::string> tenants;   ///< likewise, IDs: some namespace of theirs
  authz::TouchedRights rights;
  bool everything = false; ///< it was all read anew
};

/// May the user see this space in the tenancy view: does upstream's RBAC let him `get` the
/// namespace; or, of one that is being made, is he a member of its account?
bool shows(const State& state, const authz::User& user, const Space& space);
/// May the user see this account: is he a member, or may he `get` it in the config group? What
/// kiosk-view gives everybody in the tenancy group is to ask, not to see.
bool shows(const State& state, const authz::User& user, const Account& account);
/// The same of a quota: is he a member of the account, or may he `get` it in the config group?
bool shows(const State& state, const authz::User& user, const Quota& quota);
/// Is the TemplateInstance shown to the user? It is if he may `get` the templateinstances of its
/// namespace in the config group. One that zood keeps for an account is also shown to members of
/// that account who see the space, while the account owns it.
bool shows(const State& state, const authz::User& user, const SpaceInstance& instance);

} // namespace zoo::accounts
