// SPDX-License-Identifier: Apache-2.0
#include "common/api/tenant.hpp"

#include <algorithm>
#include <array>
#include <ctime>

namespace zoo::api {
namespace {

std::string count_word(std::size_t count) {
  static constexpr std::array k_words = {"none", "one",   "two",   "three", "four", "five",
                                         "six",  "seven", "eight", "nine",  "ten"};
  return count < k_words.size() ? k_words[count] : std::to_string(count);
}

bool fits(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

/// As it may be shown in a sentence: nothing of a stranger's moves the cursor or fills the screen.
std::string shown(std::string_view id) {
  std::string out;
  for (const char c : id.substr(0, 40)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte >= 0x7f ? '?' : c;
  }
  return id.size() > 40 ? out + "..." : out;
}

} // namespace

std::string_view phase_name(Phase phase) {
  switch (phase) {
  case Phase::none:
    return "";
  case Phase::pending:
    return "Pending";
  case Phase::ready:
    return "Ready";
  case Phase::suspended:
    return "Suspended";
  case Phase::deleting:
    return "Deleting";
  case Phase::failed:
    return "Failed";
  }
  return "";
}

std::string_view audit_level_name(AuditLevel level) {
  switch (level) {
  case AuditLevel::none:
    return "none";
  case AuditLevel::denied:
    return "denied";
  case AuditLevel::writes:
    return "writes";
  case AuditLevel::all:
    return "all";
  }
  return "all";
}

std::optional<AuditLevel> audit_level(std::string_view name) {
  for (const auto level :
       {AuditLevel::none, AuditLevel::denied, AuditLevel::writes, AuditLevel::all}) {
    if (audit_level_name(level) == name) return level;
  }
  return std::nullopt;
}

bool Credentials::revokes(std::string_view serial) const {
  return std::any_of(revoked.begin(), revoked.end(),
                     [&](const RevokedCertificate& each) { return each.serial == serial; });
}

const Condition* Tenant::condition(std::string_view type) const& {
  const auto found = std::find_if(conditions.begin(), conditions.end(),
                                  [&](const Condition& each) { return each.type == type; });
  return found == conditions.end() ? nullptr : &*found;
}

void Tenant::set_condition(std::string_view type, std::string_view status, std::string_view reason,
                           std::string_view message, std::string_view now) {
  auto found = std::find_if(conditions.begin(), conditions.end(),
                            [&](const Condition& each) { return each.type == type; });
  if (found == conditions.end()) {
    found = conditions.insert(conditions.end(), Condition{});
    found->type = type;
  }
  if (found->status != status) found->last_transition_time = now;
  found->status = status;
  found->reason = reason;
  found->message = message;
}

Result<void> validate_id(std::string_view id, std::span<const std::string> reserved) {
  constexpr std::string_view k_rule = "a tenant's ID is exactly six characters of a-z and 0-9";
  if (id.empty()) return fail(Code::invalid, "{}; it must not be empty", k_rule);
  const auto odd = std::find_if_not(id.begin(), id.end(), fits);
  if (odd == id.end()) {
    if (id.size() != 6) {
      return fail(Code::invalid, "{}; '{}' has {}", k_rule, shown(id), count_word(id.size()));
    }
    if (std::find(reserved.begin(), reserved.end(), id) != reserved.end()) {
      return fail(Code::invalid,
                  "the ID '{}' is reserved (tenants.reserved_ids in zood.yaml): choose another",
                  id);
    }
    return {};
  }
  const auto byte = static_cast<unsigned char>(*odd);
  if (byte < 0x20 || byte >= 0x7f) {
    return fail(Code::invalid, "{}; '{}' has something else in it", k_rule, shown(id));
  }
  const bool upper = *odd >= 'A' && *odd <= 'Z';
  return fail(Code::invalid, "{}; '{}' has {}", k_rule, shown(id),
              upper ? fmt::format("the capital letter '{}'", *odd) : fmt::format("a '{}'", *odd));
}

std::string rfc3339(std::int64_t unix_seconds) {
  const auto time = static_cast<std::time_t>(unix_seconds);
  std::tm parts{};
  if (gmtime_r(&time, &parts) == nullptr) return {};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

} // namespace zoo::api
