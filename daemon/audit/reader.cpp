// SPDX-License-Identifier: Apache-2.0
#include "daemon/audit/reader.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <iterator>

namespace zoo::audit {
namespace {

constexpr std::size_t k_chunk = 1u << 20;

/// The last `limit` matches of one file; `more`: there were more.
Result<std::deque<std::string>> matches(int fd, const api::AuditFilter& filter, std::size_t limit,
                                        bool& more, std::size_t& torn) {
  std::deque<std::string> out;
  std::string text;
  const auto take = [&](std::string_view line) {
    if (!filter(line)) return;
    if (!api::whole_line(line)) {
      ++torn;
      return;
    }
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
  const api::AuditFilter filter(query);
  std::deque<std::string> found;
  Found out;
  for (const auto& fd : files) {
    if (found.size() == query.limit) {
      out.more = true;
      break;
    }
    ZOO_TRY(auto some, matches(fd.get(), filter, query.limit - found.size(), out.more, out.torn));
    found.insert(found.begin(), std::make_move_iterator(some.begin()),
                 std::make_move_iterator(some.end()));
  }
  out.lines.assign(std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  return out;
}

} // namespace zoo::audit
