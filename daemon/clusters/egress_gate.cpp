// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/egress_gate.hpp"

#include "daemon/clusters/cluster_nodes.hpp"
#include "daemon/clusters/cluster_services.hpp"
#include "daemon/clusters/upstream_pods.hpp"

#include <utility>

namespace zoo::clusters {
namespace {

net::Networks machine() { return net::Networks::of(net::machine_addresses()); }

/// Without the port.
std::string host_of(const net::Address& address) {
  const auto text = address.text();
  const auto host = text.substr(0, text.rfind(':'));
  return host.starts_with('[') ? host.substr(1, host.size() - 2) : host;
}

/// Of fc00::/7 (RFC 4193); `host` is canonical.
bool is_unique_local(const std::string& host) {
  return (host.starts_with("fc") || host.starts_with("fd")) && host.find(':') != std::string::npos;
}

} // namespace

/// One connection that waits to be judged. Held by the connection alone.
struct EgressGate::Question {
  http::ConnectHead head;
  std::function<void(Decision)> decide;
  std::string foreign;        ///< an address of somebody else's pod, to which it led
  std::shared_ptr<void> look; ///< for the Service, or the pod, that it is about
};

/// Names of this cluster that are looked up, in their order.
struct EgressGate::Lookups : std::enable_shared_from_this<EgressGate::Lookups> {
  using Done = std::function<void(const std::vector<net::Address>&)>;
  struct Waiting {
    std::weak_ptr<Question> question; ///< gone: nobody waits for it any more
    Done done;
  };
  Lookups(net::Loop& on, std::shared_ptr<net::Resolver> by) : loop(on), names(std::move(by)) {}

  void ask(const QuestionPtr& question, Done done) {
    waiting.push_back({question, std::move(done)});
    if (!busy) next();
  }
  void next() {
    while (!waiting.empty()) {
      auto first = std::move(waiting.front());
      waiting.pop_front();
      const auto question = first.question.lock();
      if (!question) continue;
      busy = true;
      names->ask(loop, question->head.host, question->head.port,
                 [weak = weak_from_this(), first = std::move(first)](const auto& found) {
                   if (!first.question.expired()) first.done(found);
                   const auto self = weak.lock();
                   if (!self) return;
                   self->busy = false;
                   self->next();
                 });
      return;
    }
  }

  net::Loop& loop;
  const std::shared_ptr<net::Resolver> names;
  std::deque<Waiting> waiting; ///< as many as there are connections
  bool busy = false;
};

EgressGate::EgressGate(std::shared_ptr<const EgressParts> parts, std::shared_ptr<EgressRoom> room,
                       std::shared_ptr<net::TlsServerContext> tls,
                       std::shared_ptr<net::Resolver> names)
    : parts_(std::move(parts)), room_(std::move(room)), tls_(std::move(tls)),
      lookups_(std::make_shared<Lookups>(room_->loop, std::move(names))) {}

EgressGate::~EgressGate() = default;

std::shared_ptr<void> EgressGate::ask(net::Loop& loop, const http::ConnectHead& head,
                                      std::function<void(Decision)> decide) {
  ++room_->tally->asked;
  auto question = std::make_shared<Question>(Question{head, std::move(decide), {}, {}});
  // The gate lives as long as a connection of its door waits.
  loop.post([this, weak = std::weak_ptr(question)] {
    if (const auto waits = weak.lock()) judge(waits);
  });
  return question;
}

void EgressGate::refuse(const Question& question, int status, std::string why) {
  ++room_->tally->refused;
  question.decide(Refusal{status, std::move(why)});
}

void EgressGate::judge(const QuestionPtr& question) {
  const auto& head = question->head;
  if (head.host == k_inside_name && head.port == k_inside_port) return inside(question);
  if (head.port != k_kubelet_port) return outward(question);
  room_->nodes->find(head.host, [this, weak = std::weak_ptr(question)](Result<std::string> node) {
    const auto waits = weak.lock();
    if (!waits) return;
    if (!node) return refuse(*waits, 503, node.error().message());
    if (!node->empty()) return waits->decide(Inward{tls_});
    outward(waits);
  });
}

/// Webhooks lead there. A Node of that name would make it a kubelet, to which the API server passes
/// on whatever its users send.
void EgressGate::inside(const QuestionPtr& question) {
  room_->nodes->find(
      question->head.host,
      [this, weak = std::weak_ptr(question)](const Result<std::string>& node) {
        const auto waits = weak.lock();
        if (!waits) return;
        if (!node) return refuse(*waits, 503, node.error().message());
        if (!node->empty())
          return refuse(
              *waits, 403,
              fmt::format("Node {} has the address {}, which is zood's own", *node, k_inside_name));
        waits->decide(Inward{tls_});
      },
      ClusterNodes::Read::later);
}

void EgressGate::outward(const QuestionPtr& question) {
  const auto& head = question->head;
  const bool trusted = parts_->allowed.targets.contains(head.authority());
  const auto places = parts_->places();
  if (!places && !trusted)
    return refuse(*question, 503, "zood has not heard yet which addresses are the upstream's");
  const auto numeric = net::numeric_address(head.host, head.port);
  if (!numeric.empty() && !trusted && places->services.contain(numeric.front()) &&
      !own_pod(numeric.front()))
    return serve(question);
  if (!numeric.empty()) return dial(question, numeric, trusted);
  if (const auto name = trusted ? Result<void>() : judge_name(head.host, *places); !name)
    return refuse(*question, 403, name.error().message());
  lookups_->ask(question, [this, weak = std::weak_ptr(question), trusted](const auto& found) {
    if (const auto waits = weak.lock()) dial(waits, found, trusted);
  });
}

void EgressGate::dial(const QuestionPtr& question, const std::vector<net::Address>& found,
                      bool trusted) {
  const auto places = parts_->places();
  const auto& host = question->head.host;
  if (found.empty())
    return refuse(*question, 502, fmt::format("there is no host with the name {}", host));
  if (trusted) return question->decide(Outward{found});
  if (!places) return refuse(*question, 503, "nothing is known of the upstream's addresses");
  answer(question, found, *places);
}

/// An address of a Service: its own leads to the Service's endpoints, each of which is judged,
/// since the cluster's administrator writes them.
void EgressGate::serve(const QuestionPtr& question) {
  const auto& head = question->head;
  if (!room_->looks.may()) return refuse(*question, 503, k_large_services);
  question->look = room_->services->find(
      net::canonical_ip(head.host), head.port, [this, weak = std::weak_ptr(question)](auto found) {
        const auto waits = weak.lock();
        if (!waits) return;
        const auto places = parts_->places();
        if (!found || !places)
          return refuse(*waits, 503, found ? "nothing is known" : found.error().message());
        const auto& asked = waits->head;
        if (!*found) return answer(waits, net::numeric_address(asked.host, asked.port), *places);
        if ((*found)->empty())
          return refuse(
              *waits, 503,
              fmt::format("the Service at {} has no endpoint that is ready", asked.authority()));
        answer(waits, **found, *places);
      });
}

bool EgressGate::own_pod(const net::Address& address) const {
  return parts_->own_pod(room_->cluster, host_of(address));
}

void EgressGate::answer(const QuestionPtr& question, const std::vector<net::Address>& found,
                        const EgressPlaces& places) {
  auto to = judged(found, parts_->allowed, places, machine(),
                   [this](const net::Address& address) { return own_pod(address); });
  if (to) return screen(question, *std::move(to), {});
  refuse(*question, to.error().code() == Code::forbidden ? 403 : 502, to.error().message());
}

/// What may be dialled by what is known; but perhaps it is a pod of somebody else's, of a network
/// that no Node tells of. `good`: those that were looked for, and are none.
void EgressGate::screen(const QuestionPtr& question, std::vector<net::Address> left,
                        std::vector<net::Address> good) {
  const auto is_known = [this](const net::Address& address) {
    return own_pod(address) || parts_->allowed.networks.contain(address) ||
           parts_->allowed.targets.contains(address.text());
  };
  while (!left.empty() && is_known(left.front())) {
    good.push_back(left.front());
    left.erase(left.begin());
  }
  if (left.empty()) {
    if (!good.empty()) return question->decide(Outward{std::move(good)});
    return refuse(*question, 403,
                  fmt::format("{} is of a pod that is not the virtual cluster's: the API server of "
                              "a virtual cluster is not connected to it (clusters.egress_allow)",
                              question->foreign));
  }
  const auto first = left.front();
  left.erase(left.begin());
  // Upstream knows pods by their first address alone: the second one of somebody else's pod is of
  // this network.
  if (is_unique_local(host_of(first))) {
    question->foreign = host_of(first);
    return screen(question, std::move(left), std::move(good));
  }
  auto look = room_->pods->find(
      host_of(first), [this, weak = std::weak_ptr(question), first, left = std::move(left),
                       good = std::move(good)](const Result<bool>& is_pod) {
        const auto waits = weak.lock();
        if (!waits) return;
        if (!is_pod) return refuse(*waits, 503, is_pod.error().message());
        auto next = good;
        if (!*is_pod)
          next.push_back(first);
        else
          waits->foreign = host_of(first);
        screen(waits, left, std::move(next));
      });
  if (look) question->look = std::move(look);
}

Result<std::vector<net::Address>> judged(const std::vector<net::Address>& found,
                                         const EgressAllowed& allowed, const EgressPlaces& places,
                                         const net::Networks& machine,
                                         const std::function<bool(const net::Address&)>& own) {
  std::vector<net::Address> out;
  bool is_first = true;
  Result<void> first = fail(Code::unavailable, "there is no such host");
  auto rest = places;
  rest.services = rest.pods = {};
  for (const auto& each : found) {
    auto verdict = judge_address(each, allowed, own(each) ? rest : places, machine);
    if (verdict) {
      out.push_back(each);
    } else if (std::exchange(is_first, false)) {
      first = std::move(verdict);
    }
  }
  if (out.empty()) return fail(first.error());
  return out;
}

} // namespace zoo::clusters
