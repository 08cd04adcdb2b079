// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/protobuf_table.hpp"

#include <algorithm>
#include <utility>

namespace zoo::translate::protobuf {

const Kind* find_kind(std::string_view api_version, std::string_view kind) {
  const Kind* const end = kinds + kind_count;
  const auto wanted = std::pair(api_version, kind);
  const auto* const found = std::ranges::lower_bound(
      kinds, end, wanted, {}, [](const Kind& row) { return std::pair(row.api_version, row.kind); });
  return found != end && found->api_version == api_version && found->kind == kind ? found : nullptr;
}

const Message* find_message(std::string_view name) {
  return std::find_if(messages, messages + message_count,
                      [&](const Message& each) { return each.name == name; });
}

} // namespace zoo::translate::protobuf
