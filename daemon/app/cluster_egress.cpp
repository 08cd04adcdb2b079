// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/cluster_egress.hpp"

#include "daemon/access/passage.hpp"
#include "daemon/app/settings.hpp"
#include "daemon/clusters/cluster_nodes.hpp"
#include "daemon/clusters/cluster_view_source.hpp"
#include "daemon/clusters/kubelet.hpp"
#include "daemon/gateway/flow_control.hpp"

#include <utility>

namespace zoo::app {
namespace {

/// The kubelets of one cluster, with the gateway through which their requests go upstream.
class Kubelets final : public http::Service {
public:
  Kubelets(const ClusterEgressParts& parts, const std::shared_ptr<clusters::EgressRoom>& room)
      : gateway_(room->loop, parts.gateway,
                 std::make_unique<clusters::ClusterViewSource>(clusters::ClusterViewSource::Parts{
                     parts.upstream, room->cluster.id, room->cluster.uid,
                     default_terms(parts.values).flow,
                     parts.gateway.flow_control.share(room->cluster.id)}),
                 gateway_limits(parts.values)),
        kubelets_({room->cluster.id, room->api,
                   [&upstream = parts.upstream, &loop = room->loop]() -> upstream::Caller& {
                     return upstream.caller(loop);
                   },
                   clusters::cluster_fields(room->cluster.id), gateway_,
                   [room](const std::string& address, auto done) {
                     room->nodes->find(address, std::move(done));
                   },
                   room->looks}) {}

  std::unique_ptr<http::StreamHandler> on_request(http::RequestHead head,
                                                  http::ServerStream& stream) override {
    return kubelets_.on_request(std::move(head), stream);
  }

private:
  gateway::Gateway gateway_;
  clusters::KubeletService kubelets_;
};

clusters::PlaceTexts known_places(const ClusterEgressParts& parts) {
  clusters::PlaceTexts out;
  out.advertised = {parts.advertise.host};
  out.names = {parts.advertise.host};
  if (!parts.settings.service_range.empty()) out.services = {parts.settings.service_range};
  return out;
}

} // namespace

Result<std::unique_ptr<ClusterEgress>> ClusterEgress::open(ClusterEgressParts parts) {
  ZOO_TRY(auto allowed, clusters::parse_egress_allow(parts.values.list("clusters.egress_allow")));
  return std::unique_ptr<ClusterEgress>(new ClusterEgress(std::move(parts), std::move(allowed)));
}

ClusterEgress::ClusterEgress(ClusterEgressParts parts, clusters::EgressAllowed allowed)
    : parts_(std::move(parts)),
      places_({known_places(parts_), parts_.upstream.endpoint().host,
               [&credential = parts_.credential]() -> std::unique_ptr<upstream::ControlApi> {
                 return credential.api();
               }}),
      doors_(
          {.loops = parts_.loops,
           .directory = parts_.settings.directory,
           .limits = listener_limits(parts_.values),
           .allowed = std::move(allowed),
           .places = [this] { return places_.now(); },
           .upstream = [&upstream = parts_.upstream](net::Loop& loop) -> upstream::Caller& {
             return upstream.caller(loop);
           },
           .kubelets =
               [this](const std::shared_ptr<clusters::EgressRoom>& room) {
                 return std::make_unique<Kubelets>(parts_, room);
               },
           .own_pod =
               [&syncer = parts_.syncer](const clusters::DoorEntry& cluster, const auto& address) {
                 return syncer.has_address(cluster.id, address);
               },
           .inside = {{std::string(clusters::k_usage_api) + "/",
                       clusters::usage_inside(parts_.usage)},
                      {"/services", clusters::services_inside(parts_.review)}}}) {}

ClusterEgress::~ClusterEgress() { close(); }

void ClusterEgress::start() { places_.start(); }

// The table is read under the mutex: nobody follows an older one after a newer one.
void ClusterEgress::follow() {
  const std::scoped_lock lock(mutex_);
  if (!closed_) doors_.follow(*parts_.table.load());
}

void ClusterEgress::furnished(const std::string& id, bool others) {
  const std::scoped_lock lock(mutex_);
  if (!closed_) doors_.furnished(*parts_.table.load(), id, others);
}

std::map<std::string, clusters::EgressDoors::Count> ClusterEgress::counts() const {
  const std::scoped_lock lock(mutex_);
  return doors_.counts();
}

void ClusterEgress::close() {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    doors_.close();
  }
  places_.stop();
}

} // namespace zoo::app
