// SPDX-License-Identifier: Apache-2.0
#include "daemon/keeper/lines.hpp"

#include "common/kube/json_reads.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <utility>

namespace zoo::keeper {
namespace {

using nlohmann::json;
using Verb = Request::Verb;

constexpr std::array<std::pair<Verb, std::string_view>, 6> k_verbs = {{
    {Verb::put, "put"},
    {Verb::run, "run"},
    {Verb::remove, "remove"},
    {Verb::state, "state"},
    {Verb::watch, "watch"},
    {Verb::memory, "memory"},
}};
/// What an error of an answer is; others are Code::internal.
constexpr std::array<std::pair<Code, std::string_view>, 5> k_codes = {{
    {Code::invalid, "invalid"},
    {Code::not_found, "not_found"},
    {Code::io, "io"},
    {Code::too_many_requests, "too_many"},
    {Code::unavailable, "unavailable"},
}};
constexpr std::size_t k_most_states = 4'096;

Result<json> parse(std::string_view line) {
  if (line.size() > k_longest_line) return fail(Code::invalid, "the line is too long");
  if (kube::is_too_deep(line, k_deepest_line)) // the parser itself would follow any depth
    return fail(Code::invalid, "the line is nested too deeply");
  auto value = json::parse(line, nullptr, false);
  if (value.is_discarded() || !value.is_object())
    return fail(Code::invalid, "the line is no JSON object");
  return value;
}

std::string line_of(const json& value) { return kube::text_of(value) + "\n"; }

} // namespace

bool LineReader::add(std::string_view bytes) {
  if (used_ > 0) {
    bytes_.erase(0, used_);
    used_ = 0;
  }
  bytes_.append(bytes);
  // What is held is whole lines and the beginning of one, which is as long as a line may be.
  const auto end = bytes_.rfind('\n');
  const auto tail = end == bytes_.npos ? bytes_.size() : bytes_.size() - end - 1;
  return tail < k_longest_line;
}

std::optional<std::string> LineReader::next() {
  const auto end = bytes_.find('\n', used_);
  if (end == bytes_.npos) return std::nullopt;
  auto line = bytes_.substr(used_, end - used_);
  used_ = end + 1;
  return line;
}

Result<Request> request_of(std::string_view line) {
  ZOO_TRY(const auto value, parse(line));
  const auto verb = value.find("verb");
  if (verb == value.end() || !verb->is_string()) return fail(Code::invalid, "there is no verb");
  Request out;
  bool known = false;
  for (const auto& [each, name] : k_verbs)
    if (*verb == name) out.verb = each, known = true;
  if (!known) return fail(Code::invalid, "there is no such verb");
  if (out.verb == Verb::put) {
    const auto plan = value.find("plan");
    if (plan == value.end()) return fail(Code::invalid, "put has no plan");
    ZOO_TRY(out.plan, plan_of(*plan));
    return out;
  }
  if (const auto id = value.find("id"); id != value.end()) {
    if (!id->is_string() || !is_id(id->get_ref<const std::string&>()))
      return fail(Code::invalid, "id is not six characters of a-z and 0-9");
    out.id = id->get<std::string>();
  }
  if (out.id.empty() && out.verb != Verb::watch && out.verb != Verb::memory)
    return fail(Code::invalid, "there is no id");
  if (out.verb != Verb::run) return out;
  const auto wish = value.find("wish");
  if (wish == value.end() || !wish->is_boolean())
    return fail(Code::invalid, "wish is neither true nor false");
  out.wish = wish->get<bool>();
  return out;
}

std::string text_of(const Request& request) {
  json value;
  for (const auto& [each, name] : k_verbs)
    if (each == request.verb) value["verb"] = name;
  if (request.verb == Verb::put) {
    value["plan"] = to_json(request.plan);
  } else if (!request.id.empty()) {
    value["id"] = request.id;
  }
  if (request.verb == Verb::run) value["wish"] = request.wish;
  return line_of(value);
}

Result<Reply> reply_of(std::string_view line) {
  ZOO_TRY(const auto value, parse(line));
  Reply out;
  if (const auto error = value.find("error"); error != value.end()) {
    if (!error->is_string()) return fail(Code::invalid, "error is not a string");
    auto code = Code::internal;
    const auto said = value.find("code");
    for (const auto& [each, name] : k_codes)
      if (said != value.end() && *said == name) code = each;
    out.error = Error(code, error->get<std::string>());
    return out;
  }
  const auto states = value.find("states");
  if (states == value.end() || !states->is_array() || states->size() > k_most_states)
    return fail(Code::invalid, "an answer has neither an error nor states");
  for (const auto& each : *states) {
    ZOO_TRY(auto state, state_of(each));
    out.states.push_back(std::move(state));
  }
  if (const auto available = value.find("available"); available != value.end() &&
                                                      available->is_number_unsigned() &&
                                                      available->get<std::uint64_t>() < 1ULL << 60U)
    out.available = available->get<std::int64_t>();
  out.soft = kube::text_at(value, "/soft");
  out.unfenced = kube::text_at(value, "/unfenced");
  out.users = kube::text_at(value, "/users");
  if (const auto base = value.find("uid_base");
      base != value.end() && base->is_number_unsigned() && base->get<std::uint64_t>() < 1ULL << 31U)
    out.uid_base = base->get<std::uint32_t>();
  const auto removed = value.find("removed");
  out.removed = removed != value.end() && removed->is_boolean() && removed->get<bool>();
  return out;
}

std::string text_of(const Reply& reply) {
  json value;
  if (reply.error) {
    value["error"] = reply.error->text();
    for (const auto& [each, name] : k_codes)
      if (each == reply.error->code()) value["code"] = name;
    return line_of(value);
  }
  value["states"] = json::array();
  for (const auto& each : reply.states)
    value["states"].push_back(to_json(each));
  if (reply.removed) value["removed"] = true;
  if (!reply.soft.empty()) value["soft"] = reply.soft;
  if (!reply.unfenced.empty()) value["unfenced"] = reply.unfenced;
  if (!reply.users.empty()) value["users"] = reply.users;
  if (reply.uid_base != 0) value["uid_base"] = reply.uid_base;
  if (reply.available > 0) value["available"] = static_cast<std::uint64_t>(reply.available);
  return line_of(value);
}

} // namespace zoo::keeper
