// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/http_client/scripted_server.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace zoo::test {
namespace {

class PlainConnection : public Connection {
public:
  explicit PlainConnection(int fd) : fd_(fd) {}
  ~PlainConnection() override { ::close(fd_); }
  bool write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const auto n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  std::string read_some() override {
    char block[4096];
    const auto n = ::recv(fd_, block, sizeof block, 0);
    return n <= 0 ? std::string() : std::string(block, static_cast<std::size_t>(n));
  }

private:
  int fd_;
};

} // namespace

std::string Connection::read_request() {
  for (;;) {
    if (const auto end = pending_.find("\r\n\r\n"); end != std::string::npos) {
      std::size_t length = 0;
      if (const auto at = pending_.find("Content-Length: "); at < end) {
        length = std::stoul(pending_.substr(at + 16));
      }
      if (pending_.size() >= end + 4 + length) {
        auto out = pending_.substr(0, end + 4 + length);
        pending_.erase(0, out.size());
        return out;
      }
    }
    const auto more = read_some();
    if (more.empty()) return {};
    pending_ += more;
  }
}

ScriptedServer::ScriptedServer(Script script, std::string unix_path, Wrap wrap)
    : script_(std::move(script)), wrap_(std::move(wrap)) {
  bool ok = ::pipe(wake_) == 0;
  if (unix_path.empty()) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ok = ok && ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
         ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    port_ = ntohs(address.sin_port);
  } else {
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, unix_path.c_str(), sizeof address.sun_path - 1);
    ok = ok && ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  if (!ok || ::listen(listener_, 16) != 0) throw std::runtime_error("cannot listen");
  thread_ = std::thread([this] { run(); });
}

ScriptedServer::~ScriptedServer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (current_ >= 0) ::shutdown(current_, SHUT_RDWR);
  }
  (void)!::write(wake_[1], "x", 1);
  thread_.join();
  for (const int fd : {listener_, wake_[0], wake_[1]})
    ::close(fd);
}

std::string ScriptedServer::url(std::string_view path) const {
  return fmt::format("http://127.0.0.1:{}{}", port_, path);
}

int ScriptedServer::accepted() const {
  const std::lock_guard lock(mutex_);
  return accepted_;
}

void ScriptedServer::run() {
  for (;;) {
    pollfd waiting[2] = {{listener_, POLLIN, 0}, {wake_[0], POLLIN, 0}};
    if (::poll(waiting, 2, -1) < 0) continue;
    if (waiting[1].revents != 0) return;
    const int fd = ::accept(listener_, nullptr, nullptr);
    if (fd < 0) continue;
    {
      const std::lock_guard lock(mutex_);
      ++accepted_;
      current_ = fd;
      if (stopping_) ::shutdown(fd, SHUT_RDWR);
    }
    const auto connection = wrap_ ? wrap_(fd) : std::make_unique<PlainConnection>(fd);
    if (connection) script_(*connection);
    const std::lock_guard lock(mutex_);
    current_ = -1;
  }
}

void Answers::operator()(Connection& connection) {
  for (auto request = connection.read_request(); !request.empty();
       request = connection.read_request()) {
    std::string bytes;
    {
      const std::lock_guard lock(mutex_);
      bytes = answers_[std::min(requests_.size(), answers_.size() - 1)];
      requests_.push_back(std::move(request));
    }
    if (!connection.write(bytes)) return;
  }
}

std::vector<std::string> Answers::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::string answer(std::string_view body, std::string_view status, std::string_view headers) {
  return fmt::format("HTTP/1.1 {}\r\n{}Content-Length: {}\r\n\r\n{}", status, headers, body.size(),
                     body);
}

} // namespace zoo::test
