// SPDX-License-Identifier: Apache-2.0
#include "watch_world.hpp"

#include "daemon/translate/continue.hpp"
#include "daemon/translate/query.hpp"
#include "daemon/translate/watch_event.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>

namespace zoo::test {

class WatchWorld::Fake final : public upstream::Caller {
public:
  explicit Fake(std::size_t loop) : loop_(loop) {}
  std::unique_ptr<upstream::Call> start(http::RequestHead head, upstream::CallOptions options,
                                        upstream::CallHandler& handler) override {
    requests.push_back(std::make_shared<Asked>(
        Asked{loop_, std::move(head), std::move(options.owner), &handler, false}));
    return std::make_unique<Cancelling>(requests.back());
  }
  std::deque<AskedPtr> requests;

private:
  class Cancelling final : public upstream::Call {
  public:
    explicit Cancelling(AskedPtr asked) : asked_(std::move(asked)) {}
    ~Cancelling() override { asked_->handler = nullptr; }
    void pause() override {
      asked_->paused = true;
      ++asked_->pauses;
    }
    void resume() override { asked_->paused = false; }
    void send_data(std::string_view) override {}
    void send_end() override {}
    bool writable() const override { return true; }

  private:
    AskedPtr asked_;
  };
  std::size_t loop_;
};

upstream::SharedWatchLimits WatchWorld::quick() {
  upstream::SharedWatchLimits limits;
  limits.first_pause = std::chrono::milliseconds(1);
  limits.longest_pause = std::chrono::milliseconds(5);
  limits.spread = std::chrono::milliseconds(5);
  return limits;
}

WatchWorld::WatchWorld(const upstream::SharedWatchLimits& limits) {
  const std::vector<net::Loop*> loops{&loops_[0], &loops_[1]};
  upstream_ = std::make_unique<upstream::Upstream>(std::make_shared<upstream::UpstreamEndpoint>(),
                                                   loops, upstream::PoolLimits{});
  upstream_->watches().set_limits(limits);
  for (std::size_t i = 0; i < 2; ++i) {
    fakes_[i] = std::make_unique<Fake>(i);
    upstream_->set_caller(loops_[i], *fakes_[i]);
    threads_[i] = std::thread([this, i] { loops_[i].run(); });
  }
}

WatchWorld::~WatchWorld() {
  for (std::size_t i = 0; i < 2; ++i) {
    loops_[i].stop();
    threads_[i].join();
  }
  upstream_.reset();
}

void WatchWorld::on(std::size_t loop, const std::function<void()>& task) {
  std::promise<void> done;
  loops_[loop].post([&] {
    task();
    done.set_value();
  });
  done.get_future().wait();
}

void WatchWorld::settle() {
  for (int i = 0; i < 8; ++i)
    on(static_cast<std::size_t>(i % 2), [] {});
}

bool WatchWorld::eventually(const std::function<bool()>& holds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    settle();
    std::this_thread::sleep_for(std::chrono::milliseconds(1)); // loops have timers of that length
  }
  return true;
}

WatchWorld::AskedPtr WatchWorld::next(std::string_view part) {
  AskedPtr out;
  [[maybe_unused]] const bool found = eventually([&] {
    for (std::size_t i = 0; i < 2 && !out; ++i) {
      on(i, [&] {
        for (const auto& each : fakes_[i]->requests) {
          if (each->taken || each->head.target.find(part) == std::string::npos) continue;
          each->taken = true;
          out = each;
          return;
        }
      });
    }
    return out != nullptr;
  });
  REQUIRE_MESSAGE(found, "nobody asked for " << part);
  return out;
}

bool WatchWorld::none(std::string_view part) {
  settle();
  bool none = true;
  for (std::size_t i = 0; i < 2; ++i) {
    on(i, [&] {
      for (const auto& each : fakes_[i]->requests)
        none = none && (each->taken || each->head.target.find(part) == std::string::npos);
    });
  }
  return none;
}

std::size_t WatchWorld::pauses(const AskedPtr& asked) {
  std::size_t out = 0;
  [[maybe_unused]] const bool over = eventually([&] {
    bool paused = false;
    on(asked->loop, [&] {
      paused = asked->paused;
      out = asked->pauses;
    });
    return !paused;
  });
  CHECK(over);
  return out;
}

std::size_t WatchWorld::open_watches() {
  std::size_t out = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    on(i, [&] {
      for (const auto& each : fakes_[i]->requests) {
        const bool watch = each->head.target.find("watch=true") != std::string::npos;
        if (watch && each->handler != nullptr) ++out;
      }
    });
  }
  return out;
}

void WatchWorld::with(const AskedPtr& asked,
                      const std::function<void(upstream::CallHandler&)>& task) {
  bool there = false;
  on(asked->loop, [&] {
    there = asked->handler != nullptr;
    if (there) task(*asked->handler);
  });
  CHECK_MESSAGE(there, "cancelled: " << asked->head.target);
}

void WatchWorld::answer(const AskedPtr& asked, int status) {
  with(asked, [&](upstream::CallHandler& handler) { handler.on_head({status, {}}); });
}

void WatchWorld::say(const AskedPtr& asked, const std::string& text) {
  with(asked, [&](upstream::CallHandler& handler) { handler.on_data(text); });
}

void WatchWorld::end(const AskedPtr& asked) {
  with(asked, [](upstream::CallHandler& handler) { handler.on_end(); });
}

void WatchWorld::fail(const AskedPtr& asked, Code code) {
  with(asked, [code](upstream::CallHandler& handler) { handler.on_error(Error(code, "gone")); });
}

void WatchWorld::list(const AskedPtr& asked, std::uint64_t version,
                      const std::vector<std::string>& items) {
  std::string body = fmt::format(
      R"({{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"{}"}},"items":[)",
      version);
  for (const auto& each : items) {
    if (body.back() != '[') body += ',';
    body += each;
  }
  answer(asked, 200);
  say(asked, body + "]}");
  end(asked);
}

std::string WatchWorld::param(const AskedPtr& asked, std::string_view key) {
  const auto& target = asked->head.target;
  const auto params = translate::parse_query(target.substr(target.find('?') + 1));
  const auto* found = translate::find_param(*params, key);
  return found == nullptr ? "" : *found;
}

WatchClient::WatchClient(WatchWorld& world, std::size_t loop, upstream::WatchRequest request)
    : world_(world), loop_(loop) {
  world_.on(loop_, [&] {
    watch_ = upstream::subscribe(world_.upstream(), world_.loop(loop_), std::move(request), *this);
  });
}

WatchClient::~WatchClient() {
  world_.on(loop_, [&] { watch_.reset(); });
}

void WatchClient::on_watch_event(std::string_view text) {
  const auto event = translate::parse_event(text);
  if (!event) return heard_.emplace_back("garbage"), void();
  if (event->type == translate::EventType::error) return heard_.emplace_back("ERROR"), void();
  const auto key = translate::object_key(event->object);
  if (!key) return heard_.emplace_back("no object"), void();
  constexpr std::string_view k_types[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"};
  heard_.push_back(fmt::format("{} {} {}", k_types[static_cast<std::size_t>(event->type)],
                               key->text(), key->resource_version));
}

void WatchClient::on_watch_bookmark(std::string_view version) {
  heard_.push_back(fmt::format("BOOKMARK {}", version));
}

Heard WatchClient::heard() {
  std::vector<std::string> out;
  world_.settle();
  world_.on(loop_, [&] { out = heard_; });
  return out;
}

bool WatchClient::begun() {
  bool out = false;
  world_.settle();
  world_.on(loop_, [&] { out = begun_; });
  return out;
}

std::optional<upstream::WatchEnd> WatchClient::end() {
  std::optional<upstream::WatchEnd> out;
  world_.settle();
  world_.on(loop_, [&] { out = end_; });
  return out;
}

std::vector<bool> WatchClient::stalls() {
  std::vector<bool> out;
  world_.settle();
  world_.on(loop_, [&] { out = stalls_; });
  return out;
}

void WatchClient::pause() {
  world_.on(loop_, [&] { watch_->pause(); });
}

void WatchClient::resume() {
  world_.on(loop_, [&] { watch_->resume(); });
}

void WatchClient::set_room(bool room) {
  world_.on(loop_, [&] { room_ = room; });
}

upstream::WatchRequest pods(std::string prefix, std::uint64_t version) {
  upstream::WatchRequest request;
  request.head.method = "GET";
  request.head.target = "/api/v1/pods";
  request.head.headers.add("Accept", "application/json");
  request.resource_version = std::to_string(version);
  request.ranges = {{std::move(prefix), "", false}};
  request.all_namespaces = true;
  request.kind = "Pod";
  request.api_version = "v1";
  request.trusted_version = true;
  return request;
}

upstream::WatchRequest pods_of(const std::string& name_space, std::uint64_t version) {
  auto request = pods("", version);
  request.head.target = "/api/v1/namespaces/" + name_space + "/pods";
  request.all_namespaces = false;
  return request;
}

std::string pod(std::string_view key, std::uint64_t version, std::string_view labels) {
  const auto slash = key.find('/');
  return fmt::format(
      R"({{"metadata":{{"name":"{}","namespace":"{}","uid":"u-{}","resourceVersion":"{}","labels":{}}}}})",
      key.substr(slash + 1), key.substr(0, slash), key, version, labels);
}

std::string event(std::string_view type, std::string_view key, std::uint64_t version,
                  std::string_view labels) {
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, pod(key, version, labels));
}

std::int64_t revision_of_page(const WatchWorld::AskedPtr& asked) {
  const auto position = translate::parse_upstream_token(WatchWorld::param(asked, "continue"));
  REQUIRE(position);
  return position->revision;
}

std::string bookmark_event(std::uint64_t version) {
  return fmt::format("{{\"type\":\"BOOKMARK\",\"object\":{{\"kind\":\"Pod\",\"metadata\":"
                     "{{\"resourceVersion\":\"{}\"}}}}}}\n",
                     version);
}

std::string gone_event() {
  return R"({"type":"ERROR","object":{"kind":"Status","status":"Failure","reason":"Expired","code":410}})"
         "\n";
}

} // namespace zoo::test
