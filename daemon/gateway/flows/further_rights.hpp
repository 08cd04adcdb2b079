// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/gateway/flows/steps.hpp"
#include "daemon/translate/discovery_json.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

/// While kube-apiserver handles a request it asks its authorizer for rights beside the request's
/// own. Upstream would ask for those of zood's user for the tenant, who has them all; therefore the
/// tenant's RBAC is asked first (docs/decisions/123-further-rights.md):
///  * `create` of what a PUT or an apply patch would make (k8s.io/apiserver pkg/endpoints/handlers
///    update.go, patch.go);
///  * `create` of pods/exec, attach and portforward that a GET opens (k8s.io/kubernetes
///    pkg/registry/core/pod/rest/authorize.go; there since 1.35, here always);
///  * `get` or `list` of what an admission policy or its binding takes for parameters
///    (pkg/registry/admissionregistration/*/authz.go).
namespace zoo::gateway {

/// When they are there, the flow that `next` chooses; null: none are needed. The tenant's
/// super-users need none.
std::unique_ptr<Flow> further_rights(Exchange& exchange,
                                     std::function<Result<std::unique_ptr<Flow>>()> next);

/// Do they depend on what is stored? Then a patch is judged by its result.
bool object_needs_rights(const translate::Target& target);

/// Asks for the rights over the parameters of an admission policy or binding that would be stored.
/// Owned by a flow; destroying it cancels. Loop thread.
class ParameterRights : private Asking {
public:
  /// `object`: whole, in the tenant's names. `then` comes once, maybe within start(), or the
  /// exchange fails.
  ParameterRights(Exchange& exchange, std::string object, std::function<void()> then);
  void start();

private:
  /// "get" of a kind of upstream's group, in the tenant's names; "*" stands for what is not known,
  /// as apiserver has it.
  Attributes read_of(std::string_view group, std::string_view version, std::string_view kind) const;
  void policy(translate::JsonNode spec);
  void binding(translate::JsonNode spec);
  void demand(const Attributes& attributes, std::string otherwise);
  /// Who has not the right may still write what is stored already.
  void refused(const std::string& otherwise);
  bool changes(std::string_view stored) const; ///< `stored` in upstream's names

  std::string object_;
  std::function<void()> then_;
};

} // namespace zoo::gateway
