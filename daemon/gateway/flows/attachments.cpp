// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flows/flows.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/status_text.hpp"
#include "daemon/upstream/upstream.hpp"

namespace zoo::gateway {
namespace {

/// An attachment names a volume, and a volume that was provisioned does not say by its name whose
/// it is: the tenant's claims do. They are read first; then the request takes its usual way.
class OwnVolumes final : public Flow, private upstream::ListHandler {
public:
  explicit OwnVolumes(Exchange& exchange) : exchange_(exchange) {}

  void start() override {
    ListPlan plan;
    plan.path = "/api/v1/persistentvolumeclaims";
    plan.ranges = {{exchange_.mapping().prefix(), {}, false}};
    plan.all_namespaces = true;
    plan.rendering.wanted.upstream_accept = "application/json";
    auto request = list_request(exchange_, plan);
    request.range = plan.ranges.front();
    list_ = read_range(exchange_, plan, std::move(request), "#volumes", *this);
  }

private:
  void on_list_begin(std::string_view) override {}

  void on_list_item(std::string_view, std::string_view item) override {
    const auto tree = translate::JsonTree::parse(item);
    if (!tree) return;
    if (auto name = tree->root()["spec"]["volumeName"].string(); !name.empty())
      volumes_.insert(std::move(name));
  }

  void on_list_end(const upstream::ListEnd&) override {
    if (exchange_.done()) return;
    exchange_.set_own_volumes(
        std::make_shared<const std::set<std::string, std::less<>>>(std::move(volumes_)));
    exchange_.later([this] {
      auto next = choose_flow(exchange_);
      if (!next) return exchange_.fail(next.error());
      exchange_.run(*std::move(next));
    });
  }

  void on_list_error(const Error& error, int http_status, std::string_view body) override {
    if (exchange_.done()) return;
    if (http_status == 0) return exchange_.fail(error);
    exchange_.send_status(
        http_status,
        translate::status_out(exchange_.mapping(), status_context(exchange_), body, http_status));
  }

  Exchange& exchange_;
  std::set<std::string, std::less<>> volumes_;
  std::unique_ptr<upstream::List> list_; // last: cancelled first
};

} // namespace

std::unique_ptr<Flow> own_volumes(Exchange& exchange) {
  return std::make_unique<OwnVolumes>(exchange);
}

} // namespace zoo::gateway
