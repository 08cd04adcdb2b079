// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>

/// Request bodies in Kubernetes' protobuf (application/vnd.kubernetes.protobuf), made into the JSON
/// that kube-apiserver reads as the same object, so that one rewriter serves both. Pure; any
/// thread.
namespace zoo::translate {

struct ProtobufLimits {
  std::size_t depth = 100; ///< messages within messages; JSON within them has check_json's limit
  std::size_t output = std::size_t{12} << 20; ///< bytes of JSON; passed by one string at most
};

/// `body`: "k8s\0" and a runtime.Unknown (k8s.io/apimachinery/pkg/runtime/types_proto.go) of a
/// built-in kind. The object begins with apiVersion and kind; its other members follow by field
/// number, maps by the order they came in. A field is left out where Go's encoder of the same
/// object would leave it out: zero under omitempty, unless it is a pointer in Go (`*string ""`
/// stays).
///
/// Nothing is dropped: Code::unsupported_media_type for a kind or a field that the table does not
/// know, for content encodings and for embedded objects that are no JSON. Code::bad_request for
/// broken bytes, text that is not UTF-8, a message or a map key given twice, too much depth.
/// Code::too_large for too much output.
Result<std::string> protobuf_to_json(std::string_view body, const ProtobufLimits& limits = {});

} // namespace zoo::translate
