// SPDX-License-Identifier: Apache-2.0
// Any CEL expression, any pattern and any text for people: what goes inward comes back as it was
// written.
#include "daemon/translate/cel.hpp"

#include "daemon/translate/pattern.hpp"
#include "tests/fuzz/invariant.hpp"
#include "tests/fuzz/tenant.hpp"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zoo::translate;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // What says the prefix itself may lose it.
  const bool plain = text.find("abc123") == std::string_view::npos;
  for (const auto place : {CelPlace::admission, CelPlace::object, CelPlace::object_optional_old,
                           CelPlace::api_version, CelPlace::api_version_optional_old}) {
    const auto in = cel_in(fuzz_tenant(), text, place);
    invariant(in.size() <= text.size() * 40 + 64, "bounded", in);
    if (plain) invariant(cel_out(fuzz_tenant(), in, place) == text, "there and back", in);
    static_cast<void>(cel_out(fuzz_tenant(), text, place));
  }
  static_cast<void>(cel_refusal(text, true));
  static_cast<void>(cel_text_out(fuzz_tenant(), text));
  const auto& prefix = fuzz_tenant().prefix();
  if (const auto pattern = pattern_in(prefix, text))
    invariant(pattern_out(prefix, *pattern) == text, "a pattern there and back", *pattern);
  static_cast<void>(pattern_out(prefix, text));
  return 0;
}
