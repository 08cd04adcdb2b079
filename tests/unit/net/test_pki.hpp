// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace zoo::test {

struct Identity {
  std::string certificate; ///< PEM
  std::string key;         ///< PEM
};

/// A throw-away authority (ECDSA P-256) and what it signs.
class Pki {
public:
  explicit Pki(const std::string& name);
  const std::string& ca() const { return ca_.certificate; }
  /// For 127.0.0.1 and localhost, both uses. `days` below 0: expired.
  Identity issue(const std::string& common_name, int days = 1) const;

private:
  Identity ca_;
};

} // namespace zoo::test
