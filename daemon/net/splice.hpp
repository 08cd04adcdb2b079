// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/file.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/net/socket.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace zoo::net {

/// Two sockets whose bytes go from each to the other, unread, until both ways have ended or a side
/// is gone. Half-closed ways stay half-closed. On one loop.
class Splice final : public std::enable_shared_from_this<Splice> {
public:
  struct Counters {
    std::atomic<std::uint64_t>& inward;  ///< from the client
    std::atomic<std::uint64_t>& outward; ///< to the client
  };
  using Clock = std::chrono::steady_clock;

  /// `counters` outlive it. `over` is called once, perhaps from inside start(); nothing comes after
  /// it, and who has the splice may drop it there.
  Splice(Loop& loop, Counters counters, std::function<void()> over);
  /// Both are connected.
  void start(file::Fd client, file::Fd server);
  void close(); ///< silently
  Clock::time_point last_moved() const { return last_moved_; }

  static constexpr std::size_t k_scratch = 64 * 1024; ///< read at a time; held at most, each way

private:
  struct Side final : SocketHandler {
    Side(Loop& loop, Splice& owner) : splice(owner), socket(loop, *this) {}
    void on_ready() override { splice.pass(); }
    Splice& splice;
    Socket socket;
  };
  struct Way {
    std::string pending;
    bool ended = false; ///< the side it comes from sends no more
    bool shut = false;  ///< and the other one was told
  };
  void pass();
  bool move(Socket& from, Socket& to, Way& way, std::atomic<std::uint64_t>& counter);
  void end();

  Loop& loop_;
  Counters counters_;
  std::function<void()> over_; ///< null: it is over
  Side client_, server_;
  Way inward_, outward_;
  bool posted_ = false;
  Clock::time_point last_moved_ = Clock::now();
};

/// Asks the kernel to notice a peer that is gone, within two minutes, and to send small pieces at
/// once.
void keep_alive(int socket);

/// 64 KiB of the thread's, for bytes that do not stay.
char* scratch();

} // namespace zoo::net
