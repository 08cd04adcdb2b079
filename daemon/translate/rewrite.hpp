// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/mapping.hpp"
#include "daemon/translate/rules.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace zoo::translate {

class JsonNode;
struct Relay;

/// What one rewrite may need beyond the document, and what it found out. One a document.
struct RewriteContext {
  const Mapping& mapping;
  Direction direction;
  /// The tenant's namespace of the request path; "" where the path has none.
  std::string_view request_namespace;
  /// A merge or strategic patch: null deletes, objects are partial, `$patch` directives occur.
  bool patch = false;

  // Results.
  std::string name{};       ///< metadata.name as it stands in the input document
  std::string name_space{}; ///< metadata.namespace as it stands in the input document
  std::size_t foreign = 0;  ///< outward: values that were not the tenant's and were blanked

  /// outward: what is not in upstream's form stays. For text that the tenant may have written.
  /// Last, because callers give what stands above by position.
  bool lenient = false;
  /// inward, of an applied object: what another manager may have set is not added where this one
  /// does not name it: a namespace's level of pod security, the namespaceSelector of a webhook or
  /// policy.
  bool lean = false;
  /// inward, of what names webhooks: through which upstream shall call them. prove: which one may
  /// stand there. null: it calls their Services itself.
  const Relay* relay = nullptr;
};

/// Rewrites one whole JSON value (an object of the kind of `root`) by the rule table and appends it
/// to `out`. Runs without a rule are copied verbatim: key order, spacing, number spelling and
/// unknown fields survive; nothing is decoded that no rule names.
///
/// inward: check_json() must have passed. Fails with Code::bad_request for a key that occurs twice
/// at or above a rule, or anywhere in a Form that is not plain (`duplicate field "spec"`), a value
/// of a type its rule cannot take, and Code::forbidden / Code::invalid where a rule refuses
/// (reserved names, signers of kubernetes.io), naming the JSON path.
/// outward: never fails for what an object contains; a value that is not the tenant's becomes "".
/// Fails with Code::internal only if the bytes are not JSON.
/// prove: appends nothing; Code::forbidden with the JSON path of the first value outside the
/// tenant.
///
/// Reentrant, no allocation beyond `out` and objects that a sibling rule buffers.
Result<void> rewrite(const Root& root, RewriteContext& context, std::string_view document,
                     std::string& out);

/// The same outward for an object that `text` begins with, whose end is found on the way instead of
/// beforehand: its size. 0, and nothing was appended: it does not end within `text`, is no JSON, or
/// is of a Form that has to be seen whole; then rewrite() has the say, with all of it.
std::size_t rewrite_open(const Root& root, RewriteContext& context, std::string_view text,
                         std::string& out);

/// What a patch made of an admission object can lack zood's own members (`namespaceSelector:
/// null`), or speak of a URL where it named a Service (docs/decisions/086); of a definition, its
/// label (docs/decisions/146) or what its schemas say of its group (docs/decisions/162). `stored`:
/// the object as upstream has it. Answers what is to be stored in its place, as if the tenant had
/// written what it reads now; nullopt if it is right. Objects of other kinds are.
///
/// `relay`: RewriteContext::relay; webhooks are called so in the answer. `before`: the object that
/// was patched, or ""; what a patch took away with all annotations is taken from it.
Result<std::optional<std::string>> settle(const Root& root, const Mapping& mapping,
                                          std::string_view stored, const Relay* relay = nullptr,
                                          std::string_view before = {});

/// Is this webhook of a configuration named by a URL?
bool calls_url(JsonNode webhook);

} // namespace zoo::translate
