// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/crypto/jws_key.hpp"

#include <map>
#include <string>
#include <string_view>

namespace zoo::upstream {

enum class Signature {
  good,    ///< made with one of upstream's keys; whether the token is good upstream has to say
  none,    ///< it is no JWS: nothing is signed
  forged,  ///< names one of upstream's keys, and was not made with it
  unknown, ///< names a key that upstream does not publish, or an algorithm unknown here
};

/// Public keys by key ID.
using KeySet = std::map<std::string, crypto::JwsKey, std::less<>>;

/// Reads a JSON Web Key Set (RFC 7517 5). Keys that cannot be read, are not for signatures, have no
/// ID or share it are left out. Code::bad_request for what is no set. Pure, any thread.
Result<KeySet> read_key_set(std::string_view json);

/// Holds a JWS in compact serialization (RFC 7515 5.2) against the keys. Pure, any thread.
Signature check_signature(const KeySet& keys, std::string_view token);

} // namespace zoo::upstream
