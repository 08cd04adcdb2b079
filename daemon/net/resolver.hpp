// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/net/address.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace zoo::net {

class Loop;

/// Threads that wait for name servers (getaddrinfo(3)), from the first question on; each has one at
/// a time, and the others wait for their turn. Destroyed before the loops that it answers to; a
/// question that a name server holds up holds up nobody who ends it. Any thread.
class Resolver {
public:
  /// Nothing if there is no such host. On the loop, never after the resolver is gone.
  using Done = std::function<void(std::vector<Address>)>;

  explicit Resolver(std::size_t threads);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  void ask(Loop& loop, std::string host, std::uint16_t port, Done done);

private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace zoo::net
