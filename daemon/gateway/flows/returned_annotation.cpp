// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flows/steps.hpp"
#include "daemon/gateway/scope.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/rewrite.hpp"

namespace zoo::gateway {
namespace {

constexpr std::string_view k_last_applied = "kubectl.kubernetes.io/last-applied-configuration";

translate::JsonNode annotation_of(const translate::JsonTree& object) {
  return object.root()["metadata"]["annotations"][k_last_applied];
}

/// Where an object changes to server-side apply, kubectl takes its annotation over by another
/// manager, with the text that it has read (k8s.io/kubectl pkg/cmd/apply/apply.go). Upstream has
/// written that text, in its own names (LastAppliedUpdater of k8s.io/apimachinery), and would take
/// another one for a conflict: what was read comes back as it stands there.
class ReturnedAnnotation final : public Steps {
public:
  ReturnedAnnotation(Exchange& exchange, Outgoing request,
                     std::function<std::unique_ptr<Flow>(Outgoing)> send)
      : Steps(exchange), request_(std::move(request)), send_(std::move(send)) {}

  void start() override {
    auto look = Outgoing::get(Reason::look, request_.path);
    // What has no namespace tenants' user may not read; nothing of it is told.
    if (exchange_.resource().namespaced) look.actor = request_.actor;
    ask(look, [this](const upstream::Answer& answer) {
      if (answer.ok()) restore(answer.body);
      const auto send = std::move(send_);
      exchange_.run(send(std::move(request_)));
    });
  }

private:
  void restore(std::string_view stored) {
    translate::RewriteContext outward{exchange_.mapping(), translate::Direction::outward, {}};
    std::string read;
    if (!translate::rewrite(root_of(exchange_), outward, stored, read)) return;
    const auto has = translate::JsonTree::parse(stored), shown = translate::JsonTree::parse(read);
    if (!has || !shown || !annotation_of(*has)) return;
    const auto text = annotation_of(*has).string(), own = annotation_of(*shown).string();
    for (auto* body : {&request_.body, &request_.lean_body}) {
      const auto given = translate::JsonTree::parse(*body);
      if (!given || !annotation_of(*given) || annotation_of(*given).string() != own) continue;
      translate::JsonEdits edits;
      edits.quote(annotation_of(*given), text);
      *body = edits.apply(*body);
    }
  }

  Outgoing request_;
  std::function<std::unique_ptr<Flow>(Outgoing)> send_;
};

} // namespace

std::unique_ptr<Flow> returned_annotation(Exchange& exchange, Outgoing request,
                                          std::function<std::unique_ptr<Flow>(Outgoing)> send) {
  return std::make_unique<ReturnedAnnotation>(exchange, std::move(request), std::move(send));
}

} // namespace zoo::gateway
