// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/audit.hpp"

#include "daemon/audit/log.hpp"
#include "daemon/audit/reader.hpp"

#include <nlohmann/json.hpp>

#include <ctime>

namespace zoo::admin {
namespace {

using Time = std::chrono::system_clock::time_point;

constexpr std::int64_t k_most_lines = 10'000;
constexpr std::chrono::hours k_since{1};

Result<Time> read_time(std::string_view name, std::string_view text) {
  std::tm parts{};
  const std::string copy(text);
  const char* end = ::strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') {
    return fail(Code::bad_request, "{} must be a time as 2026-01-31T09:00:00Z, not '{}'", name,
                text);
  }
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

Result<audit::Query> read_query(const Request& request) {
  audit::Query out;
  out.tenant = request.parameter("tenant");
  out.user = request.parameter("user");
  out.verb = request.parameter("verb");
  out.decision = request.parameter("decision");
  ZOO_TRY(out.denied, request.flag("denied"));
  out.since = std::chrono::system_clock::now() - k_since;
  if (const auto since = request.parameter("since"); !since.empty()) {
    ZOO_TRY(out.since, read_time("since", since));
  }
  if (const auto until = request.parameter("until"); !until.empty()) {
    ZOO_TRY(out.until, read_time("until", until));
  }
  ZOO_TRY(const auto limit, request.number("limit"));
  if (limit > k_most_lines)
    return fail(Code::bad_request, "limit is {} at most, not {}", k_most_lines, limit);
  if (limit > 0) out.limit = static_cast<std::size_t>(limit);
  return out;
}

audit::Decision decision_of(int status) {
  return status == 401   ? audit::Decision::unauthenticated
         : status == 403 ? audit::Decision::forbid
         : status == 499 ? audit::Decision::none
                         : audit::Decision::allow;
}

} // namespace

Answer audit_answer(const Request& request, const audit::Log* log) {
  Answer answer;
  if (log != nullptr && !log->journal().empty()) { // whoever asks reads it with rights of its own
    answer.body = nlohmann::json{{"items", nlohmann::json::array()},
                                 {"more", false},
                                 {"journal", log->journal()}}
                      .dump();
    return answer;
  }
  if (log == nullptr || !log->to_files()) {
    return failure(Error(Code::not_found,
                         "zood keeps no audit files: audit.output in its configuration is not "
                         "`file`, and its standard error is not the journal"),
                   {"audit", {}, {}, {}, {}, 0});
  }
  const auto query = read_query(request);
  if (!query) return failure(query.error());
  const auto found = audit::read(*log, *query);
  if (!found) return failure(found.error());
  answer.body = R"({"items":[)";
  for (const auto& line : found->lines) {
    if (answer.body.back() != '[') answer.body += ',';
    answer.body += line;
  }
  answer.body += fmt::format(R"(],"more":{},"torn":{}}})", found->more, found->torn);
  return answer;
}

audit::Entry entry_of(const resources::Finished& finished, std::string_view door) {
  const auto& facts = finished.facts;
  audit::Entry entry;
  entry.time = std::chrono::system_clock::now();
  entry.took = finished.took;
  entry.door = door;
  entry.user = finished.who == "-" ? std::string_view() : finished.who;
  entry.peer = finished.peer;
  entry.verb = facts.verb.empty() ? finished.method : std::string_view(facts.verb);
  entry.group = facts.group;
  entry.version = facts.version;
  entry.resource = facts.resource;
  entry.subresource = facts.subresource;
  entry.name_space = facts.name_space;
  entry.name = facts.name;
  if (facts.resource.empty()) entry.path = finished.target;
  entry.code = finished.status;
  entry.bytes_in = finished.bytes_in;
  entry.bytes_out = finished.answer.body.size();
  entry.decision = decision_of(finished.status);
  return entry;
}

} // namespace zoo::admin
