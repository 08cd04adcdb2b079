// SPDX-License-Identifier: Apache-2.0
#include "common/api/tenant.hpp"
#include "common/base/text.hpp"
#include "common/kube/status.hpp"
#include "daemon/resources/api.hpp"
#include "daemon/resources/body.hpp"
#include "daemon/resources/fields.hpp"
#include "daemon/resources/options.hpp"
#include "daemon/resources/patch.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace zoo::resources {
namespace {

using nlohmann::json;

constexpr std::size_t k_longest_name = 253;
constexpr int k_attempts = 5; ///< as upstream: conflicts with a controller's status writes
constexpr std::string_view k_json_patch = "application/json-patch+json";
constexpr std::string_view k_merge_patch = "application/merge-patch+json";
constexpr std::string_view k_strategic = "application/strategic-merge-patch+json";
constexpr std::string_view k_apply = "application/apply-patch+yaml";

std::string article(std::string_view word) {
  const bool vowel = !word.empty() && std::string_view("AEIOU").find(word[0]) != word.npos;
  return fmt::format("{} {}", vowel ? "an" : "a", word);
}

Result<void> check_uid(const Kind& kind, const json& object, const json& live) {
  const auto* metadata = member(object, "metadata");
  if (!metadata) return {};
  ZOO_TRY(const auto uid, text_member(*metadata, "uid", "metadata.uid"));
  const auto lives = text_at(live, "metadata.uid");
  if (uid.empty() || uid == lives) return {};
  return fail(Code::conflict,
              "Precondition failed: UID in precondition: {}, UID in object meta: {} (the {} was "
              "deleted and made again since you read it)",
              uid, lives, kind.singular);
}

/// Name and namespace in the object are those in the path.
Result<void> check_name(const json& object, const Key& key) {
  const auto* metadata = member(object, "metadata");
  const auto* name = metadata ? member(*metadata, "name") : nullptr;
  if (name && name->is_string() && *name != key.name)
    return fail(Code::bad_request,
                "the name of the object ({}) does not match the name on the URL ({})",
                name->get<std::string>(), key.name);
  const auto space = text_at(object, "metadata.namespace");
  if (!key.space.empty() && !space.empty() && space != key.space)
    return fail(Code::bad_request,
                "the namespace of the object ({}) does not match the namespace on the URL ({})",
                space, key.space);
  return {};
}

/// Writes the key into the object, and takes status from `live` (null: there is none yet).
void settle(const Kind& kind, json& object, const Key& key, const json* live) {
  object["metadata"]["name"] = key.name;
  if (!key.space.empty()) object["metadata"]["namespace"] = key.space;
  if (!kind.has_status()) return;
  const auto* status = live != nullptr ? member(*live, "status") : nullptr;
  object["status"] = status != nullptr ? *status : json::object();
}

/// Status is the server's: of a kind that says so, who changes it is told.
Result<void> check_status(const Kind& kind, const json& object, const json& live) {
  const auto* wanted = member(object, "status");
  if (kind.strategy.own_status.empty() || wanted == nullptr || wanted->is_null()) return {};
  const auto* has = member(live, "status");
  if (*wanted == (has != nullptr ? *has : json::object())) return {};
  // Of an older version is said that it is one.
  const auto version = text_at(object, "metadata.resourceVersion");
  if (!version.empty() && version != "0" && version != text_at(live, "metadata.resourceVersion"))
    return {};
  return fail(Code::invalid, "{}", kind.strategy.own_status);
}

/// A Warning for each field that the client calls as it was called once.
void hint_at_former(const Kind& kind, const json& object, std::vector<std::string>& warnings) {
  for (const auto& [former, name] : kind.strategy.former) {
    std::string pointer = "/" + former;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    if (object.contains(json::json_pointer(pointer)))
      warnings.push_back(fmt::format("{} has no effect: it is called {} now", former, name));
  }
}

std::string version_text(const json& object) { return text_at(object, "metadata.resourceVersion"); }

} // namespace

Result<Api::Write> Api::write_of(const Request& request) {
  Write out;
  ZOO_TRY(out.representation, negotiate(request.headers.get("accept"), true));
  ZOO_TRY(out.row, row_object(request.parameter("includeObject")));
  ZOO_TRY(out.options.dry_run, dry_run_of(request));
  out.options.manager = request.parameter("fieldManager");
  if (out.options.manager.empty()) {
    const auto agent = request.headers.get("user-agent");
    out.options.manager = agent.substr(0, agent.find('/'));
  }
  if (out.options.manager.empty()) out.options.manager = "unknown";
  return out;
}

Writer Api::writer(const Kind& kind, const Write& write) const {
  return {write.options.manager, kind.api_version(), api::rfc3339(parts_.now()), false, {}};
}

Result<Api::Input> Api::accept(const Request& request, const Kind& kind, json object,
                               const json* before, const std::vector<std::string>& duplicates,
                               const std::vector<std::string>& stored) {
  Input out;
  ZOO_TRY(const auto wish, field_validation(request.parameter("fieldValidation")));
  ZOO_TRY(out.warnings, judge_fields(kind, wish, object, duplicates, stored));
  hint_at_former(kind, object, out.warnings);
  scrub(kind, object);
  if (kind.strategy.shape) {
    ZOO_TRY_VOID(kind.strategy.shape(object));
  } else {
    ZOO_TRY_VOID(check_shape(kind, object));
  }
  const auto given = object;
  if (kind.strategy.defaults) kind.strategy.defaults(request.who, object, before);
  if (kind.strategy.accept) {
    ZOO_TRY(object, kind.strategy.accept(request.who, std::move(object), before, out.warnings));
  }
  ZOO_TRY_VOID(check_metadata(given));
  if (!kind.finalizers) {
    for (const char* field : {"finalizers", "ownerReferences"}) {
      const auto* metadata = member(given, "metadata");
      const auto* value = metadata ? member(*metadata, field) : nullptr;
      if (value && !value->empty())
        out.warnings.push_back(
            fmt::format("metadata.{} has no effect on {}", field, article(kind.kind)));
    }
  }
  out.object = std::move(object);
  return out;
}

Answer Api::done(int status, const Kind& kind, const Written& written, const Write& write,
                 std::vector<std::string> warnings) const {
  warnings.insert(warnings.end(), written.warnings.begin(), written.warnings.end());
  return show(status, kind, *written.object, write, std::move(warnings));
}

Result<Answer> Api::create(const Request& request, const Target& target) const {
  const auto& kind = *target.kind;
  ZOO_TRY(const auto write, write_of(request));
  std::vector<std::string> duplicates;
  ZOO_TRY(auto object, parse_body(request.body, request.headers.get("content-type"), duplicates));
  const auto named = text_at(object, "metadata.name");
  const Key key{target.key.space, named};
  ZOO_TRY_VOID(kind.backing->admit(request.who, Verb::create, key));
  const auto* metadata = member(object, "metadata");
  if (metadata && member(*metadata, "generateName") && !member(*metadata, "name") &&
      !kind.strategy.no_generated_names.empty())
    return fail(Code::invalid, "metadata.name is required: {}; zood does not make one up",
                kind.strategy.no_generated_names);
  if (!key.space.empty()) ZOO_TRY_VOID(check_name(object, key));
  auto accepted = accept(request, kind, std::move(object), nullptr, duplicates);
  if (!accepted) return failure_of(kind, accepted.error(), named);
  auto input = *std::move(accepted);
  if (const auto version = version_text(input.object); !version.empty() && version != "0")
    return fail(Code::bad_request, "resourceVersion should not be set on objects to be created");
  auto name = key_of(input.object).name;
  if (name.empty() && kind.strategy.no_generated_names.empty()) {
    const auto start = text_at(input.object, "metadata.generateName");
    if (start.empty())
      return fail(Code::invalid, "metadata.name: Required value: name or generateName is required");
    name = generated_name(start, k_longest_name);
  }
  settle(kind, input.object, {key.space, name}, nullptr);
  if (kind.owners) {
    const auto lists = kind.lists();
    auto writes = writer(kind, write);
    writes.lists = lists;
    own_update(nullptr, input.object, writes);
  }
  auto created = kind.backing->create(request.who, std::move(input.object), write.options);
  if (!created) return failure_of(kind, created.error(), name);
  return done(201, kind, *created, write, std::move(input.warnings));
}

Result<Answer> Api::update(const Request& request, const Target& target) const {
  const auto& kind = *target.kind;
  ZOO_TRY(const auto write, write_of(request));
  ZOO_TRY_VOID(kind.backing->admit(request.who, Verb::update, target.key));
  std::vector<std::string> duplicates;
  ZOO_TRY(const auto object,
          parse_body(request.body, request.headers.get("content-type"), duplicates));
  ZOO_TRY_VOID(check_name(object, target.key));
  for (int attempt = 1;; ++attempt) {
    ZOO_TRY(const auto live, kind.backing->get(request.who, target.key));
    // Which who replaces has read, and does not write.
    const auto* status = member(*live, "status");
    ZOO_TRY(auto input,
            accept(request, kind, object, &*live, duplicates,
                   unknown_fields(kind, status == nullptr ? json() : json{{"status", *status}})));
    ZOO_TRY_VOID(check_uid(kind, object, *live));
    ZOO_TRY_VOID(check_status(kind, object, *live));
    auto& wanted = input.object;
    settle(kind, wanted, target.key, &*live);
    const auto given = version_text(wanted);
    const bool own_version = !given.empty() && given != "0";
    // A write without resourceVersion must still not land on an object that was made again
    // meanwhile, nor mix up who owns what.
    const bool guarded = kind.owners || !text_at(wanted, "metadata.uid").empty();
    if (!own_version && guarded) wanted["metadata"]["resourceVersion"] = version_text(*live);
    if (kind.owners) {
      const auto lists = kind.lists();
      auto writes = writer(kind, write);
      writes.lists = lists;
      keep_servers_metadata(wanted, *live);
      own_update(*live, wanted, writes);
    }
    auto updated = kind.backing->update(request.who, std::move(wanted), write.options);
    if (updated) return done(200, kind, *updated, write, std::move(input.warnings));
    if (updated.error().code() != Code::conflict || own_version || !kind.owners ||
        attempt == k_attempts)
      return fail(std::move(updated).error());
  }
}

Result<Answer> Api::patch(const Request& request, const Target& target) const {
  const auto& kind = *target.kind;
  const auto type = media_type(request.headers.get("content-type"));
  std::vector<std::string_view> known = {k_json_patch, k_merge_patch, k_apply};
  if (kind.strategic) known.push_back(k_strategic);
  if (std::find(known.begin(), known.end(), type) == known.end())
    return fail(Code::unsupported_media_type,
                "the body of the request was in an unknown format - accepted media types "
                "include: {} (got '{}')",
                fmt::join(known, ", "), type);
  ZOO_TRY(auto write, write_of(request));
  const bool applies = type == k_apply && kind.applies;
  ZOO_TRY_VOID(applies ? kind.backing->admit_apply(request.who, target.key)
                       : kind.backing->admit(request.who, Verb::patch, target.key));
  if (type == k_apply) {
    ZOO_TRY(write.force, request.flag("force"));
    return apply(request, target, write);
  }
  std::vector<std::string> duplicates;
  ZOO_TRY(const auto patch, parse_body(request.body, type, duplicates));
  const auto said = unknown_fields(kind, patch);
  const auto lists = kind.lists();
  auto writes = writer(kind, write);
  writes.lists = lists;
  for (int attempt = 1;; ++attempt) {
    ZOO_TRY(const auto live, kind.backing->get(request.who, target.key));
    const auto& before = *live;
    ZOO_TRY(auto after, type == k_json_patch  ? json_patch(before, patch)
                        : type == k_strategic ? strategic_merge(before, patch, lists)
                                              : merge_patch(before, patch));
    if (!after.is_object()) return fail(Code::bad_request, "the patch does not make an object");
    ZOO_TRY_VOID(check_name(after, target.key));
    ZOO_TRY_VOID(check_uid(kind, after, before));
    ZOO_TRY_VOID(check_status(kind, after, before));
    if (kind.has_status()) after["status"] = before.value("status", json::object());
    // What a merge patch says itself is judged, be it there before.
    ZOO_TRY(auto input, accept(request, kind, std::move(after), &before, duplicates,
                               without(unknown_fields(kind, before), said)));
    auto& wanted = input.object;
    if (kind.owners) keep_servers_metadata(wanted, before);
    if (wanted == before) return show(200, kind, before, write, std::move(input.warnings));
    settle(kind, wanted, target.key, &before);
    const auto given = version_text(wanted);
    const bool own_version = !given.empty() && given != "0" && given != version_text(before);
    if (given.empty() || given == "0") wanted["metadata"]["resourceVersion"] = version_text(before);
    if (kind.owners) own_update(before, wanted, writes);
    auto updated = kind.backing->update(request.who, std::move(wanted), write.options);
    if (updated) return done(200, kind, *updated, write, std::move(input.warnings));
    if (updated.error().code() != Code::conflict || own_version || attempt == k_attempts)
      return fail(std::move(updated).error());
  }
}

Result<Answer> Api::apply(const Request& request, const Target& target, const Write& write) const {
  const auto& kind = *target.kind;
  if (request.parameter("fieldManager").empty())
    return fail(Code::bad_request, "PatchOptions: fieldManager is required for apply patch");
  std::vector<std::string> duplicates;
  ZOO_TRY(const auto applied,
          parse_body(request.body, request.headers.get("content-type"), duplicates));
  if (!applied.is_object())
    return fail(Code::bad_request, "the applied configuration is not an object");
  ZOO_TRY_VOID(check_name(applied, target.key));
  if (const auto* metadata = member(applied, "metadata");
      metadata && member(*metadata, "managedFields") && !metadata->at("managedFields").empty())
    return fail(Code::bad_request, "metadata.managedFields must be nil");
  if (kind.applies) {
    ZOO_TRY(auto input, accept(request, kind, applied, nullptr, duplicates));
    auto options = write.options;
    options.force = write.force;
    ZOO_TRY(const auto done_by,
            kind.backing->apply(request.who, target.key, std::move(input.object), options));
    return done(done_by.created ? 201 : 200, kind, done_by, write, std::move(input.warnings));
  }
  const auto lists = kind.lists();
  auto writes = writer(kind, write);
  writes.lists = lists;
  const auto version = version_text(applied);
  const bool own_version = !version.empty() && version != "0";
  for (int attempt = 1;; ++attempt) {
    auto live = kind.backing->get(request.who, target.key);
    if (!live && live.error().code() != Code::not_found) return fail(std::move(live).error());
    ZOO_TRY(auto input, accept(request, kind, applied, live ? &**live : nullptr, duplicates));
    if (!live) {
      if (!text_at(applied, "metadata.uid").empty() || own_version)
        return fail(Code::conflict,
                    "{} \"{}\" is gone, and the applied object names its uid or "
                    "resourceVersion",
                    kind.singular, target.key.name);
      // The right to make one is another than the right to change one.
      ZOO_TRY_VOID(kind.backing->admit(request.who, Verb::create, target.key));
      auto wanted = std::move(input.object);
      settle(kind, wanted, target.key, nullptr);
      if (kind.owners) {
        ZOO_TRY(wanted, resources::apply(nullptr, wanted, writes, true));
      }
      auto created = kind.backing->create(request.who, std::move(wanted), write.options);
      if (created) return done(201, kind, *created, write, std::move(input.warnings));
      if (created.error().code() != Code::already_exists || attempt == k_attempts)
        return fail(std::move(created).error());
      continue;
    }
    const auto& before = **live;
    ZOO_TRY_VOID(check_uid(kind, applied, before));
    auto config = applied;
    config.erase("status");
    scrub(kind, config);
    ZOO_TRY(auto after, kind.owners ? resources::apply(before, config, writes, write.force)
                                    : apply_patch(before, config));
    if (own_version) after["metadata"]["resourceVersion"] = version;
    // What is applied was judged above.
    ZOO_TRY(auto merged, accept(request, kind, after, &before, {}, unknown_fields(kind, after)));
    auto& wanted = merged.object;
    if (wanted == before) return show(200, kind, before, write, std::move(input.warnings));
    settle(kind, wanted, target.key, &before);
    auto updated = kind.backing->update(request.who, std::move(wanted), write.options);
    if (updated) return done(200, kind, *updated, write, std::move(input.warnings));
    if (updated.error().code() != Code::conflict || own_version || attempt == k_attempts)
      return fail(std::move(updated).error());
  }
}

Result<Answer> Api::remove(const Request& request, const Target& target) const {
  const auto& kind = *target.kind;
  ZOO_TRY(auto write, write_of(request));
  write.representation.shape = Shape::object;
  Preconditions expected;
  if (!text::trim(request.body).empty()) {
    std::vector<std::string> duplicates;
    ZOO_TRY(const auto body,
            parse_body(request.body, request.headers.get("content-type"), duplicates));
    ZOO_TRY(auto options, delete_options(body));
    if (options.dry_run) write.options.dry_run = true;
    expected = std::move(options.expected);
  }
  ZOO_TRY_VOID(kind.backing->admit(request.who, Verb::remove, target.key));
  ZOO_TRY(const auto removed,
          kind.backing->remove(request.who, target.key, expected, write.options));
  if (removed.object) return done(200, kind, removed, write);
  Answer answer;
  answer.body = kube::success_json({target.key.name, kind.group, kind.resource, {}, {}, 0});
  answer.object = target.key.name;
  answer.warnings = removed.warnings;
  return answer;
}

} // namespace zoo::resources
