// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flow_scheduler.hpp"

#include <algorithm>

namespace zoo::gateway {

void FlowScheduler::set_limits(const Limits& limits) {
  limits_ = limits;
  dispatch();
}

/// A tenant without any request in flight need not wait for those who hold their places long: up
/// to half as many places again are there for first requests.
bool FlowScheduler::has_room(const Tenant& tenant) const {
  if (all_.in_flight < limits_.total) return true;
  return tenant.load.in_flight == 0 && all_.in_flight < limits_.total + limits_.total / 2 + 1;
}

FlowScheduler::Verdict FlowScheduler::refuse(Tenant& tenant, Verdict verdict) {
  ++tenant.load.refused;
  ++all_.refused;
  return verdict;
}

FlowScheduler::Verdict FlowScheduler::enter(Ticket ticket, std::string_view id,
                                            const api::Flow& flow, std::string_view user, Work work,
                                            bool receiving) {
  if (tenants_.size() >= k_most_tenants) forget_idle();
  auto& tenant = tenants_[std::string(id)];
  if (tenant.id.empty()) tenant.id = id;
  tenant.flow = flow;
  auto& load = tenant.load;
  if (load.buffered > flow.buffered) return refuse(tenant, Verdict::full_bytes);
  if (work == Work::long_running) {
    if (load.unread > flow.buffered / 2) return refuse(tenant, Verdict::full_bytes);
    if (load.long_running >= flow.long_running) return refuse(tenant, Verdict::full_long_running);
    ++load.long_running;
    ++all_.long_running;
    requests_.emplace(ticket, Request{&tenant, {}, work, State::running});
    return Verdict::admitted;
  }
  if (load.in_flight + load.queued + load.receiving >= flow.requests)
    return refuse(tenant, Verdict::full);
  if (work == Work::mutation && load.mutations >= flow.mutations)
    return refuse(tenant, Verdict::full_mutations);
  Verdict verdict = Verdict::admitted;
  if (receiving) {
    ++load.receiving;
    ++all_.receiving;
  } else if (verdict = place(ticket, tenant, user); verdict == Verdict::full_queue) {
    return verdict;
  }
  count_mutation(tenant, work);
  const bool waits = verdict == Verdict::queued;
  const auto state = receiving ? State::receiving : waits ? State::waiting : State::running;
  requests_.emplace(ticket, Request{&tenant, waits ? std::string(user) : "", work, state});
  return verdict;
}

FlowScheduler::Verdict FlowScheduler::received(Ticket ticket, std::string_view user) {
  const auto found = requests_.find(ticket);
  if (found == requests_.end()) return Verdict::full_queue;
  auto& request = found->second;
  if (request.state != State::receiving || request.answered) return Verdict::admitted;
  auto& tenant = *request.tenant;
  give_back(request);
  const auto verdict = place(ticket, tenant, user);
  if (verdict == Verdict::full_queue) {
    count_bytes(request, 0);
    uncount_mutation(tenant, request);
    requests_.erase(found);
    return verdict;
  }
  const bool waits = verdict == Verdict::queued;
  request.state = waits ? State::waiting : State::running;
  if (waits) request.user = user;
  return verdict;
}

FlowScheduler::Verdict FlowScheduler::place(Ticket ticket, Tenant& tenant, std::string_view user) {
  if (tenant.load.queued == 0 && has_room(tenant)) {
    tenant.served = std::max(tenant.served, now_);
    admit(tenant);
    return Verdict::admitted;
  }
  if (!enqueue(tenant, ticket, user)) return refuse(tenant, Verdict::full_queue);
  rank(tenant);
  return Verdict::queued;
}

void FlowScheduler::give_back(Request& request) {
  auto& tenant = *request.tenant;
  for (auto* load : {&tenant.load, &all_}) {
    switch (request.state) {
    case State::receiving:
      --load->receiving;
      break;
    case State::running:
      --(request.work == Work::long_running ? load->long_running : load->in_flight);
      break;
    case State::waiting:
      break; // in the queue's own books
    }
  }
}

void FlowScheduler::count_mutation(Tenant& tenant, Work work) {
  if (work != Work::mutation) return;
  ++tenant.load.mutations;
  ++all_.mutations;
}

void FlowScheduler::uncount_mutation(Tenant& tenant, const Request& request) {
  if (request.work != Work::mutation) return;
  --tenant.load.mutations;
  --all_.mutations;
}

void FlowScheduler::count_bytes(Request& request, std::uint64_t bytes) {
  for (auto* sum : {&request.tenant->load.buffered, &all_.buffered})
    *sum = *sum - request.bytes + bytes;
  request.bytes = bytes;
}

void FlowScheduler::admit(Tenant& tenant) {
  ++all_.in_flight;
  ++tenant.load.in_flight;
  tenant.served += 1.0 / std::max(1U, tenant.flow.weight);
}

bool FlowScheduler::enqueue(Tenant& tenant, Ticket ticket, std::string_view name) {
  const auto is = [name](const User& user) { return user.name == name; };
  auto mine = std::find_if(tenant.users.begin(), tenant.users.end(), is);
  if (tenant.load.queued >= limits_.queue) {
    // Who has the most waiting makes room for who has much less.
    const auto most = std::max_element(
        tenant.users.begin(), tenant.users.end(),
        [](const auto& a, const auto& b) { return a.waiting.size() < b.waiting.size(); });
    const auto has = mine == tenant.users.end() ? 0 : mine->waiting.size();
    if (most == tenant.users.end() || most->waiting.size() < has + 2) return false;
    const auto last = most->waiting.back();
    unqueue(tenant, last, most->name);
    const auto found = requests_.find(last);
    count_bytes(found->second, 0);
    uncount_mutation(tenant, found->second);
    requests_.erase(found);
    static_cast<void>(refuse(tenant, Verdict::full_queue));
    changes_.push_back({last, false});
    mine = std::find_if(tenant.users.begin(), tenant.users.end(), is);
  }
  if (mine == tenant.users.end())
    mine = tenant.users.insert(tenant.users.end(), User{std::string(name), {}});
  mine->waiting.push_back(ticket);
  ++tenant.load.queued;
  ++all_.queued;
  return true;
}

void FlowScheduler::unqueue(Tenant& tenant, Ticket ticket, const std::string& name) {
  const auto user = std::find_if(tenant.users.begin(), tenant.users.end(),
                                 [&](const User& each) { return each.name == name; });
  if (user == tenant.users.end()) return;
  const auto found = std::find(user->waiting.begin(), user->waiting.end(), ticket);
  if (found == user->waiting.end()) return;
  user->waiting.erase(found);
  if (user->waiting.empty()) tenant.users.erase(user);
  --tenant.load.queued;
  --all_.queued;
}

void FlowScheduler::rank(Tenant& tenant) {
  unrank(tenant);
  if (tenant.load.queued == 0) return;
  tenant.served = std::max(tenant.served, now_);
  tenant.rank = {tenant.load.in_flight / static_cast<double>(std::max(1U, tenant.flow.weight)),
                 tenant.served, tenant.id};
  waiting_.emplace(tenant.rank, &tenant);
  tenant.ranked = true;
}

void FlowScheduler::unrank(Tenant& tenant) {
  if (std::exchange(tenant.ranked, false)) waiting_.erase({tenant.rank, &tenant});
}

void FlowScheduler::dispatch() {
  while (!waiting_.empty()) {
    auto& tenant = *waiting_.begin()->second;
    if (!has_room(tenant)) return;
    auto user = tenant.users.begin();
    const auto ticket = user->waiting.front();
    user->waiting.pop_front();
    --tenant.load.queued;
    --all_.queued;
    if (user->waiting.empty()) {
      tenant.users.erase(user);
    } else {
      tenant.users.splice(tenant.users.end(), tenant.users, user); // the others have their turn
    }
    auto& request = requests_.at(ticket);
    request.state = State::running;
    request.user.clear();
    now_ = std::max(now_, tenant.served);
    admit(tenant);
    rank(tenant);
    changes_.push_back({ticket, true});
  }
}

void FlowScheduler::leave(Ticket ticket) {
  const auto found = requests_.find(ticket);
  if (found == requests_.end()) return;
  auto request = std::move(found->second);
  requests_.erase(found);
  auto& tenant = *request.tenant;
  count_unread(request, 0);
  count_bytes(request, 0);
  if (request.answered) return;
  uncount_mutation(tenant, request);
  if (request.state == State::waiting) unqueue(tenant, ticket, request.user);
  give_back(request);
  if (request.work == Work::long_running) return;
  rank(tenant);
  dispatch();
}

bool FlowScheduler::buffer(Ticket ticket, std::uint64_t bytes) {
  const auto found = requests_.find(ticket);
  if (found == requests_.end()) return false;
  auto& tenant = *found->second.tenant;
  if (tenant.load.buffered + bytes > tenant.flow.buffered) {
    static_cast<void>(refuse(tenant, Verdict::full_bytes));
    return false;
  }
  count_bytes(found->second, found->second.bytes + bytes);
  return true;
}

bool FlowScheduler::unread(Ticket ticket, std::uint64_t bytes) {
  const auto found = requests_.find(ticket);
  if (found == requests_.end()) return true;
  auto& request = found->second;
  const bool more = bytes > request.unread;
  count_unread(request, bytes);
  if (!more || within(request, 0)) return true;
  static_cast<void>(refuse(*request.tenant, Verdict::full_bytes));
  return false;
}

bool FlowScheduler::hold(Ticket ticket, std::uint64_t bytes) {
  const auto found = requests_.find(ticket);
  if (found == requests_.end()) return true;
  auto& request = found->second;
  if (bytes <= request.unread) return true;
  if (!within(request, bytes - request.unread)) return false;
  count_unread(request, bytes);
  return true;
}

void FlowScheduler::count_unread(Request& request, std::uint64_t bytes) {
  count_bytes(request, request.bytes - request.unread + bytes);
  if (request.work == Work::long_running) {
    for (auto* load : {&request.tenant->load, &all_})
      load->unread = load->unread - request.unread + bytes;
  }
  request.unread = bytes;
}

bool FlowScheduler::within(const Request& request, std::uint64_t more) {
  const auto& load = request.tenant->load;
  const auto& flow = request.tenant->flow;
  const bool long_running = request.work == Work::long_running;
  // One alone may go beyond it: else an event that is larger would come again and again.
  if (long_running && load.unread == request.unread) return true;
  return load.buffered + more <= flow.buffered &&
         (!long_running || load.unread + more <= flow.buffered / 2);
}

void FlowScheduler::answered(Ticket ticket, std::uint64_t kept) {
  const auto found = requests_.find(ticket);
  if (found == requests_.end()) return;
  auto& request = found->second;
  if (request.state == State::waiting || kept == 0) return leave(ticket);
  // One that lasted still keeps others of its kind from as much.
  count_unread(request, request.work == Work::long_running ? kept : 0);
  count_bytes(request, kept);
  if (request.answered || request.work == Work::long_running) return;
  request.answered = true;
  auto& tenant = *request.tenant;
  uncount_mutation(tenant, request);
  give_back(request);
  rank(tenant);
  dispatch();
}

FlowScheduler::Load FlowScheduler::load(std::string_view tenant) const {
  const auto found = tenants_.find(std::string(tenant));
  return found == tenants_.end() ? Load{} : found->second.load;
}

void FlowScheduler::forget_idle() {
  std::erase_if(tenants_, [](const auto& entry) {
    const auto& load = entry.second.load;
    return load.in_flight + load.long_running + load.queued + load.receiving == 0 &&
           load.buffered == 0;
  });
}

} // namespace zoo::gateway
