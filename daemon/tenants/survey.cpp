// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/survey.hpp"

#include "common/kube/client.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <deque>
#include <exception>
#include <map>
#include <optional>
#include <utility>

namespace zoo::tenants {
namespace {

using nlohmann::json;
using upstream::ControlApi;

constexpr std::chrono::minutes k_kinds_age{1};
/// A collection with at most so many objects for each prefix is read whole: as quick as a range
/// read for each.
constexpr std::size_t k_whole = 32;

bool refuses_position(const Error& error) {
  return error.code() == Code::bad_request || error.code() == Code::expired ||
         error.code() == Code::invalid;
}

/// Others wait for this one: it must come to an end, whatever upstream has answered.
template <class Ask>
auto to_an_end(const Ask& ask) -> decltype(ask()) {
  try {
    return ask();
  } catch (const std::exception& error) {
    return fail(Code::unavailable, "what the upstream answered cannot be read: {}", error.what());
  }
}

} // namespace

struct Survey::Place {
  std::string collection, title;
  bool definitions = false; ///< not contiguous: found by their label
};

/// One read, or a few: of a place for all prefixes, or for one of them as of a revision.
struct Survey::Task {
  std::size_t place = 0;
  std::optional<std::size_t> prefix;
  std::int64_t revision = k_latest;
};

struct Survey::Finds {
  std::map<std::size_t, std::string> names; ///< index of the prefix -> an object
  std::optional<std::size_t> size;          ///< how many objects the collection has, if it was seen
  /// From which prefix on each is to be looked for alone, as of `revision`; nothing: all is said.
  std::optional<std::size_t> left;
  std::int64_t revision = k_latest;
};

struct Survey::Round {
  std::vector<std::string> prefixes; ///< stays as it is once `begun`
  std::vector<Place> places;
  std::deque<Task> tasks; ///< nobody is at them yet
  std::size_t reading = 0;
  bool begun = false, over = false;
  std::optional<Error> failed;
  std::vector<std::pair<std::size_t, std::string>> found; ///< a prefix: place, words; or nothing
};

Result<std::string> Survey::occupied(ControlApi& api, std::string_view id) {
  std::unique_lock lock(mutex_);
  const bool first = gathering_ == nullptr;
  if (first) gathering_ = std::make_shared<Round>();
  const auto round = gathering_;
  const auto mine = round->prefixes.size();
  round->prefixes.push_back(std::string(id) + "-");
  if (first) {
    begin(api, *round, lock);
  } else {
    changed_.wait(lock, [&] { return round->begun; });
  }
  help(api, *round, lock);
  if (round->failed) return fail(*round->failed);
  return round->found[mine].second;
}

void Survey::begin(ControlApi& api, Round& round, std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock, [&] { return !running_; });
  running_ = true;
  while (Clock::now() < began_ + apart_)
    changed_.wait_until(lock, began_ + apart_);
  gathering_ = nullptr;
  const auto now = Clock::now();
  began_ = now;
  if (kinds_.empty() || now - kinds_read_ > k_kinds_age) {
    lock.unlock();
    auto kinds = to_an_end([&] { // none of the private kinds is a definition's
      return discover(api, [](std::string_view group) { return id_of_name(group).empty(); });
    });
    lock.lock();
    if (kinds) {
      kinds_ = *std::move(kinds);
      kinds_read_ = now;
      sizes_.clear(); // what has shrunk is read whole again
    } else {
      round.failed = std::move(kinds).error();
    }
  }
  round.places = {{"/api/v1/namespaces", "namespace"},
                  {std::string(k_crds), "customresourcedefinition", true},
                  {std::string(k_volumes), "persistentvolume"}};
  for (const auto& kind : private_cluster_kinds(kinds_))
    round.places.push_back({kind.collection(), kind.title()});
  for (std::size_t i = 0; i < round.places.size(); ++i)
    round.tasks.push_back({i, {}, k_latest});
  round.found.resize(round.prefixes.size(), {round.places.size(), {}});
  round.begun = true;
  changed_.notify_all();
}

void Survey::help(ControlApi& api, Round& round, std::unique_lock<std::mutex>& lock) {
  // Who reads may find that there is more to read: all stay until that is known.
  while (!round.over) {
    if (round.failed) round.tasks.clear();
    if (round.tasks.empty()) {
      if (round.reading != 0) {
        changed_.wait(lock);
        continue;
      }
      round.over = true;
      running_ = false;
      changed_.notify_all();
      return;
    }
    const auto task = round.tasks.front();
    round.tasks.pop_front();
    const auto& place = round.places[task.place];
    const auto known = sizes_[place.collection];
    ++round.reading;
    lock.unlock();
    auto finds = to_an_end([&] { return read(api, place, task, round.prefixes, known); });
    lock.lock();
    --round.reading;
    if (finds) {
      take(round, task, *finds);
    } else if (!round.failed) {
      round.failed = std::move(finds).error().context("while looking for {}", place.title);
    }
    if (round.reading == 0 || !round.tasks.empty()) changed_.notify_all();
  }
}

void Survey::take(Round& round, const Task& task, const Finds& finds) {
  const auto& place = round.places[task.place];
  if (finds.size) sizes_[place.collection] = *finds.size;
  for (const auto& [index, name] : finds.names) {
    if (task.place < round.found[index].first)
      round.found[index] = {task.place, fmt::format("{} {}", place.title, name)};
  }
  for (auto i = finds.left.value_or(round.prefixes.size()); i < round.prefixes.size(); ++i)
    round.tasks.push_back({task.place, i, finds.revision});
}

Result<Survey::Finds> Survey::read(ControlApi& api, const Place& place, const Task& task,
                                   const std::vector<std::string>& prefixes, std::size_t known) {
  Finds out;
  const auto judge = [&](const json& item) {
    const auto name = found_of(item).name;
    const auto part = place.definitions ? group_of_crd(name) : std::string_view(name);
    for (std::size_t i = 0; i < prefixes.size(); ++i) {
      if (part.size() > prefixes[i].size() && part.starts_with(prefixes[i]))
        out.names.emplace(i, name);
    }
  };
  const auto whole = [&]() -> Result<Finds> {
    ZOO_TRY_VOID(range_objects(api, place.collection, {}, 0, 0, true, {}, judge));
    return out;
  };
  if (place.definitions) {
    std::vector<std::string> ids;
    for (const auto& each : prefixes)
      ids.push_back(each.substr(0, each.size() - 1));
    ZOO_TRY_VOID(crds_of(api, ids, judge));
    return out;
  }

  kube::Query query;
  const auto most = k_whole * prefixes.size();
  const bool all = !task.prefix && known <= most;
  const auto& prefix = prefixes[task.prefix.value_or(0)];
  if (all) {
    query = {{"limit", std::to_string(most + 1)}};
  } else {
    query = {{"limit", "1"}, {"continue", position(prefix, task.revision)}};
  }
  const auto list = api.get(kube::with_query(place.collection, query), k_metadata_list);
  if (!list && list.error().code() == Code::not_found) return out; // not served any more
  if (!list && !all && refuses_position(list.error())) return whole();
  if (!list) return fail(list.error());
  const auto items = list->value("items", json::array());
  const bool position_taken = all || items.empty() || !(found_of(items.front()).name < prefix);
  if (!position_taken) return whole();
  std::for_each(items.begin(), items.end(), judge);
  const auto metadata = list->value("metadata", json::object());
  const bool more = !metadata.value("continue", "").empty();
  if (all)
    out.size = items.size() + metadata.value("remainingItemCount", std::size_t{more ? most : 0});
  // The others at the revision of this one, which waits for nothing: it is history by then.
  if (all && more) out.left = 0;
  if (!all && !task.prefix) out.left = 1;
  out.revision = revision_of(*list);
  return out;
}

} // namespace zoo::tenants
