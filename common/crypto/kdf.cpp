// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/kdf.hpp"

#include "common/crypto/openssl.hpp"

#include <openssl/evp.h>

#include <string>

namespace zoo::crypto {

Result<Secret> scrypt(std::string_view passphrase, std::string_view salt, unsigned log_n,
                      std::size_t length) {
  constexpr std::uint64_t k_r = 8, k_p = 1;
  if (log_n < 10 || log_n > 20)
    return fail(Code::invalid, "scrypt with N = 2^{} is not made here: 2^10 to 2^20 are", log_n);
  std::string out(length, '\0');
  const auto n = std::uint64_t{1} << log_n;
  const auto memory = 2 * 128 * k_r * n; // what is needed is a little more than a half of it
  if (EVP_PBE_scrypt(passphrase.data(), passphrase.size(),
                     reinterpret_cast<const unsigned char*>(salt.data()), salt.size(), n, k_r, k_p,
                     memory, reinterpret_cast<unsigned char*>(out.data()), out.size()) != 1)
    return fail(openssl_error(Code::internal, "make a key of a passphrase"));
  return Secret(std::move(out));
}

} // namespace zoo::crypto
