// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/door_table.hpp"
#include "daemon/net/listener.hpp"
#include "daemon/net/porter.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace zoo::clusters {

/// Sends the connections of virtual clusters on to their API servers, bytes as they are: by server
/// name on zood's own listener, and by direct ports, one a cluster. Names of the domain that are no
/// cluster's are refused. A cluster that sleeps is woken by the first connection; those that come
/// meanwhile wait. claims() and admit() on loops, all else on any thread.
class Door final : public net::Porter {
public:
  struct Parts {
    const PublishedDoors& table;
    std::string domain;                               ///< "vc.zood.internal"
    std::size_t connections = 1'000;                  ///< of a cluster, waiting ones included
    std::function<void(const std::string& key)> wake; ///< must not block
    net::Loops loops;
  };
  explicit Door(Parts parts);

  bool claims(std::string_view server_name) const override;
  std::shared_ptr<void> admit(net::Loop& loop, std::string_view server_name,
                              std::function<void(const Decision&)> decide) override;

  /// The table is another one: those that wait go on, those that may be there no more are cut.
  void changed();
  /// Since when nobody is connected to the cluster: nothing while somebody is.
  std::optional<std::chrono::milliseconds> idle(const std::string& id) const;

  struct Count {
    std::size_t open = 0;
    std::uint64_t accepted = 0, refused = 0;
  };
  std::map<std::string, Count> counts() const; ///< by ID, of those that were asked for

private:
  using Clock = std::chrono::steady_clock;
  struct Guest {
    std::string id, uid;
    std::function<void(const Decision&)> decide;
    bool passed = false;
  };
  /// Of one loop; used on its thread alone.
  struct Share {
    std::unordered_map<std::uint64_t, Guest> guests;
    std::uint64_t next = 0;
  };
  struct Traffic {
    Count count;
    Clock::time_point last = Clock::now(); ///< when the last connection ended
  };
  class Ticket;
  void look(Share& share, std::uint64_t number);
  bool enter(const std::string& id); ///< false: it has as many as it may
  void leave(const std::string& id);

  const Parts parts_;
  const std::string ending_; ///< "." and the domain
  std::map<net::Loop*, std::shared_ptr<Share>> shares_;
  mutable std::mutex mutex_; ///< for a few instructions
  mutable std::map<std::string, Traffic> traffic_;
};

/// The direct ports, opened and closed as the table says. One thread at a time.
class DirectDoors {
public:
  DirectDoors(net::Loops loops, std::string host, net::ListenerLimits limits, std::string domain)
      : loops_(std::move(loops)), host_(std::move(host)), limits_(limits),
        domain_(std::move(domain)) {}
  /// Each door that cannot be opened is logged, and tried again at the next call.
  void follow(const DoorTable& table, const std::shared_ptr<Door>& door);
  void close();
  /// Bytes that were handed through by these, closed ones included.
  net::Listener::Passed passed() const;

private:
  net::Loops loops_;
  std::string host_;
  net::ListenerLimits limits_;
  std::string domain_;
  struct Open {
    std::uint16_t port = 0;
    std::string id;
    std::unique_ptr<net::Listener> listener;
  };
  std::map<std::string, Open> open_; ///< by UID
  net::Listener::Passed closed_;     ///< by those that are closed
};

} // namespace zoo::clusters
