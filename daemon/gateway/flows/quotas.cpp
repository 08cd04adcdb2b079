// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flows/quotas.hpp"

#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/status_text.hpp"

#include <algorithm>
#include <utility>

namespace zoo::gateway {
namespace {

class WithinQuotas final : public Flow {
public:
  WithinQuotas(Exchange& exchange, access::QuotaAsk ask, std::unique_ptr<Flow> flow)
      : exchange_(exchange), ask_(std::move(ask)), flow_(std::move(flow)) {}

  void start() override {
    const auto gate = exchange_.gateway().shared().quota_gate();
    if (!gate) return go_on();
    const auto user = access::user_of(exchange_.route().principal());
    ask_.user = exchange_.view().answers.passage == access::Passage::caller ? &user : nullptr;
    auto pass = gate->ask(ask_, exchange_.gateway().loop(),
                          [this, alive = std::weak_ptr<void>(alive_)](const std::string& refusal) {
                            if (alive.expired() || exchange_.done()) return;
                            if (refusal.empty()) return go_on();
                            // In upstream's names, as upstream's own refusal would be.
                            exchange_.send_refusal(
                                403, translate::forbidden_status(exchange_.target().group,
                                                                 exchange_.target().resource,
                                                                 ask_.name, refusal));
                          });
    ask_.body = {};
    ask_.user = nullptr;
    exchange_.keep(std::move(pass));
  }

private:
  void go_on() {
    exchange_.later([this] { exchange_.run(std::move(flow_)); });
  }

  Exchange& exchange_;
  access::QuotaAsk ask_;
  std::unique_ptr<Flow> flow_;
  std::shared_ptr<void> alive_ = std::make_shared<int>(0);
};

} // namespace

std::optional<access::QuotaAsk> quota_ask_of(Exchange& exchange) {
  const auto& target = exchange.target();
  const auto& shared = exchange.gateway().shared();
  if (!shared.quota_gate || target.verb != "create" || !target.subresource.empty() ||
      target.name_space.empty())
    return std::nullopt;
  const auto gate = shared.quota_gate();
  auto space = exchange.mapping().name_in(target.name_space);
  if (!gate || !gate->concerns(space)) return std::nullopt;
  access::QuotaAsk out;
  out.group = exchange.mapping().group_in(target.group);
  out.resource = target.resource;
  out.space = std::move(space);
  out.body = exchange.body();
  if (const auto tree = translate::JsonTree::parse(out.body))
    out.name = tree->root()["metadata"]["name"].string();
  out.dry_run = std::any_of(target.params.begin(), target.params.end(),
                            [](const auto& each) { return each.key == "dryRun"; });
  return out;
}

std::unique_ptr<Flow> within_quotas(Exchange& exchange, access::QuotaAsk ask,
                                    std::unique_ptr<Flow> flow) {
  return std::make_unique<WithinQuotas>(exchange, std::move(ask), std::move(flow));
}

} // namespace zoo::gateway
