// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/crypto/issue.hpp"
#include "common/crypto/key.hpp"
#include "daemon/accounts/front_proxy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <string>

/// Authorities, the certificates of front proxies, and the ConfigMap that tells of them.
namespace zoo::accounts::test {

template <class T>
T must(Result<T> result) {
  if (!result) FAIL(result.error().text());
  return *std::move(result);
}

struct Authority {
  crypto::PrivateKey key = must(crypto::PrivateKey::generate_p256());
  crypto::Certificate certificate;
  explicit Authority(const std::string& name)
      : certificate(must(crypto::make_ca(key, name, std::chrono::hours(1)))) {}

  crypto::Certificate issue(const std::string& name) const {
    crypto::CertificateRequest request;
    request.common_name = name;
    request.validity = std::chrono::minutes(30);
    request.client = true;
    const auto own = must(crypto::PrivateKey::generate_p256());
    return must(crypto::issue(certificate, key, own, request));
  }
};

/// A connection whose certificate the listener has verified, or has not.
inline http::ConnectionInfo shows(const crypto::Certificate& certificate, bool verified = true) {
  http::ConnectionInfo out;
  out.peer = "192.0.2.1:5000";
  out.peer_certificate_der = certificate.der();
  out.peer_certificate_verified = verified;
  return out;
}

inline nlohmann::json config_map(const std::string& ca_pem,
                                 const std::string& allowed = R"(["front-proxy"])") {
  return {{"metadata", {{"name", k_authentication_map}}},
          {"data",
           {{"requestheader-client-ca-file", ca_pem},
            {"requestheader-allowed-names", allowed},
            {"requestheader-username-headers", R"(["X-Remote-User"])"},
            {"requestheader-uid-headers", R"(["X-Remote-Uid"])"},
            {"requestheader-group-headers", R"(["X-Remote-Group"])"},
            {"requestheader-extra-headers-prefix", R"(["X-Remote-Extra-"])"}}}};
}

inline FrontProxyTerms terms_of(const nlohmann::json& map) {
  return must(read_front_proxy_terms(map.dump()));
}

} // namespace zoo::accounts::test
