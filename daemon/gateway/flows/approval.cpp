// SPDX-License-Identifier: Apache-2.0
#include "common/base/json_text.hpp"
#include "daemon/gateway/flows/steps.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/patch.hpp"
#include "daemon/translate/status_text.hpp"

namespace zoo::gateway {
namespace {

/// A write of certificatesigningrequests/approval or /status. Upstream asks whether the writer may
/// approve (or sign) for the request's signer (admission plugins CertificateApproval and
/// CertificateSigning); the tenant's answer to that is found here, and upstream is asked as zood.
class Approval final : public Steps {
public:
  Approval(Exchange& exchange, Outgoing request, translate::BodyFormat format, Rendering rendering)
      : Steps(exchange), request_(std::move(request)), format_(format),
        rendering_(std::move(rendering)) {}

  void start() override {
    const auto look =
        Outgoing::get(Reason::look, request_.path.substr(0, request_.path.rfind('/')));
    ask(look, [this](const upstream::Answer& answer) {
      if (!answer.ok()) return refuse(answer);
      const auto tree = translate::JsonTree::parse(answer.body);
      if (!tree) return exchange_.fail(tree.error());
      // What is written is that request, whose signer never changes, and no other of its name.
      auto body =
          translate::with_uid(format_, request_.body, tree->root()["metadata"]["uid"].string());
      if (!body) return exchange_.fail(body.error());
      request_.body = *std::move(body);
      const auto stored = tree->root()["spec"]["signerName"].string();
      const auto own = exchange_.mapping().signer_out(stored);
      if (!own) return forbid(); // somebody else's signer: no right of the tenant's reaches there
      signer_ = *own;
      authorize(signer_, true);
    });
  }

private:
  std::string verb() const {
    return exchange_.target().subresource == "approval" ? "approve" : "sign";
  }

  void authorize(const std::string& name, bool again) {
    const Attributes attributes{verb(), true, "certificates.k8s.io", "v1", "signers", "", "",
                                name,   ""};
    may(attributes, [this, again](const Decision& decision) {
      if (decision.allowed) return send();
      const auto slash = signer_.find('/');
      if (again && slash != std::string::npos)
        return authorize(signer_.substr(0, slash) + "/*", false);
      forbid();
    });
  }

  void forbid() {
    const auto& target = exchange_.target();
    exchange_.send_status(403,
                          translate::forbidden_status(
                              target.group, target.resource, target.name,
                              fmt::format("user not permitted to {} requests with signerName {}",
                                          verb(), json_quote(signer_))));
  }

  void send() {
    ask(request_, [this](const upstream::Answer& answer) {
      if (!answer.ok()) return refuse(answer);
      auto rendering = rendering_;
      rendering.wanted.representation = translate::Representation::object;
      std::string out;
      if (auto written = write_object(exchange_, rendering, answer.body, out); !written)
        return exchange_.fail(written.error());
      const auto& shared = exchange_.gateway().shared();
      if (shared.on_approval && exchange_.target().subresource == "approval" &&
          translate::find_param(request_.params, "dryRun") == nullptr)
        shared.on_approval(exchange_.mapping().id());
      exchange_.send_json(answer.head.status, out);
    });
  }

  Outgoing request_;
  translate::BodyFormat format_;
  Rendering rendering_;
  std::string signer_;
};

} // namespace

std::unique_ptr<Flow> approval(Exchange& exchange, Outgoing request, translate::BodyFormat format,
                               Rendering rendering) {
  return std::make_unique<Approval>(exchange, std::move(request), format, std::move(rendering));
}

} // namespace zoo::gateway
