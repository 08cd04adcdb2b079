// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/definitions.hpp"

#include "common/base/json_text.hpp"
#include "common/base/text.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <span>

namespace zoo::gateway {
namespace {

using translate::JsonNode;
using translate::JsonTree;
using translate::JsonType;

constexpr std::string_view k_embedded = "x-kubernetes-embedded-resource";
constexpr std::string_view k_cleanup = "customresourcecleanup.apiextensions.k8s.io";
/// Deeper schemas of embedded resources are refused; upstream's own kinds stay far below.
constexpr std::size_t k_max_depth = 128;

/// Conditions that upstream's controllers write and act upon (k8s.io/apiextensions-apiserver
/// pkg/apis/apiextensions/v1/types.go).
constexpr std::array<std::string_view, 5> k_conditions{"Established", "NamesAccepted",
                                                       "NonStructuralSchema", "Terminating",
                                                       "KubernetesAPIApprovalPolicyConformant"};

/// The way through a schema to a place: ".name" to a property, "{}" to the values of
/// additionalProperties, "[]" to the elements of a list.
using Way = std::vector<std::string>;

/// What stands in the way to a place that is embedded in another version.
class Embedded {
public:
  /// Code::forbidden: too many, or too deep.
  Result<void> find(JsonNode schema) { return walk(schema, 0); }
  const std::vector<Way>& ways() const { return ways_; }

private:
  Result<void> walk(JsonNode schema, std::size_t depth) {
    if (!schema.is(JsonType::object)) return {};
    if (depth == k_max_depth) {
      // A key may be spelt with escapes.
      const auto raw = schema.raw();
      if (raw.find(k_embedded) == raw.npos && raw.find("\\u") == raw.npos) return {};
      return fail(Code::forbidden,
                  "{} stands more than {} levels deep in a schema (rule definition-schemas)",
                  k_embedded, k_max_depth);
    }
    if (schema[k_embedded].boolean()) {
      if (ways_.size() == k_max_embedded)
        return fail(Code::forbidden,
                    "a definition has {} at most {} times (rule definition-schemas)", k_embedded,
                    k_max_embedded);
      ways_.push_back(way_);
    }
    for (auto property = schema["properties"].first(); property; property = property.next())
      ZOO_TRY_VOID(step("." + property.key(), property, depth));
    ZOO_TRY_VOID(step("{}", schema["additionalProperties"], depth));
    return step("[]", schema["items"], depth);
  }

  Result<void> step(std::string name, JsonNode schema, std::size_t depth) {
    if (!schema.is(JsonType::object)) return {};
    way_.push_back(std::move(name));
    ZOO_TRY_VOID(walk(schema, depth + 1));
    way_.pop_back();
    return {};
  }

  Way way_;
  std::vector<Way> ways_;
};

bool scalar(JsonNode schema) {
  const auto type = schema["type"].string();
  return type == "string" || type == "integer" || type == "number" || type == "boolean";
}

/// Is what another version of the definition keeps at the end of `way` an embedded resource there,
/// too, or does it keep nothing there? `schema` may be absent: then `keeps` says whether what
/// stands there is kept as it is.
bool covers(JsonNode schema, bool keeps, std::span<const std::string> way) {
  if (!schema) return !keeps;
  if (!schema.is(JsonType::object)) return false; // additionalProperties: true
  if (scalar(schema)) return true;
  if (way.empty()) return schema[k_embedded].boolean();
  const auto rest = way.subspan(1);
  const bool open = schema["x-kubernetes-preserve-unknown-fields"].boolean();
  const auto more = schema["additionalProperties"];
  const auto properties = schema["properties"];
  if (way.front() == "[]") return covers(schema["items"], open, rest);
  if (way.front() == "{}") {
    for (auto property = properties.first(); property; property = property.next()) {
      if (!covers(property, open, rest)) return false;
    }
    return covers(more, open, rest);
  }
  const auto property = properties[std::string_view(way.front()).substr(1)];
  return covers(property ? property : more, open, rest);
}

std::string shown(const Way& way) {
  std::string out;
  for (const auto& step : way)
    out += step.front() == '.' ? step : "[*]";
  return out;
}

/// Names of letters, digits, dashes and underlines, each behind a dot.
bool plain_path(std::string_view path) {
  char before = '\0';
  for (const char c : path) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_';
    if (!word && (c != '.' || before == '.')) return false;
    if (before == '\0' && c != '.') return false;
    before = c;
  }
  return before != '.' && before != '\0';
}

Result<void> check_selectable(JsonNode version) {
  for (auto field = version["selectableFields"].first(); field; field = field.next()) {
    const auto path = field["jsonPath"].string();
    if (plain_path(path) || path.empty()) continue; // upstream refuses the empty one
    return fail(
        Code::forbidden,
        "customresourcedefinitions is forbidden: upstream may find none or several values "
        "at the selectable field {} (rule definition-schemas): select by fields whose names "
        "have letters, digits, dashes and underlines alone",
        json_quote(path));
  }
  return {};
}

JsonNode schema_of(JsonNode version) { return version["schema"]["openAPIV3Schema"]; }

std::vector<std::string> finalizers_of(JsonNode object) {
  return object["metadata"]["finalizers"].strings();
}

std::string definition_name(JsonNode object) {
  return json_quote(object["metadata"]["name"].string());
}

/// The conditions of `after`, with those of upstream's as they are in `before`.
std::string conditions(JsonNode before, JsonNode after) {
  std::string out;
  const auto add = [&out](JsonNode status, bool upstreams) {
    for (auto each = status["conditions"].first(); each; each = each.next()) {
      if (text::contains(k_conditions, each["type"].string()) != upstreams) continue;
      out += out.empty() ? "[" : ",";
      out += each.raw();
    }
  };
  add(before, true);
  add(after, false);
  return out.empty() ? "[]" : out + "]";
}

void put(translate::JsonEdits& edits, JsonNode object, std::string_view name,
         const std::string& value) {
  if (const auto there = object[name]) {
    edits.replace(there, value);
  } else {
    edits.append(object, name, value);
  }
}

Result<DefinitionWrite> judge_status(JsonNode before, JsonNode after, std::string_view before_text,
                                     std::string_view after_text) {
  DefinitionWrite out;
  const auto stored = before["status"]["storedVersions"].strings();
  const auto kept = after["status"]["storedVersions"].strings();
  // Upstream would put the storage version for none, so that no client can mean it.
  if (!kept.empty()) {
    for (const auto& version : stored)
      if (!text::contains(kept, version)) out.dropped.push_back(version);
  }
  translate::JsonEdits edits;
  if (!out.dropped.empty()) {
    for (auto version = before["spec"]["versions"].first(); version; version = version.next()) {
      const auto name = version["name"].string();
      if (version["storage"].boolean() && text::contains(out.dropped, name)) {
        return fail(Code::forbidden,
                    "customresourcedefinitions.apiextensions.k8s.io {} is forbidden: objects are "
                    "stored in version {} (rule stored-versions): make another one the storage "
                    "version first",
                    definition_name(before), json_quote(name));
      }
    }
    std::string left;
    for (const auto& version : stored) {
      if (text::contains(out.dropped, version)) continue;
      left += (left.empty() ? "[" : ",") + json_quote(version);
    }
    put(edits, before["status"], "storedVersions", left.empty() ? "[]" : left + "]");
    out.body = edits.apply(before_text);
    return out;
  }
  const auto status = after["status"], now = before["status"];
  if (!status.is(JsonType::object)) {
    put(edits, after, "status", std::string(now.raw()));
  } else {
    if (kept.empty())
      put(edits, status, "storedVersions", std::string(now["storedVersions"].raw()));
    if (const auto names = now["acceptedNames"])
      put(edits, status, "acceptedNames", std::string(names.raw()));
    put(edits, status, "conditions", conditions(now, status));
  }
  out.body = edits.apply(after_text);
  return out;
}

} // namespace

Result<void> check_schemas(JsonNode after, JsonNode before) {
  const auto versions = after["versions"].children();
  for (const auto version : versions)
    ZOO_TRY_VOID(check_selectable(version));
  std::vector<Embedded> places(versions.size());
  std::size_t all = 0;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    ZOO_TRY_VOID(places[i].find(schema_of(versions[i])));
    all += places[i].ways().size();
  }
  if (all == 0) return {};
  if (all > k_max_embedded)
    return fail(Code::forbidden,
                "customresourcedefinitions is forbidden: a definition has {} at most {} times, and "
                "this has it {} times (rule definition-schemas): serve fewer versions",
                k_embedded, k_max_embedded, all);
  for (std::size_t i = 0; i < versions.size(); ++i) {
    if (places[i].ways().empty()) continue;
    for (std::size_t j = 0; j < versions.size(); ++j) {
      for (const auto& way : places[i].ways()) {
        if (i == j || covers(schema_of(versions[j]), false, way)) continue;
        return fail(Code::forbidden,
                    "customresourcedefinitions is forbidden: {} is an embedded resource in version "
                    "{} and not in {}, so that upstream could not read in the one what the other "
                    "has stored (rule definition-schemas): set {} in both, or in neither",
                    shown(way), json_quote(versions[i]["name"].string()),
                    json_quote(versions[j]["name"].string()), k_embedded);
      }
    }
  }
  if (!before) return {};
  std::set<Way> known;
  for (const auto version : before["versions"].children()) {
    Embedded there;
    ZOO_TRY_VOID(there.find(schema_of(version)));
    known.insert(there.ways().begin(), there.ways().end());
  }
  for (const auto& each : places) {
    for (const auto& way : each.ways()) {
      if (known.contains(way)) continue;
      return fail(Code::forbidden,
                  "customresourcedefinitions is forbidden: {} becomes an embedded resource, and "
                  "upstream could not read objects that were stored before and are none there "
                  "(rule definition-schemas): leave {} out, or delete the definition with its "
                  "objects and create it anew",
                  shown(way), k_embedded);
    }
  }
  return {};
}

Result<DefinitionWrite> judge_definition(const translate::Target& target,
                                         std::string_view before_text,
                                         std::string_view after_text) {
  ZOO_TRY(const auto was, JsonTree::parse(before_text));
  ZOO_TRY(const auto is, JsonTree::parse(after_text));
  const auto before = was.root(), after = is.root();
  if (before["metadata"]["deletionTimestamp"] && text::contains(finalizers_of(before), k_cleanup) &&
      !text::contains(finalizers_of(after), k_cleanup)) {
    return fail(Code::forbidden,
                "customresourcedefinitions.apiextensions.k8s.io {} is forbidden: upstream takes "
                "its finalizer {} away when the objects of the kind are gone (rule "
                "definition-cleanup): remove the finalizers of these objects instead",
                definition_name(before), k_cleanup);
  }
  if (target.subresource == "status") return judge_status(before, after, before_text, after_text);
  ZOO_TRY_VOID(check_schemas(after["spec"], before["spec"]));
  return DefinitionWrite{};
}

DefinitionAges::Clock::duration DefinitionAges::age(const std::string& uid, std::int64_t generation,
                                                    Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const auto found = seen_.find(uid);
  if (found != seen_.end()) {
    if (found->second.generation != generation) found->second = {generation, now};
    return now - found->second.since;
  }
  if (seen_.size() >= k_most) {
    // It is settled already, and has only to be looked at for as long once more.
    const auto oldest =
        std::min_element(seen_.begin(), seen_.end(), [](const auto& a, const auto& b) {
          return a.second.since < b.second.since;
        });
    seen_.erase(oldest);
  }
  seen_.emplace(uid, Seen{generation, now});
  return {};
}

} // namespace zoo::gateway
