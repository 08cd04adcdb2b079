// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flow_control.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <map>
#include <random>

using namespace zoo::gateway;
using zoo::api::Flow;
using Verdict = FlowControl::Verdict;
using Ticket = std::uint64_t;

namespace {

/// The scheduler as requests meet it, which are called by numbers here: FlowControl's short way,
/// its queue behind it, and what they are told. Unknown numbers are ignored.
class Numbered {
public:
  struct Change {
    Ticket ticket;
    bool admitted;
  };

  explicit Numbered(FlowControl::Limits limits) : control_(limits) {}
  Verdict enter(Ticket ticket, const std::string& tenant, const Flow& flow, std::string_view user,
                Work work, bool receiving = false) {
    auto& share = shares_[tenant];
    if (!share) share = control_.share(tenant);
    auto entered = control_.enter(*share, flow, user, work, receiving, teller(ticket));
    if (entered.place) places_.emplace(ticket, *std::move(entered.place));
    return entered.verdict;
  }
  Verdict received(Ticket ticket, std::string_view user) {
    return places_.at(ticket).received(user, teller(ticket));
  }
  void leave(Ticket ticket) { places_.erase(ticket); }
  bool buffer(Ticket ticket, std::uint64_t bytes) {
    const auto found = places_.find(ticket);
    return found != places_.end() && found->second.buffer(bytes);
  }
  bool unread(Ticket ticket, std::uint64_t bytes) {
    const auto found = places_.find(ticket);
    return found == places_.end() || found->second.unread(bytes);
  }
  bool hold(Ticket ticket, std::uint64_t bytes) { return places_.at(ticket).hold(bytes); }
  void answered(Ticket ticket, std::uint64_t kept) { places_.at(ticket).answered(kept); }
  void set_limits(FlowControl::Limits limits) { control_.set_limits(limits); }
  std::vector<Change> take_changes() { return std::exchange(changes_, {}); }
  FlowLoad load(std::string_view tenant) const { return control_.load(tenant); }
  FlowLoad total() const { return control_.total(); }
  std::uint32_t in_flight() const { return total().in_flight; }

private:
  FlowControl::Teller teller(Ticket ticket) {
    return [this, ticket] {
      return [this, ticket](bool admitted) { changes_.push_back({ticket, admitted}); };
    };
  }

  std::vector<Change> changes_;
  FlowControl control_;
  std::map<std::string, std::shared_ptr<FlowShare>, std::less<>> shares_;
  std::map<Ticket, FlowControl::Place> places_;
};

Flow share(std::uint32_t requests, std::uint32_t weight = 100) {
  Flow out;
  out.requests = requests;
  out.weight = weight;
  return out;
}

/// A scheduler whose requests are called by their tenants.
struct Bench {
  explicit Bench(std::uint32_t total, std::uint32_t queue = 100) : scheduler({total, queue}) {}
  Verdict enter(const std::string& tenant, const Flow& flow = share(1000),
                const std::string& user = "u", Work work = Work::read) {
    last = ++tickets;
    const auto verdict = scheduler.enter(last, tenant, flow, user, work);
    if (verdict == Verdict::admitted) running.push_back(last);
    if (verdict == Verdict::admitted || verdict == Verdict::queued)
      owner[last] = tenant + "/" + user;
    return verdict;
  }
  /// The oldest running request ends; who is admitted by that.
  std::vector<std::string> end() {
    REQUIRE(!running.empty());
    scheduler.leave(running.front());
    running.pop_front();
    return admitted();
  }
  std::vector<std::string> admitted() {
    std::vector<std::string> out;
    for (const auto& change : scheduler.take_changes()) {
      if (!change.admitted) continue;
      running.push_back(change.ticket);
      out.push_back(owner[change.ticket]);
    }
    return out;
  }
  Numbered scheduler;
  Ticket tickets = 0, last = 0;
  std::deque<Ticket> running;
  std::map<Ticket, std::string> owner;
};

} // namespace

TEST_CASE("a tenant at its share is refused, others are not") {
  Bench bench(100);
  CHECK(bench.enter("a", share(2)) == Verdict::admitted);
  CHECK(bench.enter("a", share(2)) == Verdict::admitted);
  CHECK(bench.enter("a", share(2)) == Verdict::full);
  CHECK(bench.enter("b", share(2)) == Verdict::admitted);
  CHECK(bench.end().empty());
  CHECK(bench.enter("a", share(2)) == Verdict::admitted);
  CHECK(bench.enter("a", share(0)) == Verdict::full);
  CHECK(bench.scheduler.load("a").refused == 2);
}

TEST_CASE("writes and watches have budgets of their own") {
  Bench bench(100);
  Flow flow;
  flow.mutations = 1;
  flow.long_running = 1;
  CHECK(bench.enter("a", flow, "u", Work::mutation) == Verdict::admitted);
  CHECK(bench.enter("a", flow, "u", Work::mutation) == Verdict::full_mutations);
  CHECK(bench.enter("a", flow) == Verdict::admitted);
  CHECK(bench.enter("a", flow, "u", Work::long_running) == Verdict::admitted);
  CHECK(bench.enter("a", flow, "u", Work::long_running) == Verdict::full_long_running);
  CHECK(bench.scheduler.in_flight() == 2);
  bench.end();
  CHECK(bench.enter("a", flow, "u", Work::mutation) == Verdict::admitted);
}

TEST_CASE("what is still being received takes a place of its tenant's alone") {
  Bench bench(2);
  auto& scheduler = bench.scheduler;
  const auto flow = share(3);
  for (Ticket ticket = 101; ticket <= 103; ++ticket)
    REQUIRE(scheduler.enter(ticket, "slow", flow, "u", Work::mutation, true) == Verdict::admitted);
  CHECK(scheduler.enter(104, "slow", flow, "u", Work::read, true) == Verdict::full);
  CHECK(bench.enter("slow", flow) == Verdict::full);
  CHECK(scheduler.in_flight() == 0);
  CHECK(scheduler.load("slow").receiving == 3);
  CHECK(scheduler.load("slow").mutations == 3);
  CHECK(bench.enter("a") == Verdict::admitted);
  CHECK(bench.enter("a") == Verdict::admitted);

  // Whole requests of the slow one have no privilege but that of a tenant without any.
  CHECK(scheduler.received(101, "u") == Verdict::admitted);
  CHECK(scheduler.received(102, "u") == Verdict::queued);
  CHECK(scheduler.received(101, "u") == Verdict::admitted); // told already
  CHECK(scheduler.load("slow").receiving == 1);
  CHECK(scheduler.load("slow").in_flight == 1);
  scheduler.leave(103); // its client has gone
  CHECK(scheduler.load("slow").receiving == 0);
  CHECK(bench.admitted().empty());
  scheduler.leave(101);
  CHECK(bench.admitted().size() == 1); // 102, the first one of its tenant now
  scheduler.leave(102);
  const auto load = scheduler.load("slow");
  CHECK(load.in_flight + load.queued + load.receiving + load.mutations == 0);
}

TEST_CASE("a request that finds no place in the queue once it is whole has left") {
  Bench bench(0, 1);
  auto& scheduler = bench.scheduler;
  const auto flow = share(10);
  REQUIRE(bench.enter("a", flow) == Verdict::admitted); // the first one of a tenant
  REQUIRE(bench.enter("a", flow) == Verdict::queued);
  REQUIRE(scheduler.enter(100, "a", flow, "u", Work::mutation, true) == Verdict::admitted);
  REQUIRE(scheduler.buffer(100, 10));
  CHECK(scheduler.received(100, "u") == Verdict::full_queue);
  CHECK(scheduler.received(100, "u") == Verdict::full_queue);
  scheduler.answered(100, 50);
  scheduler.leave(100);
  const auto load = scheduler.load("a");
  CHECK(load.in_flight == 1);
  CHECK(load.queued == 1);
  CHECK(load.receiving + load.mutations + load.buffered == 0);
}

TEST_CASE("an answer before the request is whole gives its place back once") {
  Bench bench(10);
  auto& scheduler = bench.scheduler;
  REQUIRE(scheduler.enter(100, "a", share(10), "u", Work::mutation, true) == Verdict::admitted);
  scheduler.answered(100, 5000); // 413, which nobody reads
  CHECK(scheduler.load("a").receiving == 0);
  CHECK(scheduler.load("a").buffered == 5000);
  scheduler.leave(100);
  CHECK(scheduler.load("a").buffered == 0);
  CHECK(scheduler.total().receiving == 0);
  CHECK(scheduler.in_flight() == 0);
}

TEST_CASE("who has its answer gives its place to others, and its bytes stay counted") {
  Bench bench(1);
  auto flow = share(10);
  flow.buffered = 100;
  REQUIRE(bench.enter("a", flow, "u", Work::mutation) == Verdict::admitted);
  const auto first = bench.last;
  REQUIRE(bench.scheduler.buffer(first, 30));
  REQUIRE(bench.scheduler.buffer(first, 60));
  CHECK_FALSE(bench.scheduler.buffer(first, 20));
  REQUIRE(bench.scheduler.buffer(first, 10)); // 100
  REQUIRE(bench.enter("a", flow) == Verdict::queued);
  bench.scheduler.answered(first, 60);
  CHECK(bench.admitted() == std::vector<std::string>{"a/u"});
  auto load = bench.scheduler.load("a");
  CHECK(load.in_flight == 1);
  CHECK(load.mutations == 0);
  CHECK(load.buffered == 60);
  bench.scheduler.answered(first, 60); // nothing more
  bench.scheduler.leave(first);
  load = bench.scheduler.load("a");
  CHECK(load.in_flight == 1);
  CHECK(load.mutations == 0);
  CHECK(load.buffered == 0);
}

TEST_CASE("who is refused while it waits has no place in the queue any more") {
  Bench bench(1);
  const auto flow = share(10);
  REQUIRE(bench.enter("a", flow) == Verdict::admitted);
  const auto first = bench.last;
  REQUIRE(bench.enter("a", flow, "u", Work::mutation) == Verdict::queued);
  const auto second = bench.last;
  bench.scheduler.answered(second, 50); // its client reads nothing
  const auto load = bench.scheduler.load("a");
  CHECK(load.queued == 0);
  CHECK(load.mutations == 0);
  CHECK(load.buffered == 0);
  bench.scheduler.answered(first, 0);
  CHECK(bench.admitted().empty());
  CHECK(bench.scheduler.in_flight() == 0);
  bench.scheduler.leave(first);
  bench.scheduler.leave(second);
  CHECK(bench.scheduler.load("a").buffered == 0);
  CHECK(bench.scheduler.in_flight() == 0);
}

TEST_CASE("what waits for a client is counted while it waits, be it beyond the budget") {
  Bench bench(10);
  auto flow = share(10);
  flow.buffered = 100;
  auto& scheduler = bench.scheduler;
  REQUIRE(bench.enter("a", flow, "u", Work::long_running) == Verdict::admitted);
  const auto watch = bench.last;
  REQUIRE(bench.enter("a", flow) == Verdict::admitted);
  const auto get = bench.last;
  CHECK(scheduler.hold(watch, 5000)); // one alone takes its event, however large
  CHECK(scheduler.load("a").unread == 5000);
  REQUIRE(bench.enter("b", flow, "u", Work::long_running) == Verdict::admitted);
  const auto ended = bench.last;
  REQUIRE(bench.enter("b", flow, "u", Work::long_running) == Verdict::admitted);
  CHECK(scheduler.hold(ended, 5000));
  scheduler.answered(ended, 5000); // over, and not read yet: the next one is not alone
  CHECK_FALSE(scheduler.hold(bench.last, 5000));
  scheduler.leave(ended);
  CHECK(scheduler.load("b").unread == 0);
  CHECK(scheduler.hold(bench.last, 5000));
  scheduler.leave(bench.last);
  CHECK(scheduler.unread(watch, 0));
  REQUIRE(bench.enter("a", flow, "u", Work::long_running) == Verdict::admitted);
  const auto other = bench.last;
  CHECK(scheduler.unread(other, 1));
  CHECK(scheduler.unread(watch, 49)); // half of the budget is for those that last
  CHECK_FALSE(scheduler.hold(watch, 50));
  CHECK(scheduler.load("a").unread == 50);
  REQUIRE(scheduler.buffer(get, 30));
  CHECK(scheduler.unread(get, 10));
  CHECK(scheduler.load("a").buffered == 90);
  CHECK_FALSE(scheduler.unread(watch, 60)); // it is there all the same
  CHECK(scheduler.load("a").buffered == 101);
  CHECK(scheduler.load("a").refused == 1);
  CHECK(bench.enter("a", flow) == Verdict::full_bytes);
  CHECK(scheduler.unread(watch, 59)); // less than before is never too much
  CHECK(scheduler.hold(watch, 59));
  CHECK(bench.enter("a", flow, "u", Work::long_running) == Verdict::full_bytes);
  scheduler.leave(other);
  CHECK(scheduler.unread(watch, 0));
  CHECK(scheduler.load("a").unread == 0);
  CHECK(scheduler.load("a").buffered == 40);
  scheduler.answered(get, 70);
  CHECK(scheduler.load("a").buffered == 70);
  scheduler.leave(get);
  CHECK(scheduler.unread(watch, 5));
  scheduler.leave(watch);
  CHECK(scheduler.load("a").buffered == 0);
  CHECK(scheduler.total().unread == 0);
  CHECK(scheduler.unread(watch, 5)); // it has left
  CHECK(scheduler.total().buffered == 0);
}

TEST_CASE("a tenant whose clients read nothing is not answered any more") {
  Bench bench(10);
  auto flow = share(10);
  flow.buffered = 100;
  REQUIRE(bench.enter("a", flow) == Verdict::admitted);
  const auto first = bench.last;
  REQUIRE(bench.enter("a", flow) == Verdict::admitted);
  bench.scheduler.answered(first, 99);
  bench.scheduler.answered(bench.last, 99); // more than the budget, for it is there
  CHECK(bench.scheduler.load("a").buffered == 198);
  CHECK(bench.enter("a", flow) == Verdict::full_bytes);
  CHECK(bench.enter("a", flow, "u", Work::long_running) == Verdict::full_bytes);
  CHECK(bench.enter("b", flow) == Verdict::admitted);
  bench.scheduler.leave(first);
  CHECK(bench.enter("a", flow) == Verdict::admitted);
}

TEST_CASE("places go in proportion to weights while all wait") {
  Bench bench(8);
  for (int i = 0; i < 60; ++i)
    bench.enter("a", share(1000, 300));
  for (int i = 0; i < 60; ++i)
    bench.enter("b", share(1000, 100));
  // The first ones took all places; as they end, the others come to what is theirs.
  std::map<std::string, int> got;
  for (int i = 0; i < 40; ++i) {
    for (const auto& who : bench.end())
      if (i >= 8) ++got[who];
  }
  CHECK(got["a/u"] + got["b/u"] == 32);
  CHECK(got["a/u"] >= 23);
  CHECK(got["a/u"] <= 25);
}

TEST_CASE("a tenant that comes while another one waits with hundreds is served next") {
  Bench bench(4, 1000);
  for (int i = 0; i < 500; ++i)
    bench.enter("attacker", share(1000), "u" + std::to_string(i % 30));
  CHECK(bench.enter("calm") == Verdict::admitted); // its first: one of the spare places
  CHECK(bench.enter("calm") == Verdict::queued);
  CHECK(bench.end().empty()); // five are running, four may
  CHECK(bench.end() == std::vector<std::string>{"calm/u"});
}

TEST_CASE("spare places for first requests are bounded") {
  Bench bench(2);
  CHECK(bench.enter("a") == Verdict::admitted);
  CHECK(bench.enter("a") == Verdict::admitted);
  CHECK(bench.enter("b") == Verdict::admitted);
  CHECK(bench.enter("c") == Verdict::admitted);
  CHECK(bench.enter("d") == Verdict::queued);
}

TEST_CASE("the users of a tenant take turns") {
  Bench bench(1, 100);
  bench.enter("a", share(1000), "busy");
  for (int i = 0; i < 3; ++i)
    bench.enter("a", share(1000), "busy");
  bench.enter("a", share(1000), "other");
  std::vector<std::string> order;
  while (!bench.running.empty()) {
    for (const auto& who : bench.end())
      order.push_back(who);
  }
  CHECK(order == std::vector<std::string>{"a/busy", "a/other", "a/busy", "a/busy"});
}

TEST_CASE("a full queue makes room for a user who has less in it") {
  Bench bench(1, 3);
  bench.enter("a", share(1000), "busy");
  for (int i = 0; i < 3; ++i)
    CHECK(bench.enter("a", share(1000), "busy") == Verdict::queued);
  const auto evicted = bench.last;
  CHECK(bench.enter("a", share(1000), "busy") == Verdict::full_queue);
  CHECK(bench.enter("a", share(1000), "other") == Verdict::queued);
  const auto changes = bench.scheduler.take_changes();
  REQUIRE(changes.size() == 1);
  CHECK(changes.front().ticket == evicted);
  CHECK_FALSE(changes.front().admitted);
  bench.scheduler.leave(evicted); // harmless
  CHECK(bench.scheduler.load("a").queued == 3);
  CHECK(bench.enter("a", share(1000), "other") == Verdict::full_queue);
}

TEST_CASE("who does not wait any longer leaves the queue") {
  Bench bench(1);
  bench.enter("a");
  bench.enter("a");
  const auto tired = bench.last;
  bench.enter("a", share(1000), "patient");
  bench.scheduler.leave(tired);
  CHECK(bench.end() == std::vector<std::string>{"a/patient"});
  bench.end();
  CHECK(bench.scheduler.in_flight() == 0);
  CHECK(bench.scheduler.load("a").queued == 0);
}

TEST_CASE("bytes that are held count until their request leaves") {
  Bench bench(10);
  Flow flow;
  flow.buffered = 100;
  bench.enter("a", flow);
  const auto first = bench.last;
  bench.enter("a", flow);
  CHECK(bench.scheduler.buffer(first, 60));
  CHECK_FALSE(bench.scheduler.buffer(bench.last, 60));
  CHECK(bench.scheduler.buffer(bench.last, 40));
  bench.scheduler.leave(first);
  CHECK(bench.scheduler.buffer(bench.last, 60));
  CHECK(bench.scheduler.load("a").buffered == 100);
  CHECK_FALSE(bench.scheduler.buffer(999, 1));
}

TEST_CASE("more places let those in that wait") {
  Bench bench(1);
  bench.enter("a");
  bench.enter("a");
  bench.enter("a");
  bench.scheduler.set_limits({3, 100});
  CHECK(bench.admitted().size() == 2);
}

TEST_CASE("with a hundred times its share an attacker takes nothing from others") {
  // Two calm tenants with one request at a time, one that always has a thousand waiting.
  Bench bench(10, 1000);
  std::map<std::string, int> served;
  for (int i = 0; i < 1000; ++i)
    bench.enter("attacker", share(10'000), "u" + std::to_string(i % 30));
  for (int round = 0; round < 1000; ++round) {
    for (const auto* calm : {"calm1", "calm2"}) {
      if (bench.scheduler.load(calm).in_flight + bench.scheduler.load(calm).queued == 0)
        CHECK(bench.enter(calm) == Verdict::admitted);
    }
    ++served[bench.owner[bench.running.front()]];
    bench.end();
  }
  // At most as often behind as there are places.
  CHECK(served["calm1/u"] >= 1000 / 13);
  CHECK(served["calm2/u"] >= 1000 / 13);
}

TEST_CASE("the total is the sum of all tenants, whatever they did") {
  Numbered scheduler({3, 4});
  const std::vector<std::string> tenants = {"a", "b", "c"};
  std::mt19937 random(7);
  std::vector<Ticket> open;
  Flow flow;
  flow.requests = 6;
  flow.mutations = 3;
  flow.long_running = 2;
  flow.buffered = 100;
  for (Ticket ticket = 1; ticket < 3'000; ++ticket) {
    const auto user = std::to_string(random() % 3);
    const auto verdict =
        scheduler.enter(ticket, tenants[random() % 3], flow, user, static_cast<Work>(random() % 3));
    if (verdict == Verdict::admitted || verdict == Verdict::queued) open.push_back(ticket);
    scheduler.buffer(ticket, random() % 40);
    while (!open.empty() && random() % 2 == 0) {
      const auto at = random() % open.size();
      scheduler.leave(open[at]); // also of what lost its place in the queue
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
    }
    static_cast<void>(scheduler.take_changes());
    FlowLoad sum;
    for (const auto& tenant : tenants) {
      const auto load = scheduler.load(tenant);
      sum.in_flight += load.in_flight;
      sum.mutations += load.mutations;
      sum.long_running += load.long_running;
      sum.queued += load.queued;
      sum.buffered += load.buffered;
      sum.refused += load.refused;
    }
    const auto total = scheduler.total();
    REQUIRE(total.in_flight == sum.in_flight);
    REQUIRE(total.mutations == sum.mutations);
    REQUIRE(total.long_running == sum.long_running);
    REQUIRE(total.queued == sum.queued);
    REQUIRE(total.buffered == sum.buffered);
    REQUIRE(total.refused == sum.refused);
  }
  for (const auto ticket : open)
    scheduler.leave(ticket);
  CHECK(scheduler.total().in_flight == 0);
  CHECK(scheduler.total().queued == 0);
  CHECK(scheduler.total().buffered == 0);
  CHECK(scheduler.total().refused > 0);
}
