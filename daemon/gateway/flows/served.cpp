// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flows/served.hpp"

#include "common/base/error_table.hpp"
#include "common/base/log.hpp"
#include "common/kube/age.hpp"
#include "daemon/access/local_api.hpp"
#include "daemon/gateway/flows/flows.hpp"
#include "daemon/resources/api.hpp"
#include "daemon/resources/scheduler.hpp"
#include "daemon/resources/watch_stream.hpp"
#include "daemon/resources/workers.hpp"
#include "daemon/translate/discovery_json.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace zoo::gateway {
namespace {

using resources::Answer;
using resources::Workers;

/// Where a WatchStream writes: its events go the way of all answers of the gateway, where they are
/// counted, encoded and, over a WebSocket, framed.
class EventSink final : public http::ServerStream {
public:
  explicit EventSink(Exchange& exchange) : exchange_(exchange) {}

  void send_head(const http::ResponseHead&, bool) override {}
  void send_data(std::string_view bytes, bool end) override {
    if (const auto told = tellable(bytes); !told.empty()) exchange_.send_events(std::string(told));
    if (end) exchange_.finish();
  }
  bool writable() const override { return exchange_.writable(); }
  std::size_t pending() const override { return 0; }
  void set_high_watermark(std::size_t) override {}
  void reset(http::ResetReason) override {}
  void consume(std::size_t) override {}
  const http::ConnectionInfo& connection() const override { return connection_; }

private:
  /// Of whole events, a line each, those before the side changed.
  std::string_view tellable(std::string_view lines) {
    if (!exchange_.side()) return lines;
    for (std::size_t at = 0; at < lines.size();) {
      const auto end = std::min(lines.find('\n', at), lines.size());
      if (!side_tells(exchange_, lines.substr(at, end - at))) return lines.substr(0, at);
      at = end + 1;
    }
    return lines;
  }

  Exchange& exchange_;
  const http::ConnectionInfo connection_;
};

resources::Who who_of(const Principal& principal) {
  return {principal.user, principal.groups, principal.uid, principal.extra};
}

class Served final : public Flow {
public:
  Served(Exchange& exchange, resources::Request request, translate::Negotiated wanted)
      : exchange_(exchange), request_(std::make_shared<resources::Request>(std::move(request))),
        wanted_(wanted) {}

  void start() override {
    const auto& local = exchange_.view().local_api;
    auto job = [local, request = request_, alive = exchange_.alive(),
                loop = &exchange_.gateway().loop(),
                told = while_open(exchange_, [this](Answer& answer) { tell(answer); })] {
      if (alive.expired()) return;
      auto answer = std::make_shared<Answer>();
      try {
        auto made = local->api().handle(*request);
        *answer = made ? *std::move(made) : resources::failure(Error(Code::not_found, k_nothing));
      } catch (const std::exception& problem) {
        *answer = resources::failure(Error(Code::internal, k_broken));
        answer->log_note = problem.what();
      }
      loop->post([answer, told]() mutable { told(*answer); });
    };
    auto& workers = local->workers();
    const auto place = exchange_.target().writes()
                           ? workers.submit_slow(exchange_.route().principal().id, std::move(job))
                       : workers.submit(Workers::Kind::quick, std::move(job))
                           ? Workers::Place::given
                           : Workers::Place::none;
    if (place == Workers::Place::none)
      exchange_.fail(Error(Code::too_many_requests, "zood is busy with other requests; try again"));
    if (place == Workers::Place::none_of_his) exchange_.fail(resources::too_many_of_his());
  }

  void on_drained() override {
    if (watch_) watch_->drained();
  }

  void leave() override {
    leaving_ = true;
    if (watch_) watch_->leave();
  }

private:
  static constexpr const char* k_nothing = "the server could not find the requested resource";
  static constexpr const char* k_broken =
      "zood could not deal with this request; its log has the reason";

  void tell(Answer& answer) {
    request_.reset();
    if (!answer.log_note.empty() && answer.status >= 500)
      log::warning("gateway", "{} {}: {}", exchange_.head().method,
                   http::logged(exchange_.head().target), answer.log_note);
    for (const auto& text : answer.warnings)
      exchange_.warn(resources::warning_value(text));
    if (answer.watch) return begin_watch(std::move(answer.watch));
    if (answer.status >= 300) {
      if (answer.status == error_row(Code::forbidden).http_status)
        exchange_.judged(audit::Decision::forbid, "the caller's own rights do not allow it");
      return exchange_.send_status(answer.status, answer.body, answer.headers.get("retry-after"));
    }
    if (answer.revision != 0) side_listed(exchange_, answer.revision);
    http::ResponseHead head{answer.status, std::move(answer.headers)};
    head.headers.set("content-type", wanted_.content_type.view());
    if (!head.headers.has("cache-control")) head.headers.add("cache-control", "no-cache, private");
    head.headers.add("content-length", std::to_string(answer.body.size()));
    // What a write has done is told whatever it costs.
    if (!exchange_.target().writes() && !exchange_.buffer(answer.body.size()))
      return exchange_.fail(held_too_much());
    exchange_.send_head(std::move(head));
    if (exchange_.head().method != "HEAD") exchange_.send(std::move(answer.body));
    exchange_.finish();
  }

  void begin_watch(std::shared_ptr<resources::WatchFeed> feed) {
    http::ResponseHead head{200, {}};
    head.headers.add("content-type", wanted_.content_type.view());
    head.headers.add("cache-control", "no-cache, private");
    exchange_.send_head(std::move(head));
    // What it begins with is all that there is to see, and there may come no bookmark to say so.
    if (feed->plan().emit_initial) side_listed(exchange_, feed->plan().revision);
    scheduler_ = resources::make_scheduler(exchange_.gateway().loop());
    watch_ = std::make_unique<resources::WatchStream>(std::move(feed), sink_, *scheduler_,
                                                      kube::unix_now);
    watch_->start();
    if (leaving_) watch_->leave();
  }

  Exchange& exchange_;
  std::shared_ptr<resources::Request> request_; ///< a worker's once it was submitted
  const translate::Negotiated wanted_;
  bool leaving_ = false; ///< a watch that is still to begin ends at once
  EventSink sink_{exchange_};
  std::unique_ptr<resources::Scheduler> scheduler_;
  std::unique_ptr<resources::WatchStream> watch_; // last: it uses the others
};

} // namespace

Result<std::unique_ptr<Flow>> served(Exchange& exchange) {
  const auto& target = exchange.target();
  const auto* include = translate::find_param(target.params, "includeObject");
  ZOO_TRY(const auto wanted,
          translate::choose_accept(exchange.head().headers.get("accept"),
                                   include == nullptr ? std::string_view() : *include));
  if (wanted.protobuf && !translate::builtin_group(target.group)) {
    return fail(Code::not_acceptable, "only the following media types are accepted: "
                                      "application/json, application/yaml");
  }
  ZOO_TRY(auto request, resources::parse_request(exchange.head()));
  ZOO_TRY_VOID(exchange.answer_as(wanted, target.verb == "watch"));
  request.headers.set("accept", wanted.upstream_accept.view());
  request.body = std::move(exchange.body());
  request.who = who_of(exchange.route().principal());
  return std::make_unique<Served>(exchange, std::move(request), wanted);
}

std::optional<Answer> local_document(const Exchange& exchange, std::string_view path,
                                     std::string_view accept) {
  const auto& local = exchange.view().local_api;
  if (local == nullptr) return std::nullopt;
  http::RequestHead head;
  head.method = "GET";
  head.target = path;
  head.headers.add("accept", accept);
  const auto request = resources::parse_request(head);
  if (!request) return std::nullopt;
  // "/apis/<group>/...", and the same behind "/openapi/v3".
  const auto& parts = request->segments;
  const std::size_t at = parts.size() > 2 && parts[0] == "openapi" ? 2 : 0;
  const bool of_group = parts.size() > at + 1 && parts[at] == "apis";
  if (parts.size() > at + 3) return std::nullopt; // objects are no document, and have readers
  if (of_group && exchange.resource().catalog->find_group(parts[at + 1]) != nullptr)
    return std::nullopt;
  auto answer = local->api().handle(*request);
  return answer && answer->status == 200 ? std::move(answer) : std::nullopt;
}

std::string with_local_groups(const Exchange& exchange, std::string document, bool aggregated) {
  const auto local = local_document(
      exchange, "/apis", aggregated ? translate::k_aggregated_accept : "application/json");
  if (!local) return document;
  const char* member = aggregated ? "items" : "groups";
  const auto theirs = translate::JsonTree::parse(document);
  const auto ours = translate::JsonTree::parse(local->body);
  if (!theirs || !ours) return document;
  std::string added;
  for (auto group = ours->root()[member].first(); group; group = group.next()) {
    const auto name = (aggregated ? group["metadata"] : group)["name"].string();
    if (exchange.resource().catalog->find_group(name) != nullptr) continue;
    added += (added.empty() ? "" : ",") + std::string(group.raw());
  }
  const auto all = theirs->root()[member];
  if (added.empty() || !all) return document;
  if (all.first()) added += ',';
  return document.insert(all.begin() + 1, added);
}

std::vector<LocalDocument> local_documents(const Exchange& exchange) {
  const auto index = local_document(exchange, "/openapi/v3");
  if (!index) return {};
  const auto tree = translate::JsonTree::parse(index->body);
  if (!tree) return {};
  std::vector<LocalDocument> out;
  for (auto path = tree->root()["paths"].first(); path; path = path.next()) {
    auto name = path.key();
    if (local_document(exchange, "/openapi/v3/" + name))
      out.push_back({std::move(name), path["serverRelativeURL"].string()});
  }
  return out;
}

} // namespace zoo::gateway
