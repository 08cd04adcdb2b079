// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/transport.hpp"

#include "daemon/http/byte_queue.hpp"
#include "daemon/net/address.hpp"
#include "daemon/net/openssl.hpp"
#include "daemon/net/socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <system_error>

namespace zoo::net {
namespace {

constexpr std::size_t k_read_size = 32 * 1024;
constexpr std::size_t k_record = 16 * 1024; // RFC 8446 section 5.1: the largest
constexpr std::size_t k_handshake_turn = 64 * 1024;
constexpr int k_unsent = 256 * 1024;              // that the kernel takes ahead of what it sends
constexpr int k_gather = 64 * 1024;               // bytes that are worth a turn of the loop
constexpr std::size_t k_gather_least = 16 * 1024; // or what came within this time
constexpr std::chrono::microseconds k_gather_time{500};
constexpr std::size_t k_read_turn = 256 * 1024; // then the loop's other connections have theirs

std::string reason(int error) { return std::generic_category().message(error); }

void set_option(int socket, int level, int name, int value) {
  ::setsockopt(socket, level, name, &value, sizeof(value));
}

/// Small messages leave at once; a peer that is gone is noticed in about half a minute.
void tune_tcp(int socket) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 15);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

/// What SSL_get_error() looks at must be of the call that follows. To clear a queue that is empty
/// costs a walk over all of it.
void forget_errors() {
  if (ERR_peek_error() != 0) ERR_clear_error();
}

/// What a client does not read waits where it is counted, not in the kernel.
void bound_unsent(int socket) { set_option(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, k_unsent); }

} // namespace

/// Kept alive by what is on the stack or posted; `handler` is null once the Transport is gone.
struct Transport::Impl : SocketHandler, std::enable_shared_from_this<Transport::Impl> {
  Impl(Loop& owner, TransportHandler& listener)
      : loop(owner), handler(&listener), socket(owner, *this) {}

  struct Step {
    enum Kind { done, again, end, broken } kind = done;
    std::size_t count = 0;
    bool want_write = false;
    std::string why;
  };

  void bind_tls();
  void try_next_address(std::string why);
  void finish_connect();
  void handshake_in_turn();
  void handshake();
  void opened();
  void read_some();
  void flush(bool from_event);
  void shut();
  void retry_read();
  void retry_write();
  void on_ready() override;
  void ready_to_read();
  void ready_to_write();
  void wait_read();
  void wait_write();
  void count_gathered();
  void gather_again();
  void stop_gathering();
  void later(void (Impl::*what)());
  void fail(Error error);
  void fail_later(Error error);
  void close();
  Step tls_step(int result);
  bool holds_bytes() const { return tls && SSL_has_pending(tls.get()) != 0; }
  Step receive(char* bytes, std::size_t size);
  Step send(std::string_view bytes);

  Loop& loop;
  TransportHandler* handler;
  Socket socket;
  std::vector<Address> addresses; ///< to try, the next one last
  std::string target;             ///< for sentences
  SslPtr tls;
  Phase phase = Phase::connecting;
  std::string peer = "unknown";
  http::ByteQueue out;
  bool read_wanted = false, read_ended = false, read_waits = false, reading = false;
  bool read_posted = false, read_wants_write = false, write_waits = false, end_wanted = false,
       shut_down = false;
  std::size_t silent = 0; ///< bytes since the last data
  bool may_gather = false, gathers = false;
  std::size_t gathered = 0;                               ///< bytes since
  std::chrono::steady_clock::time_point gathered_since{}; ///< this, or the timer
  std::optional<Timer> gather_timer;                      ///< once it has gathered
};

void Transport::Impl::later(void (Impl::*what)()) {
  loop.post([self = shared_from_this(), what] {
    if (self->handler != nullptr && self->phase != Phase::closed) ((*self).*what)();
  });
}

void Transport::Impl::close() {
  phase = Phase::closed;
  // Else OpenSSL takes a session that was not closed in order for a bad one and never resumes it;
  // what really fails in the protocol it has marked by itself.
  if (tls) SSL_set_shutdown(tls.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
  tls.reset();
  gather_timer.reset();
  gathers = false;
  socket.close();
}

void Transport::Impl::fail(Error error) {
  if (phase == Phase::closed) return;
  close();
  if (auto* listener = std::exchange(handler, nullptr)) listener->on_failure(std::move(error));
}

void Transport::Impl::fail_later(Error error) {
  loop.post([self = shared_from_this(), error = std::move(error)] { self->fail(error); });
}

void Transport::Impl::on_ready() {
  const auto self = shared_from_this();
  if (write_waits && socket.writable()) ready_to_write();
  if (handler != nullptr && read_waits && socket.readable()) ready_to_read();
}

void Transport::Impl::ready_to_read() {
  read_waits = false;
  if (phase == Phase::handshaking) return handshake_in_turn();
  if (phase != Phase::open) return;
  read_some();
  retry_write();
}

void Transport::Impl::ready_to_write() {
  write_waits = false;
  if (phase == Phase::connecting) return finish_connect();
  if (phase == Phase::handshaking) return handshake_in_turn();
  if (phase != Phase::open) return;
  flush(true);
  retry_read();
}

/// What is ready already is no change of which the socket would tell.
void Transport::Impl::wait_read() {
  if (!std::exchange(read_waits, true) && socket.readable()) later(&Impl::on_ready);
}

void Transport::Impl::wait_write() {
  if (!std::exchange(write_waits, true) && socket.writable()) later(&Impl::on_ready);
}

// ---- opening ----

void Transport::Impl::bind_tls() {
  auto* bio = make_socket_bio(socket);
  SSL_set_bio(tls.get(), bio, bio);
  phase = Phase::handshaking;
}

void Transport::Impl::try_next_address(std::string why) {
  while (!addresses.empty()) {
    const auto address = addresses.back();
    addresses.pop_back();
    file::Fd next(
        ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
    if (next) {
      tune_tcp(next.get());
      set_option(next.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
      peer = address.text();
      const bool begun =
          ::connect(next.get(), address.get(), address.size) == 0 || errno == EINPROGRESS;
      if (begun && socket.open(std::move(next))) return wait_write();
    }
    why = reason(errno);
  }
  fail({Code::unavailable, fmt::format("cannot connect to {}: {}", target, why)});
}

void Transport::Impl::finish_connect() {
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return try_next_address(reason(error));
  if (!tls) return opened();
  bind_tls();
  handshake();
}

/// Clients may come by the hundred at once, and what one costs is a dozen requests of others.
void Transport::Impl::handshake_in_turn() {
  if (SSL_is_server(tls.get()) == 0) return handshake();
  loop.defer([self = shared_from_this()] {
    const bool lives = self->handler != nullptr && self->phase == Phase::handshaking;
    if (lives) self->handshake();
    return lives;
  });
}

void Transport::Impl::handshake() {
  ERR_clear_error();
  socket.allow(k_handshake_turn);
  const auto step = tls_step(SSL_do_handshake(tls.get()));
  switch (step.kind) {
  case Step::done:
    return opened();
  case Step::again:
    return step.want_write ? wait_write() : wait_read();
  case Step::end:
  case Step::broken: {
    auto why = step.why;
    if (const auto verdict = SSL_get_verify_result(tls.get());
        SSL_is_server(tls.get()) == 0 && verdict != X509_V_OK)
      why = X509_verify_cert_error_string(verdict);
    return fail({Code::unavailable, fmt::format("TLS handshake with {} failed: {}",
                                                target.empty() ? peer : target, why)});
  }
  }
}

void Transport::Impl::opened() {
  phase = Phase::open;
  const auto self = shared_from_this();
  handler->on_open();
  if (handler == nullptr || phase != Phase::open) return;
  flush(false);
  if (read_wanted && !read_posted) read_some();
}

// ---- bytes ----

Transport::Impl::Step Transport::Impl::tls_step(int result) {
  if (result > 0) return {Step::done, static_cast<std::size_t>(result), false, ""};
  const int system = errno;
  switch (SSL_get_error(tls.get(), result)) {
  case SSL_ERROR_WANT_READ:
    return {Step::again, 0, false, ""};
  case SSL_ERROR_WANT_WRITE:
    return {Step::again, 0, true, ""};
  case SSL_ERROR_ZERO_RETURN:
    return {Step::end, 0, false, "it closed the connection"};
  case SSL_ERROR_SYSCALL:
    ERR_clear_error();
    return {Step::broken, 0, false,
            result == 0 || system == 0 ? "it closed the connection abruptly" : reason(system)};
  default:
    return {Step::broken, 0, false, openssl_reason()};
  }
}

Transport::Impl::Step Transport::Impl::receive(char* bytes, std::size_t size) {
  if (tls) {
    forget_errors();
    errno = 0;
    socket.allow(k_read_size);
    auto step = tls_step(SSL_read(tls.get(), bytes, static_cast<int>(size)));
    // OpenSSL goes through records without data, KeyUpdates say, as long as there are any.
    silent = step.kind == Step::done ? 0 : silent + k_read_size - socket.allowance();
    if (silent > k_most_silent)
      return {Step::broken, 0, false, "it sends TLS records without data"};
    return step;
  }
  const auto count = socket.receive(bytes, size);
  if (count > 0) return {Step::done, static_cast<std::size_t>(count), false, ""};
  if (count == 0) return {Step::end, 0, false, ""};
  if (errno == EAGAIN) return {Step::again, 0, false, ""};
  return {Step::broken, 0, false, reason(errno)};
}

Transport::Impl::Step Transport::Impl::send(std::string_view bytes) {
  if (tls) {
    forget_errors();
    errno = 0;
    const auto size = std::min(bytes.size(), k_record); // a record at a time: which is the last?
    socket.set_more(bytes.size() > size);
    return tls_step(SSL_write(tls.get(), bytes.data(), static_cast<int>(size)));
  }
  const auto count = socket.send(bytes.data(), bytes.size());
  if (count >= 0) return {Step::done, static_cast<std::size_t>(count), false, ""};
  if (errno == EAGAIN) return {Step::again, 0, true, ""};
  return {Step::broken, 0, false, reason(errno)};
}

void Transport::Impl::read_some() {
  static thread_local std::array<char, k_read_size> buffer; // on_read never reads again in itself
  read_posted = false;
  const auto self = shared_from_this();
  std::size_t turn = 0;
  reading = true;
  while (handler != nullptr && phase == Phase::open && read_wanted && !read_ended) {
    if (turn >= k_read_turn) {
      read_posted = true;
      later(&Impl::read_some);
      break;
    }
    if (turn > 0 && !socket.readable() && !holds_bytes()) { // to ask again would be in vain
      wait_read();
      break;
    }
    auto step = receive(buffer.data(), buffer.size());
    if (step.kind == Step::done) {
      turn += step.count;
      gathered += step.count;
      handler->on_read({buffer.data(), step.count});
    } else if (step.kind == Step::again) {
      read_wants_write = step.want_write;
      step.want_write ? wait_write() : wait_read();
      break;
    } else if (step.kind == Step::end) {
      read_ended = true;
      handler->on_read_end();
    } else {
      reading = false;
      return fail({Code::unavailable, fmt::format("the connection to {} broke: {}",
                                                  target.empty() ? peer : target, step.why)});
    }
  }
  reading = false;
  if (may_gather && !gathers && read_wanted && handler != nullptr && phase == Phase::open)
    count_gathered();
}

/// A peer that writes a long answer by four kilobytes would have the loop sleep and wake for each.
void Transport::Impl::count_gathered() {
  const auto now = std::chrono::steady_clock::now();
  const auto passed = now - gathered_since;
  if (passed < k_gather_time) return;
  gathered_since = now;
  if (std::exchange(gathered, 0) <= k_gather_least || passed > 2 * k_gather_time) return;
  gathers = true;
  socket.wake_at(k_gather);
  if (!gather_timer) gather_timer.emplace(loop);
  gather_timer->start(k_gather_time, [this] { gather_again(); });
}

void Transport::Impl::gather_again() {
  const auto self = shared_from_this();
  if (read_waits) socket.look();
  on_ready();
  if (!gathers) return;
  if (std::exchange(gathered, 0) == 0) return stop_gathering();
  gather_timer->start(k_gather_time, [this] { gather_again(); });
}

void Transport::Impl::stop_gathering() {
  if (!std::exchange(gathers, false)) return;
  gather_timer->cancel();
  socket.wake_at(1);
}

void Transport::Impl::flush(bool from_event) {
  const bool had = !out.empty();
  while (!out.empty()) {
    const auto step = send(out.view());
    if (step.kind == Step::done) {
      out.drop(step.count);
    } else if (step.kind == Step::again) {
      return step.want_write ? wait_write() : wait_read();
    } else {
      Error error{Code::unavailable, fmt::format("the connection to {} broke: {}",
                                                 target.empty() ? peer : target, step.why)};
      return from_event ? fail(std::move(error)) : fail_later(std::move(error));
    }
  }
  shut();
  if (from_event && had) handler->on_written();
}

/// TLS may have to write in order to read, and the other way round.
void Transport::Impl::retry_read() {
  if (handler != nullptr && phase == Phase::open && std::exchange(read_wants_write, false))
    read_some();
}

void Transport::Impl::retry_write() {
  if (handler != nullptr && phase == Phase::open && !out.empty() && !write_waits) flush(true);
}

void Transport::Impl::shut() {
  if (!end_wanted || shut_down || !out.empty() || phase != Phase::open) return;
  shut_down = true;
  if (tls) {
    ERR_clear_error();
    SSL_shutdown(tls.get());
    ERR_clear_error();
  }
  ::shutdown(socket.number(), SHUT_WR);
}

// ---- the outside ----

std::unique_ptr<Transport> Transport::accept(Loop& loop, file::Fd accepted,
                                             const TlsServerContext* tls,
                                             TransportHandler& handler) {
  auto impl = std::make_shared<Impl>(loop, handler);
  Address address;
  address.size = sizeof(address.storage);
  if (::getpeername(accepted.get(), address.get(), &address.size) == 0) impl->peer = address.text();
  if (address.family() != AF_UNIX) {
    tune_tcp(accepted.get());
    bound_unsent(accepted.get());
  }
  if (tls != nullptr) impl->tls.reset(tls->new_session());
  if (tls != nullptr && !impl->tls) {
    impl->fail_later({Code::internal, "no memory for a TLS session"});
  } else if (!impl->socket.open(std::move(accepted))) {
    impl->fail_later({Code::internal, reason(errno)});
  } else if (impl->tls) {
    impl->bind_tls();
    impl->wait_read();
  } else {
    impl->later(&Impl::opened);
  }
  return std::unique_ptr<Transport>(new Transport(std::move(impl)));
}

std::unique_ptr<Transport> Transport::connect(Loop& loop, std::string host, std::uint16_t port,
                                              const TlsClientContext* tls,
                                              TransportHandler& handler) {
  auto impl = std::make_shared<Impl>(loop, handler);
  impl->target = fmt::format("{}:{}", host, port);
  if (tls != nullptr) { // bound to its socket when there is one
    impl->tls.reset(tls->new_session());
    if (!impl->tls) {
      impl->fail_later({Code::internal, "no memory for a TLS session"});
      return std::unique_ptr<Transport>(new Transport(std::move(impl)));
    }
  }
  const auto begin = [impl](std::vector<Address> found) {
    if (impl->handler == nullptr || impl->phase == Phase::closed) return;
    impl->addresses.assign(found.rbegin(), found.rend());
    impl->try_next_address(found.empty() ? "no such host" : "");
  };
  if (auto numeric = numeric_address(host, port); !numeric.empty()) {
    loop.post([begin, numeric] { begin(numeric); });
  } else {
    loop.resolve(std::move(host), port, begin);
  }
  return std::unique_ptr<Transport>(new Transport(std::move(impl)));
}

Transport::~Transport() {
  impl_->handler = nullptr;
  impl_->close();
}

void Transport::deafen() {
  read(false);
  if (impl_->phase == Phase::open) impl_->socket.hear(false);
}

Transport::Phase Transport::phase() const { return impl_->phase; }

void Transport::read(bool wanted) {
  auto& impl = *impl_;
  if (wanted == impl.read_wanted) return;
  impl.read_wanted = wanted;
  if (wanted) impl.socket.hear(true);
  // TLS may hold bytes that the socket will never announce: look before waiting.
  if (!wanted || impl.phase != Phase::open || impl.reading || impl.read_posted) return;
  impl.read_posted = true;
  impl.later(&Impl::read_some);
}

void Transport::gather(bool wanted) {
  auto& impl = *impl_;
  if (std::exchange(impl.may_gather, wanted) == wanted) return;
  impl.gathered = 0;
  impl.gathered_since = std::chrono::steady_clock::now();
  if (!wanted) impl.stop_gathering();
}

void Transport::write(std::string bytes) {
  auto& impl = *impl_;
  if (impl.phase == Phase::closed || impl.end_wanted) return;
  impl.out.push(std::move(bytes));
  if (impl.phase == Phase::open && !impl.write_waits) impl.flush(false);
}

void Transport::write_view(std::string_view bytes) {
  auto& impl = *impl_;
  if (impl.phase == Phase::closed || impl.end_wanted) return;
  while (!bytes.empty() && impl.out.empty() && impl.phase == Phase::open && !impl.write_waits) {
    const auto step = impl.send(bytes);
    if (step.kind != Impl::Step::done) break; // flush() finds the same, and deals with it
    bytes.remove_prefix(step.count);
  }
  if (!bytes.empty()) write(std::string(bytes));
}

std::size_t Transport::unsent() const { return impl_->out.size(); }

void Transport::end_write() {
  impl_->end_wanted = true;
  impl_->shut();
}

void Transport::abort() {
  if (impl_->socket.is_open()) {
    const linger at_once{1, 0};
    ::setsockopt(impl_->socket.number(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  }
  impl_->handler = nullptr;
  impl_->close();
}

bool Transport::quiet(bool ask) const {
  if (impl_->phase != Phase::open || impl_->read_ended) return false;
  if (impl_->socket.readable() || impl_->holds_bytes()) return false;
  if (!ask) return true;
  char byte = 0;
  const auto count = ::recv(impl_->socket.number(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return count < 0 && errno == EAGAIN;
}

std::string Transport::peer() const { return impl_->peer; }

Transport::PeerCredentials Transport::peer_credentials() const {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (impl_->peer != "unix" ||
      ::getsockopt(impl_->socket.number(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return {};
  return {static_cast<int>(credentials.uid), static_cast<int>(credentials.gid), credentials.pid};
}

bool Transport::encrypted() const { return impl_->tls != nullptr; }

std::string Transport::alpn() const {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  if (impl_->tls) SSL_get0_alpn_selected(impl_->tls.get(), &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

std::string Transport::peer_certificate_der() const {
  X509* certificate = impl_->tls ? SSL_get0_peer_certificate(impl_->tls.get()) : nullptr;
  if (certificate == nullptr) return {};
  unsigned char* bytes = nullptr;
  const int size = i2d_X509(certificate, &bytes);
  if (size <= 0) return {};
  std::string der(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return der;
}

bool Transport::peer_certificate_verified() const {
  return impl_->tls && SSL_get0_peer_certificate(impl_->tls.get()) != nullptr &&
         SSL_get_verify_result(impl_->tls.get()) == X509_V_OK;
}

std::string Transport::peer_authority() const {
  if (!peer_certificate_verified()) return {};
  const auto* chain = SSL_get0_verified_chain(impl_->tls.get());
  const int length = chain == nullptr ? 0 : sk_X509_num(chain);
  if (length == 0) return {};
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (X509_digest(sk_X509_value(chain, length - 1), EVP_sha256(), digest.data(), &size) != 1)
    return {};
  return {reinterpret_cast<const char*>(digest.data()), size};
}

bool Transport::session_resumed() const {
  return impl_->tls && SSL_session_reused(impl_->tls.get()) == 1;
}

} // namespace zoo::net
