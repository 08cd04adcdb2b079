// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <string>
#include <string_view>

/// Answers in Kubernetes' protobuf for clients that take nothing else: the inverse of
/// protobuf_json.hpp, by the same table. Pure; any thread.
namespace zoo::translate {

/// `object`: a built-in kind, a list of one, a Status, or metadata alone, as JSON. "k8s\0" and a
/// runtime.Unknown. Members that the table does not know are left out: a client that knows them has
/// another table. Code::not_acceptable for a kind that has no protobuf; Code::internal for a value
/// of another type than the table says.
Result<std::string> json_to_protobuf(std::string_view object);

/// `event`: {"type":...,"object":...}. One frame of application/vnd.kubernetes.protobuf;
/// stream=watch: its length in four bytes, big-endian, and a metav1.WatchEvent.
Result<std::string> event_to_protobuf(std::string_view event);

/// Has this kind of the built-in groups a protobuf? `api_version` as in its objects.
bool has_protobuf(std::string_view api_version, std::string_view kind);

} // namespace zoo::translate
