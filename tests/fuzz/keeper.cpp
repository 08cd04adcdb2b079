// SPDX-License-Identifier: Apache-2.0
// Any bytes on the keeper's socket: lines are the same however the bytes are split, a line that is
// taken is written and read as the same again, and a plan names nothing outside its directory.
#include "daemon/keeper/lines.hpp"
#include "tests/fuzz/invariant.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

using namespace zoo;

std::vector<std::string> lines_of(std::string_view wire, std::size_t piece) {
  keeper::LineReader reader;
  std::vector<std::string> out;
  while (!wire.empty()) {
    const auto size = std::min(piece, wire.size());
    if (!reader.add(wire.substr(0, size))) break;
    wire.remove_prefix(size);
    while (auto line = reader.next())
      out.push_back(*std::move(line));
    invariant(reader.held() < keeper::k_longest_line, "what is held is bounded", "");
  }
  return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view wire(reinterpret_cast<const char*>(data), size);
  const auto lines = lines_of(wire, size == 0 ? 1 : size);
  invariant(lines_of(wire, 7) == lines, "a split changes no line", wire);
  for (const auto& line : lines) {
    if (const auto request = keeper::request_of(line)) {
      auto text = keeper::text_of(*request);
      text.pop_back();
      invariant(text.find('\n') == text.npos, "one line each", text);
      const auto again = keeper::request_of(text);
      invariant(again && again->verb == request->verb && again->id == request->id &&
                    again->wish == request->wish && again->plan == request->plan,
                "a request says the same again", line);
      for (const auto& each : request->plan.components)
        invariant(keeper::is_component_name(each.name) && each.address.starts_with("127."),
                  "programs by name, addresses of loopback", line);
    }
    if (const auto reply = keeper::reply_of(line)) {
      const auto again = keeper::reply_of(keeper::text_of(*reply));
      invariant(again && again->states.size() == reply->states.size() &&
                    again->error.has_value() == reply->error.has_value(),
                "an answer says the same again", line);
    }
  }
  return 0;
}
