// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/quota_servers.hpp"

#include "common/base/log.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/upstream/upstream.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>

namespace zoo::accounts {
namespace {

using translate::EventType;

constexpr std::string_view k_endpoints =
    "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
constexpr std::size_t k_most_servers = 16;
constexpr std::chrono::seconds k_renewal{5};

} // namespace

QuotaServers::QuotaServers(upstream::Upstream& upstream, net::Loop& loop, QuotaBroker& broker,
                           std::vector<Address> given)
    : upstream_(upstream), loop_(loop), broker_(broker), given_(std::move(given)), renewal_(loop) {}

QuotaServers::~QuotaServers() = default;

void QuotaServers::start() {
  loop_.post([this] {
    renew();
    if (!given_.empty()) return open(given_);
    upstream::ChangeFollower::Hears hears;
    hears.whole = true;
    hears.began = [] {};
    hears.found = [this](std::string_view name, std::string_view object) {
      if (name == "kubernetes") read(object);
    };
    hears.changed = [this](EventType type, const translate::ObjectKey& key,
                           std::string_view object) {
      if (key.name == "kubernetes" && type != EventType::deleted) read(object);
    };
    addresses_ = std::make_unique<upstream::ChangeFollower>(
        upstream_, loop_, upstream_.caller(loop_), std::string(k_endpoints),
        "metadata.name=kubernetes", std::move(hears));
    addresses_->start();
  });
}

void QuotaServers::read(std::string_view slice) {
  const auto tree = translate::JsonTree::parse(slice);
  if (!tree) return;
  std::vector<Address> out;
  const auto port = tree->root()["ports"].first()["port"].integer().value_or(443);
  for (auto each = tree->root()["endpoints"].first(); each; each = each.next())
    for (auto& host : each["addresses"].strings())
      out.push_back({std::move(host), static_cast<std::uint16_t>(port)});
  std::sort(out.begin(), out.end());
  if (out.size() > k_most_servers) out.resize(k_most_servers);
  // The only one is who answers at the usual address.
  if (out.size() < 2) out.clear();
  open(out);
}

void QuotaServers::open(const std::vector<Address>& addresses) {
  const auto same = [&] {
    return std::equal(
        servers_.begin(), servers_.end(), addresses.begin(), addresses.end(),
        [](const auto& server, const Address& one) { return server->address == one; });
  };
  if (same()) return;
  retire();
  const auto& main = upstream_.endpoint();
  for (const auto& address : addresses) {
    auto server = std::make_unique<Server>();
    auto& one = *server;
    one.address = address;
    one.endpoint = std::make_shared<upstream::UpstreamEndpoint>();
    one.endpoint->host = address.host;
    one.endpoint->port = address.port;
    // Its certificate is good for the name by which all of them are reached.
    one.endpoint->server_name = main.server_name.empty() ? main.host : main.server_name;
    one.endpoint->ca_pem = main.ca_pem;
    one.endpoint->tls = main.tls;
    one.endpoint->authorization.store(main.authorization.load());
    one.pool = std::make_unique<upstream::Pool>(loop_, one.endpoint);
    const auto number = servers_.size() + 1;
    const auto take = [this, &one, number](std::string_view object) {
      if (one.over || object.find(quota::k_slice) == std::string_view::npos) return;
      const auto slice = read_known_slice(object);
      if (!slice) return;
      broker_.with([&](quota::Judge& judge) {
        judge.slice_seen(number, slice->space, slice->name, slice->revision, slice->slice,
                         std::chrono::steady_clock::now());
      });
    };
    upstream::ChangeFollower::Hears hears;
    hears.whole = true;
    hears.began = [] {};
    hears.found = [take](std::string_view, std::string_view object) { take(object); };
    hears.changed = [take](EventType type, const translate::ObjectKey&, std::string_view object) {
      if (type != EventType::deleted) take(object);
    };
    hears.hearing = [this, &one](bool now) {
      one.hears = now;
      if (!one.over) tell();
    };
    one.slices = std::make_unique<upstream::ChangeFollower>(
        upstream_, loop_, *one.pool, "/api/v1/resourcequotas", "", std::move(hears));
    servers_.push_back(std::move(server));
    one.slices->start();
    log::info("accounts", "slices are watched at the upstream's API server {}:{}", address.host,
              address.port);
  }
  tell();
}

/// Behind what they have posted to the loop themselves, and from outside their callbacks.
void QuotaServers::retire() {
  const auto count = static_cast<std::ptrdiff_t>(servers_.size());
  if (count == 0) return;
  for (auto& server : servers_) {
    server->over = true;
    retired_.push_back(std::move(server));
  }
  servers_.clear();
  // So many of those at the front: others may have come behind them meanwhile.
  loop_.post([this, count] { retired_.erase(retired_.begin(), retired_.begin() + count); });
}

/// The credential is renewed at the usual endpoint.
void QuotaServers::renew() {
  for (const auto& server : servers_)
    server->endpoint->authorization.store(upstream_.endpoint().authorization.load());
  renewal_.start(k_renewal, [this] { renew(); });
}

void QuotaServers::usual(bool hears) {
  loop_.post([this, hears] {
    usual_ = hears;
    tell();
  });
}

void QuotaServers::tell() {
  std::vector<bool> heard{usual_};
  for (const auto& server : servers_)
    heard.push_back(server->hears);
  broker_.with([&](quota::Judge& judge) {
    judge.set_servers(std::move(heard), std::chrono::steady_clock::now());
  });
}

} // namespace zoo::accounts
