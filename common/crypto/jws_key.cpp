// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/jws_key.hpp"

#include "common/base/deleter.hpp"
#include "common/crypto/openssl.hpp"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <array>
#include <climits>
#include <string>

namespace zoo::crypto {
namespace {

using Builder = std::unique_ptr<OSSL_PARAM_BLD, Deleter<OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, Deleter<OSSL_PARAM_free>>;
using Context = std::unique_ptr<EVP_PKEY_CTX, Deleter<EVP_PKEY_CTX_free>>;
using Digest = std::unique_ptr<EVP_MD_CTX, Deleter<EVP_MD_CTX_free>>;
using Number = std::unique_ptr<BIGNUM, Deleter<BN_free>>;
using Signature = std::unique_ptr<ECDSA_SIG, Deleter<ECDSA_SIG_free>>;

constexpr std::size_t k_max_number = 2048; ///< bytes: 16,384 bits

struct Curve {
  std::string_view name, algorithm;
  std::size_t field; ///< bytes
};
constexpr std::array<Curve, 3> k_curves{
    {{"P-256", "ES256", 32}, {"P-384", "ES384", 48}, {"P-521", "ES512", 66}}};

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Number number(std::string_view big_endian) {
  return Number(BN_bin2bn(bytes(big_endian), static_cast<int>(big_endian.size()), nullptr));
}

/// "RS256" -> SHA-256; null for what no key here takes.
const EVP_MD* digest_of(std::string_view algorithm) {
  if (algorithm.size() != 5) return nullptr;
  const auto bits = algorithm.substr(2);
  return bits == "256"   ? EVP_sha256()
         : bits == "384" ? EVP_sha384()
         : bits == "512" ? EVP_sha512()
                         : nullptr;
}

EVP_PKEY* make(const char* type, OSSL_PARAM_BLD* builder) {
  const Params params(OSSL_PARAM_BLD_to_param(builder));
  const Context context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) != 1)
    return nullptr;
  return key;
}

/// RFC 7518 3.4: both numbers, one behind the other; OpenSSL wants them as DER.
std::string der_of(std::string_view signature, std::size_t field) {
  if (signature.size() != 2 * field) return {};
  auto r = number(signature.substr(0, field)), s = number(signature.substr(field));
  const Signature both(ECDSA_SIG_new());
  if (!r || !s || !both || ECDSA_SIG_set0(both.get(), r.get(), s.get()) != 1) return {};
  static_cast<void>(r.release()), static_cast<void>(s.release()); // they are `both`'s now
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(both.get(), &der);
  if (size <= 0) return {};
  std::string out(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return out;
}

} // namespace

void JwsKey::Free::operator()(evp_pkey_st* key) const noexcept { EVP_PKEY_free(key); }

JwsKey::JwsKey(JwsKey&&) noexcept = default;
JwsKey& JwsKey::operator=(JwsKey&&) noexcept = default;
JwsKey::~JwsKey() = default;

Result<JwsKey> JwsKey::rsa(std::string_view modulus, std::string_view exponent) {
  if (modulus.size() > k_max_number || exponent.empty() || exponent.size() > 8)
    return fail(Code::invalid, "an RSA key of these lengths is not taken");
  const auto n = number(modulus), e = number(exponent);
  const Builder builder(OSSL_PARAM_BLD_new());
  EVP_PKEY* key = nullptr;
  if (n && e && builder &&
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) == 1 &&
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) == 1)
    key = make("RSA", builder.get());
  if (key == nullptr) return fail(openssl_error(Code::invalid, "read an RSA key"));
  return JwsKey(key, 0);
}

Result<JwsKey> JwsKey::ec(std::string_view curve, std::string_view x, std::string_view y) {
  for (const auto& each : k_curves) {
    if (each.name != curve) continue;
    if (x.size() != each.field || y.size() != each.field)
      return fail(Code::invalid, "coordinates of {} have {} bytes", curve, each.field);
    const auto point = std::string(1, '\x04') + std::string(x) + std::string(y);
    const Builder builder(OSSL_PARAM_BLD_new());
    EVP_PKEY* key = nullptr;
    if (builder &&
        OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, each.name.data(),
                                        each.name.size()) == 1 &&
        OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                         point.size()) == 1)
      key = make("EC", builder.get());
    if (key == nullptr) return fail(openssl_error(Code::invalid, "read an elliptic curve's key"));
    return JwsKey(key, each.field);
  }
  return fail(Code::invalid, "a curve is P-256, P-384 or P-521");
}

bool JwsKey::takes(std::string_view algorithm) const {
  if (field_ == 0) return algorithm.starts_with("RS") && digest_of(algorithm) != nullptr;
  for (const auto& each : k_curves) {
    if (each.field == field_) return each.algorithm == algorithm;
  }
  return false;
}

bool JwsKey::signed_by(std::string_view algorithm, std::string_view text,
                       std::string_view signature) const {
  if (!takes(algorithm)) return false;
  const auto der = field_ == 0 ? std::string(signature) : der_of(signature, field_);
  const Digest context(EVP_MD_CTX_new());
  const bool good =
      context && !der.empty() &&
      EVP_DigestVerifyInit(context.get(), nullptr, digest_of(algorithm), nullptr, key_.get()) ==
          1 &&
      EVP_DigestVerify(context.get(), bytes(der), der.size(), bytes(text), text.size()) == 1;
  clear_openssl_errors();
  return good;
}

} // namespace zoo::crypto
