// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/tls.hpp"
#include "test_pki.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using namespace zoo::net;

TEST_CASE("what is wrong with a listener's certificates is said") {
  const test::Pki pki("ca");
  const auto one = pki.issue("one");
  const auto two = pki.issue("two");
  const auto code = [](const TlsServerOptions& options) {
    const auto made = TlsServerContext::create(options);
    REQUIRE_FALSE(made);
    CHECK(made.error().code() == Code::invalid);
    return made.error().message();
  };
  CHECK(TlsServerContext::create({one.certificate, Secret::copy_of(one.key), pki.ca()}));
  CHECK(code({"nothing", Secret::copy_of(one.key), ""}).starts_with("the certificate is not PEM"));
  CHECK(code({one.certificate, Secret::copy_of("nothing"), ""}) ==
        "the private key is not PEM without a password");
  CHECK(code({one.certificate, Secret::copy_of(two.key), ""})
            .starts_with("the private key is not the certificate's"));
  CHECK(code({one.certificate, Secret::copy_of(one.key), "nothing"}) ==
        "the client authorities hold no PEM certificate");
  auto broken = pki.ca() + pki.ca();
  broken[pki.ca().size() + 60] = '!';
  CHECK(code({one.certificate, Secret::copy_of(one.key), broken})
            .starts_with("certificate 2 of the client authorities is broken"));
}

TEST_CASE("a client needs authorities it can read and a name to check") {
  CHECK_FALSE(TlsClientContext::create({"nothing", "", {}, "localhost", "http/1.1"}));
  CHECK_FALSE(TlsClientContext::create({"", "", {}, "", "http/1.1"}));
  CHECK(TlsClientContext::create({test::Pki("ca").ca(), "", {}, "::1", "http/1.1"}));
}
