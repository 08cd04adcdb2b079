// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/cluster_services.hpp"

#include "common/kube/json_reads.hpp"
#include "daemon/translate/query.hpp"

#include <utility>

namespace zoo::clusters {
namespace {

using nlohmann::json;

constexpr std::size_t k_slices = 20; ///< of one Service that are read

/// A port's protocol is TCP where none is said.
bool is_tcp(const json& port) {
  const auto protocol = kube::text_at(port, "/protocol");
  return protocol.empty() || protocol == "TCP";
}

std::optional<std::uint16_t> number_of(const json& port) {
  if (!port.is_object()) return std::nullopt;
  const auto found = port.find("port");
  if (found == port.end() || !found->is_number_unsigned()) return std::nullopt;
  const auto number = found->get<std::uint64_t>();
  if (number == 0 || number > 65'535) return std::nullopt;
  return static_cast<std::uint16_t>(number);
}

/// Endpoints without the condition are ready (discovery.k8s.io/v1 EndpointConditions).
bool is_ready(const json& endpoint) {
  const json::json_pointer at("/conditions/ready");
  return !endpoint.contains(at) || endpoint.at(at) != false;
}

/// One question: for the Service, then for its EndpointSlices.
class Lookup {
public:
  Lookup(upstream::Caller& api, LookPace& pace, std::uint16_t port, ClusterServices::Done done)
      : api_(api), pace_(pace), port_(port), done_(std::move(done)) {}

  void begin(const std::string& address) {
    ask("/api/v1/services?limit=2&fieldSelector=" +
            translate::percent_encode("spec.clusterIP=" + address, ""),
        [this](const json& list) { found(list); });
  }

private:
  void ask(std::string target, std::function<void(const json&)> next) {
    call_ = std::make_unique<upstream::BufferedCall>(
        api_, upstream::get_head(std::move(target), "application/json"), upstream::CallOptions{},
        ClusterServices::k_answer_bytes,
        [this, next = std::move(next)](Result<upstream::Answer> answer) {
          if (!answer) return tell(fail(answer.error()));
          if (!answer->ok())
            return tell(fail(Code::unavailable,
                             "its API server answers {} when asked for its "
                             "Services",
                             answer->head.status));
          if (!looked_ && !pace_.may())
            return tell(fail(Code::unavailable, "{}", k_large_services));
          looked_ = true; // the second answer is read even if the first one was large
          // Kept, since what it belongs to goes with the call.
          const auto then = next;
          const auto before = thread_time();
          const auto list = kube::parse_foreign(answer->body);
          pace_.took(thread_time() - before);
          then(list);
        });
  }

  void found(const json& list) {
    const auto service = service_port(list, port_);
    if (!service) return tell(std::nullopt);
    ask(fmt::format("/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices?limit={}&labelSelector="
                    "{}",
                    translate::percent_encode(service->name_space, ""), k_slices,
                    translate::percent_encode("kubernetes.io/service-name=" + service->name, "")),
        [this, port = service->port](const json& slices) { tell(ready_endpoints(slices, port)); });
  }

  /// Who is told may destroy this.
  void tell(Result<std::optional<std::vector<net::Address>>> found) {
    const auto done = done_;
    done(std::move(found));
  }

  upstream::Caller& api_;
  LookPace& pace_;
  bool looked_ = false;
  const std::uint16_t port_;
  const ClusterServices::Done done_;
  std::unique_ptr<upstream::BufferedCall> call_;
};

} // namespace

std::optional<ServicePort> service_port(const json& list, std::uint16_t port) {
  for (const auto& service : kube::list_at(list, "/items")) {
    for (const auto& each : kube::list_at(service, "/spec/ports"))
      if (is_tcp(each) && number_of(each) == port)
        return ServicePort{kube::text_at(service, "/metadata/namespace"),
                           kube::text_at(service, "/metadata/name"), kube::text_at(each, "/name")};
    return std::nullopt; // no two have one address
  }
  return std::nullopt;
}

std::vector<net::Address> ready_endpoints(const json& list, const std::string& port) {
  std::vector<net::Address> out;
  for (const auto& slice : kube::list_at(list, "/items")) {
    for (const auto& each : kube::list_at(slice, "/ports")) {
      const auto number = number_of(each);
      if (!number || !is_tcp(each) || kube::text_at(each, "/name") != port) continue;
      for (const auto& endpoint : kube::list_at(slice, "/endpoints")) {
        if (!is_ready(endpoint)) continue;
        // The addresses of one endpoint are the same place (EndpointSlice.endpoints.addresses).
        const auto addresses = kube::list_at(endpoint, "/addresses");
        if (addresses.empty() || !addresses.front().is_string()) continue;
        const auto address = net::numeric_address(addresses.front().get<std::string>(), *number);
        if (!address.empty()) out.push_back(address.front());
        if (out.size() == ClusterServices::k_most) return out;
      }
    }
  }
  return out;
}

std::shared_ptr<void> ClusterServices::find(const std::string& address, std::uint16_t port,
                                            Done done) {
  const auto lookup = std::make_shared<Lookup>(api_, pace_, port, std::move(done));
  lookup->begin(address);
  return lookup;
}

} // namespace zoo::clusters
