// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/mapping.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// A tenant's mutating admission changes objects after zood has proven them, and what upstream's
/// controllers write. It must not change kinds by which a member reaches out of the tenant
/// (docs/decisions/087): each mutating webhook, and each MutatingAdmissionPolicy, is stored with
/// one more match condition, which the tenant does not see. Validating webhooks have one that is
/// less. Pure: any thread.
namespace zoo::translate {

inline constexpr std::string_view k_fence_condition = "zoo.kubezoo.io/own-objects";
/// The same as an element of managedFields.
inline constexpr std::string_view k_fence_field = R"(k:{"name":"zoo.kubezoo.io/own-objects"})";

/// Seconds that a webhook may take: apiserver's default.
inline constexpr std::int64_t k_longest_webhook = 10;

/// Is it a subresource that kubelets and controllers write ("pods/status")?
bool is_theirs(std::string_view resource);

/// Do a tenant's mutations leave this resource ("pods", "pods/status") alone?
bool reaches_out(std::string_view group, std::string_view resource);

/// The condition's expression for this kind, in upstream's names.
std::string fence_expression(std::string_view kind, const Mapping& mapping);

/// Has this kind such a condition?
bool has_fence(std::string_view kind);

/// Adds the condition; `object` is a whole one. Code::forbidden: the tenant has one of that name.
/// A longer timeoutSeconds becomes the longest.
Result<std::string> fence_in(std::string_view kind, const Mapping& mapping, std::string object);
/// Takes it away.
Result<std::string> fence_out(std::string object);
/// Code::forbidden where it is missing, or where a webhook may take too long.
Result<void> prove_fence(std::string_view kind, const Mapping& mapping, JsonNode root);

} // namespace zoo::translate
