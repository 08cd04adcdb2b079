// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/gateway/flows/flows.hpp"
#include "daemon/gateway/ledger.hpp"
#include "daemon/upstream/list_source.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

/// Ceilings on what a tenant stores (docs/decisions/121): what a write costs, and the room for it.
namespace zoo::gateway {

/// What the request itself would store; of what it says about bytes, and of patches, an estimate
/// from above. Before the flow is chosen, while the body is there.
std::vector<Charge> charges_of(Exchange& exchange);

/// The ports and load balancers of a Service in upstream's names: what a patch leads to.
std::vector<Charge> service_charges(Exchange& exchange, std::string_view object);

/// Finds room for charges: counts what the tenant has where that is not known, or where it may be
/// less than is known. Used once; owned by a flow; destroying it cancels. Loop thread.
class RoomFinder final : private upstream::ListHandler {
public:
  RoomFinder(Exchange& exchange, std::vector<Charge> charges, std::function<void()> then);
  ~RoomFinder() override;
  void start(); ///< `then`, with the room held by the exchange, or the exchange fails

private:
  /// One list of a count.
  struct Source {
    ListPlan plan{Actor::zood(Reason::own_keys)};
    std::string kind;                                      ///< before the key
    std::function<std::uint64_t(std::string_view)> amount; ///< of an item; null: 1
    ObjectFilter counts;                                   ///< null: all
  };
  void ask();
  std::function<void()> waker(); ///< asks again, on the loop, if this is still there
  bool take_turn();              ///< false: it comes later, or the exchange has failed
  void count(api::Counted what);
  void find_sources(const translate::Catalog& catalog);
  void add_source(std::string path, bool namespaced, bool whole_object, std::string kind);
  void add_objects(const translate::Catalog& catalog);
  void next();
  void refuse(const Ledger::Full& full);

  void on_list_begin(std::string_view) override { begun_ = true; }
  void on_list_item(std::string_view key, std::string_view item) override;
  void on_list_end(const upstream::ListEnd& end) override;
  void on_list_error(const Error& error, int http_status, std::string_view body) override;

  Exchange& exchange_;
  Ledger& ledger_;
  std::vector<Charge> charges_;
  std::function<void()> then_;
  Ledger::Clock::time_point since_;
  const bool needs_turn_;
  std::unique_ptr<access::Turns::Turn> turn_;
  std::optional<std::uint64_t> generation_; ///< of turn_
  std::shared_ptr<void> alive_ = std::make_shared<int>(0);
  std::optional<api::Counted> counting_;
  std::vector<Source> sources_;
  std::size_t at_ = 0;
  bool begun_ = false; ///< something of the source at_ was heard
  Ledger::Amounts found_;
  std::shared_ptr<const upstream::Upstream::Names> strangers_;
  std::unique_ptr<upstream::List> retired_, list_; // last: cancelled first
};

/// `flow`, once there is room for what it writes.
std::unique_ptr<Flow> within_ceilings(Exchange& exchange, std::vector<Charge> charges,
                                      std::unique_ptr<Flow> flow);

} // namespace zoo::gateway
