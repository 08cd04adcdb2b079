// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/listener.hpp"

#include "common/base/log.hpp"
#include "daemon/net/address.hpp"
#include "daemon/net/connection.hpp"
#include "daemon/net/socket.hpp"

#include <grp.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace zoo::net {
namespace {

constexpr int k_backlog = 1024;
constexpr std::size_t k_accept_turn = 64;
constexpr std::chrono::milliseconds k_accept_pause{200}; // after EMFILE and the like
constexpr std::chrono::seconds k_complaint_period{10};

std::string reason(int error) { return std::generic_category().message(error); }

Result<file::Fd> listen_tcp(const std::string& text) {
  ZOO_TRY(auto address, parse_listen_address(text));
  file::Fd socket(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (socket) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (!socket || ::bind(socket.get(), address.get(), address.size) != 0 ||
      ::listen(socket.get(), k_backlog) != 0)
    return fail(Code::io, "cannot listen on {}: {}", text, reason(errno));
  return socket;
}

Result<void> clear_stale_socket(const std::filesystem::path& path, const sockaddr_un& address) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return fail(Code::io, "cannot listen on {}: {}", path.string(), reason(errno));
  }
  if (!S_ISSOCK(status.st_mode))
    return fail(Code::io, "cannot listen on {}: the file exists and is not a socket",
                path.string());
  const file::Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ||
      errno != ECONNREFUSED)
    return fail(Code::io, "cannot listen on {}: another process answers on it", path.string());
  if (::unlink(path.c_str()) != 0)
    return fail(Code::io, "cannot replace {}: {}", path.string(), reason(errno));
  return {};
}

Result<gid_t> group_number(const std::string& name) {
  std::vector<char> buffer(16 * 1024);
  group entry{};
  group* found = nullptr;
  ::getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) return fail(Code::io, "there is no group named {}", name);
  return found->gr_gid;
}

/// No call where the group is right already, as under a unit's Group=: its SystemCallFilter= may
/// refuse chown().
Result<void> give_to_group(const std::filesystem::path& path, const std::string& name, gid_t gid) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) == 0 && status.st_gid == gid) return {};
  if (::lchown(path.c_str(), static_cast<uid_t>(-1), gid) == 0) return {};
  return fail(Code::io, "cannot give {} to group {}: {}: start zood as a member of that group",
              path.string(), name, reason(errno));
}

Result<file::Fd> listen_unix(const std::filesystem::path& path, unsigned mode,
                             const std::string& group) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.native().size() >= sizeof(address.sun_path))
    return fail(Code::io, "cannot listen on {}: a socket's path has at most {} characters",
                path.string(), sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path, path.c_str(), path.native().size());
  ZOO_TRY_VOID(clear_stale_socket(path, address));
  gid_t gid = static_cast<gid_t>(-1);
  if (!group.empty()) {
    ZOO_TRY(gid, group_number(group));
  }
  file::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  // Linux gives the file the socket's own mode (unix(7)): private until its group is set.
  if (!socket || ::fchmod(socket.get(), 0600) != 0 ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return fail(Code::io, "cannot listen on {}: {}", path.string(), reason(errno));
  if (!group.empty()) {
    if (auto given = give_to_group(path, group, gid); !given) {
      ::unlink(path.c_str());
      return fail(std::move(given).error());
    }
  }
  if (::chmod(path.c_str(), mode) != 0 || ::listen(socket.get(), k_backlog) != 0) {
    const int error = errno;
    ::unlink(path.c_str());
    return fail(Code::io, "cannot listen on {}: {}", path.string(), reason(error));
  }
  return socket;
}

} // namespace

bool ListenerLimits::is_balancer(int socket) const {
  return !balancers.empty() && balancers.contain(peer_of(socket));
}

struct Listener::Impl : SocketHandler, std::enable_shared_from_this<Listener::Impl> {
  Impl(Loops owners, file::Fd bound, std::shared_ptr<TlsServerContext> context)
      : loops(std::move(owners)), listening(std::move(bound)), acceptor(*loops.front(), *this),
        pause(*loops.front()), tls(std::move(context)) {}

  static Result<std::shared_ptr<Impl>> of_file(Loops loops, const std::filesystem::path& path,
                                               unsigned mode, const std::string& group);
  void start();
  void on_ready() override;
  void accept_some();
  void hand_over(file::Fd socket);
  void accept_rest();
  void close_acceptor();
  std::size_t total() const {
    std::size_t sum = 0;
    for (const auto& share : shares)
      sum += share->count;
    return sum;
  }

  const Loops loops;
  file::Fd listening; ///< until the first loop has it, as `acceptor`
  Socket acceptor;    ///< first loop's thread
  Timer pause;
  bool waits = false; ///< accept_some() comes by itself
  std::shared_ptr<TlsServerContext> tls;
  std::vector<std::shared_ptr<LoopShare>> shares;
  std::atomic<std::size_t> most{0};
  std::string address;
  std::filesystem::path path; ///< of a Unix socket
  ino_t inode = 0;
  std::chrono::steady_clock::time_point complained;
};

Result<std::shared_ptr<Listener::Impl>> Listener::Impl::of_file(Loops loops,
                                                                const std::filesystem::path& path,
                                                                unsigned mode,
                                                                const std::string& group) {
  ZOO_TRY(auto socket, listen_unix(path, mode, group));
  auto impl = std::make_shared<Impl>(std::move(loops), std::move(socket), nullptr);
  impl->address = path.string();
  impl->path = path;
  struct stat status{};
  if (::lstat(path.c_str(), &status) == 0) impl->inode = status.st_ino;
  return impl;
}

void Listener::Impl::start() {
  if (listening && !acceptor.open(std::move(listening)))
    log::error("net", "cannot accept connections on {}: {}", address, reason(errno));
}

void Listener::Impl::on_ready() {
  if (!waits) accept_some();
}

void Listener::Impl::accept_some() {
  waits = false;
  const auto again = [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->accept_some();
  };
  for (std::size_t turn = 0; turn < k_accept_turn; ++turn) {
    if (auto next = acceptor.accept()) {
      hand_over(std::move(next));
      continue;
    }
    if (errno == EAGAIN) return;
    log::warning("net", "cannot accept connections on {}: {}", address, reason(errno));
    waits = true;
    return pause.start(k_accept_pause, again);
  }
  waits = true;
  loops.front()->post(again); // the loop's other connections have their turn
}

void Listener::Impl::hand_over(file::Fd socket) {
  const auto present = total();
  const bool full = present >= most;
  if (full) {
    const auto now = std::chrono::steady_clock::now();
    if (now - complained > k_complaint_period) {
      complained = now;
      log::warning("net", "{} has {} connections, as many as are allowed: idle ones make room",
                   address, present);
    }
    if (present >= most + k_accept_turn) return; // closes it: the loops are behind
  }
  const auto share = *std::min_element(shares.begin(), shares.end(),
                                       [](auto& a, auto& b) { return a->count < b->count; });
  ++share->count;
  share->loop.post(
      [share, full, context = tls, held = std::make_shared<file::Fd>(std::move(socket))]() mutable {
        share->add(std::move(*held), context, full);
      });
}

/// What the kernel has accepted for us would be reset with the socket that it waits at.
void Listener::Impl::accept_rest() {
  for (int turn = 0; turn < k_backlog; ++turn) {
    acceptor.look();
    auto next = acceptor.is_open() ? acceptor.accept() : file::Fd();
    if (!next) return;
    hand_over(std::move(next));
  }
}

void Listener::Impl::close_acceptor() {
  pause.cancel();
  listening = file::Fd();
  acceptor.close();
}

namespace {

std::string bound_address(int socket, const std::string& fallback) {
  Address address;
  address.size = sizeof(address.storage);
  if (::getsockname(socket, address.get(), &address.size) != 0) return fallback;
  return address.text();
}

} // namespace

Result<std::unique_ptr<Listener>> Listener::tcp(Loops loops, const std::string& address,
                                                std::shared_ptr<TlsServerContext> tls,
                                                ListenerLimits limits, const ServiceFactory& make) {
  ZOO_TRY(auto socket, listen_tcp(address));
  const auto bound = bound_address(socket.get(), address);
  auto impl = std::make_shared<Impl>(std::move(loops), std::move(socket), std::move(tls));
  impl->address = bound;
  return open(std::move(impl), limits, make);
}

Result<std::unique_ptr<Listener>> Listener::passage(Loops loops, const std::string& address,
                                                    ListenerLimits limits,
                                                    std::shared_ptr<Porter> porter,
                                                    const std::string& name) {
  ZOO_TRY(auto socket, listen_tcp(address));
  const auto bound = bound_address(socket.get(), address);
  auto impl = std::make_shared<Impl>(std::move(loops), std::move(socket), nullptr);
  impl->address = bound;
  return open(std::move(impl), limits, [](Loop&) { return nullptr; }, std::move(porter), name);
}

Result<std::unique_ptr<Listener>> Listener::unix(Loops loops, const std::filesystem::path& path,
                                                 unsigned mode, const std::string& group,
                                                 ListenerLimits limits,
                                                 const ServiceFactory& make) {
  ZOO_TRY(auto impl, Impl::of_file(std::move(loops), path, mode, group));
  return open(std::move(impl), limits, make);
}

Result<std::unique_ptr<Listener>> Listener::proxy(Loops loops, const std::filesystem::path& path,
                                                  ListenerLimits limits, std::shared_ptr<Gate> gate,
                                                  const ServiceFactory& make) {
  ZOO_TRY(auto impl, Impl::of_file(std::move(loops), path, 0600, ""));
  return open(std::move(impl), limits, make, {}, {}, gate);
}

std::unique_ptr<Listener> Listener::open(std::shared_ptr<Impl> impl, const ListenerLimits& limits,
                                         const ServiceFactory& make,
                                         const std::shared_ptr<Porter>& porter,
                                         const std::string& only_for,
                                         const std::shared_ptr<Gate>& gate) {
  for (auto* loop : impl->loops) {
    impl->shares.push_back(std::make_shared<LoopShare>(*loop, make(*loop), limits));
    impl->shares.back()->porter = porter;
    impl->shares.back()->only_for = only_for;
    impl->shares.back()->gate = gate;
  }
  impl->most = limits.connections;
  impl->loops.front()->post([impl] { impl->start(); });
  return std::unique_ptr<Listener>(new Listener(std::move(impl)));
}

Listener::~Listener() {
  run_and_wait(*impl_->loops.front(), [this] { impl_->close_acceptor(); });
  // After the acceptor: nothing is handed over any more. Each service goes on its own loop.
  for (const auto& share : impl_->shares)
    run_and_wait(share->loop, [&share] {
      share->on_empty = nullptr;
      share->sweeper.cancel();
      share->deadline_timer.cancel();
      share->leaver.cancel();
      share->cut();
      share->closed = true;
      share->porter.reset();
      share->gate.reset();
      share->service.reset();
    });
  struct stat status{};
  if (!impl_->path.empty() && ::lstat(impl_->path.c_str(), &status) == 0 &&
      status.st_ino == impl_->inode)
    ::unlink(impl_->path.c_str());
}

void Listener::set_porter(std::shared_ptr<Porter> porter) {
  for (const auto& share : impl_->shares)
    run_and_wait(share->loop, [&share, &porter] { share->porter = porter; });
}

Listener::Passed Listener::passed() const {
  Passed out;
  for (const auto& share : impl_->shares) {
    out.inward += share->passed_inward;
    out.outward += share->passed_outward;
  }
  return out;
}

std::string Listener::address() const { return impl_->address; }

std::size_t Listener::connections() const { return impl_->total(); }

Listener::Handshakes Listener::handshakes() const {
  Handshakes out;
  for (const auto& share : impl_->shares) {
    out.full += share->full_handshakes;
    out.resumed += share->resumed_handshakes;
    out.failed += share->failed_handshakes;
  }
  return out;
}

void Listener::stop_accepting() {
  impl_->loops.front()->post([impl = impl_] { impl->close_acceptor(); });
}

void Listener::drain(DrainTimes times, std::function<void()> done) {
  impl_->loops.front()->post([impl = impl_, times, done = std::move(done)] {
    impl->accept_rest();
    impl->close_acceptor();
    // What was handed over before is ahead of these in each loop's queue.
    const auto left = std::make_shared<std::atomic<std::size_t>>(impl->shares.size());
    for (const auto& share : impl->shares) {
      share->loop.post([share, times, left, done, first = impl->loops.front()] {
        if (!share->closed)
          share->drain(times, [left, done, first] {
            if (--*left == 0) first->post(done);
          });
      });
    }
  });
}

void Listener::set_limits(const ListenerLimits& limits) {
  impl_->most = limits.connections;
  for (const auto& share : impl_->shares)
    share->limits.store(std::make_shared<const ListenerLimits>(limits));
}

} // namespace zoo::net
