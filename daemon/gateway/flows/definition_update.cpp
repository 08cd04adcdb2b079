// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flows/definition_update.hpp"

#include "common/base/json_text.hpp"
#include "common/kube/client.hpp"
#include "common/kube/status.hpp"
#include "daemon/gateway/scope.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/watch_event.hpp"

namespace zoo::gateway {
namespace {

/// A version of the definition whose objects can be listed; "": none is served.
std::string served_version(translate::JsonNode spec) {
  std::string out;
  for (auto version = spec["versions"].first(); version; version = version.next()) {
    if (!version["served"].boolean()) continue;
    out = version["name"].string();
    if (version["storage"].boolean()) break;
  }
  return out;
}

std::string named(const Exchange& exchange) {
  return "customresourcedefinitions.apiextensions.k8s.io " + json_quote(exchange.target().name);
}

DefinitionAges::Clock::duration age_of(const Exchange& exchange, translate::JsonNode metadata) {
  return exchange.gateway().shared().definition_ages->age(
      metadata["uid"].string(), metadata["generation"].integer().value_or(0),
      DefinitionAges::Clock::now());
}

class UpdateDefinition final : public Steps {
public:
  UpdateDefinition(Exchange& exchange, Outgoing request, Rendering rendering)
      : Steps(exchange), request_(std::move(request)), rendering_(std::move(rendering)) {}

  void start() override {
    auto path = request_.path;
    if (!exchange_.target().subresource.empty()) path.resize(path.rfind('/'));
    const bool trial = translate::find_param(request_.params, "dryRun") != nullptr;
    fence_ = std::make_unique<DefinitionFence>(
        exchange_, std::move(path), request_.body, trial,
        [this](DefinitionFence::Verdict verdict) {
          exchange_.later([this, verdict = std::move(verdict)] { send(verdict); });
        },
        [this] {
          exchange_.fail(Error(Code::conflict,
                               fmt::format("{} has changed meanwhile: apply your changes to what "
                                           "it is now, and try again",
                                           named(exchange_))));
        });
    fence_->start();
  }

private:
  void send(const DefinitionFence::Verdict& verdict) {
    if (!verdict.body.empty()) request_.body = verdict.body;
    if (!verdict.actor) return forward_as(request_.actor);
    // Upstream says first whether it would take it from whom it comes from.
    auto trial = request_;
    translate::set_param(trial.params, "dryRun", "All");
    ask(trial, [this, actor = *verdict.actor](const upstream::Answer& answer) {
      if (!answer.ok()) return refuse(answer);
      exchange_.later([this, actor] { forward_as(actor); });
    });
  }

  void forward_as(Actor actor) {
    auto request = std::move(request_);
    request.actor = actor;
    exchange_.run(
        forward(exchange_, std::move(request), AnswerShape::object, std::move(rendering_)));
  }

  Outgoing request_;
  Rendering rendering_;
  std::unique_ptr<DefinitionFence> fence_;
};

} // namespace

void note_definition(const Exchange& exchange, std::string_view object) {
  const auto tree = translate::JsonTree::parse(object);
  if (tree) age_of(exchange, tree->root()["metadata"]);
}

DefinitionFence::DefinitionFence(Exchange& exchange, std::string path, std::string after,
                                 bool trial, std::function<void(Verdict)> then,
                                 std::function<void()> moved)
    : Asking(exchange), path_(std::move(path)), after_(std::move(after)), trial_(trial),
      then_(std::move(then)), moved_(std::move(moved)) {}

void DefinitionFence::start() {
  ask(Outgoing::get(Reason::look, path_), [this](const upstream::Answer& answer) {
    if (answer.ok()) return judge(answer.body);
    // Upstream's own 404 is the best answer.
    if (answer.head.status == 404) return then_({});
    refuse(answer);
  });
}

void DefinitionFence::judge(const std::string& before) {
  const auto was = translate::object_key(before), is = translate::object_key(after_);
  if (!was) return exchange_.fail(was.error());
  if (!is) return exchange_.fail(is.error());
  // Upstream takes no update without a version.
  if (is->resource_version.empty()) return then_({});
  if (was->resource_version != is->resource_version) return moved_();
  auto judged = judge_definition(exchange_.target(), before, after_);
  if (!judged) return exchange_.fail(judged.error());
  verdict_.body = std::move(judged->body);
  if (judged->dropped.empty() || trial_) return then_(std::move(verdict_));
  rewrite_objects(before);
}

/// What is written now is stored in the storage version, and so is what was written since the
/// definition is as it is, but for requests that began before. An object that is there already in
/// that version is not written again by upstream (k8s.io/apiserver pkg/storage/etcd3/store.go,
/// GuaranteedUpdate).
void DefinitionFence::rewrite_objects(const std::string& before) {
  const auto tree = translate::JsonTree::parse(before);
  if (!tree) return exchange_.fail(tree.error());
  const auto spec = tree->root()["spec"];
  const auto age = age_of(exchange_, tree->root()["metadata"]);
  if (age < DefinitionAges::k_settled) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(DefinitionAges::k_settled - age);
    const Error early(Code::too_many_requests,
                      fmt::format("{}: writes that began before its last change may still store "
                                  "objects in a version that this drops (rule stored-versions): "
                                  "try again in {} s",
                                  named(exchange_), left.count()));
    kube::StatusDetails details;
    details.retry_after_seconds = static_cast<int>(left.count());
    return exchange_.send_status(429, kube::status_json(early, details),
                                 std::to_string(left.count()));
  }
  const auto version = served_version(spec);
  if (version.empty()) {
    return exchange_.fail(
        Error(Code::forbidden,
              fmt::format("{} is forbidden: no version of it is served, so that it cannot be seen "
                          "whether objects are left in the version that this drops (rule "
                          "stored-versions): serve one",
                          named(exchange_))));
  }
  verdict_.actor = Actor::zood(Reason::stored_versions);
  namespaced_ = spec["scope"].string() != "Cluster";
  version_ = kube::path({"apis", spec["group"].string(), version});
  resource_ = spec["names"]["plural"].string();
  plan_.path = version_ + kube::path({resource_});
  plan_.ranges = {{"", {}, false}};
  plan_.all_namespaces = false; // not of the tenant's alone: whoever made an object, it is stored
  plan_.rendering.wanted.upstream_accept = translate::Constant(translate::k_partial_list_accept);
  auto request = list_request(exchange_, plan_);
  request.heard = nullptr; // it is no part of what was asked
  request.patience = std::make_shared<upstream::ListPatience>(exchange_.gateway().loop());
  request.max_object = upstream::k_largest_object;
  request.range = plan_.ranges.front();
  list_ = upstream::list_range(exchange_.upstream(),
                               exchange_.upstream().caller(exchange_.gateway().loop()),
                               std::move(request), plan_.path + "#rewrite", *this);
}

void DefinitionFence::on_list_item(std::string_view, std::string_view item) {
  if (exchange_.done()) return;
  const auto key = translate::object_key(item);
  if (!key) return exchange_.fail(key.error());
  auto path = namespaced_ ? kube::path({"namespaces", key->name_space}) : std::string();
  path += kube::path({resource_, key->name});
  constexpr std::size_t k_path = 64; // that it takes besides
  if (!exchange_.buffer(path.size() + k_path)) return exchange_.fail(held_too_much());
  objects_.push_back(std::move(path));
}

void DefinitionFence::on_list_end(const upstream::ListEnd&) {
  if (exchange_.done()) return;
  exchange_.later([this] { next_object(); });
}

void DefinitionFence::on_list_error(const Error& error, int http_status, std::string_view body) {
  if (exchange_.done()) return;
  if (http_status == 0) return exchange_.fail(error);
  exchange_.send_refusal(http_status, body);
}

void DefinitionFence::next_object() {
  if (at_ == objects_.size()) return then_(std::move(verdict_));
  // It changes nothing, and reaches namespaces that have no binding.
  Outgoing request(Actor::zood(Reason::own_group), "PATCH", version_ + objects_[at_++]);
  request.body = "{}";
  request.content_type = "application/merge-patch+json";
  ask(request, [this](const upstream::Answer& answer) {
    if (!answer.ok() && answer.head.status != 404) return refuse_object(answer);
    exchange_.later([this] { next_object(); });
  });
}

void DefinitionFence::refuse_object(const upstream::Answer& answer) {
  if (upstream::passing(answer.head.status)) return refuse(answer);
  std::string_view own = objects_[at_ - 1];
  own.remove_prefix(namespaced_ ? std::string_view("/namespaces/").size() : 1);
  if (namespaced_)
    own = exchange_.mapping().name_out(own).value_or("an object outside of your namespaces");
  const auto tree = translate::JsonTree::parse(answer.body);
  exchange_.fail(Error(
      Code::forbidden,
      fmt::format("{} is forbidden: {} cannot be written in the storage "
                  "version (rule stored-versions): change or delete it first; "
                  "upstream said {}",
                  named(exchange_), json_quote(own),
                  tree ? tree->root()["reason"].string() : std::to_string(answer.head.status))));
}

std::unique_ptr<Flow> update_definition(Exchange& exchange, Outgoing request, Rendering rendering) {
  return std::make_unique<UpdateDefinition>(exchange, std::move(request), std::move(rendering));
}

} // namespace zoo::gateway
