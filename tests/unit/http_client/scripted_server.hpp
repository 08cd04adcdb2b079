// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace zoo::test {

/// One accepted connection of a ScriptedServer, plain or TLS.
class Connection {
public:
  virtual ~Connection() = default;
  virtual bool write(std::string_view bytes) = 0;
  virtual std::string read_some() = 0; ///< empty: the peer is done
  /// One request: head, then Content-Length bytes. Empty at the end.
  std::string read_request();

private:
  std::string pending_;
};

/// A server on loopback (any port) or a Unix socket: each connection is handed to the script, one
/// after another, on a thread of the server.
class ScriptedServer {
public:
  using Script = std::function<void(Connection&)>;
  using Wrap = std::function<std::unique_ptr<Connection>(int fd)>; ///< owns fd; null: refused
  explicit ScriptedServer(Script script, std::string unix_path = {}, Wrap wrap = {});
  ~ScriptedServer();
  std::string url(std::string_view path = "/") const;
  int port() const { return port_; }
  int accepted() const;

private:
  void run();
  Script script_;
  Wrap wrap_;
  int listener_ = -1, wake_[2] = {-1, -1}, port_ = 0;
  mutable std::mutex mutex_;
  int current_ = -1, accepted_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

/// A script that answers every request of a connection with the same bytes, and keeps the requests.
class Answers {
public:
  explicit Answers(std::vector<std::string> answers) : answers_(std::move(answers)) {}
  void operator()(Connection& connection);
  std::vector<std::string> requests() const;

private:
  mutable std::mutex mutex_;
  std::vector<std::string> answers_, requests_;
};

/// "HTTP/1.1 200 OK" with a body and its length.
std::string answer(std::string_view body, std::string_view status = "200 OK",
                   std::string_view headers = "");

} // namespace zoo::test
