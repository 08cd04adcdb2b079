// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/resources/request.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace zoo::resources {

/// In which shape an answer is wanted.
enum class Shape { object, table, metadata };

struct Representation {
  Shape shape = Shape::object;
  std::string version = "v1"; ///< of meta.k8s.io, for table and metadata
  bool yaml = false;
};

/// One entry of an Accept header: "application/json;as=Table;v=v1;g=meta.k8s.io".
struct AcceptEntry {
  std::string type;
  std::string as, group, version;
};
std::vector<AcceptEntry> parse_accept(std::string_view header); ///< in order; q is not weighed

/// The first entry that zood can make; an absent header is JSON. Code::not_acceptable if none
/// (protobuf, CBOR), with what can be had. `tables`: the resource can be shown as a table.
Result<Representation> negotiate(std::string_view accept, bool tables);

/// An answer in the wanted text form (JSON or YAML).
Answer render(int status, const nlohmann::json& body, const Representation& representation);

} // namespace zoo::resources
