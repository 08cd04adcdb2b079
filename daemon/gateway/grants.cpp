// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/grants.hpp"

#include "common/base/json_text.hpp"
#include "daemon/access/authorizer.hpp"
#include "daemon/gateway/exchange.hpp"
#include "daemon/gateway/render.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/rewrite.hpp"

namespace zoo::gateway {
namespace {

using translate::k_rbac_group;

class GrantCheck {
public:
  GrantCheck(const Exchange& exchange, translate::JsonNode object)
      : exchange_(exchange), target_(exchange.target()), object_(object),
        user_(user_of(exchange.route().principal())) {}

  Result<void> run() const {
    if (target_.resource == "roles" || target_.resource == "clusterroles") return role();
    return binding();
  }

private:
  const authz::Policy& policy() const { return *exchange_.policy(); }

  bool may(std::string_view verb, std::string_view resource, const std::string& name) const {
    Attributes attributes;
    attributes.verb = verb;
    attributes.group = k_rbac_group;
    attributes.version = "*";
    attributes.resource = resource;
    attributes.name = name;
    attributes.name_space = target_.name_space;
    return policy().decide(user_, attributes).allowed;
  }

  /// Upstream stores null in a list of strings as "" (sigs.k8s.io/json), which is the core group.
  Result<void> words_alone() const {
    for (auto rule = object_["rules"].first(); rule; rule = rule.next()) {
      for (auto list = rule.first(); list; list = list.next()) {
        for (auto word = list.first(); word; word = word.next()) {
          if (!word.is(translate::JsonType::string))
            return fail(Code::bad_request, "{} of a rule must be a list of strings", list.key());
        }
      }
    }
    return {};
  }

  Result<void> role() const {
    ZOO_TRY_VOID(words_alone());
    if (may("escalate", target_.resource, target_.name)) return {};
    const auto wanted = authz::read_role(object_);
    if (auto held = policy().confirm_no_escalation(user_, target_.name_space, wanted.rules); !held)
      return refuse(held.error());
    if (target_.resource == "roles") return {};
    const auto* old = policy().cluster_role(wanted.name);
    if (wanted.aggregation.empty() && (old == nullptr || old->aggregation.empty())) return {};
    // Selectors gather anything.
    const std::vector<authz::Rule> everything = {{{"*"}, {"*"}, {"*"}, {}, {}},
                                                 {{"*"}, {}, {}, {}, {"*"}}};
    if (policy().confirm_no_escalation(user_, target_.name_space, everything)) return {};
    return refuse(
        Error(Code::forbidden, "must have cluster-admin privileges to use the aggregationRule"));
  }

  Result<void> binding() const {
    const auto wanted = authz::read_binding(object_);
    const bool cluster_role = wanted.role_kind == "ClusterRole";
    if (!cluster_role && wanted.role_kind != "Role") return {}; // upstream's validation says no
    if (may("bind", cluster_role ? "clusterroles" : "roles", wanted.role_name)) return {};
    const auto* rules = policy().rules_of(wanted.role_kind, wanted.role_name, target_.name_space);
    if (rules == nullptr) {
      return fail(Code::not_found, "{}.rbac.authorization.k8s.io {} not found",
                  cluster_role ? "clusterrole" : "role", json_quote(wanted.role_name));
    }
    if (cluster_role && policy().too_large(wanted.role_name))
      return fail(Code::too_large,
                  "the ClusterRole {} gathers more rules than zood compares: whether user {} holds "
                  "them all is not known; let somebody bind it who has the right 'bind', or give "
                  "fewer ClusterRoles its labels",
                  json_quote(wanted.role_name), json_quote(user_.name));
    if (auto held = policy().confirm_no_escalation(user_, target_.name_space, *rules); !held)
      return refuse(held.error());
    return {};
  }

  Result<void> refuse(const Error& why) const {
    if (why.code() != Code::forbidden) return fail(why);
    auto name = object_["metadata"]["name"].string();
    if (!name.empty()) name = " " + json_quote(name);
    return fail(Code::forbidden, "{}.{}{} is forbidden: {}", target_.resource, k_rbac_group, name,
                why.message());
  }

  const Exchange& exchange_;
  const translate::Target& target_;
  translate::JsonNode object_;
  authz::User user_;
};

} // namespace

Result<void> check_grant(const Exchange& exchange, std::string_view object) {
  const auto& target = exchange.target();
  if (target.group != k_rbac_group || !target.subresource.empty()) return {};
  if (exchange.view().authorizer->super_user(exchange.route().principal())) return {};
  if (!exchange.policy())
    return fail(Code::internal, "a write of RBAC without the tenant's policy");
  ZOO_TRY(const auto tree, translate::JsonTree::parse(object));
  ZOO_TRY_VOID(translate::members_once(tree.root()));
  return GrantCheck(exchange, tree.root()).run();
}

Result<void> check_stored_grant(const Exchange& exchange, std::string_view object) {
  if (exchange.target().group != k_rbac_group) return {};
  translate::RewriteContext context{exchange.mapping(), translate::Direction::outward,
                                    exchange.target().name_space};
  std::string own;
  ZOO_TRY_VOID(translate::rewrite(root_of(exchange), context, object, own));
  return check_grant(exchange, own);
}

} // namespace zoo::gateway
