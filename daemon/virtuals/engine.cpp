// SPDX-License-Identifier: Apache-2.0
#include "daemon/virtuals/engine.hpp"

#include "common/api/tenant.hpp"
#include "common/base/json_text.hpp"
#include "common/base/log.hpp"
#include "common/base/text.hpp"
#include "common/kube/age.hpp"
#include "common/kube/status.hpp"
#include "daemon/translate/status_text.hpp"
#include "daemon/virtuals/defaults.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>

namespace zoo::virtuals {
namespace {

using nlohmann::json;

constexpr unsigned k_threads = 2;
constexpr int k_turns = 16;                  ///< of revisions that another zood was first with
constexpr int k_tries = 5;                   ///< as apiserver's MaxRetryWhenPatchConflicts
constexpr std::chrono::seconds k_visible{3}; ///< the store's watch brings it in moments

std::string now_text() { return api::rfc3339(kube::unix_now()); }

tl::unexpected<Error> absent(const Request& request, const std::string& name) {
  return fail(Code::not_found, "{} {} not found", request.kind->title(), json_quote(name));
}

const Object* provided_one(const Request& request, const std::string& name) {
  for (const auto& each : request.provided)
    if (each->name == name) return each.get();
  return nullptr;
}

tl::unexpected<Error> platforms(const Request& request, const std::string& name) {
  return fail(Code::forbidden, "{} {} is forbidden: it is provided by the platform and read-only",
              request.kind->title(), json_quote(name));
}

json object_of(const Kind& kind, const store::Record& record) {
  auto out = json::parse(record.value, nullptr, false);
  if (!out.is_object()) out = json::object();
  if (!kind.beside) out["metadata"]["resourceVersion"] = std::to_string(record.revision);
  return out;
}

ObjectPtr shown(const Kind& kind, const json& object) {
  return make_object(kind, object, version_of(object));
}

/// What an update may not change (the kinds' ValidateUpdate).
Result<void> check_immutable(const Kind& kind, const json& old, const json& now) {
  const auto before = old.value("spec", json::object()), after = now.value("spec", json::object());
  const auto refuse = [&](std::string_view path, const json& value) {
    return fail(Code::invalid, "{} {} is invalid: {}: Invalid value: {}: field is immutable",
                kind.kind, json_quote(member(metadata_of(old), "name")), path, dump(value));
  };
  if (kind.immutable == "*") {
    if (before != after) return refuse("spec", after);
    return {};
  }
  for (const auto name : text::split(kind.immutable, ' ')) {
    const auto was = before.value(std::string(name), json());
    // What a node is told once, by whoever runs it.
    const bool first = kind.resource == "nodes" && was.is_null();
    if (const auto is = after.value(std::string(name), json());
        !name.empty() && !first && was != is)
      return refuse(fmt::format("spec.{}", name), is);
  }
  return {};
}

json without_version(json object) {
  object["metadata"].erase("resourceVersion");
  return object;
}

json service_of(const json& object) {
  return object.is_object() ? object.value("/spec/service"_json_pointer, json()) : json();
}

/// An API of a server of one's own would be everybody's upstream, and is served by none here. Those
/// that were stored before may go on: they have no effect.
Result<void> not_aggregated(const Request& request, const json& old, const json& object) {
  if (request.kind->resource != "apiservices") return {};
  const auto service = service_of(object);
  if (service.is_null() || service == service_of(old)) return {};
  return fail(Code::forbidden,
              "{} {} is forbidden: requests are not passed on to extension API servers of tenants "
              "(rule aggregated-apis): define the kinds by a CustomResourceDefinition",
              request.kind->title(), json_quote(member(metadata_of(object), "name")));
}

} // namespace

Engine::Engine(EngineParts parts) : parts_(std::move(parts)) {
  for (unsigned number = 1; number <= k_threads; ++number) {
    threads_.emplace_back([this, number](const std::stop_token& stop) {
      pthread_setname_np(pthread_self(), fmt::format("virtual-{}", number).c_str());
      run(stop);
    });
  }
}

Engine::~Engine() {
  for (auto& thread : threads_)
    thread.request_stop();
  threads_.clear();
  for (const auto& line : queue_) {
    for (const auto& job : line.jobs)
      job.done(fail(Code::unavailable, "zood is ending; try again"));
  }
}

std::size_t Engine::waiting() const {
  const std::lock_guard lock(mutex_);
  return queued_;
}

void Engine::submit(Request request, std::function<void(Result<Answer>)> done) {
  {
    const std::lock_guard lock(mutex_);
    auto line = std::find_if(queue_.begin(), queue_.end(),
                             [&](const Line& each) { return each.tenant == request.owner.id; });
    const bool room = line == queue_.end() || line->jobs.size() < k_line;
    if (queued_ < k_queue && room) {
      if (line == queue_.end()) line = queue_.insert(queue_.end(), Line{request.owner.id, {}});
      line->jobs.push_back({std::make_unique<Request>(std::move(request)), std::move(done)});
      ++queued_;
      changed_.notify_one();
      return;
    }
  }
  done(fail(Code::too_many_requests, "too many writes of this kind wait already; try again"));
}

void Engine::run(const std::stop_token& stop) {
  const auto validate = parts_.connect();
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return !queue_.empty(); })) return;
      auto line = queue_.begin();
      job = std::move(line->jobs.front());
      line->jobs.pop_front();
      --queued_;
      if (line->jobs.empty()) {
        queue_.erase(line);
      } else {
        queue_.splice(queue_.end(), queue_, line);
      }
    }
    job.done(perform(validate, *job.request));
  }
}

Result<Answer> Engine::perform(const Validate& validate, const Request& request) {
  // A value of another type than its schema has: the JSON library tells it by throwing.
  try {
    for (int tried = 0;; ++tried) {
      auto answer = once(validate, request);
      // Somebody wrote between our read and our write; a precondition that fails comes out of
      // the first look at the object with the same words, and is no better the second time.
      const bool raced = !answer && answer.error().code() == Code::expired;
      if (!raced) return answer;
      if (tried + 1 >= k_tries) return fail(Code::conflict, "{}", k_modified);
    }
  } catch (const json::exception&) {
    return fail(Code::bad_request, "the body does not have the types that a {} has",
                request.kind->kind);
  } catch (const std::exception& error) {
    // A mistake of ours must cost one request and not the process.
    log::error("virtuals", "a write of {} failed: {}", request.kind->title(), error.what());
    return fail(Code::internal, "the write failed");
  }
}

Result<Answer> Engine::once(const Validate& validate, const Request& request) {
  if (request.kind->read_only) return translate::not_allowed();
  if (!parts_.lives(request.owner)) return fail(Code::unauthorized, "this tenant is not served");
  const Writer writer{request.manager, request.kind->api_version(), now_text(), request.status,
                      k_lists};
  if (request.verb == "create") return create(validate, request, writer);
  if (request.verb == "delete") return remove(request, request.name, writer);
  if (request.verb == "deletecollection") return collection(request, writer);
  return change(validate, request, writer);
}

Result<Answer> Engine::refusal(Verdict verdict) const {
  Answer out;
  out.status = verdict.status;
  out.body = std::move(verdict.body);
  out.warnings = std::move(verdict.warnings);
  return out;
}

Result<void> Engine::room_for(const Request& request, const json& old, const json& object) const {
  ZOO_TRY_VOID(resources::check_lists(object, k_lists));
  ZOO_TRY_VOID(resources::check_fields(object, k_lists));
  const auto size = dump(object).size();
  if (size > k_max_object_bytes)
    return fail(Code::too_large, "the object has {} bytes; at most {} are kept", size,
                k_max_object_bytes);
  const auto before = old.is_null() ? 0 : dump(old).size();
  const auto set = parts_.board.read(request.owner, *request.kind).set;
  if (old.is_null() && set->objects.size() >= k_max_objects)
    return fail(Code::forbidden,
                "{} {} is forbidden: exceeded quota: platform, requested: count/{}=1, used: "
                "count/{}={}, limited: count/{}={}",
                request.kind->title(), json_quote(member(metadata_of(object), "name")),
                request.kind->title(), request.kind->title(), set->objects.size(),
                request.kind->title(), k_max_objects);
  // What shrinks may always be written.
  if (size > before && set->bytes - std::min(set->bytes, before) + size > k_max_bytes)
    return fail(Code::forbidden,
                "{} is forbidden: exceeded quota: platform: at most {} bytes of "
                "this kind are kept",
                request.kind->title(), k_max_bytes);
  return {};
}

bool Engine::has_level(const Owner& owner, const std::string& name) const {
  if (provides_level(name)) return true;
  const auto* levels = find_kind("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations");
  return parts_.board.read(owner, *levels).set->objects.contains(name);
}

/// The conditions that a control plane's own controllers would write.
void Engine::complete(const Request& request, json& object, const Writer& writer) const {
  const Writer own{"zood", writer.api_version, writer.time, true, k_lists};
  const auto spec = object.value("spec", json::object());
  if (request.kind->resource == "flowschemas") {
    const auto level = member(spec.value("priorityLevelConfiguration", json::object()), "name");
    const bool there = has_level(request.owner, level);
    set_condition(object, "Dangling", there ? "False" : "True", there ? "Found" : "NotFound",
                  fmt::format("This FlowSchema references the PriorityLevelConfiguration object "
                              "named \"{}\" {}",
                              level, there ? "and it exists" : "but there is no such object"),
                  own);
  }
  if (request.kind->resource != "apiservices" || !service_of(object).is_null()) return;
  set_condition(object, "Available", "True", "Local", "Local APIServices are always available",
                own);
}

Result<Engine::Found> Engine::find(const Request& request, const std::string& name) const {
  const auto record =
      parts_.store.get(k_record_kind, record_key(request.owner, *request.kind, name));
  Found out;
  if (!record) {
    if (record.error().code() == Code::not_found) return out;
    return fail(record.error());
  }
  out.revision = record->revision;
  auto object = object_of(*request.kind, *record);
  if (!object.contains(k_grave)) out.object = std::move(object);
  return out;
}

/// Stores an object and waits until it can be read; its resourceVersion.
Result<std::int64_t> Engine::put(const Request& request, json object, std::int64_t expected) {
  const auto key = record_key(request.owner, *request.kind, member(metadata_of(object), "name"));
  if (!request.kind->beside) {
    ZOO_TRY(
        const auto stored,
        parts_.store.put(k_record_kind, key, dump(without_version(std::move(object))), expected));
    parts_.board.wait_for(stored.revision, k_visible);
    return stored.revision;
  }
  // One at a time, so that revisions become readable in their order.
  const Board::Writing writing(parts_.board, request.owner, *request.kind);
  const std::lock_guard lock(revising_);
  return put_in_order(request, key, std::move(object), expected);
}

/// Other zoods that have the same store take revisions, too: one is written only if none was of the
/// same kind since before it was taken, or a watch would run backwards.
Result<std::int64_t> Engine::put_in_order(const Request& request, const std::string& key,
                                          json object, std::int64_t expected) {
  const auto order = record_key(request.owner, *request.kind, {});
  const auto place = [&]() -> Result<std::int64_t> {
    const auto last = parts_.store.get(k_order_kind, order);
    if (last) return last->revision;
    if (last.error().code() == Code::not_found) return 0;
    return fail(last.error());
  };
  ZOO_TRY(auto before, place());
  for (int attempt = 1;; ++attempt) {
    ZOO_TRY(const auto revision, parts_.next_revision());
    object["metadata"]["resourceVersion"] = std::to_string(revision);
    const auto text = dump(object), number = std::to_string(revision);
    const std::array<store::Op, 2> ops{{{k_order_kind, order, number, before, false},
                                        {k_record_kind, key, text, expected, false}}};
    const auto stored = parts_.store.write(ops);
    if (stored) {
      parts_.board.wait_for(*stored, k_visible);
      return revision;
    }
    ZOO_TRY(const auto now, place());
    if (now == before) return fail(stored.error());
    if (attempt == k_turns)
      return fail(Code::too_many_requests, "others write {} at the same time: try again",
                  request.kind->title());
    before = now;
  }
}

Result<Answer> Engine::write(const Request& request, const json& object, std::int64_t expected,
                             int status, std::vector<std::string> warnings) {
  Answer out;
  out.status = status;
  out.warnings = std::move(warnings);
  const auto name = member(metadata_of(object), "name");
  if (request.dry_run) {
    out.object = shown(*request.kind, object);
    return out;
  }
  const auto stored = put(request, object, expected);
  if (!stored) {
    const auto code = stored.error().code();
    if (code == Code::already_exists && request.verb == "create")
      return fail(Code::already_exists, "{} {} already exists", request.kind->title(),
                  json_quote(name));
    // expired: perform() looks again.
    if (code == Code::conflict || code == Code::not_found || code == Code::already_exists)
      return fail(Code::expired, "{}", k_modified);
    return fail(stored.error());
  }
  out.object = make_object(*request.kind, object, *stored);
  return out;
}

/// A removal takes a revision too: the record stays to tell of it, until the next one.
Result<void> Engine::bury(const Request& request, const std::string& name, json object,
                          std::int64_t expected) {
  object[std::string(k_grave)] = true;
  if (const auto stored = put(request, std::move(object), expected); !stored) {
    const auto code = stored.error().code();
    if (code == Code::conflict || code == Code::not_found)
      return fail(Code::expired, "{}", k_modified);
    return fail(stored.error());
  }
  const auto set = parts_.board.read(request.owner, *request.kind).set;
  for (const auto& grave : set->graves) {
    if (grave == name) continue;
    const auto found = find(request, grave);
    if (!found || found->object || found->revision == 0) continue;
    // Whoever made the object anew in between keeps it.
    (void)parts_.store.remove(k_record_kind, record_key(request.owner, *request.kind, grave),
                              found->revision);
  }
  return {};
}

Result<void> Engine::erase(const Request& request, const std::string& name, const json& object,
                           std::int64_t expected) {
  if (request.dry_run) return {};
  if (request.kind->beside) return bury(request, name, object, expected);
  auto removed =
      parts_.store.remove(k_record_kind, record_key(request.owner, *request.kind, name), expected);
  if (!removed) {
    const auto code = removed.error().code();
    if (code == Code::conflict || code == Code::not_found)
      return fail(Code::expired, "{}", k_modified);
    return fail(std::move(removed).error());
  }
  // The removal's own revision is not told; its effect is waited for.
  const auto deadline = std::chrono::steady_clock::now() + k_visible;
  while (parts_.board.read(request.owner, *request.kind).set->objects.contains(name) &&
         std::chrono::steady_clock::now() < deadline)
    parts_.board.wait_for(parts_.board.revision() + 1, std::chrono::milliseconds(20));
  return {};
}

Result<Answer> Engine::create(const Validate& validate, const Request& request,
                              const Writer& writer) {
  const bool applied = request.format == translate::BodyFormat::apply_patch;
  ZOO_TRY(auto object,
          created(*request.kind, {request.format, request.body}, request.name, writer));
  const auto name = member(metadata_of(object), "name");
  ZOO_TRY(const auto found, find(request, name));
  if (found.object || provided_one(request, name) != nullptr)
    return fail(Code::already_exists, "{} {} already exists", request.kind->title(),
                json_quote(name));
  ZOO_TRY_VOID(room_for(request, json(), object));
  ZOO_TRY(auto verdict, validate(*request.kind, object, request.mapping, request.strictness));
  if (!verdict.accepted) return refusal(std::move(verdict));
  if (applied) {
    // What it asked for is the applier's; what upstream completed is nobody's.
    ZOO_TRY(const auto owned, apply(json(), object, writer, true));
    object["metadata"]["managedFields"] = owned["metadata"]["managedFields"];
  }
  object["spec"] = std::move(verdict.spec);
  ZOO_TRY_VOID(not_aggregated(request, json(), object));
  if (request.kind->status_on_create && !verdict.object_status.is_null())
    object["status"] = std::move(verdict.object_status);
  settle(json(), object, writer, applied);
  if (!request.kind->counts) object["metadata"].erase("generation");
  complete(request, object, writer);
  auto answer = write(request, object, found.revision, 201, std::move(verdict.warnings));
  if (answer && !request.dry_run && request.kind->resource == "prioritylevelconfigurations")
    refresh_flows(request, name);
  return answer;
}

Result<Answer> Engine::change(const Validate& validate, const Request& request,
                              const Writer& writer) {
  ZOO_TRY(const auto found, find(request, request.name));
  if (provided_one(request, request.name) != nullptr) return platforms(request, request.name);
  if (!found.object) {
    const bool applied = request.format == translate::BodyFormat::apply_patch && !request.status;
    if (applied && !request.may_create) return Answer{403, {}, {}, {}, {}};
    if (applied) return create(validate, request, writer);
    return absent(request, request.name);
  }
  const auto& old = *found.object;
  ZOO_TRY(auto now,
          changed(*request.kind, old, {request.format, request.body}, writer, request.force));
  const bool applied = request.format == translate::BodyFormat::apply_patch;
  std::vector<std::string> warnings;
  if (!request.status || request.kind->beside) {
    ZOO_TRY(auto verdict, validate(*request.kind, now, request.mapping, request.strictness));
    // Upstream has an object of that name where the tenant's is a copy: it is there, no conflict.
    if (!verdict.accepted) return refusal(std::move(verdict));
    if (request.status) {
      if (!verdict.object_status.is_null()) now["status"] = std::move(verdict.object_status);
    } else {
      now["spec"] = std::move(verdict.spec);
      ZOO_TRY_VOID(not_aggregated(request, old, now));
      ZOO_TRY_VOID(check_immutable(*request.kind, old, now));
    }
    warnings = std::move(verdict.warnings);
  }
  settle(old, now, writer, applied);
  if (!request.kind->counts) now["metadata"].erase("generation");
  if (!request.status) complete(request, now, writer);
  const bool gone = !member(metadata_of(now), "deletionTimestamp").empty() && !has_finalizers(now);
  if (gone) {
    ZOO_TRY_VOID(erase(request, request.name, now, found.revision));
    Answer out;
    out.object = shown(*request.kind, now);
    return out;
  }
  if (now == old) {
    Answer out;
    out.object = shown(*request.kind, now);
    out.warnings = std::move(warnings);
    return out;
  }
  ZOO_TRY_VOID(room_for(request, old, now));
  return write(request, now, found.revision, 200, std::move(warnings));
}

Result<Answer> Engine::remove(const Request& request, const std::string& name,
                              const Writer& writer) {
  if (provided_one(request, name) != nullptr) return platforms(request, name);
  ZOO_TRY(const auto options, delete_options(request.body));
  ZOO_TRY(auto found, find(request, name));
  if (!found.object) return absent(request, name);
  auto& object = *found.object;
  const auto uid = member(metadata_of(object), "uid");
  if (!options.expected.uid.empty() && options.expected.uid != uid)
    return fail(Code::conflict,
                "Precondition failed: UID in precondition: {}, UID in object "
                "meta: {}",
                options.expected.uid, uid);
  const auto version = member(metadata_of(object), "resourceVersion");
  if (!options.expected.resource_version.empty() && options.expected.resource_version != version)
    return fail(Code::conflict,
                "Precondition failed: ResourceVersion in precondition: {}, ResourceVersion in "
                "object meta: {}",
                options.expected.resource_version, version);
  auto asked = request;
  asked.dry_run = request.dry_run || options.dry_run;
  if (has_finalizers(object)) {
    if (!member(metadata_of(object), "deletionTimestamp").empty()) {
      Answer out;
      out.object = shown(*request.kind, object);
      return out;
    }
    auto& metadata = object["metadata"];
    metadata["deletionTimestamp"] = writer.time;
    metadata["deletionGracePeriodSeconds"] = 0;
    if (request.kind->counts)
      metadata["generation"] = metadata.value("generation", std::int64_t{1}) + 1;
    return write(asked, object, found.revision, 200, {});
  }
  ZOO_TRY_VOID(erase(asked, name, object, found.revision));
  if (!asked.dry_run && request.kind->resource == "prioritylevelconfigurations")
    refresh_flows(request, name);
  Answer out;
  if (request.verb == "deletecollection") {
    out.object = shown(*request.kind, object);
    return out;
  }
  kube::StatusDetails details;
  details.name = name;
  details.group = request.kind->group;
  details.kind = request.kind->resource;
  details.uid = uid;
  out.body = kube::success_json(details);
  return out;
}

Result<Answer> Engine::collection(const Request& request, const Writer& writer) {
  Answer out;
  const auto set = parts_.board.read(request.owner, *request.kind).set;
  std::size_t found = 0;
  for (auto each = set->objects.lower_bound(request.start); each != set->objects.end(); ++each) {
    const auto& [name, object] = *each;
    if (!request.selection.matches(*object) || provided_one(request, name) != nullptr) continue;
    if (request.limit != 0 && found++ == request.limit) {
      out.next = name;
      break;
    }
    auto removed = remove(request, name, writer);
    if (!removed && removed.error().code() == Code::not_found) continue;
    if (!removed) return removed;
    if (removed->object) out.collection.push_back(removed->object);
  }
  return out;
}

/// A level came or went: the FlowSchemas that name it say so.
void Engine::refresh_flows(const Request& request, const std::string& level) {
  const auto* flows = find_kind("flowcontrol.apiserver.k8s.io", "flowschemas");
  const auto set = parts_.board.read(request.owner, *flows).set;
  for (const auto& [name, object] : set->objects) {
    const auto key = record_key(request.owner, *flows, name);
    const auto record = parts_.store.get(k_record_kind, key);
    if (!record) continue;
    auto now = object_of(*flows, *record);
    const auto named = now.value("spec", json::object());
    if (member(named.value("priorityLevelConfiguration", json::object()), "name") != level)
      continue;
    const auto before = now;
    Request asked = request;
    asked.kind = flows;
    complete(asked, now, {"zood", flows->api_version(), now_text(), true});
    if (now == before) continue;
    // Whoever wrote in between has looked at the levels himself.
    const auto stored =
        parts_.store.put(k_record_kind, key, dump(without_version(now)), record->revision);
    if (stored) parts_.board.wait_for(stored->revision, k_visible);
  }
}

} // namespace zoo::virtuals
