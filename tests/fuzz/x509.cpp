// SPDX-License-Identifier: Apache-2.0
// Certificates and signing requests from strangers: names that are told hold no control characters.
#include "common/crypto/certificate.hpp"
#include "common/crypto/digest.hpp"
#include "common/crypto/signing_request.hpp"
#include "tests/fuzz/invariant.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace {

void plain(const std::string& name) {
  invariant(std::none_of(name.begin(), name.end(),
                         [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }),
            "a name without control characters", name);
}

void plain(const zoo::Result<std::vector<std::string>>& names) {
  if (!names) return;
  for (const auto& name : *names)
    plain(name);
}

void look(const zoo::Result<zoo::crypto::Certificate>& certificate) {
  if (!certificate) return;
  if (const auto name = certificate->common_name()) plain(*name);
  plain(certificate->organizations());
  plain(certificate->organizational_units());
  plain(certificate->uri_sans());
  plain(certificate->dns_sans());
  static_cast<void>(certificate->ip_sans());
  static_cast<void>(certificate->is_ca());
  static_cast<void>(certificate->issued_by(*certificate));
  const auto again = zoo::crypto::Certificate::from_pem(certificate->to_pem());
  invariant(again.has_value() && again->der() == certificate->der(), "PEM there and back");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zoo::crypto;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  look(Certificate::from_der(text));
  look(Certificate::from_pem(text));
  static_cast<void>(Certificate::bundle_from_pem(text));
  const auto pem = [&](const char* what) {
    auto encoded = base64_encode(text);
    for (std::size_t at = 64; at < encoded.size(); at += 65)
      encoded.insert(at, "\n");
    return std::string("-----BEGIN ") + what + "-----\n" + encoded + "\n-----END " + what +
           "-----\n";
  };
  for (const auto& request : {std::string(text), pem("CERTIFICATE REQUEST")}) {
    const auto read = SigningRequest::from_pem(request);
    if (!read) continue;
    plain(read->common_name());
    for (const auto& organization : read->organizations())
      plain(organization);
  }
  return 0;
}
