// SPDX-License-Identifier: Apache-2.0
#include "common/base/text.hpp"
#include "daemon/http/message.hpp"

#include <algorithm>

namespace zoo::http {

void Headers::add(std::string_view name, std::string_view value) {
  if (fields_.empty()) { // room for what most messages have
    fields_.reserve(12);
    text_.reserve(384);
  }
  const auto at = text_.size();
  if (at + name.size() + value.size() > text_.capacity()) {
    std::string longer; // the old one lives until both were copied
    longer.reserve(2 * (at + name.size() + value.size()));
    longer.append(text_).append(name).append(value);
    text_.swap(longer);
  } else {
    text_.append(name).append(value);
  }
  fields_.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(name.size()),
                     static_cast<std::uint32_t>(value.size())});
}

void Headers::set(std::string_view name, std::string_view value) {
  const auto first = std::find_if(
      begin(), end(), [&](const Header& each) { return text::iequals(each.name, name); });
  if (first == end()) return add(name, value);
  const auto place = first.index_;
  const std::string key((*first).name);
  add(key, value);
  fields_[place] = fields_.back();
  fields_.pop_back();
  const auto again =
      std::remove_if(fields_.begin() + static_cast<std::ptrdiff_t>(place) + 1, fields_.end(),
                     [&](const Field& field) { return text::iequals(view(field).name, key); });
  fields_.erase(again, fields_.end());
}

void Headers::remove(std::string_view name) {
  if (!has(name)) return;
  erase_if([key = std::string(name)](const Header& each) { return text::iequals(each.name, key); });
}

std::optional<std::string_view> Headers::find(std::string_view name) const {
  for (const auto& field : *this) {
    if (text::iequals(field.name, name)) return field.value;
  }
  return std::nullopt;
}

std::vector<std::string_view> Headers::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& field : *this) {
    if (text::iequals(field.name, name)) values.emplace_back(field.value);
  }
  return values;
}

std::size_t Headers::bytes() const {
  std::size_t sum = 0;
  for (const auto& field : fields_)
    sum += field.name + field.value;
  return sum;
}

} // namespace zoo::http
