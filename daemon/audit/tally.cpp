// SPDX-License-Identifier: Apache-2.0
#include "daemon/audit/tally.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace zoo::audit {
namespace {

constexpr std::array<std::string_view, 4> k_decisions = {"none", "allow", "forbid",
                                                         "unauthenticated"};

/// The last one, if it is none of them.
template <class Words>
std::size_t place(const Words& words, std::string_view word) {
  const auto found = std::find(words.begin(), words.end(), word);
  return static_cast<std::size_t>(found == words.end() ? words.size() - 1 : found - words.begin());
}

void count(std::atomic<std::uint64_t>& what, std::uint64_t by = 1) {
  what.fetch_add(by, std::memory_order_relaxed);
}

double value(const std::atomic<std::uint64_t>& what) {
  return static_cast<double>(what.load(std::memory_order_relaxed));
}

} // namespace

void Tally::add(const Entry& entry) {
  auto& door = doors_[place(k_doors, entry.door)];
  const auto verb = place(k_verbs, entry.verb);
  const auto code = static_cast<std::size_t>(std::max(entry.code, 0));
  count(door.codes[verb][code < k_codes ? code : 0]);
  count(door.decisions[static_cast<std::size_t>(entry.decision)]);
  count(door.bytes_in, entry.bytes_in);
  count(door.bytes_out, entry.bytes_out);
  if (entry.ending != Ending::none) count(endings_[static_cast<std::size_t>(entry.ending) - 1]);
  if (entry.read_as) count(read_[static_cast<std::size_t>(*entry.read_as)], entry.bytes_in);
  if (entry.told_as) count(told_[static_cast<std::size_t>(*entry.told_as)], entry.bytes_out);
  auto& times = door.times[verb];
  times.add(entry.took);
  if (std::all_of(entry.stages.begin(), entry.stages.end(),
                  [](auto stage) { return stage.count() == 0; }))
    return;
  thread_local unsigned seen = 0;
  if (seen++ % k_sampled != 0) return;
  for (std::size_t i = 0; i < k_stages.size(); ++i)
    stages_[i].add(entry.stages[i]);
}

void Tally::write(MetricText& out) const {
  using Type = MetricText::Type;
  out.family("zood_requests_total", Type::counter,
             "Requests that are over, by the code of their answer; 499: the client went away");
  for (std::size_t d = 0; d < k_doors.size(); ++d) {
    for (std::size_t v = 0; v < k_verbs.size(); ++v) {
      for (std::size_t code = 0; code < k_codes; ++code) {
        const auto& each = doors_[d].codes[v][code];
        if (each.load(std::memory_order_relaxed) == 0) continue;
        out.sample(value(each),
                   {{"door", k_doors[d]}, {"verb", k_verbs[v]}, {"code", fmt::to_string(code)}});
      }
    }
  }
  out.family("zood_decisions_total", Type::counter,
             "Requests by what was decided about them; forbid: by rights or guards");
  for (std::size_t d = 0; d < k_doors.size(); ++d) {
    for (std::size_t i = 0; i < k_decisions.size(); ++i)
      out.sample(value(doors_[d].decisions[i]),
                 {{"door", k_doors[d]}, {"decision", k_decisions[i]}});
  }
  out.family("zood_request_bytes_total", Type::counter, "Bodies of requests");
  for (std::size_t d = 0; d < k_doors.size(); ++d)
    out.sample(value(doors_[d].bytes_in), {{"door", k_doors[d]}});
  out.family("zood_response_bytes_total", Type::counter, "Bodies of answers");
  for (std::size_t d = 0; d < k_doors.size(); ++d)
    out.sample(value(doors_[d].bytes_out), {{"door", k_doors[d]}});
  out.family("zood_translated_bytes_total", Type::counter,
             "Bodies of objects that were translated, as clients had them");
  for (std::size_t i = 0; i < k_encodings.size(); ++i) {
    out.sample(value(read_[i]), {{"direction", "inward"}, {"encoding", k_encodings[i]}});
    out.sample(value(told_[i]), {{"direction", "outward"}, {"encoding", k_encodings[i]}});
  }
  out.family("zood_watch_ends_total", Type::counter, "Watches that are over, and why");
  for (std::size_t i = 0; i < k_endings.size(); ++i)
    out.sample(value(endings_[i]), {{"reason", k_endings[i]}});
  out.family("zood_request_duration_seconds", Type::histogram,
             "From the request's head to the end of its answer");
  for (std::size_t d = 0; d < k_doors.size(); ++d) {
    for (std::size_t v = 0; v < k_verbs.size(); ++v) {
      doors_[d].times[v].write(out, {{"door", k_doors[d]}, {"verb", k_verbs[v]}});
    }
  }
  out.family("zood_stage_seconds", Type::histogram,
             "Stages of one in 16 requests of tenants and users that are not long-running");
  for (std::size_t i = 0; i < k_stages.size(); ++i) {
    stages_[i].write(out, {{"stage", k_stages[i]}});
  }
}

} // namespace zoo::audit
