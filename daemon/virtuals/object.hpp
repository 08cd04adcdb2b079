// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/resources/request.hpp"
#include "daemon/translate/selector.hpp"
#include "daemon/virtuals/kinds.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::virtuals {

/// One object, ready to be written in any representation: event loops only put the parts
/// together. Immutable; any thread.
struct Object {
  std::string name;
  std::int64_t revision = 0; ///< metadata.resourceVersion
  std::string json;          ///< the whole
  std::string metadata;      ///< the value of its member metadata
  std::map<std::string, std::string, std::less<>> labels;
  std::int64_t created = -1; ///< Unix seconds
  std::string extra_field;   ///< the value of its kind's extra_field
  /// Cells of its Table row around the age: `["x","y",` AGE `,"z"]`; `cells_end` "" if none has it.
  std::string cells_begin, cells_end;
};
using ObjectPtr = std::shared_ptr<const Object>;

/// `object` without resourceVersion, or with any: `revision` is written over it.
ObjectPtr make_object(const Kind& kind, nlohmann::json object, std::int64_t revision);

/// The object of a bookmark: it has a resourceVersion, and an annotation where it ends the initial
/// events, and nothing else.
ObjectPtr make_mark(const Kind& kind, std::int64_t revision, bool initial_events_end);

/// How an object is written into an answer, as Negotiated has it.
enum class Shape { object, partial, table_none, table_metadata, table_object };
/// One object, its partial metadata, or its Table row. `now`: Unix seconds.
void write_object(const Object& object, Shape shape, std::int64_t now, std::string& out);

using resources::dump;

/// labelSelector and fieldSelector over virtual objects. A value.
class Selection {
public:
  /// Fields: metadata.name and the kind's extra one, as its conversion function has it.
  /// Code::bad_request.
  static Result<Selection> parse(const Kind& kind, std::string_view labels,
                                 std::string_view fields);
  bool matches(const Object& object) const;
  bool empty() const { return labels_.empty() && fields_.empty(); }

private:
  std::vector<translate::LabelRequirement> labels_;
  std::vector<translate::FieldTerm> fields_;
};

} // namespace zoo::virtuals
