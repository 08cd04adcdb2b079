// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flows/applied_selectors.hpp"

#include "daemon/gateway/flows/steps.hpp"
#include "daemon/translate/own_selectors.hpp"

namespace zoo::gateway {
namespace {

/// Looks at the stored object, since a selector is owned as a whole: a manager that does not name
/// it (cert-manager's cainjector applies no more than a caBundle) must neither take it nor take the
/// tenant's from another manager. What comes of the body is proven afterwards, as of any patch; the
/// whole body stays for what is not there yet, and for what is not proven.
class AppliedSelectors final : public Steps {
public:
  AppliedSelectors(Exchange& exchange, Outgoing request,
                   std::function<std::unique_ptr<Flow>(Outgoing)> send)
      : Steps(exchange), request_(std::move(request)), send_(std::move(send)) {}

  void start() override {
    // Read as zood: the tenant's user may not read cluster-scoped objects. Nothing of it is told.
    ask(Outgoing::get(Reason::look, request_.path), [this](const upstream::Answer& answer) {
      if (answer.ok()) {
        if (auto done = complete(answer.body); !done) return exchange_.fail(done.error());
      } else {
        request_.lean_body.clear(); // it is made, and the body is its only manager's
      }
      const auto send = std::move(send_);
      exchange_.run(send(std::move(request_)));
    });
  }

private:
  Result<void> complete(std::string_view stored) {
    ZOO_TRY(const auto tree, translate::JsonTree::parse(stored));
    const auto* manager = translate::find_param(request_.params, "fieldManager");
    ZOO_TRY(request_.lean_body, translate::with_own_selectors(
                                    exchange_.mapping(), std::move(request_.lean_body), tree.root(),
                                    manager == nullptr ? std::string_view() : *manager));
    if (request_.lean_body == request_.body) request_.lean_body.clear();
    return {};
  }

  Outgoing request_;
  std::function<std::unique_ptr<Flow>(Outgoing)> send_;
};

} // namespace

std::unique_ptr<Flow> applied_selectors(Exchange& exchange, Outgoing request,
                                        std::function<std::unique_ptr<Flow>(Outgoing)> send) {
  return std::make_unique<AppliedSelectors>(exchange, std::move(request), std::move(send));
}

} // namespace zoo::gateway
