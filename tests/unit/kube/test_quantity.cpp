// SPDX-License-Identifier: Apache-2.0
#include "common/kube/quantity.hpp"

#include <doctest/doctest.h>

using zoo::kube::Quantity;

namespace {

Quantity parsed(std::string_view text) {
  const auto out = Quantity::parse(text);
  REQUIRE_MESSAGE(out, text);
  return *out;
}

} // namespace

// The right column is what `kubectl get resourcequota -o jsonpath={.spec.hard.cpu}` shows of an
// upstream after the left one was stored.
TEST_CASE("a quantity is written as Kubernetes writes it") {
  const char* rows[][2] = {{"0", "0"},
                           {"-0", "0"},
                           {"1", "1"},
                           {"+1", "1"},
                           {"1.0", "1"},
                           {".5", "500m"},
                           {"5.", "5"},
                           {"1500m", "1500m"},
                           {"1000m", "1"},
                           {"0.001", "1m"},
                           {"1000", "1k"},
                           {"1024", "1024"},
                           {"1000000", "1M"},
                           {"1e3", "1e3"},
                           {"1e0", "1"},
                           {"12e5", "1200e3"},
                           {"1E", "1E"},
                           {"1Ki", "1Ki"},
                           {"1024Ki", "1Mi"},
                           {"0.5Gi", "512Mi"},
                           {"1.5Ki", "1536"},
                           {"0.5Ki", "512"},
                           {"1023Ki", "1023Ki"},
                           {"0.0001Ki", "102400u"},
                           {"1.2Gi", "1288490188800m"},
                           {"100n", "100n"},
                           {"0.1n", "1n"},
                           {"-0.1n", "-1n"},
                           {"1.0000000001", "1000000001n"},
                           {"-1500m", "-1500m"},
                           {"0001", "1"},
                           {"1.00000000000000000000000000000000000000000000000001", "1000000001n"},
                           {"8Ei", "8Ei"}};
  for (const auto& [given, written] : rows) {
    CAPTURE(given);
    CHECK(parsed(given).text() == written);
  }
}

TEST_CASE("what is no quantity is refused with its text") {
  for (const auto* text : {"", "+", ".", "m", "1 ", " 1", "1.2.3", "1K", "1kib", "0x10", "1e",
                           "1e1.5", "1e99999", "e3", "--1", "1mm", "\xff"}) {
    CAPTURE(text);
    const auto out = Quantity::parse(text);
    REQUIRE(!out);
    CHECK(out.error().code() == zoo::Code::invalid);
  }
  CHECK(!Quantity::parse("1e28"));
  CHECK(!Quantity::parse(std::string(100, '9')));
  CHECK(Quantity::parse("1e27"));
}

TEST_CASE("quantities are compared and added by value") {
  CHECK(parsed("1000m") == parsed("1"));
  CHECK(parsed("1Ki") > parsed("1k"));
  CHECK((parsed("100m") + parsed("900m")).text() == "1");
  CHECK((Quantity{} + parsed("1Gi")).text() == "1Gi");
  CHECK((parsed("1Gi") - parsed("1Gi")).zero());
  CHECK((parsed("1") - parsed("2")).negative());
  CHECK(parsed("1100m").rounded_up().text() == "2");
  CHECK(parsed("-1100m").rounded_up().text() == "-2");
  CHECK(parsed("2").rounded_up().text() == "2");
  CHECK(Quantity::of(10).text() == "10");
  CHECK(parsed("1999m").floored(Quantity::of(1)).text() == "1");
  CHECK(parsed("-1").floored(Quantity::of(10)).text() == "-10");
  CHECK(parsed("10").portion(1, 4).text() == "2500m");
  CHECK(parsed("1e27").portion(3, 7) < parsed("1e27").portion(4, 7));
  auto much = parsed("1e27");
  for (int i = 0; i < 100; ++i)
    much += much;
  CHECK(much == parsed("1e27"));
}
