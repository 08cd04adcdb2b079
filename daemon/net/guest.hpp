// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/file.hpp"
#include "daemon/net/porter.hpp"
#include "daemon/net/proxy_reader.hpp"
#include "daemon/net/socket.hpp"
#include "daemon/net/splice.hpp"
#include "daemon/net/tls.hpp"
#include "daemon/net/visitor.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace zoo::net {

struct LoopShare;

/// A connection before it is known whose it is, and while its bytes are handed through. Until the
/// porter has claimed it nothing is taken out of its socket, so that the listener serves it as any
/// other. On one loop; destroyed a moment after die().
class Guest final : public Visitor,
                    private SocketHandler,
                    public std::enable_shared_from_this<Guest> {
public:
  /// `name`: for whom it is, whatever it says first; "": the server name of its ClientHello.
  Guest(LoopShare& share, std::shared_ptr<Porter> porter, std::string name,
        std::shared_ptr<TlsServerContext> tls);
  void start(file::Fd socket) override;
  void die() override;
  /// The porter has claimed it, and its bytes are not handed through: not yet, or never.
  bool waits() const override {
    return stage_ == Stage::waiting || stage_ == Stage::connecting || stage_ == Stage::refusing;
  }

  static constexpr std::chrono::milliseconds k_hold{9'000};

private:
  enum class Stage { looking, waiting, connecting, passing, refusing, dead };
  /// Hears of the server's socket for the guest.
  struct Server final : SocketHandler {
    explicit Server(Guest& owner) : guest(owner) {}
    void on_ready() override { guest.on_server_ready(); }
    Guest& guest;
  };
  void on_ready() override;
  void on_server_ready();
  void begin(file::Fd socket); ///< what comes is the client's own
  void look();
  void claim(const std::string& name);
  void decided(const Porter::Decision& decision);
  void refuse();

  LoopShare& share_;
  const std::shared_ptr<Porter> porter_;
  const std::string name_;
  const std::shared_ptr<TlsServerContext> tls_;
  Stage stage_ = Stage::looking;
  std::unique_ptr<ProxyReader> proxy_; ///< of a load balancer's connection
  std::string client_name_;            ///< as the PROXY header has it; "": there was none
  Socket client_;
  Server hears_;
  Socket server_;
  Timer timer_;
  std::size_t looked_at_ = 0;      ///< bytes that were there when it was looked at last
  std::shared_ptr<Splice> splice_; ///< once it passes
  std::shared_ptr<void> admitted_; ///< of the porter's
};

} // namespace zoo::net
