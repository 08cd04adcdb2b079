// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/aead.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace zoo;
using namespace zoo::crypto;

namespace {

Sealer sealer(char fill = 'k') { return Sealer(Secret(std::string(32, fill))); }

} // namespace

TEST_CASE("what was sealed opens with the same key and the same associated text") {
  const auto one = sealer();
  for (const auto& plain : {std::string(), std::string("x"), std::string(100'000, 'p')}) {
    const auto sealed = one.seal(plain, "tenant foofoo");
    CHECK(sealed.size() == plain.size() + 28);
    CHECK(sealer().open(sealed, "tenant foofoo")->view() == plain);
  }
}

TEST_CASE("sealing the same text twice gives different texts") {
  const auto one = sealer();
  CHECK(one.seal("a", "") != one.seal("a", ""));
}

TEST_CASE("nothing else opens") {
  const auto one = sealer();
  const auto sealed = one.seal("plain", "a");
  CHECK(one.open(sealed, "b").error().code() == Code::invalid);
  CHECK(sealer('x').open(sealed, "a").error().code() == Code::invalid);
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    auto damaged = sealed;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    CHECK_FALSE(one.open(damaged, "a"));
    CHECK_FALSE(one.open(std::string_view(sealed).substr(0, i), "a"));
  }
  CHECK_FALSE(one.open(sealed + "x", "a"));
}

TEST_CASE("a key of another size is a bug") {
  CHECK_THROWS_AS(Sealer(Secret::copy_of("short")), std::invalid_argument);
}
