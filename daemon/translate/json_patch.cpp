// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/json_patch.hpp"

#include "common/base/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace zoo::translate {
namespace {

constexpr std::size_t k_most_copied = std::size_t{3} << 20; ///< bytes, as apiserver has it
constexpr std::size_t k_most_looked_at = 20'000'000;

/// Of a list: an index that is one of its elements, or `end`, the place behind them.
std::optional<std::size_t> index_of(const JsonValue& list, std::string_view segment, bool end) {
  const auto size = list.elements.size();
  if (segment == "-") return end ? std::optional(size) : std::nullopt;
  constexpr std::size_t k_digits = 9;
  if (!is_index(segment) || segment.size() > k_digits) return std::nullopt;
  if (segment.size() > 1 && segment.front() == '0') return std::nullopt;
  std::size_t out = 0;
  for (const char c : segment)
    out = out * 10 + static_cast<std::size_t>(c - '0');
  return out < size + (end ? 1 : 0) ? std::optional(out) : std::nullopt;
}

class PatchRun {
public:
  explicit PatchRun(JsonValue& document) : document_(document) {}

  Result<void> run(JsonNode patch) {
    if (!patch.is(JsonType::array))
      return fail(Code::bad_request, "a JSON patch is a list of operations (RFC 6902)");
    std::size_t count = 0;
    for (auto node = patch.first(); node; node = node.next()) {
      if (++count > k_max_operations)
        return fail(Code::too_large,
                    "The allowed maximum operations in a JSON patch is {}, got more",
                    k_max_operations);
      ZOO_TRY_VOID(operation(node));
      if (looked_at_ > k_most_looked_at)
        return fail(Code::invalid, "the JSON patch takes too long: send fewer operations, or one "
                                   "that replaces what is above them");
    }
    return {};
  }

private:
  Result<void> operation(JsonNode node) {
    if (!node.is(JsonType::object))
      return fail(Code::bad_request, "a JSON patch is a list of operations (RFC 6902)");
    ZOO_TRY_VOID(members_once(node));
    const auto op = node["op"].string();
    if (!node["path"].is(JsonType::string))
      return fail(Code::bad_request, "a JSON patch operation has no path");
    ZOO_TRY(const auto path, parse_pointer(node["path"].string()));
    if (path.empty()) return nowhere(op, path);
    if (op == "add" || op == "replace" || op == "test") {
      ZOO_TRY(auto value, JsonValue::of(node["value"]));
      if (op == "test") return test(path, value);
      if (op == "replace" && find(path) == nullptr) return nowhere(op, path);
      if (op == "replace") return replace(path, std::move(value));
      return add(op, path, std::move(value));
    }
    if (op == "remove") return take(op, path, nullptr);
    if (op != "copy" && op != "move")
      return fail(Code::bad_request, "unknown JSON patch operation {}", json_quote(op));
    if (!node["from"].is(JsonType::string))
      return fail(Code::bad_request, "a JSON patch {} has no from", op);
    ZOO_TRY(const auto from, parse_pointer(node["from"].string()));
    if (from.empty()) return nowhere(op, from);
    JsonValue value;
    if (op == "move") {
      ZOO_TRY_VOID(take(op, from, &value));
    } else {
      const auto* source = find(from);
      if (source == nullptr) return nowhere(op, from);
      copied_ += source->written().size();
      if (copied_ > k_most_copied)
        return fail(Code::invalid, "the copies of a JSON patch have more than {} bytes together",
                    k_most_copied);
      value = *source;
    }
    return add(op, path, std::move(value));
  }

  tl::unexpected<Error> nowhere(std::string_view op, const Segments& path) const {
    return fail(Code::invalid, "JSON patch {}: there is nothing at {}", op,
                json_quote(format_pointer(path)));
  }

  JsonValue* step(JsonValue& value, const std::string& segment) {
    looked_at_ += value.members.size() + 1;
    if (value.is(JsonType::object)) return value.find(segment);
    if (!value.is(JsonType::array)) return nullptr;
    const auto index = index_of(value, segment, false);
    return index ? &value.elements[*index] : nullptr;
  }

  JsonValue* find(const Segments& path, std::size_t less = 0) {
    auto* value = &document_;
    for (std::size_t i = 0; i + less < path.size() && value != nullptr; ++i)
      value = step(*value, path[i]);
    return value;
  }

  Result<void> test(const Segments& path, const JsonValue& value) {
    const auto* found = find(path);
    if (found == nullptr ? value.is(JsonType::null) : same_json(*found, value)) return {};
    return fail(Code::invalid, "JSON patch test of {} failed", json_quote(format_pointer(path)));
  }

  Result<void> replace(const Segments& path, JsonValue value) {
    *find(path) = std::move(value);
    return {};
  }

  Result<void> add(std::string_view op, const Segments& path, JsonValue value) {
    auto* above = find(path, 1);
    if (above == nullptr) return nowhere(op, path);
    if (above->is(JsonType::object)) {
      looked_at_ += above->members.size();
      above->set(path.back(), std::move(value));
      return {};
    }
    if (!above->is(JsonType::array)) return nowhere(op, path);
    const auto index = index_of(*above, path.back(), true);
    if (!index) return nowhere(op, path);
    looked_at_ += above->elements.size();
    above->elements.insert(above->elements.begin() + static_cast<std::ptrdiff_t>(*index),
                           std::move(value));
    return {};
  }

  Result<void> take(std::string_view op, const Segments& path, JsonValue* taken) {
    auto* above = find(path, 1);
    auto* value = above == nullptr ? nullptr : step(*above, path.back());
    if (value == nullptr) return nowhere(op, path);
    if (taken != nullptr) *taken = std::move(*value);
    if (above->is(JsonType::object)) {
      above->erase(path.back());
    } else {
      looked_at_ += above->elements.size();
      above->elements.erase(above->elements.begin() + (value - above->elements.data()));
    }
    return {};
  }

  JsonValue& document_;
  std::size_t copied_ = 0;
  std::size_t looked_at_ = 0;
};

bool renamed(const JsonValue& from, const JsonValue& to) {
  const auto *was = from.find("name"), *is = to.find("name");
  return was != nullptr && (is == nullptr || !same_json(*was, *is));
}

void merge_members(JsonValue& document, const JsonValue& from, const JsonValue& to) {
  const auto nothing = JsonValue::object();
  const MembersByName before(from), after(to);
  MemberEdits edits(document);
  for (const auto& [name, was] : from.members) {
    auto* there = after.find(name) != nullptr ? nullptr : edits.find(name);
    if (there == nullptr) continue;
    const bool objects = there->is(JsonType::object) && was.is(JsonType::object);
    // Of a map only what is known goes.
    if (objects) merge_members(*there, was, nothing);
    if (!objects || there->members.empty()) edits.erase(there);
  }
  for (const auto& [name, is] : to.members) {
    const auto* was = before.find(name);
    auto* there = edits.find(name);
    if (there == nullptr) {
      edits.add(name, is);
    } else if (was != nullptr) {
      merge_changes(*there, *was, is);
    } else if (there->is(JsonType::object) && is.is(JsonType::object)) {
      merge_members(*there, nothing, is);
    } else {
      *there = is;
    }
  }
  edits.apply();
}

/// Operations for the members that differ, but for `without`.
void between(const JsonValue& from, const JsonValue& to, const std::string& above,
             std::string_view without, JsonValue& out) {
  const auto add = [&](std::string_view op, const std::string& name, const JsonValue* value) {
    auto change = JsonValue::object();
    change.set("op", JsonValue::string(op));
    change.set("path", JsonValue::string(above + format_pointer({name})));
    if (value != nullptr) change.set("value", *value);
    out.elements.push_back(std::move(change));
  };
  const MembersByName before(from), after(to);
  for (const auto& [name, was] : from.members)
    if (name != without && after.find(name) == nullptr) add("remove", name, nullptr);
  for (const auto& [name, is] : to.members) {
    if (name == without) continue;
    const auto* was = before.find(name);
    if (was == nullptr || !same_json(*was, is)) add("add", name, &is);
  }
}

} // namespace

Result<void> apply_json_patch(JsonValue& document, JsonNode patch) {
  return PatchRun(document).run(patch);
}

void merge_changes(JsonValue& document, const JsonValue& from, const JsonValue& to) {
  const bool objects =
      document.is(JsonType::object) && from.is(JsonType::object) && to.is(JsonType::object);
  if (objects) return merge_members(document, from, to);
  const bool lists = document.is(JsonType::array) && from.is(JsonType::array) &&
                     to.is(JsonType::array) && document.elements.size() == from.elements.size() &&
                     from.elements.size() == to.elements.size();
  if (!lists) {
    if (!same_json(from, to)) document = to;
    return;
  }
  for (std::size_t i = 0; i < to.elements.size(); ++i) {
    if (renamed(from.elements[i], to.elements[i])) {
      document.elements[i] = to.elements[i];
    } else {
      merge_changes(document.elements[i], from.elements[i], to.elements[i]);
    }
  }
}

std::string json_patch_between(const JsonValue& from, const JsonValue& to) {
  JsonValue out;
  out.type = JsonType::array;
  constexpr std::string_view k_metadata = "metadata";
  const auto *was = from.find(k_metadata), *is = to.find(k_metadata);
  const bool within =
      was != nullptr && is != nullptr && was->is(JsonType::object) && is->is(JsonType::object);
  if (within) between(*was, *is, "/metadata", {}, out);
  between(from, to, "", within ? k_metadata : std::string_view(), out);
  return out.written();
}

} // namespace zoo::translate
