// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/authz/rule.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace zoo::net {
class Loop;
}

namespace zoo::access {

/// Something that is to be created upstream, in upstream's names.
struct QuotaAsk {
  std::string group, resource, space;
  std::string name; ///< "" until upstream makes one up
  std::string body; ///< the object, as the client has sent it
  bool dry_run = false;
  /// Whose right to create it is looked at first, so that nobody learns by a refusal what others
  /// use; null: he has it.
  const authz::User* user = nullptr;
};

/// Asked at zood's own doors before something is created, where upstream does not ask zood itself.
/// Any thread; never blocks.
class QuotaGate {
public:
  /// For as long as whatever was let in is on its way.
  class Pass {
  public:
    virtual ~Pass() = default;
  };
  virtual ~QuotaGate() = default;
  /// Does anybody have to be asked about this namespace?
  virtual bool concerns(std::string_view space) const = 0;
  /// `done` comes once, on `loop`, never from inside this call: with why it is refused, or "".
  virtual std::unique_ptr<Pass> ask(const QuotaAsk& ask, net::Loop& loop,
                                    std::function<void(const std::string& refusal)> done) const = 0;
};

} // namespace zoo::access
