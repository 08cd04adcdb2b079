// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/http/field_lines.hpp"
#include "daemon/relay/limits.hpp"
#include "daemon/upstream/buffered_call.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace zoo::relay {

struct PodPort {
  std::string pod;
  std::uint16_t port = 0;
  bool operator==(const PodPort&) const = default;
};
using PodPorts = std::shared_ptr<const std::vector<PodPort>>;

/// A port of a Service in a tenant's namespace.
struct ServicePort {
  std::string name_space; ///< upstream's name
  std::string service;
  std::uint16_t port = 0;
  std::shared_ptr<const http::FieldLines> as; ///< the tenant's user, who may read this there

  std::string key() const;
};

/// The name of the port, "" for one without. Code::not_found, in the tenant's words.
Result<std::string> port_name(const ServicePort& wanted, std::string_view service);
/// Of EndpointSlices (a list) the pods of that namespace that are ready, k_most_pods at most; other
/// addresses are none. Code::unavailable for a text that is no list.
Result<std::vector<PodPort>> ready_pods(const ServicePort& wanted, std::string_view port_name,
                                        std::string_view slices);
inline constexpr std::size_t k_most_pods = 64;

/// Which pods stand behind a Service: asked upstream as the tenant's user, and believed for
/// Limits::known. Who asks for the same at the same time shares the answer. On one loop.
class Pods {
public:
  Pods(upstream::Caller& caller, const Limits& limits) : caller_(caller), limits_(limits) {}

  /// `done` may come from inside the call. Never an empty list: Code::not_found (no Service, no
  /// port, no pod that is ready), Code::unavailable; in one sentence.
  using Done = std::function<void(Result<PodPorts>)>;
  void find(const ServicePort& wanted, Done done);
  /// What is known of it may be wrong: who asks after Limits::doubted asks again.
  void doubt(const ServicePort& wanted);

private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    ServicePort wanted;
    PodPorts pods;               ///< null: not known
    std::optional<Error> failed; ///< why not
    Clock::time_point since{};
    std::string port_name;
    std::vector<Done> waiting; ///< not empty: it is being asked
    std::unique_ptr<upstream::BufferedCall> call;
  };
  using EntryPtr = std::shared_ptr<Entry>;
  void ask_service(const EntryPtr& entry);
  void ask_slices(const EntryPtr& entry);
  void settle(const EntryPtr& entry, Result<PodPorts> pods);

  upstream::Caller& caller_;
  const Limits& limits_;
  std::unordered_map<std::string, EntryPtr>
      known_;                           ///< by ServicePort::key(); Limits::hooks at most
  std::unordered_set<EntryPtr> asking_; ///< whose call is on its way; Limits::calls at most
};

} // namespace zoo::relay
