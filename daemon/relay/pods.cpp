// SPDX-License-Identifier: Apache-2.0
#include "daemon/relay/pods.hpp"

#include "common/base/make_room.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/query.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace zoo::relay {
namespace {

using translate::JsonNode;
using translate::JsonTree;

constexpr std::size_t k_answer = std::size_t{4} << 20;

std::optional<std::uint16_t> port_of(const JsonNode& node) {
  const auto number = node.integer().value_or(0);
  if (number < 1 || number > 0xffff) return std::nullopt;
  return static_cast<std::uint16_t>(number);
}

/// Names of pods are DNS names; what else stands there leads nowhere.
bool is_pod_name(std::string_view name) {
  return !name.empty() && name.size() <= 253 && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

http::RequestHead question(std::string target, const ServicePort& wanted) {
  auto head = upstream::get_head(std::move(target), "application/json");
  head.prepared = wanted.as;
  return head;
}

std::string space_path(std::string_view api, const ServicePort& wanted) {
  return fmt::format("{}/namespaces/{}", api, translate::percent_encode(wanted.name_space, ""));
}

Error not_asked(std::string_view what, const Result<upstream::Answer>& answer) {
  if (!answer) return Error(answer.error()).context("while asking for {}", what);
  return {Code::unavailable, fmt::format("the upstream answered {} to the question for {}",
                                         answer->head.status, what)};
}

} // namespace

std::string ServicePort::key() const { return fmt::format("{}/{}:{}", name_space, service, port); }

Result<std::string> port_name(const ServicePort& wanted, std::string_view service) {
  const auto tree = JsonTree::parse(service);
  if (!tree) return fail(Code::unavailable, "Service {} cannot be read", wanted.service);
  for (const auto& port : tree->root()["spec"]["ports"].children()) {
    if (port_of(port["port"]) == wanted.port) return port["name"].string();
  }
  return fail(Code::not_found, "Service {} has no port {}", wanted.service, wanted.port);
}

Result<std::vector<PodPort>> ready_pods(const ServicePort& wanted, std::string_view port_name,
                                        std::string_view slices) {
  const auto tree = JsonTree::parse(slices);
  if (!tree) return fail(Code::unavailable, "the EndpointSlices cannot be read");
  std::vector<PodPort> out;
  for (const auto& slice : tree->root()["items"].children()) {
    std::optional<std::uint16_t> number;
    for (const auto& port : slice["ports"].children()) {
      if (port["name"].string() == port_name) number = port_of(port["port"]);
    }
    if (!number) continue;
    for (const auto& endpoint : slice["endpoints"].children()) {
      const auto target = endpoint["targetRef"];
      // As kube-proxy reads it: what is not said is ready.
      const bool ready = endpoint["conditions"]["ready"].raw() != "false";
      auto pod = target["name"].string();
      if (!ready || target["kind"].string() != "Pod" ||
          target["namespace"].string() != wanted.name_space || !is_pod_name(pod))
        continue;
      PodPort one{std::move(pod), *number};
      if (out.size() < k_most_pods && std::find(out.begin(), out.end(), one) == out.end())
        out.push_back(std::move(one));
    }
  }
  return out;
}

void Pods::find(const ServicePort& wanted, Done done) {
  const auto key = wanted.key();
  auto found = known_.find(key);
  if (found == known_.end()) {
    make_room(known_, key, limits_.hooks);
    found = known_.emplace(key, std::make_shared<Entry>()).first;
    found->second->wanted = wanted;
  }
  const auto entry = found->second;
  if (entry->pods && Clock::now() - entry->since < limits_.known) return done(entry->pods);
  if (entry->failed && Clock::now() - entry->since < limits_.doubted)
    return done(fail(*entry->failed));
  entry->waiting.push_back(std::move(done));
  if (entry->waiting.size() > 1) return;
  asking_.insert(entry);
  ask_service(entry);
}

void Pods::doubt(const ServicePort& wanted) {
  const auto found = known_.find(wanted.key());
  if (found != known_.end() && Clock::now() - found->second->since >= limits_.doubted)
    found->second->pods = nullptr;
}

void Pods::ask_service(const EntryPtr& entry) {
  const auto& wanted = entry->wanted;
  entry->call = std::make_unique<upstream::BufferedCall>(
      caller_,
      question(fmt::format("{}/services/{}", space_path("/api/v1", wanted),
                           translate::percent_encode(wanted.service, "")),
               wanted),
      upstream::CallOptions{}, k_answer,
      [this, weak = std::weak_ptr(entry)](Result<upstream::Answer> answer) {
        const auto asked = weak.lock();
        const auto& service = asked->wanted.service;
        if (answer && answer->head.status == 404)
          return settle(asked, fail(Code::not_found, "there is no Service {}", service));
        if (!answer || !answer->ok())
          return settle(asked, fail(not_asked("Service " + service, answer)));
        auto name = port_name(asked->wanted, answer->body);
        if (!name) return settle(asked, fail(std::move(name).error()));
        asked->port_name = *std::move(name);
        ask_slices(asked);
      });
}

void Pods::ask_slices(const EntryPtr& entry) {
  const auto& wanted = entry->wanted;
  entry->call = std::make_unique<upstream::BufferedCall>(
      caller_,
      question(fmt::format(
                   "{}/endpointslices?labelSelector={}",
                   space_path("/apis/discovery.k8s.io/v1", wanted),
                   translate::percent_encode("kubernetes.io/service-name=" + wanted.service, "")),
               wanted),
      upstream::CallOptions{}, k_answer,
      [this, weak = std::weak_ptr(entry)](Result<upstream::Answer> answer) {
        const auto asked = weak.lock();
        const auto& service = asked->wanted.service;
        if (!answer || !answer->ok())
          return settle(asked, fail(not_asked("the pods of Service " + service, answer)));
        auto pods = ready_pods(asked->wanted, asked->port_name, answer->body);
        if (!pods) return settle(asked, fail(std::move(pods).error()));
        if (pods->empty())
          return settle(asked, fail(Code::not_found, "no pod of Service {} is ready", service));
        settle(asked, std::make_shared<const std::vector<PodPort>>(*std::move(pods)));
      });
}

void Pods::settle(const EntryPtr& entry, Result<PodPorts> pods) {
  const auto kept = entry;
  asking_.erase(kept);
  entry->pods = pods ? *pods : nullptr;
  entry->failed = pods ? std::nullopt : std::optional(pods.error());
  entry->since = Clock::now();
  const auto waiting = std::exchange(kept->waiting, {});
  for (const auto& done : waiting)
    done(pods);
}

} // namespace zoo::relay
