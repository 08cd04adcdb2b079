// SPDX-License-Identifier: Apache-2.0
#include "common/base/json_text.hpp"
#include "common/base/text.hpp"
#include "daemon/translate/definition.hpp"
#include "daemon/translate/discovery.hpp"
#include "daemon/translate/discovery_json.hpp"

namespace zoo::translate {
namespace {

/// "stable.example.com" -> "com.example.stable"
std::string reversed(std::string_view group) {
  std::string out;
  for (const auto part : text::split(group, '.'))
    out = out.empty() ? std::string(part) : std::string(part) + "." + out;
  return out;
}

/// "foofoo-stable.example.com" -> "FoofooStableExampleCom": kube-openapi's operation IDs drop
/// punctuation and capitalise what follows it.
std::string camel(std::string_view group) {
  std::string out;
  bool upper = true;
  for (const char c : group) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter) {
      upper = true;
      continue;
    }
    out += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    upper = false;
  }
  return out;
}

std::string lower_first(std::string text) {
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] + 32);
  return text;
}

/// The names of one group before and after.
struct Renaming {
  std::string up, own;               ///< group
  std::string up_schema, own_schema; ///< reversed, with the dot behind
  std::string up_camel, own_camel;

  std::string path(std::string_view text) const {
    const auto head = "/apis/" + up + "/";
    if (!text.starts_with(head)) return std::string(text);
    return "/apis/" + own + "/" + std::string(text.substr(head.size()));
  }
  std::string schema(std::string_view text) const {
    if (!text.starts_with(up_schema)) return std::string(text);
    return own_schema + std::string(text.substr(up_schema.size()));
  }
  std::string reference(std::string_view text) const {
    constexpr std::string_view k_head = "#/components/schemas/";
    if (!text.starts_with(k_head)) return std::string(text);
    return std::string(k_head) + schema(text.substr(k_head.size()));
  }
  std::string tag(std::string_view text) const {
    const auto head = lower_first(up_camel) + "_";
    if (!text.starts_with(head)) return std::string(text);
    return lower_first(own_camel) + "_" + std::string(text.substr(head.size()));
  }
  std::string operation(std::string text) const {
    // `<verb><Group><Version>...`: the first occurrence is the group's.
    const auto at = text.find(up_camel);
    if (at != std::string::npos) text.replace(at, up_camel.size(), own_camel);
    return text;
  }
};

void rename_gvk(JsonEdits& edits, const Renaming& names, JsonNode node) {
  if (node.is(JsonType::array)) {
    for (auto each = node.first(); each; each = each.next())
      rename_gvk(edits, names, each);
  } else if (const auto group = node["group"]; group && group.string() == names.up) {
    edits.quote(group, names.own);
  }
}

/// Every `$ref` and group-version-kind below, whatever schema it stands in. `literal` is a value
/// that belongs to the tenant (default, example, enum): not a schema, not touched.
void rename_below(JsonEdits& edits, const Renaming& names, JsonNode top) {
  std::vector<JsonNode> open{top};
  while (!open.empty()) {
    const auto node = open.back();
    open.pop_back();
    for (auto child = node.first(); child; child = child.next()) {
      const auto key = node.is(JsonType::object) ? child.key() : std::string();
      if (key == "$ref" && child.is(JsonType::string)) {
        edits.quote(child, names.reference(child.string()));
      } else if (key == "x-kubernetes-group-version-kind") {
        rename_gvk(edits, names, child);
      } else if (key == "properties" && child.is(JsonType::object)) {
        // Names of properties are the tenant's: one may be called "default" and be a schema.
        for (auto property = child.first(); property; property = property.next())
          open.push_back(property);
      } else if (key != "default" && key != "example" && key != "enum") {
        open.push_back(child);
      }
    }
  }
}

} // namespace

Result<std::string> openapi_document_out(const Mapping& mapping, std::string_view tenant_group,
                                         std::string_view document) {
  if (mapping.identity() || !mapping.custom_group(tenant_group)) return std::string(document);
  const auto tree = JsonTree::parse(document);
  if (!tree) return fail(Code::internal, "upstream's OpenAPI document is not JSON");
  Renaming names;
  names.own = tenant_group;
  names.up = mapping.group_in(tenant_group);
  names.up_schema = reversed(names.up) + ".";
  names.own_schema = reversed(names.own) + ".";
  names.up_camel = camel(names.up);
  names.own_camel = camel(names.own);

  const auto root = tree->root();
  JsonEdits edits;
  for (auto path = root["paths"].first(); path; path = path.next()) {
    const auto key = path.key();
    if (const auto renamed = names.path(key); renamed != key) edits.replace_key(path, renamed);
    for (auto operation = path.first(); operation; operation = operation.next()) {
      if (const auto id = operation["operationId"]; id)
        edits.quote(id, names.operation(id.string()));
      for (auto tag = operation["tags"].first(); tag; tag = tag.next())
        edits.quote(tag, names.tag(tag.string()));
    }
    rename_below(edits, names, path);
  }
  const auto schemas = root["components"]["schemas"];
  for (auto schema = schemas.first(); schema; schema = schema.next()) {
    const auto key = schema.key();
    if (const auto renamed = names.schema(key); renamed != key) edits.replace_key(schema, renamed);
    rename_below(edits, names, schema);
    if (schema["x-kubernetes-group-version-kind"]) schema_out(mapping, schema, edits);
  }
  return edits.apply(document);
}

} // namespace zoo::translate
