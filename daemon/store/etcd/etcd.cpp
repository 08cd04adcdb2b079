// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/etcd/etcd.hpp"

#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/store/etcd/commit.hpp"
#include "daemon/store/etcd/gateway.hpp"
#include "daemon/store/etcd/history.hpp"
#include "daemon/store/etcd/session.hpp"
#include "daemon/store/etcd/stream.hpp"
#include "daemon/store/etcd/wire.hpp"
#include "daemon/store/ops.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

namespace zoo::store {
namespace {

using namespace etcd;
using nlohmann::json;
using std::chrono::milliseconds;

/// etcd takes requests of 1.5 MiB (its --max-request-bytes) and transactions of 128 operations.
constexpr Limits k_limits{1u << 20, 100};
constexpr std::size_t k_most_of_batch = 1u << 20;
constexpr milliseconds k_pulse{5'000};
constexpr milliseconds k_look{250};

/// Of an answer to /v3/maintenance/status (etcd api/etcdserverpb/rpc.proto, StatusResponse).
Member member_of(const std::string& url, const Result<json>& answer) {
  Member out;
  out.url = url;
  if (!answer) {
    out.trouble = answer.error().text();
    return out;
  }
  out.version = kube::text_at(*answer, "/version");
  const auto leader = kube::text_at(*answer, "/leader");
  out.has_leader = !leader.empty() && leader != "0";
  out.bytes = number(*answer, "dbSize");
  out.quota = number(*answer, "dbSizeQuota"); // since etcd 3.6
  for (const auto& each : kube::list_at(*answer, "/errors"))
    if (each.is_string()) out.wrong.push_back(each.get<std::string>());
  return out;
}

class EtcdStore final : public Store {
public:
  EtcdStore(std::unique_ptr<Gateway> gateway, std::string prefix, std::string writer)
      : gateway_(std::move(gateway)), layout_(std::move(prefix)),
        committer_(*gateway_, layout_, std::move(writer)) {}

  ~EtcdStore() override {
    pulse_ = {};
    history_.reset();
    committer_.finish();
  }

  Result<void> open() {
    ZOO_TRY(const auto loading, read(layout_.meta("loading")));
    if (loading.modified != 0) {
      return fail(Code::conflict,
                  "the prefix {} in etcd holds what a migration left unfinished: finish it with "
                  "`zooctl store migrate --clear-target`",
                  layout_.prefix());
    }
    auto look = range(layout_.meta("base"));
    ZOO_TRY(const auto answer, gateway_->ask("/v3/kv/range", look));
    ZOO_TRY(const auto stored, first_of(answer));
    if (stored.modified != 0) {
      const auto parts = json::parse(stored.value, nullptr, false);
      if (!parts.is_object()) return fail(Code::invalid, "etcd's {} is not JSON", stored.key);
      base_ = number(parts, "base");
      first_ = number(parts, "first");
    }
    ZOO_TRY_VOID(remove_old_marks(*gateway_, layout_));
    ZOO_TRY(history_, History::start(*gateway_, layout_, base_, header_revision(answer)));
    pulse_ = std::jthread([this](std::stop_token stop) { pulse(stop); });
    return {};
  }

  Result<Record> get(std::string_view kind, std::string_view key) override {
    ZOO_TRY(auto found, read(layout_.record(kind, key)));
    if (found.modified == 0) return no_such_record(kind, key);
    return record_of(kind, key, std::move(found));
  }

  Result<Record> put(std::string_view kind, std::string_view key, std::string_view value,
                     std::optional<std::int64_t> expected) override {
    const Op op{kind, key, value, expected, false};
    ZOO_TRY_VOID(check_ops({&op, 1}, k_limits));
    ZOO_TRY(auto done, commit({&op, 1}, {}, {}));
    Record out{std::string(kind), std::string(key), std::string(value), out_of(done.revision), 0};
    KeyValue meta;
    if (done.answers_known) {
      ZOO_TRY(meta, first_of(done.answers[1]));
    } else {
      auto look = keys_only(range(layout_.record(kind, key)));
      look["revision"] = std::to_string(done.revision);
      if (const auto answer = gateway_->ask("/v3/kv/range", look)) {
        ZOO_TRY(meta, first_of(*answer));
      }
    }
    out.created_revision = meta.created != 0 ? out_of(meta.created) : out.revision;
    return out;
  }

  Result<std::int64_t> remove(std::string_view kind, std::string_view key,
                              std::optional<std::int64_t> expected) override {
    const Op op{kind, key, {}, expected, true};
    ZOO_TRY(const auto done, commit({&op, 1}, {}, {}));
    return out_of(done.revision);
  }

  Result<std::int64_t> write(std::span<const Op> ops, std::span<const Guard> guards,
                             const std::optional<Fence>& fence) override {
    ZOO_TRY_VOID(check_ops(ops, k_limits));
    ZOO_TRY(const auto done, commit(ops, guards, fence));
    return out_of(done.revision);
  }

  Limits limits() const override { return k_limits; }

  Result<Page> list(std::string_view kind, std::string_view prefix, std::string_view after_key,
                    std::size_t limit) override {
    for (int attempt = 1;; ++attempt) {
      auto page = list_once(kind, prefix, after_key, limit);
      // Compacted between two parts of a long page.
      if (page || page.error().code() != Code::expired || attempt == 3) return page;
    }
  }

  Result<std::int64_t> revision() override {
    ZOO_TRY(const auto answer,
            gateway_->ask("/v3/kv/range", keys_only(range(layout_.meta("base")))));
    return out_of(header_revision(answer));
  }

  Result<Snapshot> snapshot() override {
    Snapshot out;
    const auto begin = layout_.records();
    ZOO_TRY(const auto at,
            read_all(*gateway_, begin, end_of_prefix(begin), 0, true,
                     [&](KeyValue pair) -> Result<void> {
                       ZOO_TRY(const auto names, layout_.names_of(pair.key));
                       out.records.push_back(record_of(names.first, names.second, std::move(pair)));
                       return {};
                     }));
    out.revision = out_of(at.revision);
    std::sort(out.records.begin(), out.records.end(), [](const Record& a, const Record& b) {
      return std::tie(a.kind, a.key) < std::tie(b.kind, b.key);
    });
    return out;
  }

  Result<void> load(const Snapshot& from) override;

  Result<Subscription> watch(std::string_view kind, std::int64_t from,
                             std::function<void(const Change&)> on_change) override {
    if (from < first_ || from < base_ || from < 0) return too_old(kind, from);
    auto out = history_->watch(kind, from - base_, std::move(on_change));
    if (!out && out.error().code() == Code::expired) return too_old(kind, from);
    return out;
  }

  Result<std::unique_ptr<Session>> join(Replica self) override;

  milliseconds stale() const override { return history_->silence(); }

  std::vector<Member> members() override {
    std::vector<Member> out;
    for (const auto& [url, answer] :
         gateway_->ask_each("/v3/maintenance/status", json::object(), Patience{}.call))
      out.push_back(member_of(url, answer));
    return out;
  }

private:
  std::int64_t out_of(std::int64_t revision) const { return base_ + revision; }

  Record record_of(std::string_view kind, std::string_view key, KeyValue pair) const {
    return {std::string(kind), std::string(key), std::move(pair.value), out_of(pair.modified),
            out_of(pair.created)};
  }

  static tl::unexpected<Error> too_old(std::string_view kind, std::int64_t from) {
    return fail(Code::expired, "changes of {} after revision {} are not kept: list again", kind,
                from);
  }

  Result<KeyValue> read(const std::string& key) {
    ZOO_TRY(const auto answer, gateway_->ask("/v3/kv/range", range(key)));
    return first_of(answer);
  }

  Result<Page> list_once(std::string_view kind, std::string_view prefix, std::string_view after_key,
                         std::size_t limit) {
    const auto own = layout_.kind(kind);
    auto begin = own + std::string(prefix);
    const auto end = end_of_prefix(begin);
    if (!after_key.empty() && after_key >= prefix) begin = own + std::string(after_key) + '\0';
    Page page;
    if (begin >= end && end.front() != '\0') {
      ZOO_TRY(page.revision, revision());
      return page;
    }
    ZOO_TRY(const auto at, read_all(
                               *gateway_, begin, end, 0, true,
                               [&](KeyValue pair) -> Result<void> {
                                 const auto key = pair.key.substr(own.size());
                                 page.records.push_back(record_of(kind, key, std::move(pair)));
                                 return {};
                               },
                               {}, limit));
    page.more = at.more;
    page.revision = out_of(at.revision);
    return page;
  }

  Result<Committed> commit(std::span<const Op> ops, std::span<const Guard> guards,
                           const std::optional<Fence>& fence);
  Error refusal(std::span<const Op> ops, std::span<const Guard> guards,
                const std::optional<Fence>& fence, const Committed& seen) const;
  void pulse(std::stop_token stop);

  const std::unique_ptr<Gateway> gateway_;
  const Layout layout_;
  Committer committer_;
  /// As m/base has them: a revision of the store's is etcd's and `base_`; what is older than
  /// `first_` is another history.
  std::atomic<std::int64_t> base_ = 0, first_ = 0;
  std::unique_ptr<History> history_;
  std::jthread pulse_;
};

/// A session that the store's stream tells of changes.
class JoinedSession final : public EtcdSession {
public:
  JoinedSession(History& history, Gateway& gateway, const Layout& layout, Replica self)
      : EtcdSession(gateway, layout, std::move(self)), history_(history) {
    history_.on_session([this](const SessionChange& change) {
      heard(change);
      if (change.name != "barrier") return;
      history_.call([weak = std::weak_ptr(alive_), this, revision = change.revision] {
        if (const auto alive = weak.lock()) confirm(revision);
      });
    });
  }
  ~JoinedSession() override {
    history_.on_session(nullptr);
    // The watches' thread may be confirming just now.
    const std::weak_ptr weak = alive_;
    for (alive_.reset(); !weak.expired();)
      std::this_thread::yield();
  }

private:
  History& history_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

Result<std::unique_ptr<Session>> EtcdStore::join(Replica self) {
  auto session = std::make_unique<JoinedSession>(*history_, *gateway_, layout_, std::move(self));
  ZOO_TRY_VOID(session->begin());
  return session;
}

Result<Committed> EtcdStore::commit(std::span<const Op> ops, std::span<const Guard> guards,
                                    const std::optional<Fence>& fence) {
  json compare = json::array(), success = json::array(), failure = json::array();
  for (const auto& op : ops) {
    const auto key = layout_.record(op.kind, op.key);
    if (op.removal) compare.push_back(exists(key));
    // What is below the base was never a revision of a record here: it is no "does not exist".
    if (op.expected)
      compare.push_back(modified_is(
          key, *op.expected == 0 ? 0 : std::max<std::int64_t>(1, *op.expected - base_)));
    if (op.removal) {
      success.push_back(request_removal(key));
    } else {
      success.push_back(request_put(key, op.value));
    }
    failure.push_back(request_range(keys_only(range(key))));
  }
  // When it was made: put() tells.
  if (ops.size() == 1 && !ops.front().removal)
    success.push_back(
        request_range(keys_only(range(layout_.record(ops.front().kind, ops.front().key)))));
  for (const auto& guard : guards) {
    const auto key = layout_.record(guard.kind, guard.key);
    compare.push_back(modified_is(
        key, guard.revision == 0 ? 0 : std::max<std::int64_t>(1, guard.revision - base_)));
    failure.push_back(request_range(keys_only(range(key))));
  }
  if (fence) {
    compare.push_back(created_is(fence->key, fence->created));
    failure.push_back(request_range(keys_only(range(fence->key))));
  }
  ZOO_TRY(auto out, committer_.commit({compare, success, failure}));
  if (!out.done) return fail(refusal(ops, guards, fence, out));
  return out;
}

Error EtcdStore::refusal(std::span<const Op> ops, std::span<const Guard> guards,
                         const std::optional<Fence>& fence, const Committed& seen) const {
  std::size_t at = 0;
  const auto next = [&]() -> std::optional<std::int64_t> {
    const auto found = first_of(seen.answers[at++]);
    if (!found || found->modified == 0) return std::nullopt;
    return out_of(found->modified);
  };
  Result<void> first;
  for (const auto& op : ops) {
    const auto found = next();
    if (first) first = check_expected(op, found);
  }
  for (const auto& guard : guards) {
    const auto found = next();
    if (first) first = check_guard(guard, found);
  }
  if (fence && first) {
    const auto found = first_of(seen.answers[at]);
    if (!found || found->created != fence->created)
      return Error(Code::conflict, "this zood does not lead any more: nothing was written");
  }
  if (!first) return first.error();
  return Error(Code::conflict, "a record changed while it was being written: read it again");
}

Result<void> EtcdStore::load(const Snapshot& from) {
  {
    json compare = json::array(), success = json::array(), failure = json::array();
    compare.push_back(modified_is(layout_.meta("base"), 0));
    compare.push_back(modified_is(layout_.meta("loading"), 0));
    success.push_back(request_put(layout_.meta("loading"), "1"));
    const auto begin = layout_.records();
    auto any = keys_only(range(begin, end_of_prefix(begin)));
    any["limit"] = "1";
    ZOO_TRY(const auto answer, gateway_->ask("/v3/kv/range", any));
    ZOO_TRY(const auto found, first_of(answer));
    Committed begun;
    if (found.modified == 0) {
      ZOO_TRY(begun, committer_.commit({compare, success, failure}));
    }
    if (!begun.done)
      return fail(Code::conflict, "the store is not empty: etcd has keys under {}",
                  layout_.prefix());
    base_ = std::max<std::int64_t>(0, from.revision - begun.revision);
    first_ = out_of(begun.revision);
    history_->set_base(base_);
  }
  for (auto next = from.records.begin(); next != from.records.end();) {
    json compare = json::array(), success = json::array(), failure = json::array();
    for (std::size_t bytes = 0; next != from.records.end() && success.size() < k_limits.ops;
         ++next) {
      ZOO_TRY_VOID(check_record_name(next->kind, next->key));
      if (next->value.size() > k_limits.value)
        return fail(Code::too_large, "{} '{}' has {} bytes; etcd takes at most {}", next->kind,
                    next->key, next->value.size(), k_limits.value);
      bytes += next->value.size() + next->key.size();
      if (!success.empty() && bytes > k_most_of_batch) break;
      success.push_back(request_put(layout_.record(next->kind, next->key), next->value));
    }
    ZOO_TRY([[maybe_unused]] const auto done, committer_.commit({compare, success, failure}));
  }
  json compare = json::array(), success = json::array(), failure = json::array();
  compare.push_back(modified_is(layout_.meta("base"), 0));
  success.push_back(request_put(layout_.meta("base"),
                                json{{"base", base_.load()}, {"first", first_.load()}}.dump()));
  success.push_back(request_removal(layout_.meta("loading")));
  ZOO_TRY(const auto done, committer_.commit({compare, success, failure}));
  if (!done.done) return fail(Code::conflict, "somebody else has loaded this store meanwhile");
  return {};
}

/// While nothing else is written, a key is: a member that does not tell of it is dead or cut off.
/// Of several zoods one writes it, since the others hear of it.
void EtcdStore::pulse(std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any changed;
  // Not all at the same moment.
  const auto spread =
      milliseconds(crypto::random_bytes(1).value_or(std::string(1, 0))[0] & 0x7f) * 8;
  auto written = std::chrono::steady_clock::now();
  for (;;) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, stop, k_look, [] { return false; });
    if (stop.stop_requested()) return;
    lock.unlock();
    const auto now = std::chrono::steady_clock::now();
    if (history_->silence() < k_pulse + spread || now - written < k_pulse) continue;
    written = now;
    const auto put = request_put(layout_.session("pulse"), "")["request_put"];
    if (const auto done = gateway_->ask("/v3/kv/put", put, {}, stop); !done)
      log::debug("store", "no pulse: {}", done.error().text());
  }
}

Result<std::pair<std::unique_ptr<Gateway>, std::string>> reach(EtcdOptions options) {
  if (!options.prefix.starts_with('/') || !options.prefix.ends_with('/'))
    return fail(Code::invalid, "store.etcd.prefix begins and ends with a slash: not '{}'",
                options.prefix);
  auto prefix = options.prefix;
  ZOO_TRY(auto gateway, Gateway::make(std::move(options)));
  return std::pair(std::move(gateway), std::move(prefix));
}

} // namespace

Result<std::unique_ptr<Store>> open_etcd(EtcdOptions options) {
  ZOO_TRY(auto reached, reach(std::move(options)));
  ZOO_TRY(const auto writer, crypto::random_bytes(8));
  auto out = std::make_unique<EtcdStore>(std::move(reached.first), std::move(reached.second),
                                         crypto::hex_encode(writer));
  ZOO_TRY_VOID(out->open());
  return std::unique_ptr<Store>(std::move(out));
}

Result<void> clear_etcd(EtcdOptions options) {
  ZOO_TRY(const auto reached, reach(std::move(options)));
  const Layout layout(reached.second);
  // What says that the rest is unfinished goes last.
  for (const auto& begin : {layout.records(), layout.writer(""), layout.meta("")})
    ZOO_TRY_VOID(reached.first->ask("/v3/kv/deleterange", range(begin, end_of_prefix(begin))));
  return {};
}

} // namespace zoo::store
