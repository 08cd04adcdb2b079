// SPDX-License-Identifier: Apache-2.0
// Whatever bytes a client calls protobuf: what is read of them is JSON, and there and back is
// stable.
#include "daemon/translate/json.hpp"
#include "daemon/translate/json_protobuf.hpp"
#include "daemon/translate/protobuf_json.hpp"
#include "tests/fuzz/invariant.hpp"

#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zoo::translate;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::string object;
  if (const auto read = protobuf_to_json(bytes)) {
    invariant(check_json(*read).has_value(), "what is read is JSON", *read);
    object = *read;
  } else if (check_json(bytes)) {
    object = bytes; // the other way round: any object into protobuf
    static_cast<void>(event_to_protobuf(bytes));
  } else {
    return 0;
  }
  const auto written = json_to_protobuf(object);
  if (!written) return 0;
  const auto again = protobuf_to_json(*written);
  if (!again) return 0; // a list, a Status: what only answers are
  const auto twice = json_to_protobuf(*again);
  invariant(twice.has_value(), "what was read can be written", *again);
  const auto stable = protobuf_to_json(*twice);
  invariant(stable.has_value() && *stable == *again, "there and back is stable", *again);
  return 0;
}
