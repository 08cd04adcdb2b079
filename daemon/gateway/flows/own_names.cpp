// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flows/flows.hpp"
#include "daemon/gateway/scope.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/upstream/upstream.hpp"

#include <arpa/inet.h>

#include <array>
#include <chrono>
#include <optional>

namespace zoo::gateway {
namespace {

constexpr std::chrono::milliseconds k_name_pause{5};
constexpr int k_name_looks = 20, k_most_name_looks = 220; // a tenth of a second, ten seconds

/// The names that the spec of an object says.
using Says = std::vector<std::string> (*)(const translate::JsonNode& spec);

std::vector<std::string> volume(const translate::JsonNode& claim) {
  return {claim["volumeName"].string()};
}

std::vector<std::string> node(const translate::JsonNode& pod) { return {pod["nodeName"].string()}; }

/// As IPAddresses are called (ValidateIPAddressName in kubernetes/pkg/apis/networking/validation):
/// a Service keeps its own as it was written. nullopt: none, as "None" of a headless one.
std::optional<std::string> canonical(const std::string& address) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  std::array<char, INET6_ADDRSTRLEN> text{};
  for (const int family : {AF_INET, AF_INET6}) {
    if (inet_pton(family, address.c_str(), bytes.data()) == 1)
      return inet_ntop(family, bytes.data(), text.data(), text.size());
  }
  return std::nullopt;
}

std::vector<std::string> addresses(const translate::JsonNode& service) {
  std::vector<std::string> out;
  for (const auto& text : service["clusterIPs"].strings()) {
    if (auto address = canonical(text)) out.push_back(*std::move(address));
  }
  return out;
}

/// What does not say by its name whose it is, something of the tenant's says: its claims name their
/// volumes, its pods their nodes, its Services their addresses. These are read first; then the
/// request takes its usual way.
class OwnNames final : public Flow, private upstream::ListHandler {
public:
  /// `ready`: may it go on with them? It waits until it may. Null: at once.
  OwnNames(Exchange& exchange, std::string path, Says says,
           Ready (*ready)(const Exchange& exchange) = nullptr)
      : exchange_(exchange), path_(std::move(path)), says_(says), ready_(ready),
        timer_(exchange.gateway().loop()) {}

  void start() override {
    auto strangers = exchange_.upstream().unlabelled_namespaces();
    if (!strangers) return exchange_.fail(strangers.error());
    strangers_ = *std::move(strangers);
    ListPlan plan(Actor::zood(Reason::own_keys));
    plan.path = path_;
    plan.ranges = {{exchange_.mapping().prefix(), {}, false}};
    plan.all_namespaces = true;
    plan.rendering.wanted.upstream_accept = "application/json";
    auto request = list_request(exchange_, plan);
    request.heard = upstream::of_refusals(std::move(request.heard));
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
    // A longer one names nothing. They are kept as long as what asks, be it a watch.
    constexpr std::size_t k_longest_name = 253, k_entry = 64;
    for (auto& name : says_(tree->root()["spec"])) {
      if (name.empty() || name.size() > k_longest_name || names_.contains(name)) continue;
      if (!exchange_.buffer(name.size() + k_entry)) return exchange_.fail(held_too_much());
      names_.insert(std::move(name));
    }
  }

  void on_list_end(const upstream::ListEnd&) override {
    if (exchange_.done()) return;
    exchange_.set_own_names(
        std::make_shared<const std::set<std::string, std::less<>>>(std::move(names_)));
    exchange_.later([this] { go_on(0); });
  }

  void go_on(int looks) {
    list_.reset(); // what follows may be a watch, and this lives as long
    strangers_.reset();
    const auto ready = ready_ == nullptr ? Ready::yes : ready_(exchange_);
    if (ready == Ready::no && looks >= k_most_name_looks) {
      return exchange_.fail(Error(Code::unavailable,
                                  "zood does not know yet whose each volume is: the upstream does "
                                  "not answer, or has many; try again"));
    }
    if (ready == Ready::no || (ready == Ready::soon && looks < k_name_looks)) {
      return timer_.start(looks < k_name_looks ? k_name_pause : 10 * k_name_pause, [this, looks] {
        exchange_.later([this, looks] { go_on(looks + 1); }); // this flow ends in it
      });
    }
    auto next = choose_allowed_flow(exchange_);
    if (!next) return exchange_.fail(next.error());
    exchange_.run(*std::move(next));
  }

  void on_list_error(const Error& error, int http_status, std::string_view body) override {
    if (exchange_.done()) return;
    if (http_status == 0) return exchange_.fail(error);
    exchange_.send_refusal(http_status, body);
  }

  Exchange& exchange_;
  std::string path_;
  Says says_;
  Ready (*ready_)(const Exchange& exchange);
  net::Timer timer_;
  std::shared_ptr<const upstream::Upstream::Names> strangers_;
  std::set<std::string, std::less<>> names_;
  std::unique_ptr<upstream::List> list_; // last: cancelled first
};

} // namespace

std::unique_ptr<Flow> own_volumes(Exchange& exchange) {
  return std::make_unique<OwnNames>(exchange, "/api/v1/persistentvolumeclaims", volume);
}

std::unique_ptr<Flow> attached_volumes(Exchange& exchange) {
  return std::make_unique<OwnNames>(exchange, "/api/v1/persistentvolumeclaims", volume,
                                    knows_volumes);
}

/// The index hears of an address a moment after its Service is there.
std::unique_ptr<Flow> own_addresses(Exchange& exchange) {
  return std::make_unique<OwnNames>(exchange, "/api/v1/services", addresses, knows_own_addresses);
}

std::unique_ptr<Flow> own_nodes(Exchange& exchange) {
  return std::make_unique<OwnNames>(exchange, "/api/v1/pods", node);
}

} // namespace zoo::gateway
