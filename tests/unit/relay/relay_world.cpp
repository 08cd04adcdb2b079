// SPDX-License-Identifier: Apache-2.0
#include "relay_world.hpp"

#include "daemon/http/field_lines.hpp"
#include "tests/unit/upstream/idle_call.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <openssl/ssl.h>

#include <future>

namespace zoo::test {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view k_end = "\r\n\r\n";

/// The client's frames, without masks, pings and channels.
class ClientFrames {
public:
  std::string take(std::string_view bytes) {
    kept_ += bytes;
    std::string out;
    for (;;) {
      if (kept_.size() < 6) return out;
      const auto byte = [this](std::size_t at) { return static_cast<unsigned char>(kept_[at]); };
      std::size_t size = byte(1) & 0x7fU, at = 2;
      if (size == 126) {
        size = static_cast<std::size_t>(byte(2)) << 8 | byte(3);
        at = 4;
      }
      if (kept_.size() < at + 4 + size) return out;
      std::string payload = kept_.substr(at + 4, size);
      for (std::size_t i = 0; i < size; ++i)
        payload[i] = static_cast<char>(payload[i] ^ kept_[at + i % 4]);
      if ((byte(0) & 0xfU) == 2) out += payload.substr(1);
      kept_.erase(0, at + 4 + size);
    }
  }

private:
  std::string kept_;
};

std::string server_frame(char channel, std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const auto piece = bytes.substr(0, 30'000);
    bytes.remove_prefix(piece.size());
    const auto size = piece.size() + 1;
    out += "\x82\x7e";
    out += static_cast<char>(size >> 8);
    out += static_cast<char>(size & 0xff);
    out += channel;
    out += piece;
  }
  return out;
}

} // namespace

/// An answer that comes later, once.
class RelayUpstream::Plain final : public test::IdleCall {
public:
  Plain(net::Loop& loop, int status, std::string body, upstream::CallHandler& handler) {
    loop.post([lives = lives_, status, body = std::move(body), &handler] {
      if (!*lives) return;
      handler.on_head({status, {}});
      if (*lives) handler.on_data(body);
      if (*lives) handler.on_end();
    });
  }
  ~Plain() override { *lives_ = false; }

private:
  std::shared_ptr<bool> lives_ = std::make_shared<bool>(true);
};

/// A port-forward to a pod: WebSocket, TLS, and what the pod says to each request.
class RelayUpstream::Forward final : public upstream::Call {
public:
  Forward(RelayUpstream& from, Pod pod, upstream::CallHandler& handler)
      : from_(from), pod_(std::move(pod)), handler_(handler), ssl_(from.tls_->new_session()) {
    ++from_.open;
    auto* in = BIO_new(BIO_s_mem());
    auto* out = BIO_new(BIO_s_mem());
    BIO_set_mem_eof_return(in, -1);
    SSL_set_bio(ssl_, in, out);
    later([this] {
      http::ResponseHead head;
      head.status = 101;
      head.headers.add("Sec-WebSocket-Protocol", "v4.channel.k8s.io");
      handler_.on_head(std::move(head));
    });
    say(server_frame('\0', "\xfb\x20") + server_frame('\1', "\xfb\x20"));
  }
  ~Forward() override {
    *lives_ = false;
    --from_.open;
    SSL_free(ssl_);
  }
  void pause() override {}
  void resume() override {}
  void send_end() override {}
  bool writable() const override { return true; }

  void send_data(std::string_view bytes) override {
    const auto cipher = frames_.take(bytes);
    BIO_write(SSL_get_rbio(ssl_), cipher.data(), static_cast<int>(cipher.size()));
    char piece[4096];
    for (;;) {
      const int count = SSL_read(ssl_, piece, sizeof(piece));
      if (count <= 0) break;
      request_.append(piece, static_cast<std::size_t>(count));
    }
    flush();
    for (;;) {
      const auto head = request_.find(k_end);
      if (head == std::string::npos) return;
      const auto length = request_.find("Content-Length: ");
      const auto whole = head + k_end.size() + std::stoul(request_.substr(length + 16));
      if (request_.size() < whole) return;
      const auto says = pod_(request_.substr(0, whole));
      request_.erase(0, whole);
      if (!says.bytes.empty())
        SSL_write(ssl_, says.bytes.data(), static_cast<int>(says.bytes.size()));
      flush();
      if (says.hangs_up) later([this] { handler_.on_end(); });
    }
  }

private:
  void later(std::function<void()> what) {
    from_.loop_.post([lives = lives_, what = std::move(what)] {
      if (*lives) what();
    });
  }
  void say(std::string bytes) {
    later([this, bytes = std::move(bytes)] { handler_.on_data(bytes); });
  }
  void flush() {
    std::string out(BIO_ctrl_pending(SSL_get_wbio(ssl_)), '\0');
    if (out.empty()) return;
    BIO_read(SSL_get_wbio(ssl_), out.data(), static_cast<int>(out.size()));
    say(server_frame('\0', out));
  }

  RelayUpstream& from_;
  const Pod pod_;
  upstream::CallHandler& handler_;
  SSL* ssl_;
  ClientFrames frames_;
  std::string request_;
  std::shared_ptr<bool> lives_ = std::make_shared<bool>(true);
};

RelayUpstream::RelayUpstream(net::Loop& loop, const Identity& identity) : loop_(loop) {
  auto made =
      net::TlsServerContext::create({identity.certificate, Secret::copy_of(identity.key), "", {}});
  REQUIRE(made);
  tls_ = *std::move(made);
}

std::unique_ptr<upstream::Call> RelayUpstream::start(http::RequestHead head,
                                                     upstream::CallOptions options,
                                                     upstream::CallHandler& handler) {
  const auto path = head.target.substr(0, head.target.find('?'));
  if (!options.upgrade) {
    ++asked[path];
    const auto found = objects.find(path);
    return std::make_unique<Plain>(loop_, found == objects.end() ? 404 : 200,
                                   found == objects.end() ? "{}" : found->second, handler);
  }
  const auto begin = path.find("/pods/") + 6;
  const auto name = path.substr(begin, path.rfind('/') - begin);
  ++asked[name];
  users.emplace_back(head.prepared ? head.prepared->text() : "");
  const auto found = pods.find(name);
  if (found == pods.end()) return std::make_unique<Plain>(loop_, 404, "{}", handler);
  return std::make_unique<Forward>(*this, found->second, handler);
}

RelayWorld::RelayWorld(relay::Limits limits) {
  upstream = std::make_unique<RelayUpstream>(*loop->loops().front(), pki.issue("localhost"));
  auto made = std::make_shared<translate::Relay>();
  made->base = "https://relay";
  made->key = Secret::copy_of(std::string(32, 'k'));
  relay_ = made;
  relay::Parts parts{*loop->loops().front(),
                     *upstream,
                     [this] { return relay_; },
                     [](const std::string& id) -> std::optional<translate::Mapping> {
                       if (id == "nobody") return std::nullopt;
                       return translate::Mapping(id,
                                                 std::make_shared<const translate::SharedNames>());
                     },
                     [] { return true; },
                     [](std::string_view where) { return where == "/reach/secret"; },
                     tally};
  parts.limits = limits;
  parts.reviews.target = [this](const translate::Mapping& mapping, const translate::HookName&,
                                std::string_view stored) -> Result<translate::HookTarget> {
    translate::HookTarget out;
    out.name_space = mapping.id() + "-shop";
    out.server = "localhost";
    out.service = std::string(stored);
    out.path = "/validate";
    out.ca_pem = ca;
    out.seconds = seconds;
    return out;
  };
  parts.reviews.out = [](const translate::Mapping&, const translate::HookName&,
                         std::string body) -> Result<translate::OutwardReview> {
    return translate::OutwardReview{std::move(body), "1", ""};
  };
  parts.reviews.in = [this](const translate::Mapping&, const translate::HookName&, std::string_view,
                            std::string_view answer) -> Result<std::string> {
    return inward != nullptr ? inward(answer) : std::string(answer);
  };
  on_loop([&] { service_ = std::make_unique<relay::RelayService>(std::move(parts)); });
}

RelayWorld::~RelayWorld() {
  on_loop([this] { service_.reset(); });
  on_loop([] {});
  loop->stop();
}

void RelayWorld::on_loop(const std::function<void()>& what) const {
  std::promise<void> done;
  loop->loops().front()->post([&] {
    what();
    done.set_value();
  });
  done.get_future().wait();
}

void RelayWorld::until(const std::function<bool()>& so) const {
  const auto end = std::chrono::steady_clock::now() + 30s;
  for (;;) {
    bool is = false;
    on_loop([&] { is = so(); });
    if (is) return;
    REQUIRE(std::chrono::steady_clock::now() < end);
    std::this_thread::yield();
  }
}

void RelayWorld::serve(const std::string& pod, Pod how, const std::string& id) {
  on_loop([&] {
    const auto space = id + "-shop";
    upstream->objects["/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/" +
                      id + "-cfg"] = "hook";
    upstream->objects["/api/v1/namespaces/" + space + "/services/hook"] =
        R"({"spec":{"ports":[{"name":"https","port":443,"targetPort":8443}]}})";
    ready_[space].push_back(pod);
    std::string endpoints;
    for (const auto& each : ready_[space])
      endpoints += fmt::format(
          R"({}{{"addresses":["10.0.0.1"],"targetRef":{{"kind":"Pod","namespace":"{}","name":"{}"}}}})",
          endpoints.empty() ? "" : ",", space, each);
    upstream->objects["/apis/discovery.k8s.io/v1/namespaces/" + space + "/endpointslices"] =
        R"({"items":[{"ports":[{"name":"https","port":8443}],"endpoints":[)" + endpoints + "]}]}";
    upstream->pods[pod] = std::move(how);
  });
}

std::string RelayWorld::path(const std::string& webhook, const std::string& id) const {
  return relay_path(*relay_, {id, translate::Hook::validating, id + "-cfg", webhook});
}

std::shared_ptr<RelayWorld::Sent>
RelayWorld::send(const std::string& method, const std::string& path, const std::string& body) {
  auto sent = std::make_shared<Sent>();
  on_loop([&] {
    http::RequestHead head;
    head.method = method;
    head.target = path;
    sent->handler = service_->on_request(std::move(head), *sent);
    sent->handler->on_data(body);
    sent->handler->on_end();
  });
  return sent;
}

RelayWorld::Said RelayWorld::ask(const std::string& path, const std::string& body) {
  const auto sent = send("POST", path + "?timeout=10s", body);
  const auto said = sent->take();
  on_loop([&] { sent->handler.reset(); });
  return said;
}

void RelayWorld::drop(const std::shared_ptr<Sent>& sent) {
  on_loop([&] {
    sent->handler->on_reset();
    sent->handler.reset();
  });
}

RelayWorld::Said RelayWorld::Sent::take(std::chrono::seconds most) {
  std::unique_lock lock(mutex_);
  REQUIRE(changed_.wait_for(lock, most, [this] { return over_; }));
  return said_;
}

bool RelayWorld::Sent::said() {
  const std::scoped_lock lock(mutex_);
  return over_;
}

void RelayWorld::Sent::send_head(const http::ResponseHead& head, bool end) {
  const std::scoped_lock lock(mutex_);
  said_.status = head.status;
  over_ = end;
  changed_.notify_all();
}

void RelayWorld::Sent::send_data(std::string_view bytes, bool end) {
  const std::scoped_lock lock(mutex_);
  said_.body += bytes;
  over_ = end;
  changed_.notify_all();
}

std::string http_answer(const std::string& body, const std::string& status) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}", status,
      body.size(), body);
}

} // namespace zoo::test
