// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/upstream.hpp"

#include "common/base/error_table.hpp"
#include "common/base/log.hpp"
#include "common/base/make_room.hpp"
#include "common/base/published.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/upstream/buffered_call.hpp"
#include "daemon/upstream/name_follower.hpp"
#include "daemon/upstream/openapi_cache.hpp"
#include "daemon/upstream/owner_index.hpp"
#include "daemon/upstream/page_spaces.hpp"
#include "daemon/upstream/range_probe.hpp"
#include "daemon/upstream/shared_watches.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace zoo::upstream {
namespace {

constexpr std::size_t k_max_hints = 131'072;

/// Keeps the catalog. Lives on the first loop; others ask by post.
class CatalogKeeper {
public:
  using Done = std::function<void(Result<CatalogPtr>)>;

  CatalogKeeper(net::Loop& loop, Caller& caller) : loop_(loop), caller_(caller) {}

  void ask(net::Loop& from, Freshness freshness, Done done) {
    loop_.post([this, &from, freshness, done = std::move(done)]() mutable {
      const auto current = current_.load();
      if (current && freshness != Freshness::now) {
        return from.post([current, done = std::move(done)] { done(current); });
      }
      // A fetch under way may have begun before this question: only a new one is "now".
      auto& queue = fetching_ && freshness == Freshness::now ? after_ : waiting_;
      queue.emplace_back(&from, std::move(done));
      if (!fetching_) fetch();
    });
  }

  CatalogPtr current() const { return current_.load(); }

private:
  using Reader = translate::Catalog::Reader;

  struct Document {
    std::string path;
    Reader::Of which;
    std::string etag{};
    /// Read and not yet in the catalog; else that is as it was.
    std::optional<translate::Catalog::Document> groups{};
  };

  void fetch() {
    fetching_ = true;
    fetch_document(api_, [this](Result<void> first) {
      if (!first) return failed(first.error());
      fetch_document(apis_, [this](Result<void> second) {
        if (!second) return failed(second.error());
        if (api_.groups || apis_.groups) {
          current_.store(std::make_shared<const translate::Catalog>(
              held_->renewed(std::move(api_.groups), std::move(apis_.groups))));
          api_.groups = apis_.groups = std::nullopt;
        }
        finish(current_.load());
      });
    });
  }

  /// It is read as it comes: the first loop has others to serve.
  void fetch_document(Document& document, std::function<void(Result<void>)> done) {
    auto head = get_head(document.path, translate::k_aggregated_accept);
    if (!document.etag.empty()) head.headers.add("If-None-Match", document.etag);
    retired_ = std::move(call_);
    held_ = current_.load();
    if (!held_) held_ = std::make_shared<const translate::Catalog>();
    reader_.emplace(*held_, document.which);
    call_ = std::make_unique<BufferedCall>(
        caller_, std::move(head), CallOptions{}, k_max_status,
        [this, &document, done = std::move(done)](Result<Answer> answer) {
          if (!answer)
            return done(fail(
                std::move(answer).error().context("while asking the upstream what it serves")));
          if (answer->head.status == 304 && !document.etag.empty()) return done({});
          if (answer->head.status != 200) {
            return done(fail(Code::unavailable, "the upstream answered {} to {}",
                             answer->head.status, document.path));
          }
          auto groups = reader_->finish();
          if (!groups) return done(fail(std::move(groups).error()));
          document.etag = answer->head.headers.get("etag");
          document.groups = *std::move(groups);
          done({});
        },
        nullptr, [this](std::string_view bytes) { return reader_->feed(bytes); });
  }

  /// What upstream has become unable to tell is as it was: nobody can do without.
  void failed(const Error& error) {
    auto known = current_.load();
    const bool told = error.code() == Code::too_large || error.code() == Code::internal;
    if (!known || !told) return finish(fail(error));
    log::warning("upstream", "what the upstream serves is not read anew: {}", error.text());
    finish(std::move(known));
  }

  void finish(Result<CatalogPtr> result) {
    fetching_ = false;
    reader_.reset();
    held_.reset();
    auto waiting = std::exchange(waiting_, std::exchange(after_, {}));
    for (auto& [loop, done] : waiting)
      loop->post([result, done = std::move(done)] { done(result); });
    if (!waiting_.empty()) fetch();
  }

  net::Loop& loop_;
  Caller& caller_;
  Document api_{"/api", Reader::Of::api}, apis_{"/apis", Reader::Of::apis};
  CatalogPtr held_; ///< what reader_ compares with
  std::optional<Reader> reader_;
  std::unique_ptr<BufferedCall> call_, retired_;
  std::vector<std::pair<net::Loop*, Done>> waiting_, after_;
  bool fetching_ = false;
  Published<const translate::Catalog> current_;
};

} // namespace

namespace {

constexpr std::string_view k_definitions =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

std::string labelled_with(std::string_view object) {
  const auto tree = translate::JsonTree::parse(object);
  return tree ? tree->root()["metadata"]["labels"][translate::k_tenant_label].string() : "";
}

/// A namespace whose label does not say the prefix that it has.
bool stranger(std::string_view name, std::string_view object) {
  const auto label = labelled_with(object);
  return label.empty() || name.size() <= label.size() || !name.starts_with(label) ||
         name[label.size()] != '-';
}

/// The namespace of what a member of its spec refers to.
std::string refers_into(std::string_view object, std::string_view member) {
  const auto tree = translate::JsonTree::parse(object);
  return tree ? tree->root()["spec"][member]["namespace"].string() : "";
}

std::string claimed_from(std::string_view volume) { return refers_into(volume, "claimRef"); }
std::string serving_in(std::string_view address) { return refers_into(address, "parentRef"); }

/// With a slash behind it no volume's name begins with another one's.
std::string attaching(std::string_view attachment) {
  const auto tree = translate::JsonTree::parse(attachment);
  if (!tree) return "";
  return tree->root()["spec"]["source"]["persistentVolumeName"].string() + '/';
}

std::string defaulting(std::string_view priority_class) {
  const auto tree = translate::JsonTree::parse(priority_class);
  return tree && tree->root()["globalDefault"].boolean() ? std::string(k_default_priority) : "";
}

} // namespace

struct Upstream::Impl {
  std::shared_ptr<const UpstreamEndpoint> endpoint;
  const std::shared_ptr<Tally> tally = std::make_shared<Tally>();
  std::map<net::Loop*, std::unique_ptr<Pool>> pools;
  std::optional<CatalogKeeper> keeper;
  std::optional<NameFollower> unlabelled, unlabelled_definitions;
  std::optional<OwnerIndex> definitions, volumes, addresses, attachments, priorities;
  std::atomic<bool> range_reads{true};
  bool range_reads_decided = false;
  std::optional<RangeProbe> probe;
  Published<const translate::SharedNames> shared{std::make_shared<const translate::SharedNames>()};
  OpenApiCache openapi;
  std::map<net::Loop*, Caller*> callers; ///< pools, or what stands for them
  std::optional<SharedWatches> watches;
  mutable std::mutex hints_mutex;
  std::unordered_map<std::string, std::size_t> hints;
  PageSpaces page_spaces;
};

Upstream::Upstream(std::shared_ptr<const UpstreamEndpoint> endpoint,
                   const std::vector<net::Loop*>& loops, PoolLimits limits,
                   const std::vector<net::Loop*>& others)
    : impl_(std::make_unique<Impl>()) {
  impl_->endpoint = endpoint;
  for (const auto* some : {&loops, &others}) {
    for (auto* loop : *some)
      impl_->pools.emplace(loop, std::make_unique<Pool>(*loop, endpoint, limits, impl_->tally));
  }
  for (const auto& [loop, pool] : impl_->pools)
    impl_->callers.emplace(loop, pool.get());
  impl_->watches.emplace(*this, loops);
  auto& first = *loops.front();
  impl_->keeper.emplace(first, *impl_->pools.at(&first));
  impl_->unlabelled.emplace(*this, first, *impl_->pools.at(&first), "/api/v1/namespaces", "",
                            stranger);
  impl_->unlabelled_definitions.emplace(
      *this, first, *impl_->pools.at(&first), std::string(k_definitions),
      "!" + std::string(translate::k_tenant_label), nullptr, true);
  impl_->definitions.emplace(*this, first, *impl_->pools.at(&first), std::string(k_definitions),
                             OwnerIndex::Reads::metadata, labelled_with);
  impl_->volumes.emplace(*this, first, *impl_->pools.at(&first), "/api/v1/persistentvolumes",
                         OwnerIndex::Reads::whole, claimed_from);
  impl_->addresses.emplace(*this, first, *impl_->pools.at(&first),
                           "/apis/networking.k8s.io/v1/ipaddresses", OwnerIndex::Reads::whole,
                           serving_in);
  impl_->attachments.emplace(*this, first, *impl_->pools.at(&first),
                             "/apis/storage.k8s.io/v1/volumeattachments", OwnerIndex::Reads::whole,
                             attaching);
  impl_->priorities.emplace(*this, first, *impl_->pools.at(&first),
                            "/apis/scheduling.k8s.io/v1/priorityclasses", OwnerIndex::Reads::whole,
                            defaulting);
  impl_->probe.emplace(first, *impl_->pools.at(&first), impl_->range_reads);
}

void Upstream::start() {
  impl_->unlabelled->start();
  impl_->unlabelled_definitions->start();
  if (!impl_->range_reads_decided) impl_->probe->start();
}

bool Upstream::range_reads() const { return impl_->range_reads.load(); }

void Upstream::set_range_reads(bool works) {
  impl_->range_reads = works;
  impl_->range_reads_decided = true;
}

Result<std::shared_ptr<const Upstream::Names>> Upstream::unlabelled_namespaces() const {
  auto names = impl_->unlabelled->names();
  if (!names) {
    return fail(Code::unavailable,
                "zood does not know yet which namespaces are a tenant's: it has just started, or "
                "the upstream does not answer; try again");
  }
  return names;
}

std::shared_ptr<const Upstream::Names> Upstream::unlabelled_definitions() const {
  return impl_->unlabelled_definitions->names();
}

OwnerIndex& Upstream::definitions() const { return *impl_->definitions; }
OwnerIndex& Upstream::volumes() const { return *impl_->volumes; }
OwnerIndex& Upstream::addresses() const { return *impl_->addresses; }
OwnerIndex& Upstream::attachments() const { return *impl_->attachments; }
OwnerIndex& Upstream::priorities() const { return *impl_->priorities; }

Upstream::~Upstream() = default;

const UpstreamEndpoint& Upstream::endpoint() const { return *impl_->endpoint; }

void Upstream::set_limits(const PoolLimits& limits) {
  for (const auto& [loop, pool] : impl_->pools)
    loop->post([pool = pool.get(), limits] { pool->set_limits(limits); });
}

Tally& Upstream::tally() const { return *impl_->tally; }

Pool::Stats Upstream::connections() const {
  struct Sum {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t answered = 0;
    Pool::Stats stats;
  };
  const auto sum = std::make_shared<Sum>(); // an answer may come when nobody waits any more
  for (const auto& [loop, pool] : impl_->pools) {
    loop->post([sum, pool = pool.get()] {
      const auto one = pool->stats();
      const std::scoped_lock lock(sum->mutex);
      sum->stats.idle += one.idle;
      sum->stats.busy += one.busy;
      sum->stats.opened += one.opened;
      sum->stats.resumed += one.resumed;
      ++sum->answered;
      sum->changed.notify_one();
    });
  }
  std::unique_lock lock(sum->mutex);
  sum->changed.wait_for(lock, std::chrono::seconds(1),
                        [&] { return sum->answered == impl_->pools.size(); });
  return sum->stats;
}

Caller& Upstream::caller(net::Loop& loop) { return *impl_->callers.at(&loop); }

void Upstream::set_caller(net::Loop& loop, Caller& caller) { impl_->callers[&loop] = &caller; }

SharedWatches& Upstream::watches() { return *impl_->watches; }

CatalogPtr Upstream::known_catalog() const { return impl_->keeper->current(); }

void Upstream::catalog(net::Loop& loop, Freshness freshness,
                       std::function<void(Result<CatalogPtr>)> done) {
  if (freshness != Freshness::now) {
    if (auto known = known_catalog()) return done(std::move(known));
  }
  impl_->keeper->ask(loop, freshness, std::move(done));
}

std::shared_ptr<const translate::SharedNames> Upstream::shared_names() const {
  return impl_->shared.load();
}

void Upstream::set_shared_names(std::shared_ptr<const translate::SharedNames> names) {
  impl_->shared.store(std::move(names));
}

PageSpaces& Upstream::page_spaces() const { return impl_->page_spaces; }

OpenApiCache& Upstream::openapi_cache() { return impl_->openapi; }

std::size_t Upstream::remembered(const std::string& key) const {
  const std::scoped_lock lock(impl_->hints_mutex);
  const auto found = impl_->hints.find(key);
  return found == impl_->hints.end() ? 0 : found->second;
}

void Upstream::remember(const std::string& key, std::size_t number) {
  const std::scoped_lock lock(impl_->hints_mutex);
  const auto found = impl_->hints.find(key);
  if (found != impl_->hints.end()) {
    found->second = number;
    return;
  }
  make_room(impl_->hints, key, k_max_hints);
  impl_->hints.emplace(key, number);
}

} // namespace zoo::upstream
