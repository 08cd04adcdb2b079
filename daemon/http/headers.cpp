// SPDX-License-Identifier: Apache-2.0
#include "common/base/text.hpp"
#include "daemon/http/message.hpp"

#include <algorithm>

namespace zoo::http {

void Headers::set(std::string_view name, std::string value) {
  auto first = std::find_if(fields_.begin(), fields_.end(),
                            [&](const Header& each) { return text::iequals(each.name, name); });
  if (first == fields_.end()) {
    add(std::string(name), std::move(value));
    return;
  }
  first->value = std::move(value);
  // `name` may be a view of the field that stays, never of one that goes.
  const std::string key = first->name;
  fields_.erase(std::remove_if(first + 1, fields_.end(),
                               [&](const Header& each) { return text::iequals(each.name, key); }),
                fields_.end());
}

void Headers::remove(std::string_view name) {
  if (!has(name)) return;
  const std::string key(name);
  erase_if([&](const Header& each) { return text::iequals(each.name, key); });
}

std::optional<std::string_view> Headers::find(std::string_view name) const {
  for (const auto& field : fields_) {
    if (text::iequals(field.name, name)) return field.value;
  }
  return std::nullopt;
}

std::vector<std::string_view> Headers::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& field : fields_) {
    if (text::iequals(field.name, name)) values.emplace_back(field.value);
  }
  return values;
}

std::size_t Headers::bytes() const {
  std::size_t sum = 0;
  for (const auto& field : fields_)
    sum += field.name.size() + field.value.size();
  return sum;
}

} // namespace zoo::http
