// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/definition.hpp"

#include "common/base/json_text.hpp"
#include "daemon/translate/cel.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/pattern.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <optional>

namespace zoo::translate {
namespace {

enum class Way : std::uint8_t { in, out, prove, repair };

constexpr std::array<std::string_view, 3> k_lists = {"allOf", "anyOf", "oneOf"};

class Schemas {
public:
  Schemas(const Mapping& mapping, Way way, JsonEdits& edits)
      : mapping_(mapping), way_(way), edits_(edits) {}

  Result<void> run(JsonNode root) {
    std::size_t index = 0;
    for (auto version = root["spec"]["versions"].first(); version; version = version.next()) {
      at_ = fmt::format("spec.versions[{}].schema.openAPIV3Schema", index++);
      ZOO_TRY_VOID(object(version["schema"]["openAPIV3Schema"]));
    }
    return {};
  }

  /// The schema of whole objects.
  Result<void> object(JsonNode schema) {
    if (!schema.is(JsonType::object)) return {};
    ZOO_TRY_VOID(rules(schema, CelPlace::object, CelPlace::object_optional_old));
    ZOO_TRY_VOID(api_version(schema["properties"]["apiVersion"]));
    return junctors(schema, &Schemas::object);
  }

private:
  using Schema = Result<void> (Schemas::*)(JsonNode);

  /// The schema of their apiVersion.
  Result<void> api_version(JsonNode schema) {
    if (!schema.is(JsonType::object)) return {};
    for (auto value = schema["enum"].first(); value; value = value.next())
      ZOO_TRY_VOID(group(value, "enum"));
    ZOO_TRY_VOID(group(schema["default"], "default"));
    ZOO_TRY_VOID(pattern(schema["pattern"]));
    ZOO_TRY_VOID(length(schema["minLength"], "minLength"));
    ZOO_TRY_VOID(length(schema["maxLength"], "maxLength"));
    ZOO_TRY_VOID(rules(schema, CelPlace::api_version, CelPlace::api_version_optional_old));
    return junctors(schema, &Schemas::api_version);
  }

  /// Schemas that are combined: each speaks of the same value. Nesting is bounded by k_deepest.
  Result<void> junctors(JsonNode schema, Schema each) {
    if (depth_ == k_deepest) {
      if (way_ == Way::out) return {};
      return fail(Code::forbidden,
                  "{} combines schemas more than {} deep (rule definition-groups): combine fewer",
                  at_, k_deepest);
    }
    ++depth_;
    for (const auto list : k_lists)
      for (auto part = schema[list].first(); part; part = part.next())
        ZOO_TRY_VOID((this->*each)(part));
    ZOO_TRY_VOID((this->*each)(schema["not"]));
    --depth_;
    return {};
  }

  Result<void> rules(JsonNode schema, CelPlace place, CelPlace optional_old) {
    for (auto rule = schema["x-kubernetes-validations"].first(); rule; rule = rule.next()) {
      const auto where = rule["optionalOldSelf"].boolean() ? optional_old : place;
      for (const auto* member : {"rule", "messageExpression"}) {
        ZOO_TRY_VOID(text(
            rule[member], member,
            [&](std::string_view own) { return std::optional(cel_in(mapping_, own, where)); },
            [&](std::string_view stored) { return cel_out(mapping_, stored, where); }));
      }
    }
    return {};
  }

  Result<void> group(JsonNode value, std::string_view member) {
    return text(
        value, member,
        [&](std::string_view own) { return std::optional(mapping_.api_version_in(own)); },
        [&](std::string_view stored) {
          return mapping_.api_version_out(stored).value_or(std::string(stored));
        });
  }

  Result<void> pattern(JsonNode value) {
    return text(
        value, "pattern", [&](std::string_view own) { return pattern_in(mapping_.prefix(), own); },
        [&](std::string_view stored) { return pattern_out(mapping_.prefix(), stored); });
  }

  /// One string: `in` answers nullopt for what cannot be translated.
  template <typename In, typename Out>
  Result<void> text(JsonNode node, std::string_view member, In in, Out out) {
    if (!node.is(JsonType::string)) return {};
    const auto is = node.string();
    const auto own = way_ == Way::in ? is : out(is);
    if (way_ == Way::out) return change(node, is, own);
    const auto stored = in(own);
    if (!stored) {
      return fail(Code::forbidden,
                  "{}: the {} of apiVersion {} cannot be held against a group that has a prefix "
                  "upstream (rule definition-groups): begin it with '^' and use '^', '\\b' and "
                  "flags nowhere else, or list the versions in an enum",
                  at_, member, json_quote(own));
    }
    if (way_ == Way::prove && *stored != is) return foreign(member);
    return change(node, is, *stored);
  }

  /// The prefix makes each apiVersion longer.
  Result<void> length(JsonNode node, std::string_view member) {
    const auto is = node.integer();
    if (!is) return {};
    const auto more = static_cast<std::int64_t>(mapping_.prefix().size());
    if (way_ == Way::in) {
      if (*is >= 0 && *is < k_longest) edits_.replace(node, std::to_string(*is + more));
    } else if (*is >= more) {
      if (way_ == Way::out) edits_.replace(node, std::to_string(*is - more));
    } else if (way_ == Way::prove) {
      return foreign(member);
    } else if (way_ == Way::repair && *is >= 0) {
      edits_.replace(node, std::to_string(*is + more));
    }
    return {};
  }

  Result<void> change(JsonNode node, std::string_view is, std::string_view becomes) {
    if (way_ != Way::prove && is != becomes) edits_.quote(node, becomes);
    return {};
  }

  tl::unexpected<Error> foreign(std::string_view member) const {
    return fail(Code::forbidden,
                "{}: a {} speaks of the apiVersion of objects without the tenant's prefix, and "
                "would refuse them all (rule definition-groups)",
                at_, member);
  }

  static constexpr std::size_t k_deepest = 32;
  static constexpr std::int64_t k_longest = std::int64_t{1} << 32U;
  const Mapping& mapping_;
  const Way way_;
  JsonEdits& edits_;
  std::string at_; ///< the schema that is looked at, for errors
  std::size_t depth_ = 0;
};

Result<std::string> walk(const Mapping& mapping, Way way, std::string document) {
  ZOO_TRY(const auto tree, JsonTree::parse(document));
  JsonEdits edits;
  ZOO_TRY_VOID(Schemas(mapping, way, edits).run(tree.root()));
  if (edits.empty()) return document;
  return edits.apply(document);
}

} // namespace

Result<std::string> definition_in(const Mapping& mapping, std::string document) {
  return walk(mapping, Way::in, std::move(document));
}

Result<std::string> definition_out(const Mapping& mapping, std::string document) {
  return walk(mapping, Way::out, std::move(document));
}

bool definition_may_change(const Mapping& mapping, std::string_view document) {
  if (document.find(mapping.prefix()) != std::string_view::npos) return true;
  // What has no prefix within: lengths.
  constexpr std::string_view k_property = "\"apiVersion\":";
  for (auto at = document.find(k_property); at != std::string_view::npos;
       at = document.find(k_property, at)) {
    at += k_property.size();
    const auto begin = document.find_first_not_of(" \t\r\n", at);
    if (begin == std::string_view::npos || document[begin] != '{') continue;
    const auto end = json_skip(document, begin);
    if (end == std::string_view::npos) return true;
    if (document.substr(begin, end - begin).find("Length\"") != std::string_view::npos) return true;
  }
  return false;
}

void schema_out(const Mapping& mapping, JsonNode schema, JsonEdits& edits) {
  // Outward nothing is refused.
  static_cast<void>(Schemas(mapping, Way::out, edits).object(schema));
}

Result<void> prove_definition(const Mapping& mapping, std::string_view document) {
  ZOO_TRY(const auto tree, JsonTree::parse(document));
  ZOO_TRY_VOID(members_once(tree.root()));
  JsonEdits none;
  return Schemas(mapping, Way::prove, none).run(tree.root());
}

Result<std::string> repair_definition(const Mapping& mapping, std::string document) {
  return walk(mapping, Way::repair, std::move(document));
}

} // namespace zoo::translate
