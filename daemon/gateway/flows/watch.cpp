// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flows/flows.hpp"
#include "daemon/gateway/flows/pod_nodes.hpp"
#include "daemon/gateway/flows/virtual.hpp"
#include "daemon/gateway/scope.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/framer.hpp"
#include "daemon/translate/watch_event.hpp"
#include "daemon/upstream/upstream.hpp"
#include "daemon/upstream/watch_source.hpp"

#include <chrono>
#include <map>

namespace zoo::gateway {
namespace {

std::string api_version(const Exchange& exchange, const std::string& group) {
  const auto& version = exchange.target().version;
  return group.empty() ? version : group + "/" + version;
}

upstream::WatchRequest watch_request(const Exchange& exchange, const ListPlan& plan) {
  const auto& target = exchange.target();
  const auto& mapping = exchange.mapping();
  const auto* facts = exchange.resource().facts;
  const bool bindings = facts != nullptr && !mapping.identity() &&
                        facts->names == translate::NameRule::cluster_role_binding;
  upstream::WatchRequest request;
  request.head = upstream_request(exchange, plan.actor, "GET", plan.path);
  request.head.headers.remove("content-type");
  request.head.headers.set("Accept", plan.rendering.wanted.upstream_accept);
  request.params = plan.params;
  // One event a line, whatever upstream thinks of the client's name.
  translate::set_param(request.params, "pretty", "false");
  request.bookmarks = target.list.allow_watch_bookmarks;
  request.timeout_seconds = target.list.timeout_seconds;
  // Where everybody's changes come the filter tells them apart.
  request.ranges = plan.watched.empty() ? plan.ranges : plan.watched;
  if (facts != nullptr && exchange.view().shows_own_keys() &&
      facts->names == translate::NameRule::crd)
    request.shows = [&mapping](std::string_view key) {
      return mapping.crd_name_out(key).has_value();
    };
  if (exchange.own_spaces())
    request.shows = [own = *exchange.own_spaces()](std::string_view key) {
      return own.contain(key);
    };
  request.all_namespaces = plan.all_namespaces;
  request.table = plan.rendering.wanted.representation == translate::Representation::table;
  request.kind = bindings ? "RoleBinding" : exchange.resource().kind;
  request.api_version = api_version(exchange, mapping.group_in(target.group));
  request.owner = exchange.route().principal().id;
  request.owned_kind = exchange.resource().own_group;
  return request;
}

class Watch final : public Flow, private upstream::ListHandler, private upstream::WatchHandler {
public:
  Watch(Exchange& exchange, ListPlan plan)
      : exchange_(exchange), plan_(std::move(plan)), writer_(exchange, plan_.rendering),
        timer_(exchange.gateway().loop()), owners_(exchange.gateway().loop()) {
    const auto request = watch_request(exchange, plan_);
    shows_ = request.shows;
    if (upstream::keeps_keys(request))
      keys_ = upstream::watch_keys(exchange.upstream(), exchange.gateway().loop(),
                                   exchange.route().principal().id);
    if (names_nodes(exchange.target()) && exchange.gateway().shared().nodes == Nodes::own &&
        exchange.view().shows_own_keys()) {
      follow_nodes();
    }
    if (plan_.beside)
      beside_ =
          std::make_unique<BesideEvents>(exchange, plan_.beside, [this] { pump_beside(true); });
  }

  void start() override {
    if (beside_) {
      if (auto started = beside_->start(); !started) return exchange_.fail(started.error());
    }
    if (!pod_nodes_) return begin();
    const auto& options = exchange_.target().list;
    const auto asked = upstream::revision_of(options.resource_version);
    pod_nodes_->start(options.begins_with_state() || !asked ? -1 : *asked);
  }

  void begin() {
    const auto& options = exchange_.target().list;
    // sendInitialEvents=false wants no state even from ''; the stream then begins at now.
    // A version that only the platform's own objects carry says nothing of upstream's.
    const bool own = !plan_.own.empty() && options.resource_version == k_own_version;
    if (own || options.begins_with_state()) return begin_state();
    if (options.resource_version.empty() || options.resource_version == "0") return find_now();
    watch_from(options.resource_version, false);
  }

  void recheck() override {
    auto& own = exchange_.own_spaces();
    if (!own || !own_spaces_changed(exchange_, *own)) return;
    begin_answer();
    end_expired(k_spaces_changed);
  }

  void leave() override {
    leaving_ = true;
    if (watching_) end_here(); // else once it has begun: what it begins with is told whole
  }

  void on_drained() override {
    pump_beside(true);
    if (exchange_.done()) return;
    if (list_) list_->resume();
    if (watch_) watch_->resume();
  }

private:
  /// Where a tenant sees its own nodes alone, these are the ones that carry its pods at each
  /// moment.
  void follow_nodes() {
    pod_nodes_ = std::make_unique<PodNodes>(
        exchange_, PodNodes::Hears{[this] {
                                     for (const auto& [name, pods] : pod_nodes_->nodes())
                                       seen_nodes_[name] = 0;
                                     begin();
                                   },
                                   [this] { tell_nodes(); },
                                   [this](const Error& error) {
                                     exchange_.later([this, error] {
                                       if (!exchange_.head_sent()) return exchange_.fail(error);
                                       end_expired(error.message());
                                     });
                                   }});
    plan_.rendering.shown_key = nullptr;
    plan_.rendering.shown = [this](std::string_view object) {
      const auto key = translate::object_key(object);
      if (!key) return false;
      const auto seen = seen_nodes_.find(key->name);
      if (seen == seen_nodes_.end()) return false;
      const auto version = upstream::revision_of(key->resource_version);
      return !version || *version > seen->second; // else it was told already
    };
  }

  /// What has come or gone among the tenant's nodes since the last look.
  void tell_nodes() {
    if (!watching_ || exchange_.done() || node_look_) return;
    const auto& carrying = pod_nodes_->nodes();
    for (auto seen = seen_nodes_.begin(); seen != seen_nodes_.end();) {
      if (carrying.contains(seen->first)) {
        ++seen;
        continue;
      }
      if (auto told = writer_.gone(seen->first, pod_nodes_->version(), out_); !told)
        return exchange_.abort(told.error());
      seen = seen_nodes_.erase(seen);
    }
    flush();
    if (exchange_.done()) return;
    for (const auto& [name, pods] : carrying) {
      if (seen_nodes_.contains(name)) continue;
      node_look_ = std::make_unique<NodeLook>(*this, name);
      return;
    }
  }

  /// Reads one node that the client has not seen yet, if it is one that the client asks for.
  class NodeLook final : public upstream::ListHandler {
  public:
    NodeLook(Watch& watch, std::string name) : watch_(watch), name_(std::move(name)) {
      list_ = read_range(watch.exchange_, watch.plan_, watch.state_request({name_, {}, true}),
                         "#node", *this);
    }

  private:
    void on_list_begin(std::string_view head) override {
      if (!watch_.exchange_.done()) watch_.on_watch_columns(head);
    }
    void on_list_item(std::string_view, std::string_view item) override {
      if (watch_.exchange_.done()) return;
      watch_.seen_nodes_[name_] = 0;
      if (auto written = watch_.writer_.added(item, watch_.out_); !written)
        return watch_.exchange_.abort(written.error());
    }
    void on_list_end(const upstream::ListEnd& end) override {
      if (watch_.exchange_.done()) return;
      // What the stream still has to tell of it up to here is known.
      watch_.seen_nodes_[name_] = upstream::revision_of(end.resource_version).value_or(0);
      go_on();
    }
    void on_list_error(const Error& error, int, std::string_view) override {
      if (watch_.exchange_.done()) return;
      watch_.exchange_.later([&watch = watch_, error] { watch.end_expired(error.message()); });
    }
    void go_on() {
      watch_.flush();
      if (watch_.exchange_.done()) return;
      watch_.exchange_.later([&watch = watch_] {
        watch.node_look_.reset();
        watch.tell_nodes();
      });
    }

    Watch& watch_;
    const std::string name_;
    std::unique_ptr<upstream::List> list_;
  };

  void begin_state() {
    at_ = 0;
    if (beside_ && !beside_->knows(plan_.revision)) read_whole(plan_);
    revision_ = plan_.revision;
    next_range();
  }

  upstream::ListRequest state_request(const upstream::KeyRange& range) const {
    auto request = list_request(exchange_, plan_);
    request.patience = std::make_shared<upstream::ListPatience>(exchange_.gateway().loop());
    request.range = range;
    // A list of metadata is another kind than one object's.
    if (plan_.rendering.wanted.representation == translate::Representation::partial) {
      request.head.headers.set("Accept", translate::k_partial_list_accept);
    }
    return request;
  }

  void next_range() {
    auto request = state_request(plan_.ranges[at_]);
    request.revision = revision_;
    // One event a line, whatever upstream thinks of the client's name.
    translate::set_param(request.params, "pretty", "false");
    retired_list_ = std::move(list_);
    list_ = read_range(exchange_, plan_, std::move(request), "#" + std::to_string(at_), *this);
  }

  /// The current resourceVersion, by a list that reads one object at most.
  void find_now() {
    only_revision_ = true;
    auto request = state_request(plan_.ranges.front());
    request.limit = 1;
    list_ = read_range(exchange_, plan_, std::move(request), "#now", *this);
  }

  // upstream::ListHandler
  void on_list_begin(std::string_view head) override {
    if (only_revision_ || refuse_future(exchange_, head)) return;
    on_watch_columns(head);
  }

  void on_list_item(std::string_view key, std::string_view item) override {
    if (exchange_.done() || only_revision_) return;
    if (keys_ && (!shows_ || shows_(key))) keys_->add(key);
    begin_answer();
    if (auto written = writer_.added(item, out_); !written) return exchange_.abort(written.error());
    if (out_.size() >= k_flush) flush();
  }

  void on_list_end(const upstream::ListEnd& end) override {
    if (exchange_.done()) return;
    if (revision_ == -1) {
      const auto revision = upstream::revision_of(end.resource_version);
      if (!revision) return exchange_.abort(revision.error());
      revision_ = *revision;
    }
    if (!only_revision_ && ++at_ < plan_.ranges.size()) {
      return exchange_.later([this] { next_range(); });
    }
    if (beside_ && !only_revision_)
      return when_settled(exchange_, *plan_.beside, timer_, [this] { listed(); });
    listed();
  }

  /// The state is complete but for what zood has of it.
  void listed() {
    begin_answer();
    if (beside_ && !only_revision_) {
      if (auto told = beside_->state(revision_, out_); !told) return exchange_.abort(told.error());
    }
    if (!only_revision_) {
      for (const auto& each : plan_.own)
        writer_.added_own(own_item(plan_.rendering, each), out_);
    }
    const auto version = std::to_string(revision_);
    own_spaces_listed(exchange_, revision_);
    if (!only_revision_ && exchange_.target().list.marks_initial_events()) {
      out_ += writer_.bookmark(version, true);
    }
    flush();
    if (exchange_.done()) return;
    if (!plan_.watched.empty()) std::vector<upstream::KeyRange>().swap(plan_.ranges);
    exchange_.later([this] { // its last object may have been large; this is a callback of its own
      retired_list_.reset();
      list_.reset();
    });
    watch_from(version, true);
  }

  void on_list_error(const Error& error, int http_status, std::string_view body) override {
    if (exchange_.done()) return;
    if (http_status == 0 || exchange_.head_sent()) return exchange_.abort(error);
    if (http_status == k_gone && read_whole(plan_))
      return exchange_.later([this] { begin_state(); });
    refused(http_status, body);
  }

  /// `trusted`: a list has just said this version.
  void watch_from(const std::string& version, bool trusted) {
    if (beside_) {
      const auto revision = upstream::revision_of(version);
      if (!revision) return exchange_.fail(revision.error());
      beside_->from(*revision);
    }
    writer_.goes_on_from(upstream::revision_of(version).value_or(0));
    auto request = watch_request(exchange_, plan_);
    request.resource_version = version;
    request.trusted_version = trusted;
    request.heard = [this](const http::ResponseHead& head) { exchange_.heard(head); };
    if (trusted && !only_revision_ && keys_) request.keys = keys_->take();
    keys_.reset();
    watch_ = upstream::subscribe(exchange_.upstream(), exchange_.gateway().loop(),
                                 std::move(request), *this);
    if (!exchange_.writable()) watch_->pause();
  }

  // upstream::WatchHandler
  bool take_room(std::size_t bytes) override {
    without_room_ = !exchange_.take_room(out_.size() + bytes);
    return !without_room_;
  }

  void on_watch_begin() override {
    begin_answer();
    watching_ = true;
    pump_beside(false);
    if (!exchange_.done()) flush();
    if (pod_nodes_) tell_nodes();
    if (leaving_) exchange_.later([this] { end_here(); });
  }

  /// In order, where it stands: its client goes on from there with another zood.
  void end_here() {
    if (exchange_.done()) return;
    if (const auto at = watch_->position()) on_watch_bookmark(*at);
    on_watch_end({});
  }

  /// What zood keeps comes as soon as it is known: upstream's own events are milliseconds behind
  /// their writes too. With a client that is slow both wait.
  void pump_beside(bool flushes) {
    if (!beside_ || !watching_) return;
    while (!exchange_.done() && exchange_.writable() && !without_room_) {
      const auto told = beside_->pump(out_);
      if (!told) return end_expired(told.error().message());
      if (*told) break;
      flush();
    }
    if (flushes && !exchange_.done()) flush();
  }

  /// What the platform has begun to share since came before anybody knew that it is: the client has
  /// to list again.
  bool others_are_shared() {
    const auto* facts = exchange_.resource().facts;
    if (facts == nullptr || !facts->overlay || !exchange_.view().shows_own_keys()) return false;
    const auto kind = static_cast<std::size_t>(*facts->overlay);
    const auto shared = exchange_.upstream().shared_names();
    const auto& before = exchange_.mapping().shared();
    if (shared.get() == &before || shared->classes[kind] == before.classes[kind]) return false;
    end_expired("what the platform shares has changed; list again");
    return true;
  }

  void end_expired(std::string_view why) {
    out_ += translate::make_error_event(translate::make_status(Code::expired, why));
    exchange_.ends(audit::Ending::expired);
    flush();
    exchange_.finish();
  }

  /// A bookmark says that nothing up to it is still to come: is that so of what zood keeps?
  bool beside_told() {
    if (!beside_) return true;
    const bool settled = beside_->settled(); // a write that begins later comes behind the bookmark
    pump_beside(false);
    if (exchange_.done()) return false;
    if (settled && exchange_.writable() && !without_room_) return true; // and all was pumped
    flush();
    return false;
  }

  /// An event about which is not known yet whether it is to be shown waits until it is, and with it
  /// all bookmarks: who goes on from one would never hear of it. True: this one waits.
  bool wait_for_owner(const translate::Event& event, std::string_view text) {
    if (!plan_.rendering.decided) return false;
    const bool table = plan_.rendering.wanted.representation == translate::Representation::table;
    auto object = event.object;
    const auto tree = translate::JsonTree::parse(object);
    if (!tree) return false;
    if (table) object = tree->root()["rows"].at(0)["object"].raw();
    const auto key = translate::object_key(object);
    if (!key) return false;
    const bool waited = waiting_.erase(key->name) != 0; // what is newer comes in its place
    if (event.type == translate::EventType::deleted && waited) return true; // it was never shown
    if (plan_.rendering.decided(object)) return false;
    if (waiting_.size() >= k_most_waiting) {
      end_expired("too many objects have come whose owners are not known yet; list again");
      return true;
    }
    waiting_.emplace(key->name, Waiting{std::string(object), std::string(text)});
    look_for_owners();
    return true;
  }

  /// Something is still to be told of what has happened: no bookmark passes it by.
  bool something_waits() const { return !waiting_.empty() || node_look_ != nullptr; }

  void look_for_owners() {
    constexpr std::chrono::milliseconds k_look{20};
    owners_.start(k_look, [this] {
      if (exchange_.done()) return;
      for (auto each = waiting_.begin(); each != waiting_.end();) {
        if (!plan_.rendering.decided(each->second.object)) {
          ++each;
          continue;
        }
        const auto event = std::move(each->second.event);
        each = waiting_.erase(each);
        if (auto written = writer_.event(event, out_); !written)
          return exchange_.abort(written.error());
      }
      flush();
      if (!exchange_.done() && !waiting_.empty()) look_for_owners();
    });
  }

  void on_watch_event(std::string_view event) override {
    if (exchange_.done() || others_are_shared()) return;
    if (beside_) {
      const auto parsed = translate::parse_event(event);
      const bool mark = parsed && parsed->type == translate::EventType::bookmark;
      if (mark && (something_waits() || !beside_told())) return;
      if (parsed && !mark && parsed->type != translate::EventType::error &&
          wait_for_owner(*parsed, event))
        return;
    }
    if (auto written = writer_.event(event, out_); !written) {
      return exchange_.abort(written.error());
    }
    flush();
    pump_beside(true); // which may have waited for it
  }

  void on_watch_columns(std::string_view table) override {
    if (exchange_.done()) return;
    if (auto taken = writer_.columns_of(table); !taken) return exchange_.abort(taken.error());
  }

  void on_watch_bookmark(std::string_view version) override {
    if (exchange_.done() || others_are_shared()) return;
    if (something_waits() || !beside_told()) return;
    out_ += writer_.bookmark(version, false);
    flush();
  }

  void on_watch_end(const upstream::WatchEnd& end) override {
    if (exchange_.done()) return;
    if (!exchange_.head_sent()) {
      if (end.http_status != 0) return refused(end.http_status, end.body);
      if (end.error) return exchange_.fail(*end.error);
    }
    begin_answer();
    flush();
    if (exchange_.done()) return;
    // A watch may end at any time; the client resumes from its last resourceVersion.
    if (end.unread) return exchange_.end_unread();
    exchange_.finish();
  }

  void refused(int http_status, std::string_view body) {
    const auto& name = exchange_.target().name_space;
    // The namespace may not be there yet, which is no reason not to watch it, or be without its
    // fence.
    if (plan_.actor.is_client() && !name.empty() &&
        refuses_our_user(exchange_, http_status, body) && exchange_.first_recheck()) {
      auto again = [exchange = &exchange_, plan = plan_](Actor actor) -> std::unique_ptr<Flow> {
        auto repeated = plan;
        repeated.actor = actor;
        return watch(*exchange, std::move(repeated));
      };
      return exchange_.run(recheck_namespace(exchange_, exchange_.mapping().name_in(name),
                                             std::string(body), std::move(again)));
    }
    exchange_.send_refusal(http_status, body);
  }

  void begin_answer() {
    if (!exchange_.head_sent()) exchange_.send_head(list_head(plan_.rendering));
  }

  void flush() {
    if (watching_) {
      exchange_.send_events(std::move(out_));
    } else if (!out_.empty()) {
      exchange_.send(std::move(out_));
    }
    // One large event, and thousands of watches would keep its room.
    if (out_.capacity() > k_flush) std::string().swap(out_);
    out_.clear();
    if (exchange_.writable()) return;
    if (list_) list_->pause();
    if (watch_) watch_->pause();
  }

  static constexpr std::size_t k_flush = 16 * 1024;
  static constexpr int k_gone = 410;
  Exchange& exchange_;
  ListPlan plan_;
  EventWriter writer_;
  std::string out_;
  std::size_t at_ = 0;
  std::int64_t revision_ = -1;
  bool only_revision_ = false;
  std::function<bool(std::string_view key)> shows_; ///< WatchRequest::shows
  std::unique_ptr<upstream::WatchKeys> keys_;       ///< of what the list shows; null: nobody asks
  bool watching_ = false, without_room_ = false;    ///< an event of upstream's waits
  bool leaving_ = false;                            ///< it ends as soon as it has begun
  std::unique_ptr<BesideEvents> beside_;            ///< null: not a mixed kind
  /// Events of attachments whose volumes are not known yet, by name; more end the watch.
  static constexpr std::size_t k_most_waiting = 256;
  struct Waiting {
    std::string object, event;
  };
  std::map<std::string, Waiting> waiting_;
  net::Timer timer_, owners_;
  std::unique_ptr<PodNodes> pod_nodes_; ///< null: the client sees all nodes, or none
  /// Nodes that the client has seen, and the version up to which their changes were told.
  std::map<std::string, std::int64_t, std::less<>> seen_nodes_;
  std::unique_ptr<NodeLook> node_look_; ///< null: none is being read
  std::unique_ptr<upstream::List> retired_list_, list_;
  std::unique_ptr<upstream::WatchSubscription> watch_;
};

} // namespace

bool can_share_watch(const Exchange& exchange, const ListPlan& plan) {
  return upstream::shareable(watch_request(exchange, plan));
}

std::unique_ptr<Flow> watch(Exchange& exchange, ListPlan plan) {
  return std::make_unique<Watch>(exchange, std::move(plan));
}

} // namespace zoo::gateway
