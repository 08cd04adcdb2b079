// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/http/connect_head.hpp"
#include "daemon/net/gate.hpp"
#include "daemon/net/socket.hpp"
#include "daemon/net/splice.hpp"
#include "daemon/net/visitor.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace zoo::net {

struct LoopShare;

/// A connection that begins with CONNECT: its head is read, a Gate judges it, and it is refused in
/// words, served here, or its bytes are handed to the address that was judged. On one loop.
class Errand final : public Visitor,
                     private SocketHandler,
                     public std::enable_shared_from_this<Errand> {
public:
  Errand(LoopShare& share, std::shared_ptr<Gate> gate);
  void start(file::Fd socket) override;
  void die() override;
  bool waits() const override { return stage_ != Stage::passing && stage_ != Stage::dead; }

  static constexpr std::chrono::milliseconds k_head{5'000};    ///< for a whole CONNECT
  static constexpr std::chrono::milliseconds k_judged{30'000}; ///< for the gate to decide
  static constexpr std::chrono::milliseconds k_dial{5'000};    ///< for each address to answer

private:
  enum class Stage { reading, judging, dialling, passing, refusing, dead };
  /// Hears of the server's socket.
  struct Server final : SocketHandler {
    explicit Server(Errand& owner) : errand(owner) {}
    void on_ready() override { errand.on_server_ready(); }
    Errand& errand;
  };
  void on_ready() override;
  void on_server_ready();
  void read();
  void ask();
  void decided(Gate::Decision decision);
  void refuse(int status, const std::string& why);
  void serve(const std::shared_ptr<TlsServerContext>& tls);
  void dial();
  void connected();
  bool agree(); ///< says 200; false: the client takes nothing
  void look_after(std::chrono::milliseconds idle);

  LoopShare& share_;
  const std::shared_ptr<Gate> gate_;
  Stage stage_ = Stage::reading;
  Socket client_;
  Server hears_;
  Socket server_;
  Timer timer_;
  std::string head_bytes_;
  http::ConnectHead head_;
  std::vector<Address> to_;        ///< still to be tried
  std::shared_ptr<void> judged_;   ///< of the gate's
  std::shared_ptr<Splice> splice_; ///< once it passes
};

} // namespace zoo::net
