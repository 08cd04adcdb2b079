// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/translate/mapping.hpp"

#include <string>
#include <string_view>

/// PATCH bodies inward (DESIGN 5): they go upstream as the same kind of patch. What a patch does to
/// a guarded kind is proven by its result, not here. Pure functions, any thread.
namespace zoo::translate {

struct Relay;
struct Root;

/// Translates a patch in JSON (an apply body in YAML was converted before) for the kind of `root`.
///
/// merge, strategic, apply: the rewriter with `patch` set: nulls delete, `$patch`, `$retainKeys`,
/// `$setElementOrder/...` and `$deleteFromPrimitiveList/...` pass (no list of these holds a name
/// that is translated).
/// JSON patch (RFC 6902): values and `test` values by the rules of their position, map keys within
/// paths as the rewriter names them. An operation on a place that zood keeps from the tenant is
/// left out; a `test` of one is refused.
/// `lean`: RewriteContext::lean, of an apply patch. Without it the manager owns what is added, and
/// takes it from whoever had set something else. `relay`: RewriteContext::relay, of an apply patch;
/// other patches of what names webhooks: relay_patch.hpp.
///
/// Code::bad_request: not JSON, not a patch, a member twice, an escape that is none.
/// Code::invalid: `copy` and `move` between places whose rules differ, and from or to keys that are
/// translated, unless it is the same place but for list indexes.
/// Code::too_large: more than 10,000 operations, as upstream.
/// Whatever the rewriter refuses.
Result<std::string> patch_in(const Root& root, const Mapping& mapping, BodyFormat format,
                             std::string_view body, std::string_view request_namespace,
                             bool lean = false, const Relay* relay = nullptr);

/// Adds the precondition for the second, real request of a guarded kind: a leading `test`
/// operation, or `metadata.resourceVersion` in the body. `body` is what patch_in() gave.
/// Code::conflict if the client had demanded another resourceVersion; Code::invalid if `metadata`
/// is no object.
Result<std::string> with_resource_version(BodyFormat format, std::string_view body,
                                          std::string_view resource_version);

/// The same with the UID: the write finds its object or fails, and makes none. What is applied
/// needs it beside the version: upstream would make an object that has gone, whatever version it
/// names (apiserver pkg/endpoints/handlers/patch.go, applyPatcher). Another UID that the client
/// demands stays, for upstream's conflict.
Result<std::string> with_uid(BodyFormat format, std::string_view body, std::string_view uid);

} // namespace zoo::translate
