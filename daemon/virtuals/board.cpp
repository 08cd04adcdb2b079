// SPDX-License-Identifier: Apache-2.0
#include "daemon/virtuals/board.hpp"

#include "common/base/log.hpp"
#include "common/base/text.hpp"

#include <nlohmann/json.hpp>

namespace zoo::virtuals {
namespace {

using nlohmann::json;

struct Key {
  Owner owner;
  std::string set; ///< the key up to the last slash
  const Kind* kind = nullptr;
  std::string name;
};

std::optional<Key> parse_key(std::string_view key) {
  const auto parts = text::split(key, '/');
  if (parts.size() != 4) return std::nullopt;
  const auto dot = parts[2].find('.');
  Key out;
  out.owner = {std::string(parts[0]), std::string(parts[1])};
  out.kind = find_kind(dot == std::string_view::npos ? "" : parts[2].substr(dot + 1),
                       parts[2].substr(0, dot));
  if (out.kind == nullptr) return std::nullopt;
  out.set = std::string(key.substr(0, key.size() - parts[3].size() - 1));
  out.name = std::string(parts[3]);
  return out;
}

std::string set_key(const Owner& owner, const Kind& kind) { return owner.prefix() + kind.title(); }

struct Stored {
  ObjectPtr object; ///< null: unreadable
  bool grave = false;
};

Stored stored_of(const Key& key, const store::Record& record) {
  auto object = json::parse(record.value, nullptr, false);
  if (!object.is_object()) {
    log::error("virtuals", "the record {} cannot be read; it is not shown", record.key);
    return {};
  }
  const bool grave = object.erase(std::string(k_grave)) > 0;
  const auto revision = key.kind->beside ? version_of(object) : record.revision;
  return {make_object(*key.kind, std::move(object), revision), grave};
}

/// Puts a record of the first list into the set that it belongs to. `begun`: where the watch
/// begins.
void read_into(std::unordered_map<std::string, std::shared_ptr<Set>>& sets,
               const store::Record& record, std::int64_t begun) {
  const auto key = parse_key(record.key);
  if (!key) return;
  auto [object, grave] = stored_of(*key, record);
  if (!object) return;
  auto& set = sets[key->set];
  if (!set) set = std::make_shared<Set>();
  set->floor = std::max(set->floor, object->revision);
  if (!key->kind->beside) set->floor = std::max(set->floor, begun);
  if (grave) {
    set->graves.insert(key->name);
    return;
  }
  set->bytes += object->json.size();
  set->objects[key->name] = std::move(object);
}

} // namespace

std::string record_key(const Owner& owner, const Kind& kind, std::string_view name) {
  return set_key(owner, kind) + "/" + std::string(name);
}

std::size_t Event::bytes() const {
  std::size_t out = 0;
  for (const auto& each : {after, last, left})
    if (each) out += each->json.size();
  return out;
}

std::optional<Set::Objects> Set::at(std::int64_t revision) const {
  if (revision < floor) return std::nullopt;
  auto out = objects;
  for (auto event = recent.rbegin(); event != recent.rend() && event->revision > revision;
       ++event) {
    if (event->before) {
      out[event->before->name] = event->before;
    } else {
      out.erase(event->after->name);
    }
  }
  return out;
}

Result<std::unique_ptr<Board>> Board::start(store::Store& store,
                                            std::function<bool(const Owner&)> lives) {
  std::unique_ptr<Board> board(new Board(std::move(lives)));
  std::unordered_map<std::string, std::shared_ptr<Set>> sets;
  std::string after;
  std::int64_t begun = 0;
  for (;;) {
    ZOO_TRY(const auto page, store.list(k_record_kind, {}, after, 500));
    // Changes between two pages come again by the watch: it begins at the first one.
    if (begun == 0) board->begun_ = begun = page.revision;
    for (const auto& record : page.records)
      read_into(sets, record, begun);
    if (!page.more || page.records.empty()) break;
    after = page.records.back().key;
  }
  board->sets_.insert(sets.begin(), sets.end());
  board->revision_ = begun;
  ZOO_TRY(board->subscription_,
          store.watch(k_record_kind, begun,
                      [raw = board.get()](const store::Change& change) { raw->change(change); }));
  return board;
}

Board::~Board() = default;

/// The set after a change that may be one it has already. Parses, renders and copies: what takes
/// long is done here, on the store's thread, while event loops go on reading `old`.
std::shared_ptr<const Set> Board::after(const std::shared_ptr<const Set>& old, const Kind& kind,
                                        const Step& step) const {
  auto next = old ? std::make_shared<Set>(*old) : std::make_shared<Set>();
  if (!old && !kind.beside) next->floor = begun_;
  if (step.grave && !step.forgotten) next->graves.insert(step.name);
  if (!step.grave || step.forgotten) next->graves.erase(step.name);
  const auto before = next->objects.find(step.name);
  Event event{kind.beside ? step.object->revision : step.revision, nullptr, nullptr, nullptr,
              nullptr};
  if (before != next->objects.end()) {
    event.before = before->second;
    next->bytes -= before->second->json.size();
    next->objects.erase(before);
  }
  // One that the first list had already: nothing new.
  const bool known = event.before && event.before->revision >= event.revision;
  if (step.forgotten || step.grave) {
    event.last = step.object;
  } else {
    event.after = step.object;
    if (event.before)
      event.left =
          make_object(kind, json::parse(event.before->json, nullptr, false), event.revision);
    next->bytes += step.object->json.size();
    next->objects[step.name] = step.object;
  }
  if (!known && (event.before || event.after)) {
    next->recent_bytes += event.bytes();
    next->recent.push_back(std::move(event));
  }
  while (next->recent.size() > k_events || next->recent_bytes > k_event_bytes) {
    next->floor = next->recent.front().revision;
    next->recent_bytes -= next->recent.front().bytes();
    next->recent.pop_front();
  }
  return next;
}

void Board::change(const store::Change& change) {
  const auto key = parse_key(change.record.key);
  const bool forgotten = change.type == store::Change::Type::removed; // the record itself
  std::shared_ptr<const Set> next;
  if (key) {
    if (auto [object, grave] = stored_of(*key, change.record); object) {
      std::shared_ptr<const Set> old;
      {
        const std::lock_guard lock(mutex_);
        if (const auto found = sets_.find(key->set); found != sets_.end()) old = found->second;
      }
      // Nobody else changes the set meanwhile: only the store's thread does.
      next = after(old, *key->kind,
                   {key->name, std::move(object), change.record.revision, grave, forgotten});
    }
  }
  const bool lives = key && lives_(key->owner);
  std::vector<std::function<void()>> wake;
  {
    const std::lock_guard lock(mutex_);
    revision_ = std::max(revision_, change.record.revision);
    if (next) {
      if (next->objects.empty() && !lives) {
        sets_.erase(key->set);
      } else {
        std::swap(sets_[key->set], next); // the old one ends outside the lock
      }
      if (const auto hears = listeners_.find(key->set); hears != listeners_.end()) {
        for (const auto& [number, on_change] : hears->second)
          wake.push_back(on_change);
      }
    }
  }
  moved_.notify_all();
  for (const auto& each : wake)
    each();
}

Board::Reading Board::read(const Owner& owner, const Kind& kind) const {
  const auto key = set_key(owner, kind);
  const std::lock_guard lock(mutex_);
  const auto found = sets_.find(key);
  const bool settled = !writing_.contains(key);
  if (found != sets_.end()) return {found->second, revision_, settled};
  auto none = std::make_shared<Set>();
  if (!kind.beside) none->floor = begun_;
  return {std::move(none), revision_, settled};
}

Board::Writing::Writing(Board& board, const Owner& owner, const Kind& kind)
    : board_(board), key_(set_key(owner, kind)) {
  const std::lock_guard lock(board_.mutex_);
  ++board_.writing_[key_];
}

Board::Writing::~Writing() {
  const std::lock_guard lock(board_.mutex_);
  if (--board_.writing_[key_] == 0) board_.writing_.erase(key_);
}

std::int64_t Board::revision() const {
  const std::lock_guard lock(mutex_);
  return revision_;
}

bool Board::wait_for(std::int64_t revision, std::chrono::milliseconds longest) const {
  std::unique_lock lock(mutex_);
  return moved_.wait_for(lock, longest, [&] { return revision_ >= revision; });
}

Board::Subscription Board::subscribe(const Owner& owner, const Kind& kind,
                                     std::function<void()> on_change) {
  const std::lock_guard lock(mutex_);
  const auto number = ++last_listener_;
  auto key = set_key(owner, kind);
  listeners_[key].emplace(number, std::move(on_change));
  return {this, std::move(key), number};
}

void Board::Subscription::reset() {
  if (auto* board = std::exchange(board_, nullptr)) {
    const std::lock_guard lock(board->mutex_);
    const auto found = board->listeners_.find(key_);
    found->second.erase(number_);
    if (found->second.empty()) board->listeners_.erase(found);
  }
}

Board::Subscription& Board::Subscription::operator=(Subscription&& other) noexcept {
  if (this != &other) {
    reset();
    board_ = std::exchange(other.board_, nullptr);
    key_ = std::move(other.key_);
    number_ = other.number_;
  }
  return *this;
}

Result<void> sweep(store::Store& store, const Owner& owner) {
  for (const auto kind : {k_record_kind, k_order_kind}) {
    for (bool more = true; more;) {
      ZOO_TRY(const auto page, store.list(kind, owner.prefix(), {}, 100));
      for (const auto& record : page.records) {
        auto removed = store.remove(kind, record.key);
        if (!removed && removed.error().code() != Code::not_found)
          return fail(std::move(removed).error().context("while removing {}", record.key));
      }
      more = page.more;
    }
  }
  return {};
}

} // namespace zoo::virtuals
