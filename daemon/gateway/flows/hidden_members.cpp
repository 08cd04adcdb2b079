// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flows/hidden_members.hpp"

#include "daemon/gateway/flows/steps.hpp"
#include "daemon/gateway/scope.hpp"
#include "daemon/translate/hidden_members.hpp"

namespace zoo::gateway {
namespace {

class HiddenMembers final : public Steps {
public:
  HiddenMembers(Exchange& exchange, Outgoing request, translate::BodyFormat format,
                std::function<std::unique_ptr<Flow>(Outgoing)> send)
      : Steps(exchange), request_(std::move(request)), format_(format), send_(std::move(send)) {}

  void start() override {
    auto path = request_.path;
    if (!exchange_.target().subresource.empty()) path.resize(path.rfind('/'));
    // Read as zood, so that a tenant's user that is not known in its namespace yet loses nothing.
    // Nothing of it is told.
    ask(Outgoing::get(Reason::look, std::move(path)), [this](const upstream::Answer& answer) {
      // Without an object upstream's own answer is the best one.
      if (!answer.ok() && answer.head.status != 404) return refuse(answer);
      if (answer.ok()) {
        if (auto done = complete(answer.body); !done) return exchange_.fail(done.error());
      }
      const auto send = std::move(send_);
      exchange_.run(send(std::move(request_)));
    });
  }

private:
  Result<void> complete(std::string_view stored) {
    const auto& root = root_of(exchange_);
    if (format_ == translate::BodyFormat::json) {
      ZOO_TRY(request_.body,
              translate::with_hidden(root, exchange_.mapping(), std::move(request_.body), stored));
      return {};
    }
    ZOO_TRY(request_.body,
            translate::patch_with_hidden(root, exchange_.mapping(), format_, exchange_.body(),
                                         std::move(request_.body), stored));
    return {};
  }

  Outgoing request_;
  translate::BodyFormat format_;
  std::function<std::unique_ptr<Flow>(Outgoing)> send_;
};

} // namespace

std::unique_ptr<Flow> hidden_members(Exchange& exchange, Outgoing request,
                                     translate::BodyFormat format,
                                     std::function<std::unique_ptr<Flow>(Outgoing)> send) {
  return std::make_unique<HiddenMembers>(exchange, std::move(request), format, std::move(send));
}

} // namespace zoo::gateway
