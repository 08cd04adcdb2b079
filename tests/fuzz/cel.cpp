// SPDX-License-Identifier: Apache-2.0
// Any CEL expression and any text for people: what goes inward comes back as it was written.
#include "daemon/translate/cel.hpp"

#include "tests/fuzz/invariant.hpp"
#include "tests/fuzz/tenant.hpp"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zoo::translate;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto in = cel_in(fuzz_tenant(), text);
  invariant(in.size() <= text.size() * 40 + 64, "bounded", in);
  // What says the prefix itself may lose it.
  if (text.find("abc123") == std::string_view::npos)
    invariant(cel_out(fuzz_tenant(), in) == text, "there and back", in);
  static_cast<void>(cel_out(fuzz_tenant(), text));
  return 0;
}
