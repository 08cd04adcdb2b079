// SPDX-License-Identifier: Apache-2.0
#include "daemon/replicas/turns.hpp"

#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/json_reads.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace zoo::replicas {
namespace {

using nlohmann::json;
using reconcile::Next;
using std::chrono::milliseconds;

std::string name_of(const std::string& holder) { return holder.substr(0, holder.rfind('/')); }

} // namespace

/// Gives itself back.
class SharedTurns::Held final : public access::Turns::Turn {
public:
  Held(SharedTurns& turns, std::string tenant) : turns_(turns), tenant_(std::move(tenant)) {}
  ~Held() override { turns_.given_back(tenant_, in_doubt_); }
  void doubt() override { in_doubt_ = true; }

private:
  SharedTurns& turns_;
  const std::string tenant_;
  bool in_doubt_ = false;
};

SharedTurns::SharedTurns(store::Store& store, store::Session& session, TurnTimes times)
    : store_(store), session_(session), times_(times),
      self_(fmt::format("{}/{}", session.name(), crypto::uuid_v4())) {}

SharedTurns::~SharedTurns() {
  changes_.reset();
  runner_.reset();
  for (const auto& [tenant, room] : rooms_) {
    if (!room.mine || room.doubt_until > Clock::now()) continue;
    const auto record = read(tenant);
    const auto passed =
        record && record->holder == self_ ? pass_on(tenant, *record, false) : Result<bool>(true);
    if (!passed) return; // others wait for TurnTimes::mourning
  }
}

Result<void> SharedTurns::start(unsigned threads) {
  ZOO_TRY(const auto page, store_.list(k_turn_kind));
  ZOO_TRY(changes_, store_.watch(k_turn_kind, page.revision,
                                 [this](const store::Change& change) { heard(change); }));
  // What an earlier process of this name had, which may have been killed a moment ago.
  for (const auto& each : page.records)
    queue_.add(each.key, times_.mourning);
  runner_.emplace(reconciler(), queue_);
  runner_->start(threads);
  return {};
}

reconcile::Reconciler SharedTurns::reconciler() {
  reconcile::Reconciler out;
  out.name = "turns";
  out.look = [this](const std::string& tenant, unsigned) { return look(tenant); };
  out.failed = [this](const std::string& tenant, const Error& error) { failed(tenant, error); };
  return out;
}

// ---- those that ask ----

access::Turns::Answer SharedTurns::take(const std::string& tenant, Clock::time_point since,
                                        std::function<void()> wake) {
  Answer out;
  if (const auto stale = store_.stale(); stale > times_.stale) {
    out.error =
        Error(Code::unavailable,
              fmt::format("what this tenant may still store is not known: nothing was heard "
                          "from zood's store for {} s; try again",
                          stale.count() / 1'000));
    return out;
  }
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  const auto known = rooms_.find(tenant);
  if (known != rooms_.end()) {
    auto& room = known->second;
    const bool granted = room.granted > 0 && now < room.granted_until;
    if (room.mine && (!room.wanted || granted)) {
      if (granted) --room.granted;
      ++room.out;
      room.used = now;
      out.turn = std::make_unique<Held>(*this, tenant);
      out.generation = room.generation;
      return out;
    }
    if (room.trouble && room.troubled >= since) {
      out.error = room.trouble;
      return out;
    }
  }
  const auto of_one = known == rooms_.end() ? 0 : known->second.waiting.size();
  if (now - since >= times_.wait || waiting_ >= k_most_waiting || of_one >= k_most_of_one) {
    out.error = Error(Code::too_many_requests,
                      "another zood is writing what this tenant's ceilings count; try again");
    return out;
  }
  rooms_[tenant].waiting.push_back({since, std::move(wake)});
  ++waiting_;
  queue_.add(tenant, milliseconds(0));
  return out;
}

void SharedTurns::given_back(const std::string& tenant, bool in_doubt) {
  const std::lock_guard lock(mutex_);
  const auto found = rooms_.find(tenant);
  if (found == rooms_.end()) return;
  auto& room = found->second;
  --room.out;
  if (in_doubt) room.doubt_until = Clock::now() + times_.doubt;
  if (room.out == 0 && room.wanted) queue_.add(tenant, milliseconds(0));
}

/// Those that were asked for first before that time.
SharedTurns::Wakes SharedTurns::take_waiting(Room& room, Clock::time_point before) {
  Wakes out;
  std::erase_if(room.waiting, [&](Waiting& each) {
    if (each.since > before) return false;
    out.push_back(std::move(each.wake));
    return true;
  });
  waiting_ -= out.size();
  return out;
}

void SharedTurns::failed(const std::string& tenant, const Error& error) {
  Wakes wakes;
  {
    const std::lock_guard lock(mutex_);
    const auto found = rooms_.find(tenant);
    if (found == rooms_.end()) return;
    found->second.trouble = error;
    found->second.troubled = Clock::now();
    wakes = take_waiting(found->second, Clock::time_point::max());
  }
  log::at(error.code() == Code::unavailable ? LogLevel::debug : LogLevel::warning, "replicas",
          "turn of {}: {}", tenant, error.text());
  for (const auto& wake : wakes)
    wake();
}

/// Those that have waited long enough hear it when they ask.
void SharedTurns::wake_late(const std::string& tenant) {
  Wakes wakes;
  {
    const std::lock_guard lock(mutex_);
    const auto found = rooms_.find(tenant);
    if (found == rooms_.end()) return;
    wakes = take_waiting(found->second, Clock::now() - times_.wait);
  }
  for (const auto& wake : wakes)
    wake();
}

void SharedTurns::heard(const store::Change& change) {
  const auto value = json::parse(change.record.value, nullptr, false);
  const bool put = change.type == store::Change::Type::put;
  const bool own = put && kube::text_at(value, "/holder") == self_;
  {
    const std::lock_guard lock(mutex_);
    const auto found = rooms_.find(change.record.key);
    if (found == rooms_.end() && !own) return;
    if (own && found != rooms_.end() && !kube::list_at(value, "/wanted").empty())
      found->second.wanted = true;
  }
  queue_.add(change.record.key, milliseconds(0));
}

// ---- the records ----

Result<SharedTurns::Record> SharedTurns::read(const std::string& tenant) {
  const auto found = store_.get(k_turn_kind, tenant);
  if (!found && found.error().code() == Code::not_found) return Record{};
  if (!found) return fail(found.error());
  const auto value = json::parse(found->value, nullptr, false);
  Record out{kube::text_at(value, "/holder"), {}, found->revision};
  for (const auto& each : kube::list_at(value, "/wanted"))
    if (each.is_string()) out.wanted.push_back(each.get<std::string>());
  return out;
}

Result<bool> SharedTurns::write(const std::string& tenant, const Record& record) {
  const auto is_conflict = [](Code code) {
    return code == Code::conflict || code == Code::already_exists || code == Code::not_found;
  };
  if (record.holder.empty()) {
    const auto removed = store_.remove(k_turn_kind, tenant, record.revision);
    if (removed) return true;
    if (is_conflict(removed.error().code())) return false;
    return fail(removed.error());
  }
  const json value = {{"holder", record.holder}, {"wanted", record.wanted}};
  const auto written = store_.put(k_turn_kind, tenant, kube::text_of(value), record.revision);
  if (written) return true;
  if (is_conflict(written.error().code())) return false;
  return fail(written.error());
}

/// To the next one that wants it; with nobody, the record goes.
Result<bool> SharedTurns::pass_on(const std::string& tenant, Record record, bool ask_again) {
  std::erase(record.wanted, self_);
  if (ask_again) record.wanted.push_back(self_);
  record.holder.clear();
  if (!record.wanted.empty()) {
    record.holder = record.wanted.front();
    record.wanted.erase(record.wanted.begin());
  }
  return write(tenant, record);
}

Result<bool> SharedTurns::lives(const std::string& holder) {
  if (name_of(holder) == session_.name()) return holder == self_;
  ZOO_TRY(const auto replicas, session_.replicas());
  return std::any_of(replicas.begin(), replicas.end(),
                     [&](const auto& each) { return each.name == name_of(holder); });
}

void SharedTurns::set_mine(const std::string& tenant, const Record& record) {
  Wakes wakes;
  {
    const std::lock_guard lock(mutex_);
    auto& room = rooms_[tenant];
    const auto now = Clock::now();
    room.wanted = !record.wanted.empty();
    if (!room.mine) {
      room.mine = true;
      room.generation = ++generations_;
      room.used = now;
      room.missing.clear();
    } else if (room.wanted) {
      return; // those that came meanwhile wait until it comes back
    }
    room.trouble.reset();
    wakes = take_waiting(room, Clock::time_point::max());
    room.granted = wakes.size();
    room.granted_until = now + times_.granted;
  }
  for (const auto& wake : wakes)
    wake();
}

Result<Next> SharedTurns::look(const std::string& tenant) {
  wake_late(tenant);
  ZOO_TRY(auto record, read(tenant));
  if (record.holder == self_) return look_at_own(tenant, std::move(record));
  return look_at_others(tenant, std::move(record));
}

Result<Next> SharedTurns::look_at_own(const std::string& tenant, Record record) {
  set_mine(tenant, record);
  bool waits = false;
  {
    const std::lock_guard lock(mutex_);
    auto& room = rooms_[tenant];
    const auto now = Clock::now();
    const auto left = [now](Clock::time_point until) {
      return Next{std::max(milliseconds(1), std::chrono::ceil<milliseconds>(until - now)), true};
    };
    if (room.out > 0) return room.wanted ? Next{} : left(now + times_.idle);
    if (room.doubt_until > now) return left(room.doubt_until);
    if (room.granted > 0 && room.granted_until > now) return left(room.granted_until);
    if (!room.wanted && (now - room.used < times_.idle || !room.waiting.empty()))
      return left(room.used + times_.idle);
    room.mine = false; // before the record says so
    waits = !room.waiting.empty();
    if (!waits) rooms_.erase(tenant);
  }
  ZOO_TRY(const bool done, pass_on(tenant, std::move(record), waits));
  return Next{done && !waits ? std::optional<milliseconds>()
              : done         ? times_.look
                             : milliseconds(0),
              true};
}

Result<Next> SharedTurns::look_at_others(const std::string& tenant, Record record) {
  constexpr milliseconds k_at_once{0};
  const bool of_namesake = name_of(record.holder) == session_.name(); // an earlier process
  bool wants = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = rooms_.find(tenant);
    if (found != rooms_.end()) {
      if (std::exchange(found->second.mine, false))
        log::warning("replicas", "another zood has taken the turn of {}", tenant);
      wants = !found->second.waiting.empty() || found->second.out != 0;
      if (!wants) rooms_.erase(found);
    }
  }
  if (!wants && !of_namesake) return Next{};
  const auto take = [&]() -> Result<Next> {
    std::erase(record.wanted, self_);
    record.holder = self_;
    ZOO_TRY(const bool done, write(tenant, record));
    if (done) set_mine(tenant, record);
    return Next{k_at_once, true};
  };
  if (record.holder.empty()) return take();
  ZOO_TRY(const bool alive, lives(record.holder));
  if (!alive) {
    if (!is_mourned(tenant, record.holder)) return Next{times_.look, true};
    if (wants) return take();
    ZOO_TRY_VOID(pass_on(tenant, std::move(record), false).map([](bool) {}));
    return Next{k_at_once, true};
  }
  if (std::find(record.wanted.begin(), record.wanted.end(), self_) != record.wanted.end())
    return Next{times_.look, true};
  record.wanted.push_back(self_);
  ZOO_TRY(const bool done, write(tenant, record));
  return Next{done ? times_.look : k_at_once, true};
}

/// Has it been missed for so long that all it had sent has come to its end? What an earlier process
/// of this name had is missed since this one was started.
bool SharedTurns::is_mourned(const std::string& tenant, const std::string& holder) {
  const auto now = Clock::now();
  if (name_of(holder) == session_.name()) return now - started_ >= times_.mourning;
  const std::lock_guard lock(mutex_);
  auto& room = rooms_[tenant];
  if (room.missing != holder) {
    room.missing = holder;
    room.missed = now;
  }
  return now - room.missed >= times_.mourning;
}

} // namespace zoo::replicas
