// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/actions.hpp"

#include <optional>
#include <string>
#include <string_view>

/// What upstream's policy zoo-pods-inside has put into a pod in place of the tenant's words, and
/// how the tenant sees it: in its own words again, so that what it writes back comes out equal
/// (docs/decisions/194). Of pods alone: templates are as the tenant wrote them. Pure, any thread.
namespace zoo::translate {

class JsonNode;

/// `fieldPath` of a pod's downward API: the annotation k_pod_namespace is shown as
/// metadata.namespace. A tenant may not name annotations and labels of zood's.
Fate pod_field(Direction direction, std::string_view path, std::string& output);

/// Name of a ConfigMap that a pod reads: k_root_ca is shown as k_upstream_root_ca.
Fate root_ca(Direction direction, std::string_view name, std::string& output);

/// A source of a projected volume that holds no more than key `namespace` of k_root_ca was one item
/// of the downward API, metadata.namespace: that one, in JSON; nullopt: it is another source.
std::optional<std::string> namespace_source(JsonNode source);
/// The same in protobuf: a v1.VolumeProjection, never longer than what it stands for.
std::optional<std::string> namespace_source_wire(std::string_view source);

/// Does this pod, as its tenant wrote it, read its namespace so that it needs k_pod_namespace: by
/// an environment variable, or a file that is not alone in its source?
bool reads_namespace(JsonNode pod);

} // namespace zoo::translate
