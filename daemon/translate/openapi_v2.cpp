// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/openapi_v2.hpp"

#include "common/base/json_text.hpp"
#include "daemon/translate/discovery_json.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace zoo::translate {
namespace {

constexpr int k_max_depth = 256; ///< of a schema: what lies deeper is written as `{}`
constexpr std::string_view k_preserve = "x-kubernetes-preserve-unknown-fields";
constexpr std::string_view k_kinds = "x-kubernetes-group-version-kind";

/// Appends members of one object.
class ObjectWriter {
public:
  explicit ObjectWriter(std::string& out) : out_(out) { out_ += '{'; }
  std::string& key(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    append_json_quoted(out_, name);
    out_ += ':';
    return out_;
  }
  void raw(std::string_view name, std::string_view value) { key(name) += value; }
  void text(std::string_view name, std::string_view value) { append_json_quoted(key(name), value); }
  void close() { out_ += '}'; }

private:
  std::string& out_;
  bool first_ = true;
};

std::string reference_v2(std::string_view reference) {
  constexpr std::string_view k_v3 = "#/components/schemas/";
  if (!reference.starts_with(k_v3)) return std::string(reference);
  return "#/definitions/" + std::string(reference.substr(k_v3.size()));
}

bool is_true(JsonNode node) { return node.boolean(); }

/// The one element of `allOf` where it stands for a reference with words beside it, which OpenAPI
/// 3.0 cannot say otherwise.
JsonNode only_reference(JsonNode schema) {
  const auto all = schema["allOf"];
  const auto first = all.first();
  return first && !first.next() ? first["$ref"] : JsonNode();
}

bool one_may_be_string(JsonNode schema) {
  for (auto each = schema["oneOf"].first(); each; each = each.next()) {
    if (each["type"].string() == "string") return true;
  }
  return false;
}

void write_schema(JsonNode schema, std::string& out, int depth = 0);

void write_properties(JsonNode properties, std::string& out, int depth) {
  ObjectWriter object(out);
  for (auto each = properties.first(); each; each = each.next())
    write_schema(each, object.key(each.key()), depth);
  object.close();
}

/// A property that may be null is not required in words of OpenAPI 2.0, which knows no null.
void write_required(ObjectWriter& object, JsonNode schema, JsonNode required) {
  std::set<std::string> nullable; // one walk: a definition may have thousands of both
  for (auto each = schema["properties"].first(); each; each = each.next()) {
    if (is_true(each["nullable"])) nullable.insert(each.key());
  }
  std::string list;
  for (const auto& name : required.strings()) {
    if (nullable.contains(name)) continue;
    list += list.empty() ? "[" : ",";
    append_json_quoted(list, name);
  }
  if (!list.empty()) object.raw("required", list + "]");
}

void write_schema(JsonNode schema, std::string& out, int depth) {
  if (!schema.is(JsonType::object)) { // additionalProperties: true
    out += schema.raw();
    return;
  }
  ObjectWriter object(out);
  if (depth >= k_max_depth) return object.close();

  const bool nullable = is_true(schema["nullable"]);
  const bool preserves = is_true(schema[k_preserve]);
  const auto type = schema["type"].string();
  if (preserves && schema[k_kinds]) {
    // A kind that takes everything: kubectl would call any field unknown that is not named.
    object.text("type", "object");
    object.raw(k_kinds, schema[k_kinds].raw());
    return object.close();
  }
  // kubectl cannot cope with properties beside unknown fields, nor with an array of anything.
  const bool bare = nullable || preserves;
  const bool typed = !nullable && !(preserves && type == "object") &&
                     !(type == "array" && (bare || !schema["items"]));
  if (const auto reference = only_reference(schema))
    object.text("$ref", reference_v2(reference.string()));
  if (type.empty() && !schema["$ref"] && !bare && one_may_be_string(schema))
    object.text("type", "string");
  for (auto member = schema.first(); member; member = member.next()) {
    const auto key = member.key();
    if (key == "$ref") {
      object.text(key, reference_v2(member.string()));
    } else if (key == "properties") {
      if (!bare) write_properties(member, object.key(key), depth + 1);
    } else if (key == "items") {
      if (!bare) write_schema(member, object.key(key), depth + 1);
    } else if (key == "additionalProperties") {
      write_schema(member, object.key(key), depth + 1);
    } else if (key == "required") {
      write_required(object, schema, member);
    } else if (key == "type") {
      if (typed) object.raw(key, member.raw());
    } else if (key != "allOf" && key != "anyOf" && key != "oneOf" && key != "not" &&
               key != "nullable" && key != "default") {
      object.raw(key, member.raw());
    }
  }
  object.close();
}

std::string schema_text(JsonNode schema) {
  std::string out;
  write_schema(schema, out);
  return out;
}

/// FNV-1a, as a short name that the same parameter has in every document.
std::string short_hash(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  constexpr std::string_view k_letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  for (int i = 0; i < 8; ++i, hash >>= 6)
    out += k_letters[hash & 63U];
  return out;
}

/// Writes operations, and keeps the parameters that they share.
class Operations {
public:
  explicit Operations(JsonMembers& parameters) : parameters_(parameters) {}

  void path(JsonNode item, std::string& out) {
    ObjectWriter object(out);
    for (auto member = item.first(); member; member = member.next()) {
      const auto key = member.key();
      if (key == "parameters") {
        object.key(key) += '[';
        parameters(member, "", out);
        out += ']';
      } else if (member.is(JsonType::object)) {
        operation(member, object.key(key));
      } else {
        object.raw(key, member.raw());
      }
    }
    object.close();
  }

private:
  void operation(JsonNode node, std::string& out) {
    ObjectWriter object(out);
    std::string consumes = "[\"*/*\"]", body;
    if (const auto request = node["requestBody"]) {
      const auto content = request["content"];
      consumes = keys(content);
      body = body_parameter(request, content.first()["schema"]);
    }
    for (auto member = node.first(); member; member = member.next()) {
      const auto key = member.key();
      if (key == "requestBody" || key == "parameters") continue;
      if (key == "responses") {
        responses(object, member);
      } else {
        object.raw(key, member.raw());
      }
    }
    object.raw("consumes", consumes);
    object.raw("schemes", "[\"https\"]");
    if (!body.empty() || node["parameters"]) {
      object.key("parameters") += '[';
      parameters(node["parameters"], body, out);
      out += ']';
    }
    object.close();
  }

  static std::string keys(JsonNode object) {
    std::string out = "[";
    for (auto member = object.first(); member; member = member.next()) {
      if (out.size() > 1) out += ',';
      append_json_quoted(out, member.key());
    }
    return out + ']';
  }

  std::string body_parameter(JsonNode request, JsonNode schema) {
    std::string out;
    ObjectWriter object(out);
    object.text("name", "body");
    object.text("in", "body");
    if (is_true(request["required"])) object.raw("required", "true");
    write_schema(schema, object.key("schema"));
    object.close();
    const auto reference = schema["$ref"].string();
    const bool common =
        reference.ends_with(".meta.v1.DeleteOptions") || reference.ends_with(".meta.v1.Patch");
    return common ? shared("body", std::move(out)) : out;
  }

  static void responses(ObjectWriter& object, JsonNode node) {
    std::string produces;
    std::vector<std::string> types;
    {
      ObjectWriter all(object.key("responses"));
      for (auto response = node.first(); response; response = response.next()) {
        ObjectWriter one(all.key(response.key()));
        for (auto member = response.first(); member; member = member.next()) {
          if (member.key() != "content") {
            one.raw(member.key(), member.raw());
            continue;
          }
          if (const auto schema = member.first()["schema"]) write_schema(schema, one.key("schema"));
          for (auto type = member.first(); type; type = type.next()) {
            if (std::find(types.begin(), types.end(), type.key()) == types.end())
              types.push_back(type.key());
          }
        }
        one.close();
      }
      all.close();
    }
    for (const auto& type : types) {
      produces += produces.empty() ? "[" : ",";
      append_json_quoted(produces, type);
    }
    if (!produces.empty()) object.raw("produces", produces + "]");
  }

  void parameters(JsonNode list, const std::string& body, std::string& out) {
    out += body;
    bool first = body.empty();
    for (auto each = list.first(); each; each = each.next()) {
      if (!first) out += ',';
      first = false;
      out += parameter(each);
    }
  }

  std::string parameter(JsonNode node) {
    std::string out;
    ObjectWriter object(out);
    for (auto member = node.first(); member; member = member.next()) {
      if (member.key() != "schema" && member.key() != "content")
        object.raw(member.key(), member.raw());
    }
    for (auto member = node["schema"].first(); member; member = member.next())
      object.raw(member.key(), member.raw());
    object.close();
    const auto name = node["name"].string();
    // kubectl before 1.27 looks for these two in the operation itself; names say what they name.
    if (name == "dryRun" || name == "fieldValidation" || name == "name") return out;
    return shared(name, std::move(out));
  }

  std::string shared(std::string_view name, std::string text) {
    const auto key = std::string(name) + "-" + short_hash(text);
    std::string out;
    ObjectWriter object(out);
    object.text("$ref", "#/parameters/" + key);
    object.close();
    parameters_.emplace(key, std::move(text));
    return out;
  }

  JsonMembers& parameters_;
};

/// `{...,"x-kubernetes-group-version-kind":[A,B]}` and the same with [B,C]: with [A,B,C].
void unite_kinds(std::string& ours, const std::string& theirs) {
  if (ours == theirs) return;
  const auto tree = JsonTree::parse(ours);
  const auto other = JsonTree::parse(theirs);
  if (!tree || !other) return;
  const auto kinds = tree->root()[k_kinds];
  if (!kinds.is(JsonType::array)) return;
  std::vector<std::string> all;
  for (const auto each : kinds.children())
    all.emplace_back(each.raw());
  for (const auto each : other->root()[k_kinds].children())
    all.emplace_back(each.raw());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::string list = "[";
  for (const auto& each : all) {
    if (list.size() > 1) list += ',';
    list += each;
  }
  JsonEdits edits;
  edits.replace(kinds, list + "]");
  ours = edits.apply(ours);
}

std::size_t size_of(const JsonMembers& members) {
  std::size_t out = 0;
  for (const auto& [key, value] : members)
    out += key.size() + value.size() + 96; // the node of the map
  return out;
}

std::string members_text(const JsonMembers& members, const JsonMembers* known) {
  std::string out;
  for (const auto& [key, value] : members) {
    if (known != nullptr && known->contains(key)) continue;
    if (!out.empty() || known != nullptr) out += ',';
    append_json_quoted(out, key);
    out += ':';
    out += value;
  }
  return out;
}

} // namespace

void OpenApiPart::merge(const OpenApiPart& other) {
  if (version.empty()) version = other.version;
  paths.insert(other.paths.begin(), other.paths.end());
  parameters.insert(other.parameters.begin(), other.parameters.end());
  for (const auto& [name, text] : other.definitions) {
    const auto [at, added] = definitions.emplace(name, text);
    if (!added) unite_kinds(at->second, text);
  }
}

std::size_t OpenApiPart::bytes() const {
  return size_of(paths) + size_of(definitions) + size_of(parameters);
}

Result<OpenApiPart> openapi_v2_part(std::string_view document) {
  const auto tree = JsonTree::parse(document);
  if (!tree || !tree->root()["openapi"].string().starts_with("3."))
    return fail(Code::internal, "upstream's OpenAPI document is not what it should be");
  const auto root = tree->root();
  OpenApiPart out;
  out.version = root["info"]["version"].string();
  Operations operations(out.parameters);
  for (auto path = root["paths"].first(); path; path = path.next())
    operations.path(path, out.paths[path.key()]);
  const auto schemas = root["components"]["schemas"];
  for (auto schema = schemas.first(); schema; schema = schema.next())
    out.definitions.emplace(schema.key(), schema_text(schema));
  return out;
}

OpenApiText openapi_v2_text(const OpenApiPart& part, const OpenApiPart* known) {
  return {members_text(part.paths, known ? &known->paths : nullptr),
          members_text(part.definitions, known ? &known->definitions : nullptr),
          members_text(part.parameters, known ? &known->parameters : nullptr)};
}

std::string openapi_v2_begin(std::string_view version) {
  return "{\"swagger\":\"2.0\",\"info\":{\"title\":\"Kubernetes\",\"version\":" +
         json_quote(version) + "},\"paths\":{";
}

} // namespace zoo::translate
