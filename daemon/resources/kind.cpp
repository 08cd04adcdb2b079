// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/kind.hpp"

#include "common/base/text.hpp"
#include "common/kube/age.hpp"
#include "common/kube/status.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>

namespace zoo::resources {
namespace {

using nlohmann::json;

/// "spec.flow.weight must be ...", "unknown field 'spec.x', did you mean ...?": which field, and
/// the rest.
std::pair<std::string, std::string> field_and_why(std::string_view message) {
  constexpr std::string_view k_unknown = "unknown field '";
  if (message.starts_with(k_unknown)) {
    const auto rest = message.substr(k_unknown.size());
    for (const std::string_view behind : {"', did you mean '", "': there are ", "' "}) {
      const auto end = rest.find(behind);
      if (end != std::string_view::npos)
        return {std::string(rest.substr(0, end)),
                "unknown field" + std::string(rest.substr(end + 1))};
    }
  }
  auto first = message.substr(0, message.find_first_of(" :"));
  if (first.find("['") != std::string_view::npos) // a key may be anything
    first = message.substr(0, std::min(message.find("']"), message.size() - 2) + 2);
  if (!first.starts_with("metadata.") && !first.starts_with("spec."))
    return {"metadata.name", std::string(message)};
  const auto words = std::min(message.find_first_not_of(" :", first.size()), message.size());
  return {std::string(first), std::string(message.substr(words))};
}

Error not_served(Verb verb) {
  return Error(Code::method_not_allowed,
               fmt::format("{} is not supported on this kind", verb_name(verb)));
}

} // namespace

ObjectPtr make_object(json object) { return std::make_shared<const json>(std::move(object)); }

Key key_of(const json& object) {
  return {text_at(object, "metadata.namespace"), text_at(object, "metadata.name")};
}

std::int64_t version_of(const json& object) {
  const auto text = text_at(object, "metadata.resourceVersion");
  std::int64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

std::string_view verb_name(Verb verb) {
  constexpr std::array<std::string_view, 7> k_names = {"get",    "list",  "watch", "create",
                                                       "update", "patch", "delete"};
  return k_names.at(static_cast<std::size_t>(verb));
}

Result<void> Backing::admit(const Who&, Verb, const Key&) { return {}; }

Result<Written> Backing::create(const Who&, json, const WriteOptions&) {
  return fail(not_served(Verb::create));
}

Result<void> Backing::admit_apply(const Who& caller, const Key& key) {
  return admit(caller, Verb::patch, key);
}

Result<Written> Backing::apply(const Who&, const Key&, json, const WriteOptions&) {
  return fail(not_served(Verb::patch));
}

Result<Written> Backing::update(const Who&, json, const WriteOptions&) {
  return fail(not_served(Verb::update));
}

Result<Written> Backing::remove(const Who&, const Key&, const Preconditions&, const WriteOptions&) {
  return fail(not_served(Verb::remove));
}

std::string text_at(const json& object, std::string_view path, std::string_view otherwise) {
  const json* at = &object;
  for (const auto step : text::split(path, '.')) {
    if (!at->is_object()) return std::string(otherwise);
    const auto found = at->find(step);
    if (found == at->end()) return std::string(otherwise);
    at = &*found;
  }
  if (!at->is_string() || at->get_ref<const std::string&>().empty()) return std::string(otherwise);
  return at->get<std::string>();
}

std::function<std::string(const json&, std::int64_t)> cell_of(std::string path,
                                                              std::string otherwise) {
  return [path = std::move(path), otherwise = std::move(otherwise)](
             const json& object, std::int64_t) { return text_at(object, path, otherwise); };
}

std::function<std::string(const json&, std::int64_t)> age_of(std::string path) {
  return [path = std::move(path)](const json& object, std::int64_t now) {
    return kube::age_at(now, kube::unix_seconds(text_at(object, path)));
  };
}

bool Kind::has(Verb verb) const {
  return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
}

bool Kind::has_status() const {
  return std::any_of(fields.begin(), fields.end(),
                     [](const Field& field) { return field.name == "status"; });
}

std::vector<ListRule> Kind::lists() const {
  std::vector<ListRule> out;
  for (const auto& parent : fields)
    for (const auto& field : parent.fields)
      if (field.type == Field::Type::list && !field.merge_key.empty())
        out.push_back({parent.name, field.name, field.merge_key});
  return out;
}

std::vector<Field> standard_metadata() {
  using Type = Field::Type;
  return {
      {"name", Type::text, "Unique among the objects of this kind."},
      {"labels", Type::map, "Labels, for selectors."},
      {"annotations", Type::map, "Annotations: what tools keep with an object."},
      {"uid", Type::text,
       "Of this object: one that comes back under the same name has another. "
       "Read-only."},
      {"resourceVersion", Type::text, "Changes with every write; sent back, it guards an update."},
      {"generation", Type::number, "Changes with every write of spec. Read-only."},
      {"creationTimestamp", Type::text, "When the object was created. Read-only."},
      {"deletionTimestamp", Type::text, "When its deletion was asked for. Read-only."},
  };
}

Field condition_field(std::string description, std::string types, std::string statuses) {
  using Type = Field::Type;
  return {"",
          Type::object,
          std::move(description),
          {{"type", Type::text, std::move(types)},
           {"status", Type::text, std::move(statuses)},
           {"reason", Type::text, "One word: why."},
           {"message", Type::text, "The same for people."},
           {"lastTransitionTime", Type::text, "When status last changed."}}};
}

Answer failure_of(const Kind& kind, const Error& error, std::string_view name) {
  kube::StatusDetails details;
  details.name = std::string(name);
  details.group = kind.group;
  details.kind = kind.resource;
  if (error.code() == Code::invalid) {
    // kubectl shows nothing of an Invalid answer but its causes, as "<field>: <message>".
    auto [field, why] = field_and_why(error.message());
    details.causes.push_back({"FieldValueInvalid", std::move(why), std::move(field)});
    details.kind = kind.kind;
  }
  return failure(error, details);
}

} // namespace zoo::resources
