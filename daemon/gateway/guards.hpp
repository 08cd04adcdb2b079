// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/terms.hpp"
#include "common/base/result.hpp"
#include "daemon/translate/mapping.hpp"
#include "daemon/translate/target.hpp"

#include <string_view>

/// Members that act beyond the namespace they stand in and that neither the name mapping nor Pod
/// Security fences: refused by the platform's policy, whatever the tenant's RBAC says (DESIGN 8,
/// docs/decisions/120). Pure; any thread.
namespace zoo::gateway {

/// May a tenant of these terms store `object` at `target`? It is whole, in the tenant's names or in
/// upstream's: the body of a create or update, or what a patch leads to. `creates`: nothing of it
/// was there before; what upstream sets later and a client sends back is judged only then.
/// Of a member that occurs twice any occurrence counts. Code::forbidden, naming the member, the
/// rule, and the way out.
Result<void> check_guards(const api::Guards& guards, const translate::Mapping& mapping,
                          const translate::Target& target, std::string_view object, bool creates);

/// Could check_guards() refuse such an object? Then a patch of it is proven by its result.
bool guarded(const api::Guards& guards, const translate::Target& target);

/// May an object there have upstream call a webhook of the tenant's?
bool calls_out(const api::Guards& guards, const translate::Target& target);

/// Secrets with a token that upstream itself takes, for ever, whatever the tenant's terms. `body`:
/// an object or a patch; of a member that occurs twice any occurrence counts. Code::forbidden.
Result<void> refuse_token_secret(const translate::Target& target, std::string_view body);

/// Whoever asks upstream's own signers for the certificates of its nodes, by a create or an apply;
/// the same.
Result<void> refuse_signer(const translate::Target& target, std::string_view body);

/// "*.example.com" covers every name below it; "{tenant}" stands for `id`.
bool host_matches(std::string_view pattern, std::string_view host, std::string_view id);

} // namespace zoo::gateway
