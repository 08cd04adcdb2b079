// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/etcd/stream.hpp"

#include "common/base/log.hpp"
#include "common/kube/json_reads.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <condition_variable>
#include <unordered_set>
#include <utility>

namespace zoo::store::etcd {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

/// A member that says nothing for so long is taken for dead; EtcdStore writes more often than that.
constexpr milliseconds k_silence{15'000};
constexpr milliseconds k_pause{100};
constexpr std::size_t k_page = 250;

} // namespace

Result<Moment> read_all(Gateway& gateway, std::string_view begin, std::string_view end,
                        std::int64_t revision, bool values,
                        const std::function<Result<void>(KeyValue)>& each, std::stop_token stop,
                        std::size_t limit) {
  const auto most = values ? k_page : 20 * k_page;
  std::string from(begin);
  for (auto left = limit;;) {
    auto page = range(from, end);
    page["limit"] = std::to_string(limit == 0 ? most : std::min(left, most));
    if (revision != 0) page["revision"] = std::to_string(revision);
    if (!values) page["keys_only"] = true;
    ZOO_TRY(const auto answer, gateway.ask("/v3/kv/range", page, k_bulk, stop));
    if (revision == 0) revision = header_revision(answer);
    const auto& found = kube::list_at(answer, "/kvs");
    for (const auto& one : found) {
      ZOO_TRY(auto pair, read_key_value(one));
      from = pair.key;
      ZOO_TRY_VOID(each(std::move(pair)));
    }
    const bool more = flag(answer, "more") && !found.empty();
    left -= std::min(left, found.size());
    if (!more || (limit != 0 && left == 0)) return Moment{revision, more};
    from.push_back('\0');
  }
}

Result<void> check_kept(Gateway& gateway, const Layout& layout, std::int64_t revision,
                        std::stop_token stop) {
  auto look = keys_only(range(layout.meta("base")));
  look["revision"] = std::to_string(std::max<std::int64_t>(1, revision));
  ZOO_TRY_VOID(gateway.ask("/v3/kv/range", look, {}, stop));
  return {};
}

Stream::Stream(Gateway& gateway, const Layout& layout, std::string_view kind, std::int64_t from,
               Sink sink)
    : gateway_(gateway), layout_(layout),
      records_(kind.empty() ? layout.records() : layout.kind(kind)), sink_(std::move(sink)),
      position_(from), heard_(Clock::now().time_since_epoch().count()) {}

Result<std::unique_ptr<Stream>> Stream::start(Gateway& gateway, const Layout& layout,
                                              std::string_view kind, std::int64_t from, Sink sink) {
  std::unique_ptr<Stream> out(new Stream(gateway, layout, kind, from, std::move(sink)));
  ZOO_TRY_VOID(out->learn(from));
  out->thread_ = std::jthread([raw = out.get()](std::stop_token stop) { raw->run(stop); });
  return out;
}

Stream::~Stream() = default; // the thread is asked to stop and joined first

milliseconds Stream::silence() const {
  const Clock::time_point last{Clock::duration(heard_.load())};
  return std::chrono::duration_cast<milliseconds>(Clock::now() - last);
}

/// What there was at the beginning: the changes are held against it later.
Result<void> Stream::learn(std::int64_t revision) {
  ZOO_TRY([[maybe_unused]] const auto at,
          read_all(gateway_, records_, end_of_prefix(records_), std::max<std::int64_t>(1, revision),
                   false, [this](KeyValue pair) -> Result<void> {
                     known_.emplace(std::move(pair.key), pair.modified);
                     return {};
                   }));
  return {};
}

Result<bool> Stream::is_kept(std::stop_token stop) {
  const auto kept = check_kept(gateway_, layout_, position_, stop);
  if (kept) return true;
  if (kept.error().code() == Code::expired) return false;
  return fail(kept.error());
}

Result<void> Stream::compare(std::stop_token stop) {
  std::vector<Change> changes;
  std::unordered_set<std::string> there;
  const auto look = [&](KeyValue pair) -> Result<void> {
    there.insert(pair.key);
    const auto known = known_.find(pair.key);
    if (known != known_.end() && known->second == pair.modified) return {};
    ZOO_TRY(auto names, layout_.names_of(pair.key));
    Change change;
    change.created = known == known_.end();
    change.record = {std::move(names.first), std::move(names.second), std::move(pair.value),
                     pair.modified, pair.created};
    changes.push_back(std::move(change));
    known_[pair.key] = pair.modified;
    return {};
  };
  ZOO_TRY(const auto moment,
          read_all(gateway_, records_, end_of_prefix(records_), 0, true, look, stop));
  const auto now = moment.revision;
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.record.revision < b.record.revision; });
  for (auto each = known_.begin(); each != known_.end();) {
    if (there.contains(each->first)) {
      ++each;
      continue;
    }
    ZOO_TRY(auto names, layout_.names_of(each->first));
    changes.push_back({Change::Type::removed,
                       {std::move(names.first), std::move(names.second), {}, now, each->second},
                       false});
    each = known_.erase(each);
  }
  log::warning("store", "etcd has compacted what was missed: {} changes were found by comparing",
               changes.size());
  if (now < position_) {
    log::error("store",
               "etcd is at revision {}, but was at {}: if it was restored from a "
               "snapshot, stop every zood and restore zood's own backup",
               now, position_.load());
  }
  position_ = now;
  heard();
  sink_.records(std::move(changes), now);
  return {};
}

void Stream::run(std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any changed;
  bool told = false; // of an outage
  while (!stop.stop_requested()) {
    bool compacted = false;
    auto kept = is_kept(stop);
    Result<void> ended = kept ? Result<void>() : fail(kept.error());
    if (kept && !*kept) ended = compare(stop);
    if (ended && kept && *kept) {
      // The range ends behind s/: that a member lives is known by what is written there.
      auto create = range(records_, end_of_prefix(layout_.session("")));
      create["start_revision"] = std::to_string(position_ + 1);
      create["prev_kv"] = true;
      create["fragment"] = true;
      create["progress_notify"] = true;
      ended = gateway_.stream(
          "/v3/watch", json{{"create_request", std::move(create)}}, k_silence,
          [&](std::string_view line) {
            const auto next = on_line(line);
            if (next == Next::compacted) compacted = true;
            if (next == Next::goes_on) told = false;
            return next == Next::goes_on;
          },
          stop);
      if (ended) ended = fail(Code::unavailable, "the stream of changes ended");
    }
    if (stop.stop_requested()) return;
    if (ended || compacted) continue;
    if (!std::exchange(told, true))
      log::warning("store", "changes are not heard of for the moment: {}", ended.error().text());
    std::unique_lock lock(mutex);
    changed.wait_for(lock, stop, k_pause, [] { return false; });
  }
}

Stream::Next Stream::on_line(std::string_view line) {
  const auto answer = json::parse(line, nullptr, false);
  const auto found = answer.is_object() ? answer.find("result") : answer.end();
  if (!answer.is_object() || found == answer.end()) {
    log::debug("store", "etcd ended a stream: {}", line.substr(0, 300));
    return Next::ends;
  }
  const auto& result = *found;
  if (flag(result, "canceled"))
    return number(result, "compact_revision") != 0 ? Next::compacted : Next::ends;
  heard();
  const auto events = result.find("events");
  if (events == result.end() || events->empty()) {
    // Nothing has happened: an answer to the opening, or a notification of progress. The header's
    // revision is no position: it may be ahead of changes that are still to come.
    sink_.records({}, position_);
    return Next::goes_on;
  }
  std::vector<Change> changes;
  std::vector<SessionChange> sessions;
  std::int64_t last = position_;
  for (const auto& event : *events) {
    const auto type = event.find("type");
    const bool removal = type != event.end() && *type == "DELETE";
    auto pair = read_key_value(event.value("kv", json::object()));
    if (!pair) {
      log::error("store", "an event of etcd's cannot be read: {}", pair.error().text());
      return Next::ends;
    }
    last = std::max(last, pair->modified);
    if (const auto begin = layout_.session(""); pair->key.starts_with(begin)) {
      sessions.push_back({pair->key.substr(begin.size()), std::move(pair->value),
                          removal ? 0 : pair->created, pair->modified});
      continue;
    }
    if (!pair->key.starts_with(records_)) continue;
    auto names = layout_.names_of(pair->key);
    if (!names) continue; // not written by zood
    if (!beyond_.emplace(pair->modified, pair->key).second) continue;
    auto& known = known_[pair->key];
    Change change;
    change.created = !removal && pair->created == pair->modified;
    change.record = {std::move(names->first), std::move(names->second), std::move(pair->value),
                     pair->modified, pair->created};
    known = pair->modified;
    if (removal) {
      change.type = Change::Type::removed;
      auto before = read_key_value(event.value("prev_kv", json::object()));
      if (before) {
        change.record.value = std::move(before->value);
        change.record.created_revision = before->created;
      }
      known_.erase(pair->key);
    }
    changes.push_back(std::move(change));
  }
  // Of a revision that comes in several parts the rest may be lost with the connection; then the
  // stream begins again before that revision, and what was told of it is not told again.
  position_ = flag(result, "fragment") ? std::max<std::int64_t>(position_, last - 1) : last;
  beyond_.erase(beyond_.begin(), beyond_.lower_bound({position_ + 1, std::string()}));
  sink_.records(std::move(changes), position_);
  for (const auto& each : sessions)
    if (sink_.session) sink_.session(each);
  return Next::goes_on;
}

} // namespace zoo::store::etcd
