// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "test_pki.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace zoo::test {

/// A server that does exactly what a test's script says, one thread a connection, blocking.
class ScriptedServer {
public:
  class Connection {
  public:
    virtual ~Connection() = default;
    virtual std::string read_head() = 0;                   ///< to the empty line; "" at the end
    virtual std::string read(std::size_t count) = 0;       ///< exactly, or less at the end
    virtual bool write(std::string_view bytes) = 0;        ///< false: the client has gone
    virtual void write_slowly(std::string_view bytes) = 0; ///< byte by byte
    virtual void end() = 0;                                ///< orderly: close_notify, FIN
    virtual void cut() = 0;                                ///< FIN alone
    virtual void abort() = 0;                              ///< RST
  };
  /// `number` counts the connections from 0. The connection is closed in order at its end.
  using Script = std::function<void(Connection&, int number)>;

  /// `identity` empty: plain TCP.
  ScriptedServer(const Identity& identity, Script script);
  ~ScriptedServer(); ///< cuts what is open and joins
  int port() const { return port_; }
  int connections() const { return count_; }

private:
  void accept();
  struct Tls;
  std::unique_ptr<Tls> tls_;
  Script script_;
  int listening_ = -1;
  int port_ = 0;
  std::atomic<int> count_{0};
  std::mutex mutex_;
  std::vector<int> open_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

} // namespace zoo::test
