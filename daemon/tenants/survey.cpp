// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/survey.hpp"

#include "common/kube/client.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
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

/// What a name says of its owner: its beginning, or that of a definition's group.
std::string_view owner_part(std::string_view name, bool definitions) {
  if (!definitions) return name;
  const auto dot = name.find('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1);
}

} // namespace

struct Survey::Place {
  std::string collection, title;
  bool definitions = false; ///< not contiguous: always read whole
};

struct Survey::Round {
  std::vector<std::string> prefixes; ///< stays as it is once `begun`
  std::vector<Place> places;
  std::size_t next = 0, reading = 0;
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
  changed_.wait(lock, [&] { return round->over; });
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
    auto kinds = discover(api);
    lock.lock();
    if (kinds) {
      kinds_ = *std::move(kinds);
      kinds_read_ = now;
    } else {
      round.failed = std::move(kinds).error();
    }
  }
  round.places = {
      {"/api/v1/namespaces", "namespace"},
      {"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "customresourcedefinition", true},
      {"/api/v1/persistentvolumes", "persistentvolume"}};
  for (const auto& kind : private_cluster_kinds(kinds_))
    round.places.push_back({kind.collection(), kind.title()});
  round.found.resize(round.prefixes.size(), {round.places.size(), {}});
  round.begun = true;
  changed_.notify_all();
}

void Survey::help(ControlApi& api, Round& round, std::unique_lock<std::mutex>& lock) {
  while (!round.failed && round.next < round.places.size()) {
    const auto number = round.next++;
    const auto& place = round.places[number];
    auto size = sizes_[place.collection];
    ++round.reading;
    lock.unlock();
    auto finds = read(api, place, round.prefixes, size);
    lock.lock();
    --round.reading;
    sizes_[place.collection] = size;
    if (!finds) {
      round.failed = std::move(finds).error().context("while looking for {}", place.title);
      continue;
    }
    for (auto& [index, name] : *finds) {
      if (number < round.found[index].first)
        round.found[index] = {number, fmt::format("{} {}", place.title, name)};
    }
  }
  if (round.reading != 0 || round.over) return;
  round.over = true;
  running_ = false;
  changed_.notify_all();
}

Result<Survey::Finds> Survey::read(ControlApi& api, const Place& place,
                                   const std::vector<std::string>& prefixes,
                                   std::size_t& size) const {
  Finds out;
  const auto judge = [&](const json& item) {
    const auto name = found_of(item).name;
    const auto part = owner_part(name, place.definitions);
    for (std::size_t i = 0; i < prefixes.size(); ++i) {
      if (part.size() > prefixes[i].size() && part.starts_with(prefixes[i])) out.emplace(i, name);
    }
  };
  const auto whole = [&]() -> Result<Finds> {
    ZOO_TRY_VOID(range_objects(api, place.collection, {}, 0, 0, true, {}, judge));
    return out;
  };
  if (place.definitions) return whole();

  const auto page = [&](std::string_view position, std::size_t limit) {
    kube::Query query{{"limit", std::to_string(limit)}};
    if (!position.empty()) query.emplace_back("continue", position);
    return api.get(kube::with_query(place.collection, query), k_metadata_list);
  };
  std::int64_t revision = k_latest;
  if (size <= k_whole * prefixes.size()) {
    const auto list = page({}, k_whole * prefixes.size() + 1);
    if (!list && list.error().code() == Code::not_found) return out; // not served any more
    if (!list) return fail(list.error());
    const auto items = list->value("items", json::array());
    const auto metadata = list->value("metadata", json::object());
    size = items.size() + metadata.value("remainingItemCount", std::size_t{0});
    if (metadata.value("continue", "").empty()) {
      std::for_each(items.begin(), items.end(), judge);
      return out;
    }
    size = std::max(size, k_whole * prefixes.size() + 1);
    revision = revision_of(*list);
  }
  for (const auto& prefix : prefixes) {
    // All at the revision of the first: later ones are history, and wait for nothing.
    const auto list = page(position(prefix, revision), 1);
    if (!list && list.error().code() == Code::not_found) return out;
    if (!list && refuses_position(list.error())) return whole();
    if (!list) return fail(list.error());
    if (revision == k_latest) revision = revision_of(*list);
    const auto items = list->value("items", json::array());
    if (items.empty()) continue;
    if (found_of(items.front()).name < prefix) return whole(); // the position was not taken
    judge(items.front());
  }
  return out;
}

} // namespace zoo::tenants
