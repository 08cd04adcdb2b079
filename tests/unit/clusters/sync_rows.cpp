// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/clusters/sync_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace zoo::tests {
namespace {

using nlohmann::json;

/// "DELETE /api/v1/namespaces/default/pods/web" is "DELETE pods/web".
std::string short_line(const std::string& line) {
  const auto method = line.substr(0, line.find(' '));
  auto rest = line.substr(line.find('/') + 1);
  const auto words = rest.starts_with("apis/") ? 3 : 2;
  for (int word = 0; word < words; ++word)
    rest = rest.substr(rest.find('/') + 1);
  if (const std::string_view spaces = "namespaces/"; rest.starts_with(spaces))
    if (const auto slash = rest.find('/', spaces.size()); slash != rest.npos)
      rest = rest.substr(slash + 1);
  return method + " " + rest;
}

} // namespace

std::string text_of(const Lines& lines) { return fmt::format("{}", fmt::join(lines, ", ")); }

std::string sent(const FakeSide& side, std::size_t before) {
  Lines out;
  for (const auto& line : side.lines())
    out.push_back(short_line(line));
  out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(before));
  return text_of(out);
}

void change(FakeSide& side, const char* path, const char* pointer, json value) {
  auto object = side.at(path);
  object[json::json_pointer(pointer)] = std::move(value);
  side.put(path, object);
}

void annotate(FakeSide& side, const char* path, const char* key, const char* value) {
  auto object = side.at(path);
  object["metadata"]["annotations"][key] = value;
  side.put(path, object);
}

void drop_marks(FakeSide& side, const char* path) {
  auto object = side.at(path);
  object["metadata"]["annotations"] = json::object();
  object["metadata"]["labels"] = json::object();
  side.put(path, object);
}

void remake(FakeSide& side, const char* path) {
  auto object = side.at(path);
  side.drop(path);
  object["metadata"].erase("uid");
  side.put(path, object);
}

} // namespace zoo::tests
