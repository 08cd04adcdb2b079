// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/store/etcd_fixture.hpp"

#include "common/base/file.hpp"
#include "common/base/text.hpp"
#include "common/crypto/digest.hpp"
#include "common/http_client/client.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

namespace zoo::test {
namespace {

std::string run(const std::string& command) {
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string out;
  char bytes[256];
  while (const auto count = ::fread(bytes, 1, sizeof bytes, pipe))
    out.append(bytes, count);
  if (::pclose(pipe) != 0) throw std::runtime_error("failed: " + command);
  while (out.ends_with('\n'))
    out.pop_back();
  return out;
}

std::string tool(const std::string& action, const std::filesystem::path& directory) {
  return fmt::format("{}/tests/upstream/etcd {} --dir {}", ZOO_SOURCE_DIR, action,
                     directory.string());
}

sockaddr_in loopback(int port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  out.sin_port = htons(static_cast<std::uint16_t>(port));
  return out;
}

} // namespace

EtcdServer::EtcdServer(const std::string& flags) {
  const char* version = std::getenv("ZOO_ETCD");
  endpoint_ = run(tool("start", directory_.path()) + " --etcd " +
                  (version != nullptr ? version : "3.4") + " " + flags);
}

EtcdServer::~EtcdServer() {
  try {
    run(tool("stop", directory_.path()));
  } catch (const std::exception& error) {
    ::fprintf(stderr, "%s\n", error.what());
  }
}

void EtcdServer::kill_and_start_again(int member) {
  run(tool("kill", directory_.path()) + " " + std::to_string(member));
  run(tool("again", directory_.path()) + " " + std::to_string(member));
}

EtcdServer& EtcdServer::one() {
  static EtcdServer server;
  return server;
}

std::string EtcdServer::new_prefix() {
  static int last = 0;
  return fmt::format("/test-{}/", ++last);
}

std::string EtcdServer::file(const std::string& name) const {
  return zoo::file::read(directory_.path() / name).value();
}

store::EtcdOptions EtcdServer::options(const std::string& prefix) const {
  store::EtcdOptions out;
  for (const auto endpoint : text::split(endpoint_, ','))
    out.endpoints.emplace_back(endpoint);
  out.prefix = prefix;
  return out;
}

std::unique_ptr<store::Store> EtcdServer::open(const std::string& prefix) const {
  auto out = store::open_etcd(options(prefix));
  if (!out) throw std::runtime_error(out.error().text());
  return *std::move(out);
}

nlohmann::json EtcdServer::ask(const std::string& path, const nlohmann::json& body) const {
  http_client::Credentials credentials;
  if (endpoint_.starts_with("https")) {
    credentials.ca_pem = file("pki/ca.crt");
    credentials.client_cert_pem = file("pki/client.crt");
    credentials.client_key_pem = Secret(file("pki/client.key"));
  }
  http_client::Client client(std::move(credentials));
  http_client::Request request;
  request.method = "POST";
  request.url = endpoint_ + path;
  request.body = body.dump();
  const auto answer = client.perform(request);
  if (!answer) throw std::runtime_error(answer.error().text());
  if (answer->status != 200) throw std::runtime_error(answer->body);
  return nlohmann::json::parse(answer->body);
}

Cutter::Cutter(const std::string& endpoint)
    : port_(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))) {
  listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(listening_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listening_, 64) != 0 ||
      ::getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("no port for the cutter");
  own_port_ = ntohs(address.sin_port);
  accepting_ = std::jthread([this] { accept_all(); });
}

Cutter::~Cutter() {
  stopping_ = true;
  close_all();
  accepting_.join();
  threads_.clear();
  ::close(listening_);
}

std::string Cutter::endpoint() const { return fmt::format("http://127.0.0.1:{}", own_port_); }

void Cutter::close_all() {
  open_ = false;
  const std::lock_guard lock(mutex_);
  for (const auto& [client, server] : connections_) {
    ::shutdown(client, SHUT_RDWR);
    ::shutdown(server, SHUT_RDWR);
  }
}

void Cutter::accept_all() {
  while (!stopping_) {
    pollfd ready{listening_, POLLIN, 0};
    if (::poll(&ready, 1, 50) != 1) continue;
    const int client = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    if (!open_) {
      ::close(client);
      continue;
    }
    const std::lock_guard lock(mutex_);
    threads_.emplace_back([this, client] { pass(client); });
  }
}

void Cutter::pass(int client) {
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto address = loopback(port_);
  bool good = ::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  {
    const std::lock_guard lock(mutex_);
    connections_[client] = server;
  }
  char bytes[64 << 10];
  bool asked = false; // something went on since the last answer
  while (good && open_) {
    pollfd ready[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
    if (held_) ready[0].fd = ready[1].fd = -1;
    if (::poll(ready, 2, 20) < 0) break;
    if (held_) continue; // from while it waited
    for (int i = 0; i < 2 && good; ++i) {
      if ((ready[i].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
      const int from = i == 0 ? client : server, to = i == 0 ? server : client;
      const auto count = ::recv(from, bytes, sizeof bytes, 0);
      good = count > 0;
      if (i == 0) asked = asked || good;
      if (i == 1 && std::exchange(asked, false) && one_of_ != 0 && ++answers_ % one_of_ == 0) {
        ++lost_;
        good = false;
      }
      for (ssize_t sent = 0; good && sent < count;) {
        const auto part =
            ::send(to, bytes + sent, static_cast<std::size_t>(count - sent), MSG_NOSIGNAL);
        good = part > 0;
        sent += part;
      }
    }
  }
  const std::lock_guard lock(mutex_);
  connections_.erase(client);
  ::close(client);
  ::close(server);
}

} // namespace zoo::test
