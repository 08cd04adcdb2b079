// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/kube/status.hpp"

#include <string_view>
#include <vector>

namespace zoo::translate {

class JsonNode;

/// What apiserver would refuse, and does not see: ClusterRoleBindings are RoleBindings upstream,
/// aggregation rules are kept in an annotation, scopes and timeouts of webhooks and levels of pod
/// security are exchanged for others, and a PriorityClass has another name. Everything else is
/// upstream's to judge. Pure: any thread.
bool has_validity(std::string_view group, std::string_view resource);
/// `object` in the tenant's words; in the words and the order of apiserver. Not `whole`: a patch,
/// of which what is not there is not missed. Empty: nothing is wrong, or it is for others to say
/// (values of a wrong type).
std::vector<kube::StatusCause> faults_of(std::string_view group, std::string_view resource,
                                         JsonNode object, bool whole);

/// RFC 1123: lower-case letters, digits and '-', which stands at neither end. Its length is not
/// looked at.
bool dns_label(std::string_view text);

} // namespace zoo::translate
