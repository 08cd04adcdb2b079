// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/selectors.hpp"

#include "common/base/text.hpp"

#include <algorithm>

namespace zoo::admin {
namespace {

/// Splits at commas outside of parentheses.
std::vector<std::string_view> parts_of(std::string_view input) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= input.size(); ++i) {
    if (i == input.size() || (input[i] == ',' && depth == 0)) {
      out.push_back(text::trim(input.substr(begin, i - begin)));
      begin = i + 1;
    } else if (input[i] == '(') {
      ++depth;
    } else if (input[i] == ')') {
      --depth;
    }
  }
  return out;
}

bool word(std::string_view text) {
  return !text.empty() && text.find_first_of(" \t()=!,<>\"'") == std::string_view::npos;
}

} // namespace

Result<Selectors::Requirement> Selectors::parse_label(std::string_view part) {
  const auto bad = [&](std::string_view why) {
    return fail(Code::bad_request, "unable to parse labelSelector '{}': {}", part, why);
  };
  Requirement out;
  if (part.starts_with('!')) {
    out.op = Op::absent;
    out.key = std::string(text::trim(part.substr(1)));
    if (!word(out.key)) return bad("a label key must follow '!'");
    return out;
  }
  if (const auto open = part.find('('); open != std::string_view::npos) {
    if (part.back() != ')') return bad("')' is missing");
    const auto head = text::trim(part.substr(0, open));
    const auto space = head.find_first_of(" \t");
    const auto verb = space == std::string_view::npos ? "" : text::trim(head.substr(space));
    if (verb != "in" && verb != "notin") return bad("'in' or 'notin' must stand before '('");
    out.op = verb == "in" ? Op::in : Op::not_in;
    out.key = std::string(head.substr(0, space));
    for (const auto value : text::split(part.substr(open + 1, part.size() - open - 2), ','))
      out.values.emplace_back(text::trim(value));
  } else if (const auto at = part.find('='); at != std::string_view::npos) {
    const bool negated = at > 0 && part[at - 1] == '!';
    const bool twice = at + 1 < part.size() && part[at + 1] == '=';
    out.op = negated ? Op::not_in : Op::in;
    out.key = std::string(text::trim(part.substr(0, at - (negated ? 1 : 0))));
    out.values.emplace_back(text::trim(part.substr(at + (twice ? 2 : 1))));
  } else {
    out.key = std::string(part);
  }
  if (!word(out.key)) return bad("the label key is missing or malformed");
  for (const auto& value : out.values)
    if (!value.empty() && !word(value)) return bad("a value is malformed");
  return out;
}

Result<Selectors> Selectors::parse(std::string_view labels, std::string_view fields) {
  Selectors out;
  if (!text::trim(labels).empty()) {
    for (const auto part : parts_of(labels)) {
      ZOO_TRY(auto requirement, parse_label(part));
      out.labels_.push_back(std::move(requirement));
    }
  }
  if (text::trim(fields).empty()) return out;
  for (const auto part : text::split(fields, ',')) {
    const auto at = part.find('=');
    if (at == std::string_view::npos || at == 0)
      return fail(Code::bad_request, "unable to parse fieldSelector '{}': '=' is missing", part);
    const bool negated = part[at - 1] == '!';
    const bool twice = at + 1 < part.size() && part[at + 1] == '=';
    Requirement requirement;
    requirement.key = std::string(text::trim(part.substr(0, at - (negated ? 1 : 0))));
    requirement.op = negated ? Op::not_in : Op::in;
    requirement.values.emplace_back(text::trim(part.substr(at + (twice ? 2 : 1))));
    if (requirement.key != "metadata.name" && requirement.key != "status.phase")
      return fail(Code::bad_request,
                  "field label not supported: {} (Tenants have metadata.name and status.phase)",
                  requirement.key);
    if (requirement.key == "metadata.name" && !negated) out.only_id_ = requirement.values.front();
    out.fields_.push_back(std::move(requirement));
  }
  return out;
}

bool Selectors::holds(const Requirement& requirement, const std::string* value) {
  const auto among = [&] {
    return value && std::find(requirement.values.begin(), requirement.values.end(), *value) !=
                        requirement.values.end();
  };
  switch (requirement.op) {
  case Op::in:
    return among();
  case Op::not_in:
    return !among();
  case Op::exists:
    return value != nullptr;
  case Op::absent:
    return value == nullptr;
  }
  return false;
}

bool Selectors::matches(const api::Tenant& tenant) const {
  for (const auto& requirement : labels_) {
    const auto at = tenant.labels.find(requirement.key);
    if (!holds(requirement, at == tenant.labels.end() ? nullptr : &at->second)) return false;
  }
  for (const auto& requirement : fields_) {
    const std::string value =
        requirement.key == "metadata.name" ? tenant.id : std::string(api::phase_name(tenant.phase));
    if (!holds(requirement, &value)) return false;
  }
  return true;
}

} // namespace zoo::admin
