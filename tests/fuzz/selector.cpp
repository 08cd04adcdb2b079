// SPDX-License-Identifier: Apache-2.0
// Any selector: written and read again it is the same; what goes inward is a selector still and,
// over namespaces, asks for the tenant's label.
#include "daemon/translate/selector.hpp"

#include "tests/fuzz/invariant.hpp"
#include "tests/fuzz/tenant.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zoo::translate;
  if (size < 1) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  constexpr std::array scopes = {
      SelectorScope{"", "pods", true, "team"},
      SelectorScope{"", "pods", true, ""},
      SelectorScope{"", "namespaces", false, ""},
      SelectorScope{"", "events", true, "team"},
      SelectorScope{"events.k8s.io", "events", true, ""},
      SelectorScope{"storage.k8s.io", "storageclasses", false, ""},
      SelectorScope{"certificates.k8s.io", "certificatesigningrequests", false, ""},
  };
  const auto& scope = scopes[data[0] % scopes.size()];
  if (const auto terms = parse_field_selector(text)) {
    const auto written = serialize_field_selector(*terms);
    const auto again = parse_field_selector(written);
    invariant(again.has_value() && *again == *terms, "fields there and back", written);
    if (const auto in = field_selector_in(fuzz_tenant(), scope, text)) {
      const auto inward = parse_field_selector(*in);
      invariant(inward.has_value(), "inward is a selector", *in);
      for (const auto& term : *inward) {
        if (scope.namespaced && term.key == "metadata.namespace" && !term.value.empty())
          invariant(term.value.starts_with("abc123-"), "a namespace is the tenant's", *in);
      }
      invariant(field_selector_out(fuzz_tenant(), scope, *in).has_value(), "and can be shown", *in);
    }
  }
  if (const auto requirements = parse_label_selector(text)) {
    const auto written = serialize_label_selector(*requirements);
    const auto again = parse_label_selector(written);
    invariant(again.has_value() && *again == *requirements, "labels there and back", written);
    if (const auto in = label_selector_in(fuzz_tenant(), scope, text)) {
      const auto inward = parse_label_selector(*in);
      invariant(inward.has_value(), "inward is a selector", *in);
      const auto fenced = std::any_of(inward->begin(), inward->end(), [](const auto& each) {
        return each.key == k_tenant_label && each.values == std::vector<std::string>{"abc123"};
      });
      if (scope.resource == "namespaces") invariant(fenced, "with the tenant's label", *in);
      invariant(label_selector_out(fuzz_tenant(), scope, *in).has_value(), "and can be shown", *in);
    }
  }
  return 0;
}
