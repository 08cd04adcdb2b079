// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flows/relayed_patch.hpp"

#include "daemon/gateway/flows/steps.hpp"
#include "daemon/gateway/scope.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/patch.hpp"
#include "daemon/translate/relay_patch.hpp"

namespace zoo::gateway {
namespace {

/// kube-apiserver tries a patch anew five times, within its own process; here a try is two
/// requests, during which others write more often.
constexpr int k_readings = 20;

using Send = std::function<std::unique_ptr<Flow>(Outgoing)>;

class RelayedPatch final : public Steps {
public:
  /// `refusal`: upstream's answer to the attempt before, which was made from `version`.
  RelayedPatch(Exchange& exchange, Outgoing request, translate::BodyFormat format, Send send,
               int readings, std::string version = {}, upstream::Answer refusal = {})
      : Steps(exchange), request_(std::move(request)), format_(format), send_(std::move(send)),
        readings_(readings), version_(std::move(version)), refusal_(std::move(refusal)) {}

  void start() override {
    // Read as zood: the tenant's user may not read cluster-scoped objects. Nothing of it is told
    // but what the tenant sees.
    ask(Outgoing::get(Reason::look, request_.path), [this](const upstream::Answer& answer) {
      if (auto done = send_translated(answer); !done) return exchange_.fail(done.error());
    });
  }

private:
  Result<void> send_translated(const upstream::Answer& stored) {
    auto request = request_;
    const auto& mapping = exchange_.mapping();
    const auto& root = root_of(exchange_);
    if (stored.ok()) {
      ZOO_TRY(const auto tree, translate::JsonTree::parse(stored.body));
      auto version = tree.root()["metadata"]["resourceVersion"].string();
      if (!version_.empty() && version == version_) {
        refuse(refusal_); // it was about the patch
        return {};
      }
      if (readings_ == 0)
        return fail(Code::conflict, "others have changed the object all the while; try again");
      ZOO_TRY(request.body, translate::relayed_patch_in(root, mapping, *exchange_.view().relay,
                                                        format_, request_.body, stored.body));
      request.stored = stored.body;
      request.again = [exchange = &exchange_, request = request_, format = format_, send = send_,
                       readings = readings_ - 1, version = std::move(version)](
                          const upstream::Answer& refusal) -> std::unique_ptr<Flow> {
        return std::make_unique<RelayedPatch>(*exchange, request, format, send, readings, version,
                                              refusal);
      };
    } else if (stored.head.status == 404) {
      // Upstream says best what is not there.
      ZOO_TRY(request.body, translate::patch_in(root, mapping, format_, request_.body, {}));
    } else {
      refuse(stored);
      return {};
    }
    const auto send = send_;
    exchange_.run(send(std::move(request)));
    return {};
  }

  Outgoing request_;
  translate::BodyFormat format_;
  Send send_;
  int readings_;
  std::string version_;
  upstream::Answer refusal_;
};

} // namespace

std::unique_ptr<Flow> relayed_patch(Exchange& exchange, Outgoing request,
                                    translate::BodyFormat format, Send send) {
  return std::make_unique<RelayedPatch>(exchange, std::move(request), format, std::move(send),
                                        k_readings);
}

} // namespace zoo::gateway
