// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/egress.hpp"

#include "common/base/log.hpp"
#include "daemon/clusters/cluster_nodes.hpp"
#include "daemon/clusters/cluster_services.hpp"
#include "daemon/clusters/egress_gate.hpp"
#include "daemon/clusters/files.hpp"
#include "daemon/clusters/pki.hpp"
#include "daemon/clusters/plan.hpp"
#include "daemon/clusters/upstream_pods.hpp"
#include "daemon/http/whole_answer.hpp"

#include <utility>

namespace zoo::clusters {
namespace {

constexpr std::size_t k_resolvers = 4; ///< threads for all clusters; each cluster has one at a time
constexpr const char* k_socket = "egress.sock";

upstream::PoolLimits limits_of_api() {
  upstream::PoolLimits out;
  out.idle = 4;
  out.connections = 32;
  return out;
}

/// What is served within TLS: zood.internal by its table, all else as kubelets.
class EgressService final : public http::Service {
public:
  EgressService(std::shared_ptr<const EgressParts> parts, std::shared_ptr<EgressRoom> room)
      : parts_(std::move(parts)), room_(std::move(room)), kubelets_(parts_->kubelets(room_)) {}

  std::unique_ptr<http::StreamHandler> on_request(http::RequestHead head,
                                                  http::ServerStream& stream) override {
    static const auto inside = fmt::format("{}:{}", k_inside_name, k_inside_port);
    if (stream.connection().asked_for != inside)
      return kubelets_->on_request(std::move(head), stream);
    const auto path = head.target.substr(0, head.target.find('?'));
    for (const auto& [served, service] : parts_->inside)
      if (path == served || (served.ends_with('/') && (path + '/').starts_with(served)))
        return service(*room_, std::move(head), stream);
    return http::refuse(stream, 404, fmt::format("{} is not served", path));
  }

private:
  std::shared_ptr<const EgressParts> parts_;
  std::shared_ptr<EgressRoom> room_;
  std::unique_ptr<http::Service> kubelets_;
};

/// A cluster stays on one loop.
net::Loop& loop_of(const net::Loops& loops, const std::string& id) {
  return *loops[std::hash<std::string>{}(id) % loops.size()];
}

} // namespace

EgressRoom::EgressRoom(net::Loop& on, const DoorEntry& of,
                       std::shared_ptr<const upstream::UpstreamEndpoint> endpoint,
                       std::function<upstream::Caller&()> upstream)
    : loop(on), cluster(of), api(on, std::move(endpoint), limits_of_api()),
      nodes(std::make_unique<ClusterNodes>(on, api)),
      services(std::make_unique<ClusterServices>(api, looks)),
      pods(std::make_unique<UpstreamPods>(std::move(upstream))) {}

EgressRoom::~EgressRoom() = default;

EgressDoors::EgressDoors(EgressParts parts)
    : parts_(std::make_shared<const EgressParts>(std::move(parts))),
      names_(std::make_shared<net::Resolver>(k_resolvers)) {}

EgressDoors::~EgressDoors() { close(); }

void EgressDoors::close() { open_.clear(); }

void EgressDoors::follow(const DoorTable& table) {
  std::map<std::string, const DoorEntry*> wanted;
  for (const auto& [id, entry] : table.clusters)
    if (!entry.address.empty() &&
        (entry.state == DoorEntry::State::open || entry.state == DoorEntry::State::starting))
      wanted.emplace(entry.uid, &entry);
  std::erase_if(open_, [&wanted](const auto& each) {
    const auto found = wanted.find(each.first);
    return found == wanted.end() || found->second->address != each.second.entry.address;
  });
  for (const auto& [uid, entry] : wanted) {
    if (open_.contains(uid)) continue;
    auto opened = open(*entry);
    if (opened) {
      open_.emplace(uid, *std::move(opened));
    } else if (opened.error().code() != Code::not_found) { // its certificates are not made yet
      log::warning("clusters", "{}: its egress door: {}", entry->key, opened.error().text());
    }
  }
}

void EgressDoors::furnished(const DoorTable& table, const std::string& id, bool others) {
  if (others) std::erase_if(open_, [&id](const auto& each) { return each.second.entry.id == id; });
  follow(table);
}

Result<EgressDoors::Open> EgressDoors::open(const DoorEntry& entry) {
  const auto directory = parts_->directory / entry.id;
  ZOO_TRY(auto access, own_access(directory, entry.address));
  ZOO_TRY(const auto identity, egress_identity(directory));
  ZOO_TRY(const auto tls, net::TlsServerContext::create(identity));
  auto endpoint = std::make_shared<upstream::UpstreamEndpoint>();
  endpoint->host = entry.address;
  endpoint->port = k_api_port;
  endpoint->ca_pem = std::move(access.credentials.ca_pem);
  endpoint->client_certificate_pem = std::move(access.credentials.client_cert_pem);
  endpoint->client_key_pem = std::move(access.credentials.client_key_pem);
  auto& loop = loop_of(parts_->loops, entry.id);
  const auto room = std::make_shared<EgressRoom>(
      loop, entry, std::move(endpoint),
      [parts = parts_, &loop]() -> upstream::Caller& { return parts->upstream(loop); });
  auto limits = parts_->limits;
  limits.connections = k_egress_connections;
  ZOO_TRY(auto listener,
          net::Listener::proxy(
              {&loop}, directory / k_socket, std::move(limits),
              std::make_shared<EgressGate>(parts_, room, tls, names_),
              [this, &room](net::Loop&) { return std::make_unique<EgressService>(parts_, room); }));
  ZOO_TRY_VOID(open_for_programs(directory / k_socket));
  return Open{entry, room->tally, std::move(listener)};
}

std::map<std::string, EgressDoors::Count> EgressDoors::counts() const {
  std::map<std::string, Count> out;
  for (const auto& [uid, each] : open_)
    out[each.entry.id] = {each.listener->connections(), each.tally->asked, each.tally->refused};
  return out;
}

} // namespace zoo::clusters
