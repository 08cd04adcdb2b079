// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/digest.hpp"
#include "daemon/resources/api.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace zoo::resources {
namespace {

using nlohmann::json;

constexpr std::size_t k_page = 500;
constexpr std::size_t k_longest_token = 1024;
constexpr std::int64_t k_longest_watch = 24 * 3600; ///< seconds, whatever timeoutSeconds says

/// Where a list goes on: the revision of its first page and the last object sent. Later pages
/// repeat that revision: a watch from it then misses nothing (it may tell something twice).
struct Position {
  std::int64_t revision = 0;
  Key after;
};

std::string encode(const Position& position) {
  json token{{"v", 1}, {"rv", position.revision}, {"after", position.after.name}};
  if (!position.after.space.empty()) token["space"] = position.after.space;
  return crypto::base64url_encode(dump(token));
}

Result<Position> decode(std::string_view token) {
  const auto bad = [] {
    return fail(Code::bad_request, "the continue token is not one of this list; begin again "
                                   "without it");
  };
  if (token.size() > k_longest_token) return bad();
  const auto text = crypto::base64url_decode(token);
  if (!text) return bad();
  const auto object = json::parse(*text, nullptr, false);
  if (!object.is_object() || !object.contains("rv") || !object["rv"].is_number_integer() ||
      !object.contains("after") || !object["after"].is_string())
    return bad();
  return Position{object["rv"].get<std::int64_t>(),
                  {text_at(object, "space"), object["after"].get<std::string>()}};
}

/// What resourceVersion asks of a list: zood has only its newest state.
Result<void> check_version(const Request& request, std::int64_t current) {
  ZOO_TRY(const auto wanted, request.number("resourceVersion"));
  if (wanted > current)
    return fail(Code::timeout, "Too large resource version: {}, current: {}", wanted, current);
  if (request.parameter("resourceVersionMatch") == "Exact" && wanted != current)
    return fail(Code::expired, "The resourceVersion {} is no longer kept; current: {}", wanted,
                current);
  return {};
}

/// A cluster has one object of a name, a namespace one; all namespaces may have many.
bool finds_one(const Kind& kind, const Key& key, const Selectors& selectors) {
  return !selectors.only_name().empty() && (!kind.namespaced || !key.space.empty());
}

} // namespace

Result<std::vector<ObjectPtr>> Api::all(const Request& request, const Target& target,
                                        std::string_view only, std::int64_t& revision) const {
  auto& backing = *target.kind->backing;
  std::vector<ObjectPtr> out;
  if (!only.empty()) {
    // The revision first: a change in between is then told by the watch, not lost.
    ZOO_TRY(const auto page, backing.list(request.who, target.key.space, Key(), 1));
    revision = page.revision;
    auto one = backing.get(request.who, {target.key.space, std::string(only)});
    if (one)
      out.push_back(*std::move(one));
    else if (one.error().code() != Code::not_found)
      return fail(std::move(one).error());
    return out;
  }
  bool first = true;
  for (Key after;;) {
    ZOO_TRY(auto page, backing.list(request.who, target.key.space, after, k_page));
    if (std::exchange(first, false)) revision = page.revision;
    out.insert(out.end(), page.items.begin(), page.items.end());
    if (!page.next) return out;
    after = *page.next;
  }
}

Result<Answer> Api::list(const Request& request, const Target& target) const {
  const auto& kind = *target.kind;
  ZOO_TRY(const auto representation, negotiate(request.headers.get("accept"), true));
  ZOO_TRY(const auto row, row_object(request.parameter("includeObject")));
  ZOO_TRY(const auto selectors, Selectors::parse(kind, request.parameter("labelSelector"),
                                                 request.parameter("fieldSelector")));
  ZOO_TRY(const auto limit, request.number("limit"));
  ZOO_TRY_VOID(kind.backing->admit(request.who, Verb::list, target.key));
  const bool as_table = representation.shape == Shape::table;
  // As text at once: the tree of a JSON document takes ten times its bytes.
  const bool as_text = !as_table && !representation.yaml;
  const auto shown = [&](const json& object) {
    return representation.shape == Shape::metadata
               ? partial_metadata(object, representation.version)
               : object;
  };
  Position position;
  std::vector<ObjectPtr> items;
  TableText table(kind, representation.version, row, parts_.now());
  std::string text, next;
  Key last;
  std::size_t count = 0;
  const auto keep = [&](const ObjectPtr& object) {
    ++count;
    last = key_of(*object);
    if (as_table) return table.add(*object);
    if (!as_text) return items.push_back(object);
    text += text.empty() ? "" : ",";
    text += representation.shape == Shape::metadata ? dump(shown(*object)) : dump(*object);
  };
  if (finds_one(kind, target.key, selectors)) {
    ZOO_TRY(const auto found, all(request, target, selectors.only_name(), position.revision));
    for (const auto& object : found)
      if (selectors.matches(*object)) keep(object);
  } else {
    bool first = true;
    if (const auto token = request.parameter("continue"); !token.empty()) {
      ZOO_TRY(position, decode(token));
      first = false;
    }
    for (bool more = true; more;) {
      const auto wanted = static_cast<std::size_t>(limit);
      const auto size = limit == 0 ? k_page : std::min(k_page, wanted - count + 1);
      ZOO_TRY(const auto page,
              kind.backing->list(request.who, target.key.space, position.after, size));
      if (std::exchange(first, false)) position.revision = page.revision;
      more = page.next.has_value();
      for (const auto& object : page.items) {
        const bool full = limit != 0 && count == wanted;
        const bool matches = selectors.matches(*object);
        if (full && matches) {
          next = encode({position.revision, last});
          more = false;
          break;
        }
        if (matches) keep(object);
      }
      if (more) position.after = *page.next;
    }
  }
  if (request.parameter("continue").empty())
    ZOO_TRY_VOID(check_version(request, position.revision));

  const auto listed = [&](Answer answer) {
    answer.revision = position.revision;
    return answer;
  };
  json metadata{{"resourceVersion", std::to_string(position.revision)}};
  if (!next.empty()) metadata["continue"] = next;
  if (as_table) {
    auto body = table.finish(metadata);
    if (representation.yaml) return listed(render(200, json::parse(body), representation));
    Answer answer;
    answer.status = 200;
    answer.body = std::move(body);
    return listed(std::move(answer));
  }
  json out{{"kind", kind.kind + "List"}, {"apiVersion", kind.api_version()}};
  if (representation.shape == Shape::metadata) {
    out["kind"] = "PartialObjectMetadataList";
    out["apiVersion"] = "meta.k8s.io/" + representation.version;
  }
  if (as_text) {
    Answer answer;
    answer.status = 200;
    answer.revision = position.revision;
    answer.body = fmt::format("{{\"apiVersion\":{},\"items\":[{}],\"kind\":{},\"metadata\":{}}}\n",
                              dump(out["apiVersion"]), text, dump(out["kind"]), dump(metadata));
    return answer;
  }
  out["metadata"] = std::move(metadata);
  out["items"] = json::array();
  for (const auto& object : items)
    out["items"].push_back(shown(*object));
  return listed(render(200, out, representation));
}

Result<Answer> Api::get(const Request& request, const Target& target, bool decorated) const {
  const auto& kind = *target.kind;
  ZOO_TRY(const auto representation, negotiate(request.headers.get("accept"), true));
  ZOO_TRY(const auto row, row_object(request.parameter("includeObject")));
  ZOO_TRY_VOID(kind.backing->admit(request.who, Verb::get, target.key));
  ZOO_TRY(const auto found, kind.backing->get(request.who, target.key));
  Write wanted;
  wanted.representation = representation;
  wanted.row = row;
  if (!decorated || representation.shape != Shape::object || !kind.strategy.decorate)
    return show(200, kind, *found, wanted);
  std::vector<std::string> warnings;
  auto object = *found;
  kind.strategy.decorate(request.who, object, warnings);
  return show(200, kind, object, wanted, std::move(warnings));
}

Result<WatchPlan> Api::plan_watch(const Request& request, const Target& target) const {
  WatchPlan plan;
  plan.kind = target.kind;
  plan.caller = request.who;
  plan.space = target.key.space;
  ZOO_TRY(plan.representation, negotiate(request.headers.get("accept"), true));
  plan.representation.yaml = false; // a stream of YAML has no frames
  ZOO_TRY(plan.row, row_object(request.parameter("includeObject")));
  ZOO_TRY(plan.selectors, Selectors::parse(*target.kind, request.parameter("labelSelector"),
                                           request.parameter("fieldSelector")));
  ZOO_TRY(plan.bookmarks, request.flag("allowWatchBookmarks"));
  ZOO_TRY(const auto timeout, request.number("timeoutSeconds"));
  plan.timeout = std::chrono::seconds(std::min(timeout, k_longest_watch));
  ZOO_TRY(const auto from, request.number("resourceVersion"));
  ZOO_TRY(const auto send_initial, request.flag("sendInitialEvents"));
  const auto match = request.parameter("resourceVersionMatch");
  // The rules of k8s.io/apimachinery/pkg/apis/meta/internalversion/validation.
  if (request.has("sendInitialEvents") && match != "NotOlderThan")
    return fail(Code::invalid,
                "sendInitialEvents needs resourceVersionMatch=NotOlderThan with a watch");
  if (!request.has("sendInitialEvents") && !match.empty())
    return fail(Code::invalid, "resourceVersionMatch is forbidden for a watch unless "
                               "sendInitialEvents is given");
  ZOO_TRY_VOID(target.kind->backing->admit(request.who, Verb::watch, target.key));

  const bool one = finds_one(*target.kind, target.key, plan.selectors);
  const auto only = one ? plan.selectors.only_name() : std::string_view();
  const bool from_anywhere = from == 0 && !request.has("sendInitialEvents");
  plan.emit_initial = send_initial || from_anywhere;
  plan.mark_initial_end = send_initial && plan.bookmarks;
  if (!plan.emit_initial && from != 0) {
    plan.revision = from;
    // Selectors on what may change need to know who matched before; a name never changes.
    std::int64_t ignored = 0;
    if (!plan.selectors.empty()) {
      ZOO_TRY(plan.initial, all(request, target, only, ignored));
    }
    return plan;
  }
  ZOO_TRY(plan.initial, all(request, target, only, plan.revision));
  if (from > plan.revision)
    return fail(Code::timeout, "Too large resource version: {}, current: {}", from, plan.revision);
  return plan;
}

Result<Answer> Api::watch(const Request& request, const Target& target) const {
  ZOO_TRY(auto plan, plan_watch(request, target));
  auto feed = std::make_shared<WatchFeed>(std::move(plan), parts_.later);
  const auto opened = feed->open();
  if (opened && feed->plan().revision == 0) {
    // A store that was never written to: revision 0 means "from now" to watch(), so what was made
    // between the list and the watch is read once more; the encoder drops what comes twice.
    auto& fresh = feed->plan();
    ZOO_TRY(auto again, all(request, target, {}, fresh.revision));
    if (fresh.emit_initial)
      fresh.initial = std::move(again);
    else
      fresh.revision = 0;
  }
  if (!opened) {
    if (opened.error().code() != Code::expired) return fail(opened.error());
    feed->plan().refused = opened.error();
  }
  Answer answer;
  answer.watch = std::move(feed);
  return answer;
}

} // namespace zoo::resources
