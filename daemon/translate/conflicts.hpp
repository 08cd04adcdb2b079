// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/mapping.hpp"
#include "daemon/translate/rules.hpp"

#include <optional>
#include <string>
#include <string_view>

/// Conflicts of server-side apply over what zood adds to an object: upstream counts it among the
/// fields of the manager whose request brought it, and nobody of the tenant's has set it
/// (docs/decisions/168). Pure, any thread.
namespace zoo::translate {

/// Is `status` a refusal of an apply, of which `judge_conflicts` may make something else?
bool is_apply_conflict(std::string_view status);

/// `status`: upstream's refusal of an apply for its conflicts. `applied`: what the tenant sent.
/// `stored`: the object that it was applied to. Over a field of a pod that upstream's policy has
/// changed there is none either, if the tenant applied what it sees (pod_fields.hpp). nullopt: all
/// of them are over what zood has added, so that the fields may be taken. Else the refusal with the
/// others alone, and the fields as the tenant calls them.
std::optional<std::string> judge_conflicts(const Mapping& mapping, const Root& root,
                                           std::string_view status, std::string_view applied,
                                           std::string_view stored);

} // namespace zoo::translate
