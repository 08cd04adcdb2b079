// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/terms.hpp"

#include <cstdint>
#include <deque>
#include <list>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace zoo::gateway {

/// Sorts of work with budgets of their own.
enum class Work : std::uint8_t { read, mutation, long_running };

/// Who may go on, who waits, who is sent away (docs/decisions/122). Each tenant has a share
/// (api::Flow); all together have `total` places. While those are taken, requests wait in a queue
/// for each tenant, and a place that becomes free goes to the waiting tenant that has the fewest in
/// proportion to its weight; inside a tenant its users take turns. Pure: no clock, no locks; the
/// caller names its requests by numbers.
class FlowScheduler {
public:
  struct Limits {
    std::uint32_t total = 600; ///< of all tenants, long-running ones not counted
    std::uint32_t queue = 100; ///< waiting requests of one tenant
  };
  using Ticket = std::uint64_t;
  enum class Verdict : std::uint8_t {
    admitted,
    queued,
    full,              ///< the tenant's requests in flight
    full_mutations,    ///< its writes
    full_long_running, ///< its watches and tunnels
    full_bytes,        ///< its bodies, and answers that its clients do not read
    full_queue,        ///< its waiting requests
  };

  explicit FlowScheduler(Limits limits) : limits_(limits) {}
  void set_limits(const Limits& limits);

  /// `ticket` was not used before. Every one that is admitted or queued must leave. One that is
  /// still being `received` counts for its tenant, and takes no place of all tenants' until it
  /// was: how long that takes is its client's choice.
  Verdict enter(Ticket ticket, std::string_view tenant, const api::Flow& flow,
                std::string_view user, Work work, bool receiving = false);
  /// It is whole: admitted or queued, or Verdict::full_queue, and then it has left.
  Verdict received(Ticket ticket, std::string_view user);
  void leave(Ticket ticket); ///< answered, or not waiting any longer; unknown ones are ignored

  /// More bytes are held for this request; false: beyond its tenant's budget.
  bool buffer(Ticket ticket, std::uint64_t bytes);
  /// So much of its answer waits for its client, instead of what did so before: counted, be it
  /// beyond the budget. Long-running ones together may have half of that. False: it is more than
  /// before, and beyond.
  bool unread(Ticket ticket, std::uint64_t bytes);
  /// The same before it waits; where that is beyond the budget, nothing is counted.
  bool hold(Ticket ticket, std::uint64_t bytes);
  /// Its answer was given: the place goes to others, and so many bytes are counted from now on,
  /// be it beyond the budget, until it leaves. Who has none to count, or waits still, leaves now.
  void answered(Ticket ticket, std::uint64_t kept);

  /// What changed for those that wait, since this was asked last.
  struct Change {
    Ticket ticket;
    bool admitted; ///< false: another user of its tenant takes its place in the queue
  };
  std::vector<Change> take_changes() { return std::exchange(changes_, {}); }

  struct Load {
    std::uint32_t in_flight = 0, mutations = 0, long_running = 0, queued = 0, receiving = 0;
    std::uint64_t buffered = 0;
    std::uint64_t unread = 0;  ///< of these, of long-running requests
    std::uint64_t refused = 0; ///< since the first request
  };
  Load load(std::string_view tenant) const;
  const Load& total() const { return all_; } ///< of all tenants
  std::uint32_t in_flight() const { return all_.in_flight; }

private:
  struct User {
    std::string name;
    std::deque<Ticket> waiting;
  };
  struct Tenant {
    std::string id;
    api::Flow flow;
    Load load;
    double served = 0;     ///< weighted count of admissions: ties are broken by it
    std::list<User> users; ///< those that wait, the next one first
    std::tuple<double, double, std::string> rank;
    bool ranked = false;
  };
  struct Request {
    Tenant* tenant;
    std::string user; ///< while it waits
    Work work;
    enum class State : std::uint8_t { running, waiting, receiving } state;
    std::uint64_t bytes = 0;
    std::uint64_t unread = 0; ///< of these
    bool answered = false;
  };

  using State = Request::State;

  Verdict refuse(Tenant& tenant, Verdict verdict);
  /// A place, or one in the queue, or none.
  Verdict place(Ticket ticket, Tenant& tenant, std::string_view user);
  void give_back(Request& request); ///< what it has of the places
  void admit(Tenant& tenant);
  void count_unread(Request& request, std::uint64_t bytes);
  /// Its tenant's budget, with so many `more` bytes unread.
  static bool within(const Request& request, std::uint64_t more);
  void count_mutation(Tenant& tenant, Work work);
  void uncount_mutation(Tenant& tenant, const Request& request);
  void count_bytes(Request& request, std::uint64_t bytes); ///< instead of those before
  bool enqueue(Tenant& tenant, Ticket ticket, std::string_view user);
  void unqueue(Tenant& tenant, Ticket ticket, const std::string& user);
  void rank(Tenant& tenant); ///< where it stands among those that wait
  void unrank(Tenant& tenant);
  void dispatch();
  bool has_room(const Tenant& tenant) const;
  void forget_idle();

  static constexpr std::size_t k_most_tenants = 65'536; ///< docs/limits.md
  Limits limits_;
  Load all_;
  double now_ = 0; ///< `served` of who was admitted last from the queue
  std::unordered_map<std::string, Tenant> tenants_;
  std::unordered_map<Ticket, Request> requests_;
  std::set<std::pair<std::tuple<double, double, std::string>, Tenant*>> waiting_;
  std::vector<Change> changes_;
};

} // namespace zoo::gateway
