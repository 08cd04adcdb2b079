// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/gateway/render.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace zoo::gateway {

/// Turns the body of an upstream answer into the tenant's words as it streams. Appends to `out`
/// what can be said already; never holds more than limits.object: one object. Code::too_large for
/// more.
class AnswerTranslator {
public:
  virtual ~AnswerTranslator() = default;
  virtual Result<void> feed(std::string_view bytes, std::string& out) = 0;
  virtual Result<void> finish(std::string& out) = 0;
  /// There is more output for the input so far: call feed() with "" once the client has room.
  virtual bool behind() const { return false; }
  /// Bytes that it keeps of an object that is not whole yet.
  virtual std::size_t held() const { return 0; }
};

enum class AnswerShape {
  object,     ///< one object, or a Status
  list,       ///< a List, Table or PartialObjectMetadataList
  collection, ///< of a deletecollection: a List of what was deleted, or a Status
  watch,      ///< events
  verbatim,   ///< bytes as they are: logs, proxied answers
};

std::unique_ptr<AnswerTranslator> make_translator(Exchange& exchange, AnswerShape shape,
                                                  const Rendering& rendering);

} // namespace zoo::gateway
