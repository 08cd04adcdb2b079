// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/etcd/wire.hpp"

#include "common/crypto/digest.hpp"

#include <nlohmann/json.hpp>

#include <charconv>
#include <utility>

namespace zoo::store::etcd {
namespace {

using nlohmann::json;

json encoded(std::string_view bytes) { return crypto::base64_encode(bytes); }

Result<std::string> bytes_of(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return std::string();
  if (!found->is_string()) return fail(Code::internal, "etcd sent a {} that is no string", name);
  auto out = crypto::base64_decode(found->get_ref<const std::string&>());
  if (!out) return fail(Code::internal, "etcd sent a {} that is not base64", name);
  return out;
}

json compare(std::string_view key, const char* target, const char* member, const char* result,
             std::int64_t revision) {
  return json{{"key", encoded(key)},
              {"target", target},
              {"result", result},
              {member, std::to_string(revision)}};
}

} // namespace

std::int64_t number(const json& object, const char* name) {
  if (!object.is_object()) return 0;
  const auto found = object.find(name);
  if (found == object.end()) return 0;
  if (found->is_number_integer()) return found->get<std::int64_t>();
  if (!found->is_string()) return 0;
  const auto& text = found->get_ref<const std::string&>();
  std::int64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

bool flag(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::int64_t header_revision(const json& answer) {
  const auto header = answer.find("header");
  return header == answer.end() ? 0 : number(*header, "revision");
}

Result<KeyValue> read_key_value(const json& object) {
  if (!object.is_object()) return fail(Code::internal, "etcd sent a key that is no object");
  KeyValue out;
  ZOO_TRY(out.key, bytes_of(object, "key"));
  ZOO_TRY(out.value, bytes_of(object, "value"));
  out.created = number(object, "create_revision");
  out.modified = number(object, "mod_revision");
  return out;
}

Result<KeyValue> first_of(const json& range_answer) {
  const auto keys = range_answer.find("kvs");
  if (keys == range_answer.end() || !keys->is_array() || keys->empty()) return KeyValue{};
  return read_key_value(keys->front());
}

std::string end_of_prefix(std::string_view prefix) {
  std::string out(prefix);
  while (!out.empty() && static_cast<unsigned char>(out.back()) == 0xff)
    out.pop_back();
  if (out.empty()) return std::string(1, '\0');
  out.back() = static_cast<char>(static_cast<unsigned char>(out.back()) + 1);
  return out;
}

json range(std::string_view key, std::string_view end) {
  json out{{"key", encoded(key)}};
  if (!end.empty()) out["range_end"] = encoded(end);
  return out;
}

json keys_only(json range) {
  range["keys_only"] = true;
  return range;
}

json request_range(json range) { return json{{"request_range", std::move(range)}}; }

json request_put(std::string_view key, std::string_view value, std::int64_t lease) {
  json put{{"key", encoded(key)}, {"value", encoded(value)}};
  if (lease != 0) put["lease"] = std::to_string(lease);
  return json{{"request_put", std::move(put)}};
}

json request_removal(std::string_view key, std::string_view end) {
  return json{{"request_delete_range", range(key, end)}};
}

json modified_is(std::string_view key, std::int64_t revision) {
  return compare(key, "MOD", "mod_revision", "EQUAL", revision);
}

json created_is(std::string_view key, std::int64_t revision) {
  return compare(key, "CREATE", "create_revision", "EQUAL", revision);
}

json exists(std::string_view key) {
  return compare(key, "CREATE", "create_revision", "GREATER", 0);
}

std::string Layout::kind(std::string_view kind) const {
  auto out = records();
  for (const char c : kind) {
    if (c == '%') {
      out += "%25";
    } else if (c == '/') {
      out += "%2F";
    } else {
      out += c;
    }
  }
  return out + '/';
}

std::string Layout::record(std::string_view kind, std::string_view key) const {
  auto out = this->kind(kind);
  out += key;
  return out;
}

Result<std::pair<std::string, std::string>> Layout::names_of(std::string_view key) const {
  const auto begin = records();
  const auto slash = key.starts_with(begin) ? key.find('/', begin.size()) : std::string_view::npos;
  if (slash == std::string_view::npos)
    return fail(Code::invalid, "'{}' in etcd is no record of zood's", key);
  std::string kind;
  for (auto rest = key.substr(begin.size(), slash - begin.size()); !rest.empty();) {
    const bool percent = rest.starts_with("%25");
    const bool escaped = percent || rest.starts_with("%2F");
    kind += escaped ? (percent ? '%' : '/') : rest.front();
    rest.remove_prefix(escaped ? 3 : 1);
  }
  return std::pair(std::move(kind), std::string(key.substr(slash + 1)));
}

} // namespace zoo::store::etcd
