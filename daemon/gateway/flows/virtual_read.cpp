// SPDX-License-Identifier: Apache-2.0
#include "common/base/json_text.hpp"
#include "common/kube/age.hpp"
#include "daemon/gateway/continue_token.hpp"
#include "daemon/gateway/flows/flows.hpp"
#include "daemon/gateway/flows/virtual.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/status_text.hpp"
#include "daemon/virtuals/defaults.hpp"

namespace zoo::gateway {
namespace {

using translate::Representation;
using virtuals::Shape;

/// What the tenant is served, by its own discovery.
virtuals::ServedGroups served_groups(const Exchange& exchange) {
  virtuals::ServedGroups out{{"", "v1"}};
  const auto text = exchange.resource().catalog->group_list(exchange.view().viewer());
  const auto tree = translate::JsonTree::parse(text);
  if (!tree) return out;
  for (const auto group : tree->root()["groups"].children())
    for (const auto version : group["versions"].children())
      out.emplace_back(group["name"].string(), version["version"].string());
  return out;
}

/// get and list.
class Read final : public Flow {
public:
  Read(Exchange& exchange, VirtualTarget target)
      : exchange_(exchange), target_(std::move(target)) {}

  void start() override {
    auto body = exchange_.target().verb == "get" ? one() : all();
    if (exchange_.done()) return;
    if (!body) return exchange_.fail(body.error());
    http::ResponseHead head{200, {}};
    head.headers.add("content-type", target_.wanted.content_type);
    head.headers.add("cache-control", "no-cache, private");
    head.headers.add("content-length", std::to_string(body->size()));
    exchange_.send_head(std::move(head));
    exchange_.send(*body);
    exchange_.finish();
  }

private:
  const virtuals::Board& board() const { return *exchange_.gateway().shared().board; }

  Result<std::string> one() {
    const auto& name = exchange_.target().name;
    const auto objects =
        with_provided(target_, board().read(target_.owner, *target_.kind).set->objects);
    const auto found = objects.find(name);
    if (found == objects.end())
      return fail(Code::not_found, "{} {} not found", target_.kind->title(), json_quote(name));
    return render_one(target_, *found->second, true);
  }

  Result<std::string> all() {
    const auto& options = exchange_.target().list;
    ZOO_TRY(const auto selection, virtuals::Selection::parse(*target_.kind, options.label_selector,
                                                             options.field_selector));
    const auto reading = board().read(target_.owner, *target_.kind);
    auto revision = reading.revision;
    std::string start;
    const auto asked =
        options.resource_version.empty() ? std::int64_t{0} : std::stoll(options.resource_version);
    if (!options.continue_token.empty()) {
      ZOO_TRY(const auto position, open_continue(exchange_, options.continue_token));
      if (position.revision > 0) revision = position.revision;
      start = position.start;
    } else if (asked > reading.revision) {
      refuse_too_large(exchange_, asked, reading.revision);
      return std::string();
    } else if (options.match == translate::VersionMatch::exact) {
      revision = asked;
    }
    auto state = reading.set->at(revision);
    if (!state) {
      return fail(Code::expired, "The provided resource version is too old: {} ({})", revision,
                  reading.set->floor);
    }
    const auto objects = with_provided(target_, *std::move(state));
    std::vector<virtuals::ObjectPtr> shown;
    std::string token;
    std::size_t remaining = 0;
    for (auto each = objects.lower_bound(start); each != objects.end(); ++each) {
      if (!selection.matches(*each->second)) continue;
      if (options.limit > 0 && shown.size() == static_cast<std::size_t>(options.limit)) {
        if (remaining++ == 0) {
          token = seal_continue(exchange_, revision, shown.back()->name + '\0');
        }
        continue;
      }
      shown.push_back(each->second);
    }
    return render_list(target_, shown, std::to_string(revision), token,
                       selection.empty() ? remaining : 0);
  }

  Exchange& exchange_;
  VirtualTarget target_;
};

} // namespace

Shape VirtualTarget::shape() const {
  switch (wanted.representation) {
  case Representation::partial:
  case Representation::partial_list:
    return Shape::partial;
  case Representation::table:
    return wanted.include == translate::IncludeObject::none     ? Shape::table_none
           : wanted.include == translate::IncludeObject::object ? Shape::table_object
                                                                : Shape::table_metadata;
  case Representation::object:
  case Representation::aggregated:
    break;
  }
  return Shape::object;
}

virtuals::Set::Objects with_provided(const VirtualTarget& target, virtuals::Set::Objects objects) {
  for (const auto& each : target.provided)
    objects.insert_or_assign(each->name, each);
  return objects;
}

namespace {

void begin_table(const VirtualTarget& target, bool columns, std::string_view metadata,
                 std::string& out) {
  out += R"({"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{)";
  out += metadata;
  out += "},";
  out += "\"columnDefinitions\":";
  out += columns ? target.kind->columns : "null"; // once, as apiserver's watches have it
  out += ',';
  out += "\"rows\":[";
}

} // namespace

std::string render_one(const VirtualTarget& target, const virtuals::Object& object, bool columns) {
  std::string out;
  if (target.table()) {
    const auto version = object.revision == 0
                             ? std::string()
                             : fmt::format("\"resourceVersion\":\"{}\"", object.revision);
    begin_table(target, columns, version, out);
  }
  virtuals::write_object(object, target.shape(), kube::unix_now(), out);
  if (target.table()) out += "]}";
  return out;
}

std::string render_list(const VirtualTarget& target,
                        const std::vector<virtuals::ObjectPtr>& objects, const std::string& version,
                        const std::string& continue_token, std::size_t remaining) {
  auto metadata = "\"resourceVersion\":" + json_quote(version);
  if (!continue_token.empty()) metadata += ",\"continue\":" + json_quote(continue_token);
  if (remaining > 0) metadata += fmt::format(",\"remainingItemCount\":{}", remaining);
  std::string out;
  const auto shape = target.shape();
  if (target.table()) {
    begin_table(target, true, metadata, out);
  } else if (shape == Shape::partial) {
    out = R"({"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{)" +
          metadata + "},\"items\":[";
  } else {
    out = fmt::format(R"({{"kind":"{}List","apiVersion":"{}","metadata":{{{}}},"items":[)",
                      target.kind->kind, target.kind->api_version(), metadata);
  }
  const auto time = kube::unix_now();
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (i > 0) out += ',';
    virtuals::write_object(*objects[i], shape, time, out);
  }
  return out + "]}\n";
}

std::unique_ptr<Flow> virtual_read(Exchange& exchange, VirtualTarget target) {
  return std::make_unique<Read>(exchange, std::move(target));
}

Result<std::unique_ptr<Flow>> virtual_kind(Exchange& exchange) {
  const auto& asked = exchange.target();
  const auto& shared = exchange.gateway().shared();
  VirtualTarget target;
  target.kind = virtuals::find_kind(asked.group, asked.resource);
  if (target.kind == nullptr || asked.version != target.kind->version || shared.board == nullptr)
    return translate::no_resource();
  target.owner = {exchange.mapping().id(), exchange.view().uid};
  target.provided = virtuals::provided(*target.kind, target.owner, exchange.view().created,
                                       asked.resource == "apiservices" ? served_groups(exchange)
                                                                       : virtuals::ServedGroups{});
  const auto* include = translate::find_param(asked.params, "includeObject");
  ZOO_TRY(target.wanted,
          translate::choose_accept(exchange.head().headers.get("accept"),
                                   include == nullptr ? std::string_view() : *include));
  ZOO_TRY_VOID(exchange.answer_as(target.wanted, asked.verb == "watch"));
  if (asked.verb == "get" || asked.verb == "list") return virtual_read(exchange, std::move(target));
  if (asked.verb == "watch") return virtual_watch(exchange, std::move(target));
  return virtual_write(exchange, std::move(target));
}

} // namespace zoo::gateway
