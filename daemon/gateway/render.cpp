// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/render.hpp"

#include "common/base/json_text.hpp"
#include "daemon/gateway/continue_token.hpp"
#include "daemon/gateway/exchange.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/proof.hpp"
#include "daemon/translate/rewrite.hpp"
#include "daemon/translate/rules.hpp"
#include "daemon/translate/validity.hpp"
#include "daemon/translate/watch_event.hpp"
#include "daemon/translate/wire_rewrite.hpp"

namespace zoo::gateway {

using translate::JsonTree;
using translate::Representation;

namespace {

bool is_table(const Rendering& rendering) {
  return rendering.wanted.representation == Representation::table;
}

std::unique_ptr<translate::TableRewriter> make_table(Exchange& exchange,
                                                     const Rendering& rendering) {
  if (!is_table(rendering)) return nullptr;
  const auto& target = exchange.target();
  translate::TableRewriter::Options options;
  options.group = target.group;
  options.resource = target.resource;
  options.namespaced = exchange.resource().namespaced;
  options.include = rendering.wanted.include;
  return std::make_unique<translate::TableRewriter>(exchange.mapping(), root_of(exchange),
                                                    std::move(options));
}

tl::unexpected<Error> not_found(const Exchange& exchange) {
  const auto& target = exchange.target();
  return fail(Code::not_found, "{} \"{}\" not found",
              translate::qualified_resource(target.group, target.resource), target.name);
}

std::string list_api_version(const Exchange& exchange) {
  const auto& target = exchange.target();
  return target.group.empty() ? target.version : target.group + "/" + target.version;
}

/// Items of a list leave out what their list says; an event says it of each object. Kubernetes
/// writes these two members first: custom resources have them already.
std::string with_kind(const Exchange& exchange, std::string_view item) {
  const bool complete =
      item.starts_with(R"({"kind":)") || item.starts_with(R"({"apiVersion":)") || item.empty();
  if (complete) return std::string(item);
  auto out = "{\"kind\":" + json_quote(exchange.resource().kind) +
             ",\"apiVersion\":" + json_quote(list_api_version(exchange));
  if (item != "{}") out += ',';
  out += item.substr(1);
  return out;
}

/// Upstream's apiVersion in the tenant's words: meta.k8s.io stays, the asked group is the asker's.
std::string api_version_out(const Exchange& exchange, const std::string& upstream) {
  return exchange.mapping().api_version_out(upstream).value_or(list_api_version(exchange));
}

} // namespace

std::string metadata_alone(translate::JsonNode object) {
  return R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":)" +
         std::string(object["metadata"].raw()) + '}';
}

bool stays_protobuf(const Exchange& exchange, const Rendering& rendering) {
  const auto& resource = exchange.resource();
  return rendering.wanted.protobuf_first && !rendering.shown && !rendering.complete &&
         resource.namespaced && !resource.own_group && !exchange.mapping().identity() &&
         exchange.target().subresource.empty() && translate::k_proves &&
         translate::has_wire_form(root_of(exchange), list_api_version(exchange));
}

bool shows(const Rendering& rendering, std::string_view item) {
  if (!rendering.shown) return true;
  const bool table = is_table(rendering);
  if (rendering.shown_key) {
    std::string key;
    const bool known = table ? translate::leading_row_key(item, true, key)
                             : translate::leading_key(item, true, key);
    if (known) return rendering.shown_key(key);
  }
  if (!table) return rendering.shown(item);
  const auto row = translate::split_row(item);
  return row && rendering.shown(row->object);
}

Result<void> write_outward(Exchange& exchange, const Rendering& rendering, std::string_view object,
                           std::string& out) {
  translate::RewriteContext context{exchange.mapping(), translate::Direction::outward,
                                    exchange.target().name_space};
  if (!rendering.complete) return translate::rewrite(root_of(exchange), context, object, out);
  std::string own;
  ZOO_TRY_VOID(translate::rewrite(root_of(exchange), context, object, own));
  rendering.complete(own);
  out += own;
  return {};
}

std::optional<std::string> invalidity(const Exchange& exchange, std::string_view object,
                                      bool whole) {
  const auto& target = exchange.target();
  if (exchange.mapping().identity() || !target.subresource.empty() ||
      !translate::has_validity(target.group, target.resource)) {
    return std::nullopt;
  }
  const auto tree = JsonTree::parse(object);
  if (!tree) return std::nullopt; // told where it is translated
  const auto faults = translate::faults_of(target.group, target.resource, tree->root(), whole);
  if (faults.empty()) return std::nullopt;
  const auto& resource = exchange.resource();
  return translate::invalid_status(
      resource.kind_group, resource.kind,
      target.name.empty() ? tree->root()["metadata"]["name"].string() : target.name, faults);
}

translate::StatusContext status_context(const Exchange& exchange) {
  translate::StatusContext context;
  context.user = exchange.route().principal().user;
  context.group = exchange.target().group;
  context.resource = exchange.target().resource;
  context.misnamed = exchange.misnamed();
  context.request = {exchange.head().target, exchange.body()};
  if (exchange.target().verb == "list") {
    context.seal_continue = [&exchange](std::string_view token) {
      return seal_upstream_token(exchange, token);
    };
  }
  return context;
}

const translate::Root& root_of(const Exchange& exchange) {
  const auto& resource = exchange.resource();
  if (resource.own_group) return translate::custom_root();
  const auto* root = translate::find_root(resource.kind_group, resource.kind);
  return root == nullptr ? translate::custom_root() : *root;
}

bool is_status(std::string_view body) {
  const auto tree = JsonTree::parse(body);
  return tree && tree->root().is(translate::JsonType::object) &&
         tree->root()["kind"].string() == "Status" && tree->root()["apiVersion"].string() == "v1";
}

/// Also where a list of objects, or a Table, was asked for: what deleting something is answered
/// with. It is small, and pretty or with sorted members where it is about a custom resource.
static bool hints_at_status(std::string_view object) {
  constexpr std::size_t k_most = 8192;
  // Sought without its first quote, of which an object is full.
  return object.size() <= k_most && object.find("Status\"") != std::string_view::npos;
}

Result<void> write_object(Exchange& exchange, const Rendering& rendering, std::string_view object,
                          std::string& out) {
  if (hints_at_status(object) && is_status(object)) {
    out += translate::status_out(exchange.mapping(), status_context(exchange), object, 200);
    return {};
  }
  if (is_table(rendering)) {
    ZOO_TRY(const auto tree, JsonTree::parse(object));
    ListWriter writer(exchange, rendering);
    const auto rows = tree.root()["rows"];
    if (!rows) return fail(Code::internal, "the upstream's Table has no rows");
    const auto one = rows.first();
    if (one && !one.next() && !shows(rendering, one.raw())) return not_found(exchange);
    ZOO_TRY_VOID(writer.begin(object.substr(0, rows.begin() + 1), out));
    for (const auto row : rows.children())
      ZOO_TRY_VOID(writer.item(row.raw(), out));
    return writer.end(object.substr(rows.end() - 1), out);
  }
  if (rendering.shown && !rendering.shown(object)) return not_found(exchange);
  return write_outward(exchange, rendering, object, out);
}

ListWriter::ListWriter(Exchange& exchange, const Rendering& rendering)
    : exchange_(exchange), rendering_(rendering), root_(root_of(exchange)),
      table_(make_table(exchange, rendering)) {}

Result<void> ListWriter::members(std::string_view object, std::string& out) {
  ZOO_TRY(const auto tree, JsonTree::parse(object));
  const auto root = tree.root();
  if (const auto kind = root["kind"]; kind && !kind_written_) {
    kind_written_ = true;
    // ClusterRoleBindings lie upstream as RoleBindings.
    const auto name = rendering_.strips ? R"("PartialObjectMetadataList")"
                      : exchange_.target().is(translate::k_rbac_group, "clusterrolebindings") &&
                              kind.string() == "RoleBindingList"
                          ? "\"ClusterRoleBindingList\""
                          : std::string(kind.raw());
    out += "\"kind\":" + name + ",";
  }
  if (const auto version = root["apiVersion"]; version && !version_written_) {
    version_written_ = true;
    out += "\"apiVersion\":" +
           (rendering_.strips ? R"("meta.k8s.io/v1")"
                              : json_quote(api_version_out(exchange_, version.string()))) +
           ",";
  }
  if (const auto columns = root["columnDefinitions"]) {
    out += "\"columnDefinitions\":";
    out += exchange_.mapping().identity()
               ? std::string(columns.raw())
               : translate::columns_out(exchange_.target().group, exchange_.target().resource,
                                        columns.raw());
    out += ',';
  }
  if (const auto metadata = root["metadata"]) metadata_ = metadata.raw();
  return {};
}

Result<void> ListWriter::begin(std::string_view head, std::string& out) {
  out += '{';
  const auto whole = translate::closed_head(head);
  ZOO_TRY_VOID(members(whole, out));
  if (table_) ZOO_TRY_VOID(table_->set_head(whole));
  out += table_ ? "\"rows\":[" : "\"items\":[";
  array_open_ = true;
  return {};
}

Result<void> ListWriter::item(std::string_view value, std::string& out) {
  if (!shows(rendering_, value)) return {};
  if (!first_) out += ',';
  if (table_) {
    ZOO_TRY_VOID(table_->row(value, out));
  } else {
    ZOO_TRY_VOID(write_outward(exchange_, rendering_, value, out));
  }
  first_ = false;
  return {};
}

std::size_t ListWriter::open_item(std::string_view key, std::string_view rest, std::string& out) {
  if (table_ || rendering_.complete) return 0;
  if (rendering_.shown && (!rendering_.shown_key || !rendering_.shown_key(key))) return 0;
  const auto before = out.size();
  if (!first_) out += ',';
  translate::RewriteContext context{exchange_.mapping(), translate::Direction::outward,
                                    exchange_.target().name_space};
  const auto size = translate::rewrite_open(root_, context, rest, out);
  if (size == 0) {
    out.resize(before);
  } else {
    first_ = false;
  }
  return size;
}

void ListWriter::own_item(std::string_view value, std::string& out) {
  if (!first_) out += ',';
  out += value;
  first_ = false;
}

Result<void> ListWriter::end(std::string_view tail, std::string& out) {
  if (!array_open_) {
    ZOO_TRY_VOID(begin(tail, out));
    close(sealed_metadata(), out);
    return {};
  }
  out += "],";
  ZOO_TRY_VOID(members("{\"_\":[" + std::string(tail), out));
  out.pop_back(); // the comma
  array_open_ = false;
  out += ",\"metadata\":";
  out += metadata_.empty() ? "{}" : sealed_metadata();
  out += "}\n";
  return {};
}

/// Upstream's token is its own key and revision: it leaves sealed (DESIGN 6).
std::string ListWriter::sealed_metadata() const {
  const auto& verb = exchange_.target().verb;
  if (!exchange_.view().shows_own_keys() || (verb != "list" && verb != "deletecollection"))
    return metadata_;
  const auto tree = JsonTree::parse(metadata_);
  if (!tree) return "{}";
  const auto token = tree->root()["continue"];
  translate::JsonEdits edits;
  if (token && !token.string().empty())
    edits.quote(token, seal_upstream_token(exchange_, token.string()));
  // Upstream has counted what is not shown, too.
  const auto remaining = tree->root()["remainingItemCount"];
  if (remaining && rendering_.shown) edits.remove(tree->root(), remaining);
  return edits.apply(metadata_);
}

void ListWriter::end(std::string_view resource_version, std::string_view continue_token,
                     std::string& out) {
  std::string metadata = "{\"resourceVersion\":" + json_quote(resource_version);
  if (!continue_token.empty()) metadata += ",\"continue\":" + json_quote(continue_token);
  metadata += '}';
  close(metadata, out);
}

void ListWriter::close(std::string_view metadata, std::string& out) {
  out += ']';
  // Lists of custom resources say it behind their items, which may not have been read.
  if (!kind_written_) out += ",\"kind\":" + json_quote(exchange_.resource().kind + "List");
  out += ",\"metadata\":";
  out += metadata.empty() ? "{}" : metadata;
  out += "}\n";
}

EventWriter::EventWriter(Exchange& exchange, const Rendering& rendering)
    : exchange_(exchange), rendering_(rendering), table_(make_table(exchange, rendering)) {}

Result<void> EventWriter::event(std::string_view upstream_event, std::string& out) {
  ZOO_TRY(const auto event, translate::parse_event(upstream_event));
  if (event.type == translate::EventType::error) exchange_.ends(audit::Ending::expired);
  const bool object =
      event.type != translate::EventType::bookmark && event.type != translate::EventType::error;
  // A namespace that ceases to be the tenant's loses its label, by which it is watched: what goes
  // was shown.
  const bool gone =
      event.type == translate::EventType::deleted && exchange_.target().is("", "namespaces");
  const bool judged = object && !gone && rendering_.shown;
  if (table_ && event.type != translate::EventType::error) {
    auto type = event.type;
    if (judged) {
      ZOO_TRY(const auto tree, JsonTree::parse(event.object));
      for (const auto row : tree.root()["rows"].children()) {
        const auto held = row["object"].raw();
        if (!rendering_.shown(held)) {
          ZOO_TRY_VOID(columns(tree.root()));
          return left(held, out);
        }
        if (comes_back(type, held)) type = translate::EventType::added;
      }
    }
    const auto told =
        type == event.type ? std::string() : translate::make_event(type, event.object);
    return table_->event(told.empty() ? upstream_event : told, status_context(exchange_), out);
  }
  if (judged && !rendering_.shown(event.object)) return left(event.object, out);
  if (event.type == translate::EventType::bookmark && rendering_.strips) {
    ZOO_TRY(const auto tree, JsonTree::parse(event.object));
    const auto metadata = tree.root()["metadata"];
    out += bookmark(metadata["resourceVersion"].string(),
                    metadata["annotations"]["k8s.io/initial-events-end"].string() == "true");
    return {};
  }
  if (judged && comes_back(event.type, event.object))
    return object_event(translate::EventType::added, event.object, out);
  if (!object || !rendering_.complete) {
    return translate::event_out(root_of(exchange_), exchange_.mapping(), status_context(exchange_),
                                upstream_event, out);
  }
  return object_event(event.type, event.object, out);
}

Result<void> EventWriter::object_event(translate::EventType type, std::string_view object,
                                       std::string& out) {
  std::string own;
  ZOO_TRY_VOID(write_outward(exchange_, rendering_, object, own));
  translate::append_event(out, type, own);
  return {};
}

/// Was it told that this object is gone? Then it is a new one.
bool EventWriter::comes_back(translate::EventType type, std::string_view object) {
  if (left_.empty()) return false;
  const auto key = translate::object_key(object);
  return key && left_.erase(key->text()) != 0 && type != translate::EventType::deleted;
}

/// It has ceased to be the client's: to who saw it, it is gone. What it has become is not told.
Result<void> EventWriter::left(std::string_view object, std::string& out) {
  if (!rendering_.left || !rendering_.left(object, since_)) return {};
  ZOO_TRY(const auto tree, JsonTree::parse(object));
  const auto root = tree.root();
  const auto metadata = root["metadata"];
  ZOO_TRY(const auto key, translate::object_key(object));
  if (left_.size() >= k_most_left) left_.clear();
  if (!left_.insert(key.text()).second) return {};
  std::string kept;
  for (const auto* member : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (const auto value = metadata[member])
      kept += (kept.empty() ? "" : ",") + json_quote(member) + ':' + std::string(value.raw());
  }
  std::string kind;
  for (const auto* member : {"kind", "apiVersion"}) {
    if (const auto value = root[member])
      kind += json_quote(member) + ':' + std::string(value.raw()) + ',';
  }
  return bare(key.name, '{' + kind + "\"metadata\":{" + kept + "}}", out);
}

Result<void> EventWriter::gone(std::string_view name, std::string_view resource_version,
                               std::string& out) {
  const bool partial = rendering_.wanted.representation == Representation::partial;
  const auto version = partial ? std::string("meta.k8s.io/v1") : list_api_version(exchange_);
  const auto& kind = exchange_.resource().kind;
  return bare(
      name,
      fmt::format(
          R"({{"kind":{},"apiVersion":{},"metadata":{{"name":{},"resourceVersion":{}}}}})",
          json_quote(partial ? std::string_view("PartialObjectMetadata") : std::string_view(kind)),
          json_quote(version), json_quote(name), json_quote(resource_version)),
      out);
}

Result<void> EventWriter::bare(std::string_view name, std::string_view object, std::string& out) {
  if (!table_) return object_event(translate::EventType::deleted, object, out);
  const auto table = table_of(table_->bare_row(name, object), "null");
  return table_->event(translate::make_event(translate::EventType::deleted, table),
                       status_context(exchange_), out);
}

std::string EventWriter::bookmark(std::string_view resource_version, bool initial_events_end) {
  const auto version = list_api_version(exchange_);
  const auto& kind = exchange_.resource().kind;
  if (table_) return table_->bookmark(version, kind, resource_version, initial_events_end);
  if (rendering_.strips || rendering_.wanted.representation == Representation::partial)
    return translate::make_bookmark("meta.k8s.io/v1", "PartialObjectMetadata", resource_version,
                                    initial_events_end);
  return translate::make_bookmark(version, kind, resource_version, initial_events_end);
}

Result<void> EventWriter::columns(const translate::JsonNode& table) {
  const auto columns = table["columnDefinitions"];
  if (!columns.is(translate::JsonType::array)) return {};
  return table_->take_columns(columns.raw());
}

Result<void> EventWriter::columns_of(std::string_view table) {
  if (!table_) return {};
  const auto closed = translate::closed_head(table); // the tree looks into it
  ZOO_TRY(const auto tree, JsonTree::parse(closed));
  return columns(tree.root());
}

Result<void> EventWriter::added(std::string_view item, std::string& out) {
  if (!shows(rendering_, item)) return {};
  if (!table_) {
    return event(translate::make_event(translate::EventType::added, with_kind(exchange_, item)),
                 out);
  }
  return event(translate::make_event(translate::EventType::added, table_of(item, "null")), out);
}

void EventWriter::added_own(std::string_view item, std::string& out) {
  if (!table_) return translate::append_event(out, translate::EventType::added, item);
  translate::append_event(out, translate::EventType::added, table_of(item, table_->next_columns()));
}

/// A Table of one row, as apiserver's watch encoder makes it: its version is that of its object,
/// and the columns stand in the first one alone.
std::string EventWriter::table_of(std::string_view row, const std::string& columns) {
  std::string metadata = "{}";
  if (const auto parts = translate::split_row(row)) {
    const auto key = translate::object_key(parts->object);
    if (key && !key->resource_version.empty())
      metadata = "{\"resourceVersion\":" + json_quote(key->resource_version) + "}";
  }
  return R"({"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":)" + metadata +
         ",\"columnDefinitions\":" + columns + ",\"rows\":[" + std::string(row) + "]}";
}

} // namespace zoo::gateway
