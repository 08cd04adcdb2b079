// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/pool.hpp"

#include "daemon/upstream/pool_link.hpp"
#include "daemon/upstream/request_text.hpp"

#include <algorithm>

namespace zoo::upstream {
namespace {

/// The asker's end of a request.
class PoolCall : public Call {
public:
  PoolCall(CallPtr state, std::size_t high) : state_(std::move(state)), high_(high) {}
  ~PoolCall() override {
    state_->handler = nullptr;
    if (const auto link = state_->link.lock()) link->cancel();
  }

  void pause() override {
    state_->paused = true;
    if (const auto link = state_->link.lock()) link->transport()->read(false);
  }
  void resume() override {
    if (!std::exchange(state_->paused, false)) return;
    if (const auto link = state_->link.lock()) link->resume();
  }
  void send_data(std::string_view bytes) override {
    const auto link = state_->link.lock();
    if (link && state_->tunnel && !bytes.empty()) link->transport()->write(std::string(bytes));
  }
  void send_end() override {
    const auto link = state_->link.lock();
    if (link && state_->tunnel) link->transport()->end_write();
  }
  bool writable() const override {
    const auto link = state_->link.lock();
    const bool free = !link || link->transport()->unsent() < high_;
    if (!free) state_->blocked = true;
    return free;
  }

private:
  const CallPtr state_;
  const std::size_t high_;
};

} // namespace

Pool::Impl::Impl(net::Loop& owner, std::shared_ptr<const UpstreamEndpoint> where, PoolLimits bounds)
    : loop(owner), endpoint(std::move(where)), limits(bounds), sweeper(owner) {
  if (!endpoint->tls) return;
  auto context = net::TlsClientContext::create(
      {endpoint->ca_pem, endpoint->client_certificate_pem, endpoint->client_key_pem.clone(),
       endpoint->server_name.empty() ? endpoint->host : endpoint->server_name, "http/1.1"});
  if (context) {
    tls = std::move(*context);
  } else {
    broken = Error(Code::unavailable, context.error().message())
                 .context("while preparing TLS to the upstream");
  }
}

void Pool::Impl::attach(const CallPtr& call, bool fresh) {
  while (!fresh && !idle.empty()) {
    const auto link = std::move(idle.back());
    idle.pop_back();
    if (!link->usable(*call)) {
      link->drop();
      continue;
    }
    busy.emplace(link.get(), link);
    return link->begin(call, true);
  }
  if (!idle.empty() && idle.size() + busy.size() >= limits.connections) {
    idle.front()->drop();
    idle.pop_front();
  }
  const auto link = std::make_shared<Link>(shared_from_this());
  busy.emplace(link.get(), link);
  link->open();
  link->begin(call, false);
  if (!std::exchange(sweeping, true)) sweep();
}

void Pool::Impl::keep(const std::shared_ptr<Link>& link) {
  busy.erase(link.get());
  idle.push_back(link);
  if (idle.size() > limits.idle) {
    idle.front()->drop();
    idle.pop_front();
  }
}

void Pool::Impl::forget(Link& link) {
  link.drop();
  busy.erase(&link);
  std::erase_if(idle, [&link](const auto& each) { return each.get() == &link; });
}

void Pool::Impl::sweep() {
  const auto now = Clock::now();
  while (!idle.empty() && now - idle.front()->idle_since() > limits.idle_time) {
    idle.front()->drop();
    idle.pop_front();
  }
  std::vector<std::shared_ptr<Link>> all;
  all.reserve(busy.size());
  for (const auto& [key, link] : busy)
    all.push_back(link);
  for (const auto& link : all)
    link->expire(now);
  sweeping = !idle.empty() || !busy.empty();
  if (!sweeping) return;
  const auto least = std::min({limits.connect, limits.answer, limits.idle_time});
  sweeper.start(
      std::clamp(least / 4, std::chrono::milliseconds(20), std::chrono::milliseconds(1'000)),
      [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->sweep();
      });
}

void Pool::Impl::close() {
  sweeper.cancel();
  for (const auto& link : idle)
    link->drop();
  for (const auto& [key, link] : busy)
    link->drop();
  idle.clear();
  busy.clear();
}

Pool::Pool(net::Loop& loop, std::shared_ptr<const UpstreamEndpoint> endpoint, PoolLimits limits)
    : impl_(std::make_shared<Impl>(loop, std::move(endpoint), limits)) {}

Pool::~Pool() { impl_->close(); }

Pool::Stats Pool::stats() const {
  auto stats = impl_->stats;
  stats.idle = impl_->idle.size();
  stats.busy = impl_->busy.size();
  return stats;
}

void Pool::set_limits(const PoolLimits& limits) { impl_->limits = limits; }

std::unique_ptr<Call> Pool::start(http::RequestHead head, CallOptions options,
                                  CallHandler& handler) {
  const auto call = std::make_shared<CallState>();
  call->handler = &handler;
  call->head_request = head.method == "HEAD";
  call->long_running = options.long_running;
  call->upgrade = options.upgrade;
  call->retryable =
      options.body.empty() && !options.upgrade && (head.method == "GET" || call->head_request);
  auto handle = std::make_unique<PoolCall>(call, impl_->limits.high_watermark);

  std::optional<Error> error = impl_->broken;
  if (auto text = request_text(head, options, *impl_->endpoint); !text) {
    error = std::move(text).error();
  } else {
    call->head = *std::move(text);
    call->body = std::move(options.body);
  }
  if (!error && impl_->busy.size() >= impl_->limits.connections)
    error = Error(Code::unavailable,
                  fmt::format("{} requests to the upstream are open, as many as are allowed: "
                              "retry after 1 second",
                              impl_->busy.size()));
  if (error) {
    impl_->loop.post([call, failure = *std::move(error)] {
      if (auto* listener = std::exchange(call->handler, nullptr)) listener->on_error(failure);
    });
  } else {
    impl_->attach(call, options.upgrade);
  }
  return handle;
}

} // namespace zoo::upstream
