// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/openapi_index.hpp"

#include "common/base/json_text.hpp"
#include "common/base/text.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/framer.hpp"

#include <algorithm>

namespace zoo::translate {
namespace {

std::size_t skip_white(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(" \t\r\n", at), text.size());
}

/// Offset behind the string that begins at `at`, npos if it does not end.
std::size_t behind_string(std::string_view text, std::size_t at) {
  const auto end = text.find('"', at + 1);
  if (end == std::string_view::npos) return end;
  const bool plain = text.substr(at, end - at).find('\\') == std::string_view::npos;
  return plain ? end + 1 : json_skip(text, at);
}

/// The same of a value.
std::size_t behind_value(std::string_view text, std::size_t at) {
  ValueScanner scanner;
  const auto size = scanner.scan(text.substr(at));
  return scanner.done() ? at + size : std::string_view::npos;
}

auto no_index() {
  return fail(Code::internal, "upstream's OpenAPI index is not what it should be");
}

} // namespace

Result<void> OpenApiIndex::feed(std::string_view chunk) {
  held_.append(chunk);
  std::size_t used = 0;
  while (const auto taken = step(std::string_view(held_).substr(used)))
    used += taken;
  held_.erase(0, used);
  if (broken_ || held_.size() > k_largest_entry) return no_index();
  return {};
}

Result<std::string> OpenApiIndex::finish() {
  if (stage_ != Stage::end || !paths_seen_ || !held_.empty()) return no_index();
  if (!out_.empty()) out_.pop_back(); // the last comma
  return "{\"paths\":{" + out_ + "}}";
}

/// Takes what is whole: white space, a bracket or a member. 0: more is needed.
std::size_t OpenApiIndex::step(std::string_view rest) {
  if (broken_ || rest.empty()) return 0;
  const auto at = skip_white(rest, 0);
  if (at == rest.size()) return at;
  const char c = rest[at];
  const bool inside = stage_ == Stage::members || stage_ == Stage::paths;
  if (stage_ == Stage::document && c == '{') {
    stage_ = Stage::members;
    return at + 1;
  }
  const auto closed = stage_ == Stage::paths ? Stage::members : Stage::end;
  if (!inside || (c != '"' && c != '}' && c != ',')) {
    broken_ = true;
    return 0;
  }
  if (c == '}') {
    stage_ = closed;
    return at + 1;
  }
  if (c == ',') return at + 1;
  const auto key_end = behind_string(rest, at);
  if (key_end == std::string_view::npos) return 0;
  auto value = skip_white(rest, key_end);
  if (value == rest.size()) return 0;
  if (rest[value] != ':') {
    broken_ = true;
    return 0;
  }
  value = skip_white(rest, value + 1);
  if (value == rest.size()) return 0;
  const auto key = rest.substr(at, key_end - at);
  if (stage_ == Stage::members && json_unquote(key) == "paths" && rest[value] == '{') {
    paths_seen_ = true;
    stage_ = Stage::paths;
    return value + 1;
  }
  const auto end = behind_value(rest, value);
  // A number may go on in the next chunk: what stands behind a value shows that it is whole.
  if (end == std::string_view::npos || skip_white(rest, end) == rest.size()) return 0;
  if (stage_ == Stage::paths) broken_ = !entry(key, rest.substr(value, end - value));
  return end;
}

/// Is it another tenant's for certain? Nearly all are, where there are many.
bool OpenApiIndex::foreign(std::string_view quoted_key) const {
  constexpr std::string_view k_head = "\"apis/";
  if (mapping_.identity() || !quoted_key.starts_with(k_head)) return false;
  const auto rest = quoted_key.substr(k_head.size());
  const auto group = rest.substr(0, rest.find_first_of("/\"\\"));
  return rest[group.size()] != '\\' && !mapping_.group_out(group);
}

/// One member of the paths; false: it is none.
bool OpenApiIndex::entry(std::string_view quoted_key, std::string_view value) {
  if (foreign(quoted_key)) return true;
  const auto key = json_unquote(quoted_key);
  const auto copy = [&] {
    out_.append(quoted_key).append(":").append(value).append(",");
    return true;
  };
  if (mapping_.identity() || key == "api" || key == "api/v1" || key == "apis" || key == "version" ||
      key.starts_with(".well-known/") || key.starts_with("openid/")) {
    return copy();
  }
  const auto parts = text::split(key, '/');
  if (parts.size() < 2 || parts[0] != "apis") return true;
  const auto up = std::string(parts[1]);
  // Only a group that maps there and back is this tenant's to see.
  const auto own = mapping_.group_out(up);
  const bool served =
      own && mapping_.group_in(*own) == up &&
      (parts.size() == 2 ? catalog_.group(viewer_, *own).has_value()
                         : catalog_.resource_list(viewer_, *own, parts[2]).has_value());
  if (!served) return true;
  if (*own == up) return copy();
  const auto tree = JsonTree::parse(value);
  if (!tree) return false;
  const auto url = tree->root()["serverRelativeURL"];
  const auto head = "/openapi/v3/apis/" + up;
  const auto old = url.string();
  JsonEdits edits;
  if (old.starts_with(head))
    edits.quote(url, "/openapi/v3/apis/" + std::string(*own) + old.substr(head.size()));
  append_json_quoted(out_, "apis/" + std::string(*own) + key.substr(5 + up.size()));
  out_.append(":").append(edits.apply(value)).append(",");
  return true;
}

} // namespace zoo::translate
