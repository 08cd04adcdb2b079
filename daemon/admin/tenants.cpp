// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/tenants.hpp"

#include "common/base/error_table.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/yaml.hpp"
#include "daemon/admin/selectors.hpp"
#include "daemon/admin/watch.hpp"
#include "daemon/admin/workers.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

namespace zoo::admin {
namespace {

using nlohmann::json;

constexpr std::size_t k_page = 500;

/// Where a list goes on: the revision of its first page and the last ID sent. Later pages repeat
/// that revision: a watch from it then misses nothing (it may tell something twice).
struct Position {
  std::int64_t revision = 0;
  std::string after;
};

std::string encode(const Position& position) {
  return crypto::base64url_encode(
      dump({{"v", 1}, {"rv", position.revision}, {"after", position.after}}));
}

Result<Position> decode(std::string_view token) {
  const auto bad = [] {
    return fail(Code::bad_request, "the continue token is not one of this list; begin again "
                                   "without it");
  };
  if (token.size() > 512) return bad();
  const auto text = crypto::base64url_decode(token);
  if (!text) return bad();
  const auto object = json::parse(*text, nullptr, false);
  if (!object.is_object() || !object.contains("rv") || !object["rv"].is_number_integer() ||
      !object.contains("after") || !object["after"].is_string())
    return bad();
  return Position{object["rv"].get<std::int64_t>(), object["after"].get<std::string>()};
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

} // namespace

Answer render(int status, const json& body, const Representation& representation) {
  if (!representation.yaml) return json_answer(status, body);
  Answer answer;
  answer.status = status;
  answer.content_type = "application/yaml";
  answer.body = kube::json_to_yaml(body);
  return answer;
}

Answer tenant_failure(const Error& error, std::string_view id) {
  kube::StatusDetails details;
  details.name = std::string(id);
  details.group = std::string(api::k_tenant_group);
  details.kind = std::string(api::k_tenant_resource);
  if (error.code() == Code::invalid) {
    // kubectl shows nothing of an Invalid answer but its causes, as "<field>: <message>".
    auto [field, why] = field_and_why(error.message());
    details.causes.push_back({"FieldValueInvalid", std::move(why), std::move(field)});
    details.kind = std::string(api::k_tenant_kind);
  }
  return failure(error, details);
}

Result<std::vector<api::Tenant>> TenantApi::all(std::int64_t& revision, std::string_view only_id) {
  std::vector<api::Tenant> out;
  if (!only_id.empty()) {
    // The revision first: a change in between is then told by the watch, not lost.
    ZOO_TRY(const auto page, service_.list("", 1));
    revision = page.revision;
    auto one = service_.get(only_id);
    if (one)
      out.push_back(*std::move(one));
    else if (one.error().code() != Code::not_found)
      return fail(std::move(one).error());
    return out;
  }
  bool first = true;
  for (std::string after;;) {
    ZOO_TRY(auto page, service_.list(after, k_page));
    if (std::exchange(first, false)) revision = page.revision;
    std::move(page.items.begin(), page.items.end(), std::back_inserter(out));
    if (page.next.empty()) return out;
    after = std::move(page.next);
  }
}

Answer TenantApi::list(const Request& request) {
  auto answer = try_list(request);
  return answer ? *std::move(answer) : tenant_failure(answer.error(), "");
}

Result<Answer> TenantApi::try_list(const Request& request) {
  ZOO_TRY(const auto representation, negotiate(request.headers.get("accept"), true));
  ZOO_TRY(const auto row, row_object(request.parameter("includeObject")));
  ZOO_TRY(const auto selectors,
          Selectors::parse(request.parameter("labelSelector"), request.parameter("fieldSelector")));
  ZOO_TRY(const auto limit, request.number("limit"));
  // As text at once: the tree of a JSON document takes ten times its bytes.
  const bool as_text = representation.shape != Shape::table && !representation.yaml;
  const auto object_of = [&](const api::Tenant& tenant) {
    return representation.shape == Shape::metadata
               ? partial_metadata(tenant, representation.version)
               : api::to_json(tenant);
  };
  Position position;
  std::vector<api::Tenant> items;
  std::string text, last, next;
  std::size_t count = 0;
  const auto keep = [&](api::Tenant&& tenant) {
    ++count;
    last = tenant.id;
    if (!as_text) {
      items.push_back(std::move(tenant));
      return;
    }
    text += (text.empty() ? "" : ",") + dump(object_of(tenant));
  };
  if (!selectors.only_id().empty()) {
    ZOO_TRY(auto found, all(position.revision, selectors.only_id()));
    for (auto& tenant : found)
      if (selectors.matches(tenant)) keep(std::move(tenant));
  } else {
    bool first = true;
    if (const auto token = request.parameter("continue"); !token.empty()) {
      ZOO_TRY(position, decode(token));
      first = false;
    }
    for (bool more = true; more;) {
      const auto wanted = static_cast<std::size_t>(limit);
      const auto size = limit == 0 ? k_page : std::min(k_page, wanted - count + 1);
      ZOO_TRY(auto page, service_.list(position.after, size));
      if (std::exchange(first, false)) position.revision = page.revision;
      for (auto& tenant : page.items) {
        const bool full = limit != 0 && count == wanted;
        if (full && selectors.matches(tenant)) {
          next = encode({position.revision, last});
          more = false;
          break;
        }
        position.after = tenant.id;
        if (!full && selectors.matches(tenant)) keep(std::move(tenant));
      }
      if (page.next.empty())
        more = false;
      else if (more)
        position.after = page.next;
    }
  }
  if (request.parameter("continue").empty())
    ZOO_TRY_VOID(check_version(request, position.revision));

  json metadata{{"resourceVersion", std::to_string(position.revision)}};
  if (!next.empty()) metadata["continue"] = next;
  if (representation.shape == Shape::table) {
    auto table = table_of(items, representation.version, row, now_(), true);
    table["metadata"] = std::move(metadata);
    return render(200, table, representation);
  }
  json out{{"kind", "TenantList"}, {"apiVersion", api::k_tenant_api_version}};
  if (representation.shape == Shape::metadata) {
    out["kind"] = "PartialObjectMetadataList";
    out["apiVersion"] = "meta.k8s.io/" + representation.version;
  }
  if (as_text) {
    Answer answer;
    answer.status = 200;
    answer.body = fmt::format("{{\"apiVersion\":{},\"items\":[{}],\"kind\":{},\"metadata\":{}}}\n",
                              dump(out["apiVersion"]), text, dump(out["kind"]), dump(metadata));
    return answer;
  }
  out["metadata"] = std::move(metadata);
  out["items"] = json::array();
  for (const auto& tenant : items)
    out["items"].push_back(object_of(tenant));
  return render(200, out, representation);
}

Answer TenantApi::get(const Request& request, const std::string& id, bool with_kubeconfig) {
  const auto representation = negotiate(request.headers.get("accept"), true);
  if (!representation) return tenant_failure(representation.error(), id);
  const auto row = row_object(request.parameter("includeObject"));
  if (!row) return tenant_failure(row.error(), id);
  auto tenant = service_.get(id);
  if (!tenant) return tenant_failure(tenant.error(), id);
  WriteOptions options{false, *representation, *row};
  std::vector<std::string> warnings;
  if (with_kubeconfig && representation->shape == Shape::object) {
    auto stored = service_.stored_kubeconfig(id);
    if (!stored) {
      warnings.push_back("the tenant's kubeconfig cannot be shown: " + stored.error().message());
    } else if (!stored->empty()) {
      tenant->annotations[std::string(api::k_kubeconfig_annotation)] = *std::move(stored);
    }
  }
  return show(200, *tenant, options, std::move(warnings));
}

Answer TenantApi::show(int status, const api::Tenant& tenant, const WriteOptions& options,
                       std::vector<std::string> warnings) const {
  const auto& representation = options.representation;
  json body;
  switch (representation.shape) {
  case Shape::object:
    body = api::to_json(tenant);
    break;
  case Shape::metadata:
    body = partial_metadata(tenant, representation.version);
    break;
  case Shape::table:
    body = table_of({&tenant, 1}, representation.version, options.row, now_(), true);
    body["metadata"] = {{"resourceVersion", std::to_string(tenant.resource_version)}};
    break;
  }
  auto answer = render(status, body, representation);
  answer.tenant = tenant.id;
  answer.warnings = std::move(warnings);
  return answer;
}

Result<WatchPlan> TenantApi::plan_watch(const Request& request) {
  WatchPlan plan;
  ZOO_TRY(plan.representation, negotiate(request.headers.get("accept"), true));
  plan.representation.yaml = false; // a stream of YAML has no frames
  ZOO_TRY(plan.row, row_object(request.parameter("includeObject")));
  ZOO_TRY(plan.selectors,
          Selectors::parse(request.parameter("labelSelector"), request.parameter("fieldSelector")));
  ZOO_TRY(plan.bookmarks, request.flag("allowWatchBookmarks"));
  ZOO_TRY(const auto timeout, request.number("timeoutSeconds"));
  plan.timeout = std::chrono::seconds(std::min<std::int64_t>(timeout, 24 * 3600));
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

  const bool from_anywhere = from == 0 && !request.has("sendInitialEvents");
  plan.emit_initial = send_initial || from_anywhere;
  plan.mark_initial_end = send_initial && plan.bookmarks;
  if (!plan.emit_initial && from != 0) {
    plan.revision = from;
    // Selectors on what may change need to know who matched before; a name never changes.
    std::int64_t ignored = 0;
    if (!plan.selectors.empty()) {
      ZOO_TRY(plan.initial, all(ignored, plan.selectors.only_id()));
    }
    return plan;
  }
  ZOO_TRY(plan.initial, all(plan.revision, plan.selectors.only_id()));
  if (from > plan.revision)
    return fail(Code::timeout, "Too large resource version: {}, current: {}", from, plan.revision);
  return plan;
}

Answer TenantApi::watch(const Request& request) {
  auto plan = plan_watch(request);
  if (!plan) return tenant_failure(plan.error(), "");
  auto feed = std::make_shared<WatchFeed>(*std::move(plan), workers_);
  auto opened = feed->open(service_);
  if (opened && feed->plan().revision == 0) {
    // A store that was never written to: revision 0 means "from now" to watch(), so what was made
    // between the list and the watch is read once more; the encoder drops what comes twice.
    auto& fresh = feed->plan();
    auto again = all(fresh.revision, fresh.selectors.only_id());
    if (!again) return tenant_failure(again.error(), "");
    if (fresh.emit_initial)
      fresh.initial = *std::move(again);
    else
      fresh.revision = 0;
  }
  if (!opened) {
    if (opened.error().code() != Code::expired) return tenant_failure(opened.error(), "");
    feed->plan().refused = opened.error();
  }
  Answer answer;
  answer.watch = std::move(feed);
  return answer;
}

} // namespace zoo::admin
