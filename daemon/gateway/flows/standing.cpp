// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flows/standing.hpp"

#include "common/base/json_text.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/age.hpp"
#include "daemon/gateway/flows/steps.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/selector.hpp"
#include "daemon/translate/watch_event.hpp"
#include "daemon/upstream/upstream.hpp"

#include <algorithm>
#include <array>

namespace zoo::gateway {
namespace {

using translate::Representation;

constexpr std::array<std::string_view, 2> k_standing{"kube-node-lease", "kube-public"}; // in order
/// Older than everything, as those of a real cluster are, and the same whoever reads them when.
constexpr std::string_view k_version = "1";
constexpr std::string_view k_label_of_name = "kubernetes.io/metadata.name";
constexpr std::string_view k_pod_security = "pod-security.kubernetes.io/enforce";

/// The same for as long as the tenant lives, and no other object's.
std::string uid_of_namespace(const View& view, std::string_view name) {
  return crypto::uuid_v8(view.uid + "/namespaces/" + std::string(name));
}

/// As upstream would write them; `name` with the prefix.
class Writer {
public:
  explicit Writer(const Exchange& exchange) : exchange_(exchange) {}

  std::string item(std::string_view name, Representation as,
                   translate::IncludeObject include) const {
    if (as == Representation::table) return row(name, include);
    if (as == Representation::object) return "{" + body(name) + "}";
    return partial(name);
  }

  std::string whole(std::string_view name, Representation as) const {
    if (as != Representation::object) return partial(name);
    return R"({"kind":"Namespace","apiVersion":"v1",)" + body(name) + "}";
  }

  std::string row(std::string_view name, translate::IncludeObject include) const {
    const auto created = kube::unix_seconds(exchange_.view().created);
    const auto object = include == translate::IncludeObject::object
                            ? whole(name, Representation::object)
                            : partial(name);
    return R"({"cells":[)" + json_quote(name) + R"(,"Active",)" +
           json_quote(kube::age_at(kube::unix_now(), created)) + R"(],"object":)" + object + "}";
  }

private:
  std::string metadata(std::string_view name) const {
    return R"("metadata":{"name":)" + json_quote(name) + R"(,"uid":)" +
           json_quote(uid_of_namespace(exchange_.view(), name)) + R"(,"resourceVersion":)" +
           json_quote(k_version) + R"(,"creationTimestamp":)" +
           json_quote(exchange_.view().created) + R"(,"labels":{)" + json_quote(k_label_of_name) +
           ":" + json_quote(name) + "," + json_quote(k_pod_security) + R"(:"baseline",)" +
           json_quote(translate::k_tenant_label) + ":" + json_quote(exchange_.mapping().id()) +
           "}}";
  }
  std::string body(std::string_view name) const {
    return metadata(name) + R"(,"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"})";
  }
  std::string partial(std::string_view name) const {
    return R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",)" + metadata(name) +
           "}";
  }

  const Exchange& exchange_;
};

/// Do the selectors of a request, in upstream's names, choose the namespace `name`?
class Chosen {
public:
  Chosen(const Exchange& exchange, const translate::Params& params) : exchange_(exchange) {
    if (const auto* text = translate::find_param(params, "fieldSelector")) {
      fields_ = translate::parse_field_selector(*text).value_or(Fields{});
    }
    if (const auto* text = translate::find_param(params, "labelSelector")) {
      labels_ = translate::parse_label_selector(*text).value_or(Labels{});
    }
  }

  bool operator()(std::string_view name) const {
    return std::all_of(fields_.begin(), fields_.end(),
                       [&](const auto& term) {
                         return (field(term.key, name) == term.value) == term.equal;
                       }) &&
           std::all_of(labels_.begin(), labels_.end(), [&](const auto& each) {
             return translate::fulfils(each, label(each.key, name));
           });
  }

  /// Then one that is there is chosen as one that is not.
  bool by_name_alone() const {
    return std::all_of(fields_.begin(), fields_.end(),
                       [](const auto& term) { return term.key == "metadata.name"; }) &&
           std::all_of(labels_.begin(), labels_.end(), [](const auto& each) {
             return each.key == k_label_of_name || each.key == translate::k_tenant_label;
           });
  }

private:
  using Fields = std::vector<translate::FieldTerm>;
  using Labels = std::vector<translate::LabelRequirement>;

  static std::string_view field(std::string_view key, std::string_view name) {
    if (key == "metadata.name") return name;
    return key == "status.phase" ? "Active" : "";
  }

  std::optional<std::string_view> label(std::string_view key, std::string_view name) const {
    if (key == k_label_of_name) return name;
    if (key == k_pod_security) return "baseline";
    if (key == translate::k_tenant_label) return exchange_.mapping().id();
    return std::nullopt;
  }

  const Exchange& exchange_;
  Fields fields_;
  Labels labels_;
};

/// Where selectors leave out one that is there, which of them are there is asked for before.
class StandingList final : public upstream::List, private upstream::ListHandler {
public:
  StandingList(const Exchange& exchange, upstream::ListRequest request, std::string hint,
               upstream::ListHandler& handler)
      : exchange_(exchange), writer_(exchange), handler_(handler), request_(std::move(request)),
        hint_(std::move(hint)), limit_(request_.limit), table_(request_.table) {
    const auto accept = request_.head.headers.get("accept");
    const bool partial = accept.find("as=PartialObjectMetadata") != std::string_view::npos;
    as_ = table_    ? Representation::table
          : partial ? Representation::partial
                    : Representation::object;
    const auto* include = translate::find_param(request_.params, "includeObject");
    if (include != nullptr && *include == "Object") include_ = translate::IncludeObject::object;
    const Chosen chosen(exchange, request_.params);
    for (const auto name : k_standing) {
      auto key = exchange.mapping().name_in(name);
      const bool here = request_.range.contains(key) && key >= request_.range.start;
      if (here && chosen(key)) waiting_.push_back(std::move(key));
    }
    looks_ = !waiting_.empty() && !chosen.by_name_alone();
    read(looks_ ? names() : std::move(request_));
  }

  void pause() override {
    paused_ = true;
    list_->pause();
  }
  void resume() override {
    paused_ = false;
    list_->resume();
  }

private:
  /// All of the range from the first of them on, at the version of the list. With a label upstream
  /// would look for more of the tenant's through everybody's, to fill a page.
  upstream::ListRequest names() const {
    auto out = request_;
    out.head.headers.set("Accept", translate::k_partial_list_accept);
    out.params.clear();
    if (!exchange_.upstream().range_reads()) {
      out.params = {{"labelSelector",
                     std::string(translate::k_tenant_label) + "=" + exchange_.mapping().id()}};
    }
    out.range.start = waiting_.front();
    out.table = false;
    out.limit = 0;
    out.counts = out.shows = nullptr;
    out.patience = nullptr; // nothing is handed on yet
    out.heard = upstream::of_refusals(request_.heard);
    return out;
  }

  void read(upstream::ListRequest request) {
    retired_ = std::move(list_);
    list_ = upstream::list_range(exchange_.upstream(),
                                 exchange_.upstream().caller(exchange_.gateway().loop()),
                                 std::move(request), looks_ ? hint_ + "#there" : hint_, *this);
    if (paused_) list_->pause();
  }

  void on_list_begin(std::string_view head) override {
    if (looks_) return;
    if (head.ends_with('[') || waiting_.empty()) return handler_.on_list_begin(head);
    const auto tree = translate::JsonTree::parse(head);
    if (!tree) return handler_.on_list_begin(head);
    // No rows at all is written `"rows":null`: some are to come.
    const auto rows = tree->root()[table_ ? "rows" : "items"];
    if (!rows) return handler_.on_list_begin(head);
    handler_.on_list_begin(std::string(head.substr(0, rows.begin())) + "[");
  }

  void on_list_item(std::string_view key, std::string_view item) override {
    if (looks_) {
      std::erase(waiting_, key);
      return;
    }
    while (!waiting_.empty() && waiting_.front() < key)
      deliver_waiting();
    if (!waiting_.empty() && waiting_.front() == key) waiting_.erase(waiting_.begin());
    if (full()) {
      stop_at(key);
      return;
    }
    if (cut_) return;
    ++delivered_;
    handler_.on_list_item(key, item);
  }

  void on_list_end(const upstream::ListEnd& end) override {
    if (std::exchange(looks_, false)) {
      const auto revision = upstream::revision_of(end.resource_version);
      if (!revision) return handler_.on_list_error(revision.error(), 0, {});
      request_.revision = *revision;
      return read(std::move(request_));
    }
    auto mine = end;
    if (!mine.next_start) {
      while (!waiting_.empty() && !cut_)
        deliver_waiting();
    }
    if (cut_) mine.next_start = cut_;
    handler_.on_list_end(mine);
  }

  void on_list_error(const Error& error, int http_status, std::string_view body) override {
    handler_.on_list_error(error, http_status, body);
  }

  bool full() const { return limit_ != 0 && delivered_ == limit_; }

  void stop_at(std::string_view key) {
    if (!cut_) cut_ = std::string(key);
  }

  void deliver_waiting() {
    const auto key = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
    if (full()) stop_at(key);
    if (cut_) return;
    ++delivered_;
    handler_.on_list_item(key, writer_.item(key, as_, include_));
  }

  const Exchange& exchange_;
  Writer writer_;
  upstream::ListHandler& handler_;
  upstream::ListRequest request_;
  std::string hint_;
  bool looks_ = false, paused_ = false;
  std::vector<std::string> waiting_; ///< not seen yet, in key order, with the prefix
  std::optional<std::string> cut_;   ///< the limit was reached before this key
  std::size_t limit_;
  std::size_t delivered_ = 0;
  bool table_;
  Representation as_;
  translate::IncludeObject include_ = translate::IncludeObject::metadata;
  std::unique_ptr<upstream::List> retired_, list_; // last: cancelled first
};

class GetStanding final : public Steps {
public:
  GetStanding(Exchange& exchange, Outgoing request, Rendering rendering)
      : Steps(exchange), request_(std::move(request)), rendering_(std::move(rendering)) {}

  void start() override {
    ask(
        request_,
        [this](const upstream::Answer& answer) {
          if (answer.ok()) return reply(answer.body);
          if (answer.head.status != 404) return refuse(answer);
          appear();
        },
        rendering_.wanted.upstream_accept);
  }

private:
  void appear() {
    const auto slash = request_.path.rfind('/');
    const auto name = request_.path.substr(slash + 1);
    const auto as = rendering_.wanted.representation;
    if (as != Representation::table) return reply(Writer(exchange_).whole(name, as));
    // A list of this one name: none is in it, but the columns are.
    auto listing = request_;
    listing.path.resize(slash);
    translate::set_param(listing.params, "fieldSelector", "metadata.name=" + name);
    ask(
        listing,
        [this, name](const upstream::Answer& answer) {
          if (!answer.ok()) return refuse(answer);
          const auto tree = translate::JsonTree::parse(answer.body);
          if (!tree) return exchange_.fail(tree.error());
          translate::JsonEdits edits;
          const auto* include = translate::find_param(request_.params, "includeObject");
          const auto object = include != nullptr && *include == "Object"
                                  ? translate::IncludeObject::object
                                  : translate::IncludeObject::metadata;
          edits.replace(tree->root()["rows"], "[" + Writer(exchange_).row(name, object) + "]");
          reply(edits.apply(answer.body));
        },
        rendering_.wanted.upstream_accept);
  }

  void reply(std::string_view body) {
    std::string out;
    if (auto written = write_object(exchange_, rendering_, body, out); !written) {
      return exchange_.fail(written.error());
    }
    exchange_.send_head(list_head(rendering_));
    exchange_.send(out);
    exchange_.finish();
  }

  Outgoing request_;
  Rendering rendering_;
};

} // namespace

bool is_standing(std::string_view name) {
  return std::find(k_standing.begin(), k_standing.end(), name) != k_standing.end();
}

bool is_standing_upstream(const Exchange& exchange, std::string_view upstream_name) {
  if (!exchange.view().serves(Local::namespaces)) return false;
  const auto name = exchange.mapping().name_out(upstream_name);
  return name && is_standing(*name);
}

std::unique_ptr<upstream::List> read_with_standing(const Exchange& exchange,
                                                   upstream::ListRequest request, std::string hint,
                                                   upstream::ListHandler& handler) {
  return std::make_unique<StandingList>(exchange, std::move(request), std::move(hint), handler);
}

std::unique_ptr<Flow> get_standing(Exchange& exchange, Outgoing request, Rendering rendering) {
  return std::make_unique<GetStanding>(exchange, std::move(request), std::move(rendering));
}

} // namespace zoo::gateway
