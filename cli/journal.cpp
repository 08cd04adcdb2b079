// SPDX-License-Identifier: Apache-2.0
#include "cli/journal.hpp"

#include "common/base/deleter.hpp"
#include "common/base/text.hpp"

#include <nlohmann/json.hpp>
#include <systemd/sd-journal.h>

#include <algorithm>
#include <cstring>

namespace zoo::cli {
namespace {

using nlohmann::json;
using JournalPtr = std::unique_ptr<sd_journal, Deleter<sd_journal_close>>;

constexpr std::string_view k_field = "MESSAGE";
/// A line is written up to a moment after the time that it tells.
constexpr std::chrono::seconds k_late{10};

std::uint64_t microseconds(std::chrono::system_clock::time_point time) {
  const auto span = time.time_since_epoch();
  return static_cast<std::uint64_t>(std::max<std::int64_t>(
      0, std::chrono::duration_cast<std::chrono::microseconds>(span).count()));
}

Error broken(std::string_view what, int result) {
  return {Code::io, fmt::format("cannot {} the journal: {}", what, std::strerror(-result))};
}

Result<JournalPtr> open(const std::filesystem::path& directory) {
  sd_journal* raw = nullptr;
  const int opened = directory.empty() ? sd_journal_open(&raw, SD_JOURNAL_LOCAL_ONLY)
                                       : sd_journal_open_directory(&raw, directory.c_str(), 0);
  JournalPtr journal(raw);
  if (opened < 0) return tl::unexpected(broken("open", opened));
  return journal;
}

std::string_view message(sd_journal* journal) {
  const void* data = nullptr;
  std::size_t size = 0;
  if (sd_journal_get_data(journal, k_field.data(), &data, &size) < 0) return {};
  return std::string_view(static_cast<const char*>(data), size).substr(k_field.size() + 1);
}

} // namespace

Result<json> read_journal(const std::string& match, const api::AuditQuery& query,
                          const std::filesystem::path& directory) {
  ZOO_TRY(const auto journal, open(directory));
  sd_journal_set_data_threshold(journal.get(), 0); // else long lines are cut
  for (const auto each : text::split(match, ' ')) {
    if (const int added = sd_journal_add_match(journal.get(), each.data(), each.size()); added < 0)
      return tl::unexpected(broken("search", added));
  }
  const auto end = query.until ? microseconds(*query.until + k_late) : UINT64_MAX;
  if (const int found = query.until ? sd_journal_seek_realtime_usec(journal.get(), end)
                                    : sd_journal_seek_tail(journal.get());
      found < 0)
    return tl::unexpected(broken("search", found));

  const auto begin = microseconds(query.since);
  const api::AuditFilter wanted(query);
  json items = json::array();
  bool any = false, more = false;
  std::size_t torn = 0;
  int moved = 0;
  while (!more && (moved = sd_journal_previous(journal.get())) > 0) {
    any = true;
    std::uint64_t time = 0;
    if (sd_journal_get_realtime_usec(journal.get(), &time) < 0) continue;
    if (time < begin) break;
    const auto line = message(journal.get());
    if (line.starts_with(R"({"time":")") && !line.ends_with('}')) ++torn;
    if (!wanted(line)) continue;
    auto parsed = json::parse(line, nullptr, false);
    if (!parsed.is_object()) continue;
    more = items.size() == query.limit;
    if (!more) items.push_back(std::move(parsed));
  }
  if (moved < 0) return tl::unexpected(broken("read", moved));
  if (!any)
    return fail(Code::not_found,
                "nothing can be read in the journal of what zood wrote ({}): root may read it, and "
                "who is in the group systemd-journal",
                match);
  std::reverse(items.begin(), items.end());
  return json{{"items", std::move(items)}, {"more", more}, {"torn", torn}};
}

} // namespace zoo::cli
