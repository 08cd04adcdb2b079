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
  PoolCall(const std::shared_ptr<Pool::Impl>& pool, CallPtr state, std::string owner)
      : pool_(pool), state_(std::move(state)), owner_(std::move(owner)),
        high_(pool->limits.high_watermark) {
    if (owner_.empty()) return;
    ++pool->owned[owner_];
    ++pool->owned_all;
  }
  ~PoolCall() override {
    give_back();
    state_->handler = nullptr;
    if (const auto link = state_->link.lock()) {
      link->cancel();
    } else if (const auto pool = pool_.lock()) {
      std::erase(pool->waiting, state_);
    }
  }

  void pause() override {
    state_->paused = true;
    if (const auto link = state_->link.lock()) link->transport()->deafen();
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
  void give_back() {
    const auto pool = owner_.empty() ? nullptr : pool_.lock();
    if (!pool) return;
    --pool->owned_all;
    if (const auto own = pool->owned.find(owner_); --own->second == 0) pool->owned.erase(own);
  }

  const std::weak_ptr<Pool::Impl> pool_;
  const CallPtr state_;
  const std::string owner_;
  const std::size_t high_;
};

} // namespace

Pool::Impl::Impl(net::Loop& owner, std::shared_ptr<const UpstreamEndpoint> where, PoolLimits bounds,
                 std::shared_ptr<Tally> counts)
    : loop(owner), endpoint(std::move(where)), limits(bounds), tally(std::move(counts)),
      may_open(bounds.first_opening), sweeper(owner) {
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

void Pool::Impl::tell_failure(const CallPtr& call, Error error) const {
  auto* handler = std::exchange(call->handler, nullptr);
  if (handler == nullptr) return;
  if (tally) tally->failed(error.code());
  handler->on_error(std::move(error));
}

void Pool::Impl::attach(const CallPtr& call) {
  if (waiting.empty() && try_attach(call)) return;
  call->since = Clock::now();
  waiting.push_back(call);
  serve_waiting();
}

bool Pool::Impl::try_attach(const CallPtr& call) {
  while (!call->fresh && !idle.empty()) {
    const auto link = std::move(idle.back());
    idle.pop_back();
    if (!link->usable(*call)) {
      link->drop();
      continue;
    }
    busy.emplace(link.get(), link);
    link->begin(call, true);
    return true;
  }
  // An upstream that has just come back is not asked for all handshakes at once.
  if (opening >= may_open) return false;
  if (!idle.empty() && idle.size() + busy.size() >= limits.connections) {
    idle.front()->drop();
    idle.pop_front();
  }
  const auto link = std::make_shared<Link>(shared_from_this());
  busy.emplace(link.get(), link);
  link->open();
  link->begin(call, false);
  if (!std::exchange(sweeping, true)) sweep();
  return true;
}

void Pool::Impl::drop_vain() {
  std::erase_if(idle, [](const auto& link) {
    const bool in_vain = link->opening() && !link->usable({});
    if (in_vain) link->drop();
    return in_vain;
  });
}

Result<void> Pool::Impl::share_of(const std::string& owner) const {
  if (owner.empty()) return {};
  const auto own = owned.find(owner);
  const auto most = std::max<std::size_t>(limits.connections / 4, 1);
  if (own != owned.end() && own->second >= most)
    return fail(
        Code::too_many_requests,
        "{} logs, tunnels, proxied requests and watches of kinds of its own are open for this "
        "tenant, as many as one may have on one event loop: end some, or try again",
        own->second);
  if (owned_all >= std::max(limits.connections * 3 / 4, most))
    return fail(
        Code::too_many_requests,
        "{} logs, tunnels, proxied requests and watches of tenants' own kinds are open on one "
        "event loop, as many as all tenants together may have: retry after 1 second",
        owned_all);
  return {};
}

std::shared_ptr<void> Pool::Impl::gzip_place() {
  ++gzips;
  return {this, [weak = weak_from_this()](void*) {
            if (const auto self = weak.lock()) --self->gzips;
          }};
}

void Pool::Impl::serve_waiting() {
  if (!waiting.empty() && opening >= may_open) drop_vain();
  for (auto at = waiting.begin(); at != waiting.end();) {
    const bool may = opening < may_open;
    if (!may && idle.empty()) return;
    at = (may || !(*at)->fresh) && try_attach(*at) ? waiting.erase(at) : at + 1;
  }
}

void Pool::Impl::keep(const std::shared_ptr<Link>& link) {
  busy.erase(link.get());
  idle.push_back(link);
  if (idle.size() > limits.idle) {
    idle.front()->drop();
    idle.pop_front();
  }
  if (waiting.empty()) return;
  loop.post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->serve_waiting();
  });
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
  drop_vain();
  const auto late = std::stable_partition(waiting.begin(), waiting.end(), [&](const auto& call) {
    return now - call->since <= limits.connect;
  });
  const std::vector<CallPtr> given_up(late, waiting.end());
  waiting.erase(late, waiting.end());
  for (const auto& call : given_up) {
    tell_failure(
        call, {Code::unavailable, fmt::format("no connection to {}:{} within {} ms", endpoint->host,
                                              endpoint->port, limits.connect.count())});
  }
  std::vector<std::shared_ptr<Link>> all;
  all.reserve(busy.size());
  for (const auto& [key, link] : busy)
    all.push_back(link);
  for (const auto& link : all)
    link->expire(now);
  serve_waiting();
  sweeping = !idle.empty() || !busy.empty() || !waiting.empty();
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
  waiting.clear();
}

Pool::Pool(net::Loop& loop, std::shared_ptr<const UpstreamEndpoint> endpoint, PoolLimits limits,
           std::shared_ptr<Tally> tally)
    : impl_(std::make_shared<Impl>(loop, std::move(endpoint), limits, std::move(tally))) {}

Pool::~Pool() { impl_->close(); }

Pool::Stats Pool::stats() const {
  auto stats = impl_->stats;
  stats.idle = impl_->idle.size();
  stats.busy = impl_->busy.size();
  stats.waiting = impl_->waiting.size();
  return stats;
}

void Pool::set_limits(const PoolLimits& limits) { impl_->limits = limits; }

std::unique_ptr<Call> Pool::start(http::RequestHead head, CallOptions options,
                                  CallHandler& handler) {
  const auto call = std::make_shared<CallState>();
  call->handler = &handler;
  call->asks = Tally::kind_of(head.method, head.target, options.long_running);
  call->head_request = head.method == "HEAD";
  call->writes = head.method != "GET" && head.method != "HEAD" && head.method != "OPTIONS";
  call->long_running = options.long_running;
  call->upgrade = call->fresh = options.upgrade;
  call->retryable =
      options.body.empty() && !options.upgrade && (head.method == "GET" || call->head_request);
  if (options.encoding == CallOptions::Encoding::gzip) {
    if (impl_->gzips < impl_->limits.gzips && !call->head_request) {
      call->gzip = impl_->gzip_place();
    } else {
      options.encoding = CallOptions::Encoding::identity;
    }
  }
  std::optional<Error> error = impl_->broken;
  if (auto share = impl_->share_of(options.owner); !share) error = std::move(share).error();
  auto handle =
      std::make_unique<PoolCall>(impl_, call, error ? std::string() : std::move(options.owner));
  if (auto text = request_text(head, options, *impl_->endpoint); !text) {
    error = std::move(text).error();
  } else {
    call->head = *std::move(text);
    call->body = std::move(options.body);
  }
  const auto open = impl_->busy.size() + impl_->waiting.size();
  if (!error && open >= impl_->limits.connections)
    error = Error(Code::unavailable,
                  fmt::format("{} requests to the upstream are open, as many as are allowed: "
                              "retry after 1 second",
                              open));
  if (error) {
    impl_->loop.post(
        [call, pool = impl_, failure = *std::move(error)] { pool->tell_failure(call, failure); });
  } else {
    impl_->attach(call);
  }
  return handle;
}

} // namespace zoo::upstream
