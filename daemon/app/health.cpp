// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/health.hpp"

#include "common/base/log.hpp"
#include "daemon/http/whole_answer.hpp"

#include <string_view>
#include <utility>

namespace zoo::app {
namespace {

/// Longer than any task of a loop takes, and than systemd's watchdog waits for one (WatchdogSec=).
constexpr std::chrono::seconds k_stuck{30};

struct Said {
  int status = 200;
  std::string_view body;
};

net::ListenerLimits limits() {
  net::ListenerLimits out;
  out.connections = 256;
  out.http.header_bytes = 8 * 1024;
  out.http.target_bytes = 1024;
  out.http.discard_bytes = 16 * 1024;
  out.head = std::chrono::seconds(10);
  out.idle = std::chrono::minutes(2);
  return out;
}

} // namespace

class Health::Answering final : public http::Service {
public:
  explicit Answering(std::shared_ptr<const Facts> facts) : facts_(std::move(facts)) {}

  std::unique_ptr<http::StreamHandler> on_request(http::RequestHead head,
                                                  http::ServerStream& stream) override {
    const auto said = answer(head);
    http::ResponseHead out{said.status, {}};
    out.headers.add("content-type", "text/plain; charset=utf-8");
    out.headers.add("cache-control", "no-store");
    out.headers.add("x-content-type-options", "nosniff");
    out.headers.add("content-length", std::to_string(said.body.size()));
    if (said.status == 405) out.headers.add("allow", "GET, HEAD");
    const bool bodyless = head.method == "HEAD";
    stream.send_head(out, bodyless);
    if (!bodyless) stream.send_data(said.body, true);
    return std::make_unique<http::Answered>(stream);
  }

private:
  Said answer(const http::RequestHead& head) const {
    const auto path = std::string_view(head.target).substr(0, head.target.find('?'));
    if (path != "/readyz" && path != "/livez") return {404, "only /readyz and /livez are here\n"};
    if (head.method != "GET" && head.method != "HEAD")
      return {405, "only GET and HEAD are taken\n"};
    const auto& asks = facts_->asks;
    if (asks.lag && asks.lag() > k_stuck) return {500, "stuck\n"};
    if (path == "/livez") return {200, "ok\n"};
    switch (facts_->state.load()) {
    case State::starting:
      return {503, "starting\n"};
    case State::leaving:
      return {503, "leaving\n"};
    case State::ready:
      break;
    }
    return asks.knows && !asks.knows() ? Said{503, "starting\n"} : Said{200, "ok\n"};
  }

  const std::shared_ptr<const Facts> facts_;
};

Health::Health() : loop_(1, "health-loop") {}

Health::~Health() { close(); }

Result<std::unique_ptr<Health>> Health::open(const std::string& address) {
  std::unique_ptr<Health> out(new Health);
  ZOO_TRY(out->listener_, net::Listener::tcp(out->loop_.loops(), address, nullptr, limits(),
                                             [facts = out->facts_](net::Loop&) {
                                               return std::make_unique<Answering>(facts);
                                             }));
  log::info("app", "health.listen: /readyz and /livez are answered on {}", out->address());
  return out;
}

std::string Health::address() const { return listener_->address(); }

void Health::watch(Asks asks) {
  loop_.loops().front()->post(
      [facts = facts_, asks = std::move(asks)]() mutable { facts->asks = std::move(asks); });
}

void Health::close() {
  listener_.reset();
  loop_.stop();
}

} // namespace zoo::app
