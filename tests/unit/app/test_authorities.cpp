// SPDX-License-Identifier: Apache-2.0
#include "common/base/file.hpp"
#include "common/crypto/certificate.hpp"
#include "common/crypto/issue.hpp"
#include "common/crypto/key.hpp"
#include "daemon/app/authorities.hpp"
#include "tests/unit/base/temporary_directory.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using namespace std::chrono_literals;
using app::Authorities;

namespace {

template <class T>
T must(Result<T> result) {
  if (!result) FAIL(result.error().text());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

std::string authority(const std::string& name, std::chrono::seconds life = 10h * 24 * 365) {
  const auto key = must(crypto::PrivateKey::generate_p256());
  return must(crypto::make_ca(key, name, life)).to_pem();
}

struct Remembering {
  test::TemporaryDirectory directory;
  std::filesystem::path file = directory.path() / "authorities.pem";
  Authorities::Time now = std::chrono::system_clock::now();
  /// As a zood that has just started.
  std::string bundle(const std::string& trusted) const {
    return must(Authorities(file).bundle(trusted, now));
  }
};

} // namespace

TEST_CASE("an authority that was trusted is trusted for a certificate's life more, across starts") {
  Remembering at;
  const auto old = authority("old"), next = authority("next");
  CHECK(at.bundle(old) == old);
  CHECK(at.bundle(old + next) == old + next);
  CHECK(at.bundle(next) == next + old);
  at.now += Authorities::k_kept - 1h;
  CHECK(at.bundle(next) == next + old);
  at.now += 2h;
  CHECK(at.bundle(next) == next);
}

TEST_CASE("one that comes back is trusted once, and from then on again") {
  Remembering at;
  const auto first = authority("first"), second = authority("second");
  at.bundle(first);
  at.bundle(second);
  CHECK(at.bundle(first) == first + second);
  CHECK(at.bundle(first + first) == first + second);
}

TEST_CASE("one that has ended is not trusted, whatever is remembered") {
  Remembering at;
  const auto brief = authority("brief", 60min), next = authority("next");
  at.bundle(brief);
  at.now += 2h;
  CHECK(at.bundle(next) == next);
}

TEST_CASE("a start that changes nothing writes nothing") {
  Remembering at;
  const auto one = authority("one");
  at.bundle(one);
  const auto written = must(file::read(at.file));
  at.now += 1h;
  at.bundle(one);
  CHECK(must(file::read(at.file)) == written);
  at.now += 48h;
  at.bundle(one);
  CHECK(must(file::read(at.file)) != written);
}

TEST_CASE("what is remembered is bounded, and a broken file is no reason to trust nobody") {
  Remembering at;
  std::string last;
  for (std::size_t i = 0; i < Authorities::k_most + 4; ++i) {
    last = authority("ca-" + std::to_string(i));
    at.bundle(last);
    at.now += 25h;
  }
  CHECK(must(crypto::Certificate::bundle_from_pem(at.bundle(last))).size() == Authorities::k_most);
  must(file::write_secret(at.file, "# trusted until never\n-----BEGIN CERTIFICATE-----\nnone\n"));
  CHECK(at.bundle(last) == last);
  CHECK(!Authorities(at.file).bundle("nothing", at.now));
}
