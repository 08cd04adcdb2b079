// SPDX-License-Identifier: Apache-2.0
#include "common/api/audit_lines.hpp"

#include "common/api/tenant.hpp"
#include "common/base/json_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace zoo::api {
namespace {

constexpr std::string_view k_begin = R"({"time":")";
constexpr std::array<std::string_view, 4> k_denied = {R"("code":401,)", R"("code":403,)",
                                                      R"("decision":"forbid")",
                                                      R"("decision":"unauthenticated")"};

/// Comparable with what a line begins with: seconds, then a fraction or none.
std::string time_text(std::chrono::system_clock::time_point time) {
  auto out = rfc3339(std::chrono::system_clock::to_time_t(time));
  if (!out.empty()) out.pop_back();
  return out;
}

} // namespace

AuditFilter::AuditFilter(const AuditQuery& query)
    : since_(time_text(query.since)), denied_(query.denied) {
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

bool AuditFilter::operator()(std::string_view line) const {
  if (!line.starts_with(k_begin)) return false;
  const auto time = line.substr(k_begin.size(), since_.size());
  if (time < since_ || (!until_.empty() && time > until_)) return false;
  const auto has = [&](std::string_view part) { return line.find(part) != std::string_view::npos; };
  return std::all_of(parts_.begin(), parts_.end(), has) &&
         (!denied_ || std::any_of(k_denied.begin(), k_denied.end(), has));
}

bool whole_line(std::string_view line) { return nlohmann::json::accept(line); }

} // namespace zoo::api
