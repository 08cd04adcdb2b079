// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flows/flows.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/upstream/upstream.hpp"

namespace zoo::gateway {
namespace {

/// What does not say by its name whose it is, something of the tenant's says: its claims name their
/// volumes, its pods their nodes. These are read first; then the request takes its usual way.
class OwnNames final : public Flow, private upstream::ListHandler {
public:
  OwnNames(Exchange& exchange, std::string path, std::string member)
      : exchange_(exchange), path_(std::move(path)), member_(std::move(member)) {}

  void start() override {
    auto strangers = exchange_.upstream().unlabelled_namespaces();
    if (!strangers) return exchange_.fail(strangers.error());
    strangers_ = *std::move(strangers);
    ListPlan plan;
    plan.path = path_;
    plan.ranges = {{exchange_.mapping().prefix(), {}, false}};
    plan.all_namespaces = true;
    plan.rendering.wanted.upstream_accept = "application/json";
    auto request = list_request(exchange_, plan);
    request.heard = nullptr; // it is no part of what was asked
    request.max_object = upstream::k_largest_object;
    request.range = plan.ranges.front();
    list_ = read_range(exchange_, plan, std::move(request), "#names", *this);
  }

private:
  void on_list_begin(std::string_view) override {}

  void on_list_item(std::string_view key, std::string_view item) override {
    // A namespace under the prefix without the tenant's label is not the tenant's.
    if (exchange_.done() || strangers_->contains(key.substr(0, key.find('/')))) return;
    const auto tree = translate::JsonTree::parse(item);
    if (!tree) return;
    auto name = tree->root()["spec"][member_].string();
    // A longer one names nothing. They are kept as long as what asks, be it a watch.
    constexpr std::size_t k_longest_name = 253, k_entry = 64;
    if (name.empty() || name.size() > k_longest_name || names_.contains(name)) return;
    if (!exchange_.buffer(name.size() + k_entry)) return exchange_.fail(held_too_much());
    names_.insert(std::move(name));
  }

  void on_list_end(const upstream::ListEnd&) override {
    if (exchange_.done()) return;
    exchange_.set_own_names(
        std::make_shared<const std::set<std::string, std::less<>>>(std::move(names_)));
    exchange_.later([this] {
      auto next = choose_allowed_flow(exchange_);
      if (!next) return exchange_.fail(next.error());
      exchange_.run(*std::move(next));
    });
  }

  void on_list_error(const Error& error, int http_status, std::string_view body) override {
    if (exchange_.done()) return;
    if (http_status == 0) return exchange_.fail(error);
    exchange_.send_refusal(http_status, body);
  }

  Exchange& exchange_;
  std::string path_;
  std::string member_; ///< of spec
  std::shared_ptr<const upstream::Upstream::Names> strangers_;
  std::set<std::string, std::less<>> names_;
  std::unique_ptr<upstream::List> list_; // last: cancelled first
};

} // namespace

std::unique_ptr<Flow> own_volumes(Exchange& exchange) {
  return std::make_unique<OwnNames>(exchange, "/api/v1/persistentvolumeclaims", "volumeName");
}

std::unique_ptr<Flow> own_nodes(Exchange& exchange) {
  return std::make_unique<OwnNames>(exchange, "/api/v1/pods", "nodeName");
}

} // namespace zoo::gateway
