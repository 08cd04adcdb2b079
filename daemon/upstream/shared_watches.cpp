// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/shared_watches.hpp"

#include "daemon/translate/headers.hpp"
#include "daemon/upstream/upstream.hpp"
#include "daemon/upstream/watch_branch.hpp"
#include "daemon/upstream/watch_hub.hpp"
#include "daemon/upstream/watch_owner.hpp"

#include <algorithm>

namespace zoo::upstream {
namespace {

bool partial(std::string_view accept) {
  return accept.find("as=PartialObjectMetadata;") != std::string_view::npos;
}

std::optional<WatchFilter> filter_of(const WatchRequest& request) {
  if (request.table) return std::nullopt;
  const auto accept = request.head.headers.get("accept");
  if (!partial(accept) && accept != "application/json") return std::nullopt;
  return WatchFilter::make(shared_place(request.head.target).path, request.params, partial(accept));
}

class CountedKeys final : public WatchKeys {
public:
  CountedKeys(std::shared_ptr<WatchOwner> owner, const SharedWatchLimits& limits)
      : owner_(std::move(owner)), limits_(limits) {}
  ~CountedKeys() override { count(0); }
  CountedKeys(const CountedKeys&) = delete;
  CountedKeys& operator=(const CountedKeys&) = delete;

  void add(std::string_view key) override {
    if (!keys_) return;
    keys_->emplace_back(key);
    count(bytes_ + key.size() + WatchFilter::k_key);
    if (keys_->size() <= limits_.keys && owner_->keys() <= limits_.owner_bytes) return;
    keys_.reset();
    count(0);
  }
  std::optional<std::vector<std::string>> take() override {
    count(0);
    return std::exchange(keys_, std::nullopt);
  }

private:
  void count(std::size_t bytes) { owner_->count_keys(std::exchange(bytes_, bytes), bytes); }

  const std::shared_ptr<WatchOwner> owner_;
  const SharedWatchLimits& limits_;
  std::optional<std::vector<std::string>> keys_{std::in_place};
  std::size_t bytes_ = 0;
};

} // namespace

bool shareable(const WatchRequest& request) { return filter_of(request).has_value(); }

bool keeps_keys(const WatchRequest& request) {
  const auto filter = filter_of(request);
  return filter && filter->keeps_keys();
}

std::unique_ptr<WatchSubscription> subscribe(Upstream& upstream, net::Loop& loop,
                                             WatchRequest request, WatchHandler& handler) {
  return upstream.watches().subscribe(loop, std::move(request), handler);
}

std::unique_ptr<WatchKeys> watch_keys(Upstream& upstream, net::Loop& loop,
                                      const std::string& owner) {
  return upstream.watches().keys(loop, owner);
}

std::string list_accept(std::string_view accept) {
  if (!partial(accept)) return std::string(accept);
  return std::string(translate::k_partial_list_accept);
}

SharedWatches::Impl::Impl(Upstream& owner, const std::vector<net::Loop*>& loops) : upstream(owner) {
  for (auto* loop : loops) {
    places.push_back(std::make_unique<Place>());
    places.back()->loop = loop;
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i]->home = std::make_unique<Home>(*this, *places[i]->loop);
    places[i]->branch = std::make_unique<Branch>(*this, i);
  }
}

SharedWatches::Impl::~Impl() = default;

SharedWatches::Impl::Place& SharedWatches::Impl::home_of(const WatchKind& kind) {
  return *places[std::hash<std::string>{}(kind.name()) % places.size()];
}

std::size_t SharedWatches::Impl::index_of(const net::Loop& loop) const {
  const auto at = std::find_if(places.begin(), places.end(),
                               [&](const auto& place) { return place->loop == &loop; });
  return static_cast<std::size_t>(at - places.begin());
}

SharedWatches::SharedWatches(Upstream& upstream, const std::vector<net::Loop*>& loops)
    : impl_(std::make_shared<Impl>(upstream, loops)) {}

SharedWatches::~SharedWatches() = default;

void SharedWatches::set_limits(const SharedWatchLimits& limits) { impl_->limits = limits; }

std::unique_ptr<WatchSubscription> SharedWatches::subscribe(net::Loop& loop, WatchRequest request,
                                                            WatchHandler& handler) {
  auto place = shared_place(request.head.target);
  const auto accept = request.head.headers.get("accept");
  const auto version = version_of(request.resource_version);
  std::optional<WatchFilter> filter;
  if (version) filter = filter_of(request);
  WatchKind kind;
  kind.path = std::move(place.path);
  kind.accept = partial(accept) ? translate::k_partial_accept : "application/json";
  kind.namespaced = request.all_namespaces || !place.key_prefix.empty();
  kind.kind = request.kind;
  kind.api_version = request.api_version;
  if (request.owned_kind) kind.owner = request.owner;
  auto& branch = *impl_->places[impl_->index_of(loop)]->branch;
  return branch.subscribe(std::make_shared<const WatchKind>(std::move(kind)), std::move(request),
                          std::move(filter), std::move(place.key_prefix), version.value_or(0),
                          handler);
}

std::unique_ptr<WatchKeys> SharedWatches::keys(net::Loop& loop, const std::string& owner) {
  auto& branch = *impl_->places[impl_->index_of(loop)]->branch;
  return std::make_unique<CountedKeys>(branch.owner(owner), impl_->limits);
}

std::shared_ptr<void> SharedWatches::take_place(const std::string& owner) {
  const std::scoped_lock lock(impl_->alone_mutex);
  const auto found = impl_->alone_by_owner.find(owner);
  const auto of_owner = found == impl_->alone_by_owner.end() ? 0 : found->second;
  if (impl_->alone >= impl_->limits.alone || of_owner >= impl_->limits.alone_of_owner) {
    return nullptr;
  }
  ++impl_->alone;
  ++impl_->alone_by_owner[owner];
  return {static_cast<void*>(impl_.get()), [impl = impl_, owner](void*) {
            const std::scoped_lock giving(impl->alone_mutex);
            --impl->alone;
            if (--impl->alone_by_owner[owner] == 0) impl->alone_by_owner.erase(owner);
          }};
}

SharedWatches::Stats SharedWatches::stats() const {
  Stats out;
  out.streams = impl_->streams;
  out.subscribers = impl_->subscribers;
  const std::scoped_lock lock(impl_->alone_mutex);
  out.alone = impl_->alone;
  return out;
}

} // namespace zoo::upstream
