// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/file.hpp"
#include "daemon/net/loop.hpp"

#include <cstddef>
#include <cstdint>

namespace zoo::net {

/// Hears that a socket has become ready for something, on its loop's thread, never from inside a
/// call to it. May destroy it.
class SocketHandler {
public:
  virtual ~SocketHandler() = default;
  virtual void on_ready() = 0;
};

/// A non-blocking socket on a loop, and what it is ready for. epoll(7) tells of changes only
/// (EPOLLET); here they are kept until a system call has shown that they are used up, so that
/// neither waiting for a socket nor asking one that has nothing costs a system call. Loop thread
/// only, construction and open() excepted while nothing runs there.
class Socket {
public:
  Socket(Loop& loop, SocketHandler& handler) : loop_(loop), handler_(handler) {}
  ~Socket() { close(); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  /// Takes it; one that connects after connect(2). False, with errno: the kernel watches no more.
  bool open(file::Fd socket);
  void close();
  file::Fd take(); ///< close(), but the descriptor goes on with who takes it
  /// The peer sends no more; what it sent before may still be there.
  bool ended() const { return ended_; }
  bool is_open() const { return static_cast<bool>(fd_); }
  int number() const { return fd_.get(); }

  bool readable() const { return readable_; }
  bool writable() const { return writable_; }

  /// False: what comes is no change that wakes the loop; an end is. True, after that: what has come
  /// is told in the next turn. Either way it is told once more that it is writable, if it is.
  void hear(bool what_comes);

  /// It is told that something has come when there is so much of it, or the end (SO_RCVLOWAT).
  void wake_at(int bytes);
  void look() { readable_ = true; } ///< there may be less than that

  /// As recv(2), send(2) and accept(2), without EINTR and SIGPIPE; EAGAIN at once if it is not
  /// ready.
  std::ptrdiff_t receive(char* bytes, std::size_t size);
  std::ptrdiff_t send(const char* bytes, std::size_t size);
  file::Fd accept();
  /// Takes what has come and forgets it; `scratch` is overwritten. False: the peer has gone.
  bool discard(char* scratch, std::size_t size);
  /// The peer has gone, and nothing that it sent is left. Takes nothing.
  bool gone() const;
  /// TLS takes no more than this from it until the next call, be it that none of it is data.
  void allow(std::size_t bytes) { allowance_ = bytes; }
  std::size_t allowance() const { return allowance_; }
  void spend(std::size_t bytes) { allowance_ -= bytes; }
  /// More is sent at once: the kernel may wait for it, so that a burst of TLS records leaves in
  /// segments as large as possible and wakes the peer once (MSG_MORE).
  void set_more(bool more) { more_ = more; }

private:
  friend class Loop;
  static constexpr std::uint32_t k_nowhere = 0xffffffff;
  void announce(std::uint32_t events);
  bool watch(int how, int fd);

  Loop& loop_;
  SocketHandler& handler_;
  file::Fd fd_;
  std::uint32_t slot_ = k_nowhere;
  std::size_t allowance_ = 0;
  bool readable_ = false;
  bool writable_ = false;
  bool ended_ = false; ///< the peer sends no more: a short read is not the last one
  bool more_ = false;
  bool hears_ = true;
};

} // namespace zoo::net
