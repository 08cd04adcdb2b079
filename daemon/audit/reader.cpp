// SPDX-License-Identifier: Apache-2.0
#include "daemon/audit/reader.hpp"

#include "common/base/json_text.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <iterator>

namespace zoo::audit {
namespace {

constexpr std::size_t k_chunk = 1u << 20;
constexpr std::string_view k_begin = R"({"time":")";

/// Comparable with what append_line() writes: seconds, then a fraction or none.
std::string time_text(std::chrono::system_clock::time_point time) {
  auto out = api::rfc3339(std::chrono::system_clock::to_time_t(time));
  if (!out.empty()) out.pop_back();
  return out;
}

class Filter {
public:
  explicit Filter(const Query& query) : since_(time_text(query.since)) {
    if (query.until) until_ = time_text(*query.until);
    const auto ask = [this](std::string_view key, const std::string& value) {
      if (value.empty()) return;
      // A stranger's bytes never look like this: their quotes are escaped.
      auto part = fmt::format("\"{}\":", key);
      append_json_quoted(part, value);
      parts_.push_back(std::move(part));
    };
    ask("tenant", query.tenant);
    ask("user", query.user);
    ask("verb", query.verb);
    ask("decision", query.decision);
  }

  bool operator()(std::string_view line) const {
    if (!line.starts_with(k_begin)) return false;
    const auto time = line.substr(k_begin.size(), since_.size());
    if (time < since_ || (!until_.empty() && time > until_)) return false;
    return std::all_of(parts_.begin(), parts_.end(), [&](const std::string& part) {
      return line.find(part) != std::string_view::npos;
    });
  }

private:
  std::string since_, until_;
  std::vector<std::string> parts_;
};

/// The last `limit` matches of one file; `more`: there were more.
Result<std::deque<std::string>> matches(int fd, const Filter& filter, std::size_t limit,
                                        bool& more) {
  std::deque<std::string> out;
  std::string text;
  const auto take = [&](std::string_view line) {
    if (!filter(line)) return;
    if (out.size() == limit) {
      more = true;
      out.pop_front();
    }
    if (limit > 0) out.emplace_back(line);
  };
  for (;;) {
    const auto before = text.size();
    text.resize(before + k_chunk);
    const auto got = ::read(fd, text.data() + before, k_chunk);
    if (got < 0 && errno == EINTR) {
      text.resize(before);
      continue;
    }
    if (got < 0) return fail(Code::io, "cannot read the audit log: {}", std::strerror(errno));
    text.resize(before + static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
      take(std::string_view(text).substr(begin, end - begin));
    text.erase(0, begin);
    if (text.size() > k_most_line) text.clear(); // none of ours
    if (got == 0) return out;                    // what has no end yet is still being written
  }
}

} // namespace

Result<Found> read(const Log& log, const Query& query) {
  ZOO_TRY(const auto files, log.open_files(query.since));
  const Filter filter(query);
  std::deque<std::string> found;
  Found out;
  for (const auto& fd : files) {
    if (found.size() == query.limit) {
      out.more = true;
      break;
    }
    ZOO_TRY(auto some, matches(fd.get(), filter, query.limit - found.size(), out.more));
    found.insert(found.begin(), std::make_move_iterator(some.begin()),
                 std::make_move_iterator(some.end()));
  }
  out.lines.assign(std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  return out;
}

} // namespace zoo::audit
