// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/continue_token.hpp"
#include "daemon/gateway/flows/flows.hpp"
#include "daemon/gateway/flows/virtual.hpp"
#include "daemon/translate/json.hpp"
#include "daemon/translate/status_text.hpp"

namespace zoo::gateway {
namespace {

constexpr std::size_t k_manager = 128; ///< characters, as apiserver's managerOrUserAgent

class VirtualWrite final : public Flow {
public:
  VirtualWrite(Exchange& exchange, VirtualTarget target, virtuals::Request request)
      : exchange_(exchange), target_(std::move(target)), request_(std::move(request)) {}

  void start() override {
    auto& gateway = exchange_.gateway();
    auto told = while_open(exchange_,
                           [this](Result<virtuals::Answer>&& answer) { reply(std::move(answer)); });
    gateway.shared().engine->submit(
        std::move(request_),
        [loop = &gateway.loop(), told = std::move(told)](Result<virtuals::Answer> answer) {
          loop->post([told, answer = std::move(answer)]() mutable { told(std::move(answer)); });
        });
  }

private:
  void reply(Result<virtuals::Answer> answer) {
    if (!answer) return exchange_.fail(answer.error());
    if (const auto& refusal = exchange_.no_creation();
        refusal && answer->status == 403 && !answer->object && answer->body.empty())
      return exchange_.refuse(refusal->attributes, refusal->decision);
    std::string body;
    if (exchange_.target().verb == "deletecollection" && answer->body.empty()) {
      const auto revision = exchange_.gateway().shared().board->revision();
      const auto token =
          answer->next.empty() ? "" : seal_continue(exchange_, revision, answer->next);
      body = render_list(target_, answer->collection, std::to_string(revision), token, 0);
    } else if (answer->object) {
      body = render_one(target_, *answer->object, true);
    } else {
      body = answer->body;
    }
    http::ResponseHead head{answer->status, {}};
    head.headers.add("content-type", answer->object && target_.table() ? target_.wanted.content_type
                                                                       : "application/json");
    head.headers.add("cache-control", "no-cache, private");
    for (auto& warning : answer->warnings)
      head.headers.add("warning", warning);
    head.headers.add("content-length", std::to_string(body.size()));
    exchange_.send_head(std::move(head));
    exchange_.send(body);
    exchange_.finish();
  }

  Exchange& exchange_;
  VirtualTarget target_;
  virtuals::Request request_;
};

} // namespace

Result<std::unique_ptr<Flow>> virtual_write(Exchange& exchange, VirtualTarget target) {
  const auto& asked = exchange.target();
  const bool collection = asked.verb == "create" || asked.verb == "deletecollection";
  if (collection != asked.name.empty()) return translate::not_allowed();
  virtuals::Request request{target.owner,
                            target.kind,
                            asked.verb,
                            asked.name,
                            asked.subresource == "status",
                            translate::BodyFormat::json,
                            {},
                            false,
                            false,
                            {},
                            {},
                            {},
                            target.provided,
                            exchange.mapping()};
  const bool removal = asked.verb == "delete" || asked.verb == "deletecollection";
  if (!removal) {
    ZOO_TRY(request.format,
            translate::choose_body(asked.verb, exchange.head().headers.get("content-type")));
  } else if (!asked.subresource.empty()) {
    return translate::not_allowed();
  }
  if (!removal || !exchange.body().empty()) ZOO_TRY_VOID(translate::check_json(exchange.body()));
  if (asked.verb == "update") {
    const auto key = translate::object_key(exchange.body());
    if (key && !key->name.empty() && key->name != asked.name)
      return fail(Code::bad_request,
                  "the name of the object ({}) does not match the name on the URL ({})", key->name,
                  asked.name);
  }
  ZOO_TRY(const auto options,
          translate::parse_write_options(asked.params, asked.verb == "patch",
                                         request.format == translate::BodyFormat::apply_patch));
  request.may_create = !exchange.no_creation();
  request.dry_run = options.dry_run;
  request.force = options.force;
  request.strictness = options.field_validation;
  request.manager = options.field_manager;
  if (request.manager.empty()) {
    const auto agent = exchange.head().headers.get("user-agent");
    request.manager = std::string(agent.substr(0, agent.find('/')).substr(0, k_manager));
  }
  if (request.manager.empty()) request.manager = "unknown";
  if (asked.verb == "deletecollection") {
    ZOO_TRY(request.selection, virtuals::Selection::parse(*request.kind, asked.list.label_selector,
                                                          asked.list.field_selector));
    request.limit = static_cast<std::size_t>(asked.list.limit);
    if (!asked.list.continue_token.empty()) {
      ZOO_TRY(auto position, open_continue(exchange, asked.list.continue_token));
      request.start = std::move(position.start);
    }
  }
  request.body = std::move(exchange.body());
  return std::make_unique<VirtualWrite>(exchange, std::move(target), std::move(request));
}

} // namespace zoo::gateway
