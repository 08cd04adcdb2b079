// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/digest.hpp"
#include "common/kube/status.hpp"
#include "daemon/gateway/continue_token.hpp"
#include "daemon/gateway/flows/flows.hpp"
#include "daemon/gateway/flows/standing.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/status_text.hpp"
#include "daemon/translate/watch_event.hpp"
#include "daemon/upstream/upstream.hpp"

#include <algorithm>

namespace zoo::gateway {
namespace {

/// One range, streamed.
class RangeFlow final : public Flow, private upstream::ListHandler {
public:
  RangeFlow(Exchange& exchange, ListPlan plan)
      : exchange_(exchange), plan_(std::move(plan)), writer_(exchange, plan_.rendering) {}

  void start() override {
    const auto& options = exchange_.target().list;
    auto request = list_request(exchange_, plan_);
    request.patience = std::make_shared<upstream::ListPatience>(exchange_.gateway().loop());
    request.range = plan_.ranges.front();
    request.limit = static_cast<std::size_t>(options.limit);
    if (request.limit != 0 && plan_.rendering.shown)
      request.counts = [this](std::string_view item) { return shows(plan_.rendering, item); };
    if (!options.continue_token.empty()) {
      auto position = open_continue(exchange_, options.continue_token);
      if (!position) return exchange_.fail(position.error());
      // Those that were still to come are his no more.
      const auto space = position->start.substr(0, position->start.find('/') + 1);
      if (plan_.spaces && space > plan_.spaces->back())
        return exchange_.fail(Error(Code::expired, std::string(k_spaces_changed)));
      request.revision = position->revision;
      request.range.start = position->start;
      start_ = position->start;
    } else if (options.match == translate::VersionMatch::exact) {
      request.revision = std::stoll(options.resource_version);
    }
    list_ = read_range(exchange_, plan_, std::move(request), "", *this);
  }

  void on_drained() override {
    if (list_) list_->resume();
  }

private:
  void on_list_begin(std::string_view head) override {
    if (refuse_future(exchange_, head)) return;
    if (auto begun = writer_.begin(head, out_); !begun) return exchange_.abort(begun.error());
  }

  std::size_t on_list_open_item(std::string_view key, std::string_view rest) override {
    if (exchange_.done()) return 0;
    if (out_.empty()) out_.reserve(k_flush + k_object);
    const auto size = writer_.open_item(key, rest, out_);
    if (out_.size() >= k_flush) flush();
    return size;
  }

  void on_list_item(std::string_view, std::string_view item) override {
    if (exchange_.done()) return;
    if (out_.empty()) out_.reserve(k_flush + item.size());
    if (auto written = writer_.item(item, out_); !written) {
      return exchange_.abort(written.error());
    }
    if (out_.size() >= k_flush) flush();
  }

  void on_list_end(const upstream::ListEnd& end) override {
    if (exchange_.done()) return;
    // A list of custom resources says its version behind them.
    const auto now = upstream::revision_of(end.resource_version);
    if (now && refuse_future(exchange_, *now)) return;
    std::string token;
    if (end.next_start) {
      if (!now) return exchange_.abort(now.error());
      token = seal_continue(exchange_, *now, *end.next_start);
    }
    writer_.end(end.resource_version, token, out_);
    if (now) own_spaces_listed(exchange_, *now);
    flush();
    exchange_.finish();
  }

  void on_list_error(const Error& error, int http_status, std::string_view body) override {
    if (exchange_.done()) return;
    const bool begun = exchange_.head_sent() || !out_.empty();
    exchange_.take_back_head();
    if (http_status == 0 || exchange_.head_sent()) return exchange_.abort(error);
    refuse_page(exchange_, http_status, body, start_, begun);
  }

  void flush() {
    if (!exchange_.head_sent()) exchange_.send_head(list_head(plan_.rendering));
    exchange_.send(std::move(out_));
    out_.clear(); // what was compressed leaves its room
    if (out_.capacity() > 2 * (k_flush + k_object)) std::string().swap(out_);
    if (!exchange_.writable() && list_) list_->pause();
  }

  /// What is compressed by small pieces costs more (docs/decisions/141).
  static constexpr std::size_t k_flush = 64 * 1024;
  static constexpr std::size_t k_object = 16 * 1024; ///< of the last one what is mostly beyond that
  Exchange& exchange_;
  ListPlan plan_;
  ListWriter writer_;
  std::string out_;
  std::string start_;
  std::unique_ptr<upstream::List> list_; // last: cancelled first
};

/// Several ranges at one resourceVersion, or one whose keys are not in the tenant's order, merged
/// by its names: overlay kinds, PersistentVolumes. Few and small objects; held whole, bounded by
/// limits.discovery. For each page of a client all of them are read at the revision of the first
/// page; a page begins at a name in the tenant's order.
class MergedFlow final : public Flow, private upstream::ListHandler {
public:
  MergedFlow(Exchange& exchange, ListPlan plan)
      : exchange_(exchange), plan_(std::move(plan)), writer_(exchange, plan_.rendering) {}

  void start() override {
    const auto& options = exchange_.target().list;
    const auto* facts = exchange_.resource().facts;
    const bool definitions = facts != nullptr && facts->names == translate::NameRule::crd;
    // Later pages of definitions would be read from everybody's (scope.hpp): these come at once,
    // which a server may do (metav1.ListOptions).
    if (!definitions) limit_ = static_cast<std::size_t>(options.limit);
    if (!options.continue_token.empty()) {
      auto position = open_continue(exchange_, options.continue_token);
      if (!position) return exchange_.fail(position.error());
      revision_ = position->revision;
      page_ = position->start;
      start_ = page_.substr(page_.starts_with(k_by_name) ? 1 : 0);
    } else if (options.match == translate::VersionMatch::exact) {
      revision_ = std::stoll(options.resource_version);
    }
    next();
  }

private:
  void next() {
    auto request = list_request(exchange_, plan_);
    request.range = plan_.ranges[at_];
    request.revision = revision_;
    retired_ = std::move(list_);
    const auto part = "#" + std::to_string(at_) + request.range.prefix;
    list_ = read_range(exchange_, plan_, std::move(request), part, *this);
  }

  void on_list_begin(std::string_view head) override {
    if (head_.empty()) head_ = head;
  }

  void on_list_item(std::string_view key, std::string_view item) override {
    if (exchange_.done() || !shows(plan_.rendering, item)) return;
    const auto* facts = exchange_.resource().facts;
    auto name = translate::object_name_out(exchange_.mapping(), facts, key);
    if (!name) name = key;
    if (*name < start_) return; // of an earlier page
    bytes_ += item.size();
    if (bytes_ > exchange_.gateway().limits().discovery) {
      return exchange_.fail(Error(Code::too_large, "this list is too large to be merged"));
    }
    if (!exchange_.buffer(item.size())) return exchange_.fail(held_too_much());
    items_.push_back({*std::move(name), std::string(item), false});
  }

  void on_list_end(const upstream::ListEnd& end) override {
    if (exchange_.done()) return;
    if (revision_ == -1) {
      const auto revision = upstream::revision_of(end.resource_version);
      if (!revision) return exchange_.fail(revision.error());
      revision_ = *revision;
      if (refuse_future(exchange_, revision_)) return;
    }
    if (++at_ < plan_.ranges.size()) return exchange_.later([this] { next(); });
    for (const auto& each : plan_.own) {
      if (each.name < start_) continue;
      // One that a tenant wrote under such a name is nothing to its evaluator either.
      std::erase_if(items_, [&](const Item& item) { return item.name == each.name; });
      items_.push_back({each.name, gateway::own_item(plan_.rendering, each), true});
    }
    std::stable_sort(items_.begin(), items_.end(),
                     [](const auto& a, const auto& b) { return a.name < b.name; });
    std::string out, token;
    if (limit_ != 0 && items_.size() > limit_) {
      items_.resize(limit_);
      token = seal_continue(exchange_, revision_, k_by_name + items_.back().name + '\0');
    }
    if (auto begun = writer_.begin(head_, out); !begun) return exchange_.abort(begun.error());
    for (const auto& item : items_) {
      if (item.own) {
        writer_.own_item(item.json, out);
      } else if (auto written = writer_.item(item.json, out); !written) {
        return exchange_.abort(written.error());
      }
    }
    writer_.end(std::to_string(revision_), token, out);
    std::vector<Item>().swap(items_); // the client may take its time
    exchange_.send_head(list_head(plan_.rendering));
    exchange_.send(std::move(out));
    exchange_.finish();
  }

  void on_list_error(const Error& error, int http_status, std::string_view body) override {
    if (exchange_.done()) return;
    if (http_status == 0) return exchange_.abort(error);
    refuse_page(exchange_, http_status, body, page_, false);
  }

  Exchange& exchange_;
  ListPlan plan_;
  ListWriter writer_;
  std::string page_;      ///< where the client's page begins, as in its token
  std::string start_;     ///< the name that this is
  std::size_t limit_ = 0; ///< of its page; 0: all
  std::size_t at_ = 0;
  std::size_t bytes_ = 0;
  std::int64_t revision_ = -1;
  std::string head_;
  struct Item {
    std::string name, json;
    bool own; ///< made here, in the tenant's names
  };
  std::vector<Item> items_;
  std::unique_ptr<upstream::List> retired_;
  std::unique_ptr<upstream::List> list_;
};

} // namespace

upstream::ListRequest list_request(Exchange& exchange, const ListPlan& plan) {
  upstream::ListRequest request;
  const auto actor = !exchange.own_spaces() ? Actor::zood(Reason::own_keys)
                     : plan.spaces          ? Actor::client()
                                            : Actor::zood(Reason::own_rights);
  request.head = upstream_request(exchange, actor, "GET", plan.path);
  request.spaces = plan.spaces;
  request.head.headers.remove("content-type");
  request.head.headers.set("Accept", plan.rendering.wanted.upstream_accept);
  request.params = plan.params;
  request.all_namespaces = plan.all_namespaces;
  request.table = plan.rendering.wanted.representation == translate::Representation::table;
  request.max_object = exchange.gateway().limits().object;
  request.room = [&exchange](std::size_t before, std::size_t now) {
    return exchange.hold_part(before, now);
  };
  if (plan.rendering.shown) {
    request.shows = [rendering = plan.rendering](std::string_view item) {
      return shows(rendering, item);
    };
  }
  request.heard = [&exchange](const http::ResponseHead& head) { exchange.heard(head); };
  return request;
}

std::unique_ptr<upstream::List> read_range(const Exchange& exchange, const ListPlan& plan,
                                           upstream::ListRequest request, std::string_view part,
                                           upstream::ListHandler& handler) {
  auto hint = exchange.route().principal().id + plan.path + std::string(part);
  if (plan.path == "/api/v1/namespaces" && exchange.view().serves(Local::namespaces)) {
    return read_with_standing(exchange, std::move(request), std::move(hint), handler);
  }
  return upstream::list_range(exchange.upstream(),
                              exchange.upstream().caller(exchange.gateway().loop()),
                              std::move(request), std::move(hint), handler);
}

bool read_whole(ListPlan& plan) {
  if (std::exchange(plan.revision, -1) == -1) return false;
  plan.ranges = plan.watched;
  return true;
}

http::ResponseHead list_head(const Rendering& rendering) {
  http::ResponseHead head{200, {}};
  head.headers.add("content-type", rendering.wanted.content_type);
  head.headers.add("cache-control", "no-cache, private");
  return head;
}

void refuse_list(Exchange& exchange, int http_status, std::string_view body) {
  const auto& options = exchange.target().list;
  const bool exact = options.match == translate::VersionMatch::exact;
  if (http_status != 410 || !exact || !options.continue_token.empty())
    return exchange.send_refusal(http_status, body);
  exchange.send_status(
      410, translate::make_status(Code::expired,
                                  "The resourceVersion for the provided list is too old."));
}

void refuse_page(Exchange& exchange, int http_status, std::string_view body,
                 const std::string& start, bool begun) {
  if (http_status != 410) return refuse_list(exchange, http_status, body);
  if (!start.empty()) {
    // The client's page is older than upstream remembers: it may go on from there as of now,
    // with a gap in consistency that it has to accept (apiserver's inconsistent continue).
    return exchange.send_status(410, expired_with_token(seal_continue(exchange, -1, start)));
  }
  // Upstream's token would lead past what the client has not got.
  if (begun) return exchange.fail(Error(Code::expired, "the list took too long; list again"));
  refuse_list(exchange, http_status, body);
}

bool refuse_future(Exchange& exchange, std::int64_t now) {
  const auto& options = exchange.target().list;
  if (options.resource_version.empty() || options.match == translate::VersionMatch::exact)
    return false; // upstream itself says what it thinks of an exact one
  const auto asked = upstream::revision_of(options.resource_version);
  if (!asked || *asked <= now) return false;
  refuse_too_large(exchange, *asked, now);
  return true;
}

void refuse_too_large(Exchange& exchange, std::int64_t asked, std::int64_t now) {
  kube::StatusDetails details;
  details.causes = {{"ResourceVersionTooLarge", "Too large resource version", ""}};
  details.retry_after_seconds = 1;
  exchange.send_status(
      504,
      translate::make_status(
          Code::timeout,
          fmt::format("Timeout: Too large resource version: {}, current: {}", asked, now), details),
      "1");
}

bool refuse_future(Exchange& exchange, std::string_view head) {
  const auto& options = exchange.target().list;
  if (options.resource_version.empty() || options.resource_version == "0") return false;
  const auto closed = translate::closed_head(head); // the tree looks into it
  const auto tree = translate::JsonTree::parse(closed);
  if (!tree) return false;
  const auto now = upstream::revision_of(tree->root()["metadata"]["resourceVersion"].string());
  return now && refuse_future(exchange, *now);
}

std::unique_ptr<Flow> list(Exchange& exchange, ListPlan plan) {
  if (plan.beside) return beside_list(exchange, std::move(plan));
  const auto* facts = exchange.resource().facts;
  const bool volumes = facts != nullptr && facts->names == translate::NameRule::volume &&
                       !exchange.resource().namespaced;
  // Both kinds of lists are of overlay kinds, as the platform shares classes or none: a page goes
  // on as the first one began.
  const auto& token = exchange.target().list.continue_token;
  const auto position =
      token.empty() ? Result<translate::UpstreamPosition>() : open_continue(exchange, token);
  const bool by_name = position && position->start.starts_with(k_by_name);
  const bool by_key = position && !position->start.empty() && !by_name;
  const bool one_range = plan.ranges.size() == 1 || (by_key && facts != nullptr && facts->overlay);
  if (one_range && plan.own.empty() && !volumes && !by_name) {
    return std::make_unique<RangeFlow>(exchange, std::move(plan));
  }
  return std::make_unique<MergedFlow>(exchange, std::move(plan));
}

} // namespace zoo::gateway
