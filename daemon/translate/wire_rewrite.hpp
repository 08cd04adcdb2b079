// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/mapping.hpp"
#include "daemon/translate/rules.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

/// Answers of upstream in Kubernetes' protobuf, in the tenant's names: by the same rule table as
/// rewrite(), without JSON in between. What no rule names is copied verbatim, unknown fields too.
/// Pure; any thread.
namespace zoo::translate {
namespace protobuf {
struct Message;
}

struct WireContext {
  const Mapping& mapping;
  const Root& root;                   ///< of the object, or of a list's items
  std::string_view request_namespace; ///< the tenant's, of the request path; "" where it has none
  /// Of a list: what a client gets for upstream's continue token; null: the token itself.
  std::function<std::string(std::string_view)> seal_continue;
};

/// Can answers of this kind be rewritten so? `api_version` as in its objects.
bool has_wire_form(const Root& root, std::string_view api_version);

/// `body`: "k8s\0" and a runtime.Unknown that holds an object of the kind of `root`. It comes out
/// as rewrite() would have it in JSON; a value that is not the tenant's becomes "". Code::internal:
/// the bytes are none such. Lists: wire_list.hpp.
Result<std::string> wire_outward(const WireContext& context, std::string_view body);

/// The same for one field of a list, with its tag: an item, whose message is `item`, the metadata,
/// or another one, which stays as it is. Appends.
Result<void> wire_list_field(const WireContext& context, const protobuf::Message& item,
                             std::string_view field, std::string& out);

} // namespace zoo::translate
