// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/egress_places.hpp"

#include "common/base/log.hpp"
#include "common/base/text.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/translate/query.hpp"

#include <netdb.h>
#include <pthread.h>

#include <chrono>
#include <cstring>

namespace zoo::clusters {
namespace {

constexpr std::chrono::minutes k_places_again{5};
constexpr std::chrono::seconds k_places_retry{5}; ///< after a failure
constexpr std::size_t k_nodes_page = 500;

net::Networks networks_of(const std::vector<std::string>& texts) {
  std::vector<std::string> good;
  for (const auto& text : texts)
    if (net::Networks::parse(std::span(&text, 1))) good.push_back(text);
  return net::Networks::parse(good).value_or(net::Networks());
}

std::vector<std::string> look_up(const std::string& host) {
  std::vector<std::string> out;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &first) != 0) return out;
  for (const auto* each = first; each != nullptr; each = each->ai_next) {
    char text[NI_MAXHOST];
    if (::getnameinfo(each->ai_addr, each->ai_addrlen, text, sizeof(text), nullptr, 0,
                      NI_NUMERICHOST) == 0)
      out.emplace_back(text);
  }
  ::freeaddrinfo(first);
  return out;
}

void add_texts(const nlohmann::json& list, std::vector<std::string>& texts) {
  for (const auto& each : list)
    if (each.is_string()) texts.push_back(each.get<std::string>());
}

} // namespace

EgressPlaces places_of(const PlaceTexts& texts) {
  EgressPlaces out;
  out.advertised = networks_of(texts.advertised);
  out.upstream = networks_of(texts.upstream);
  out.services = networks_of(texts.services);
  out.pods = networks_of(texts.pods);
  for (const auto& each : texts.names)
    if (!each.empty()) out.names.insert(text::lower(each));
  return out;
}

void add_nodes(const nlohmann::json& list, PlaceTexts& texts) {
  for (const auto& node : kube::list_at(list, "/items")) {
    for (const auto& each : kube::list_at(node, "/status/addresses"))
      texts.upstream.push_back(kube::text_at(each, "/address"));
    add_texts(kube::list_at(node, "/spec/podCIDRs"), texts.pods);
  }
}

void add_slice(const nlohmann::json& slice, PlaceTexts& texts) {
  for (const auto& each : kube::list_at(slice, "/endpoints"))
    add_texts(kube::list_at(each, "/addresses"), texts.upstream);
}

void add_ranges(const nlohmann::json& list, PlaceTexts& texts) {
  for (const auto& each : kube::list_at(list, "/items"))
    add_texts(kube::list_at(each, "/spec/cidrs"), texts.services);
}

Result<EgressPlaces> PlacesKeeper::read() const {
  auto texts = parts_.known;
  texts.names.push_back(parts_.host);
  texts.upstream.push_back(parts_.host); // where it is an address
  for (auto& each : look_up(parts_.host))
    texts.upstream.push_back(std::move(each));
  const auto api = parts_.connect();
  std::string next;
  do {
    auto path = fmt::format("/api/v1/nodes?limit={}", k_nodes_page);
    if (!next.empty()) path += "&continue=" + translate::percent_encode(next, "");
    ZOO_TRY(const auto list, api->get(path));
    add_nodes(list, texts);
    next = kube::text_at(list, "/metadata/continue");
  } while (!next.empty());
  const auto slice = api->get("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/"
                              "kubernetes");
  if (slice) add_slice(*slice, texts);
  if (!slice && slice.error().code() != Code::not_found) return fail(slice.error());
  const auto ranges = api->get("/apis/networking.k8s.io/v1/servicecidrs");
  if (ranges) add_ranges(*ranges, texts);
  // Kubernetes before 1.33 has none.
  if (!ranges && ranges.error().code() != Code::not_found) return fail(ranges.error());
  return places_of(texts);
}

void PlacesKeeper::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  ::pthread_setname_np(thread_.native_handle(), "egress-places");
}

void PlacesKeeper::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void PlacesKeeper::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    auto places = read();
    if (places) {
      now_.store(std::make_shared<const EgressPlaces>(*std::move(places)));
    } else {
      log::warning("clusters", "which addresses are the upstream's: {}", places.error().text());
    }
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, stop, places ? k_places_again : std::chrono::minutes(0) + k_places_retry,
                   [] { return false; });
  }
}

} // namespace zoo::clusters
