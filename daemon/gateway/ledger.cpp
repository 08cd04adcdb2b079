// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/ledger.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace zoo::gateway {
namespace {

std::size_t at(api::Counted what) { return static_cast<std::size_t>(what); }

/// Keys that upstream was to make up begin so; no name does.
constexpr char k_unnamed = '?';

bool made_by_controllers(api::Counted what) {
  return what == api::Counted::objects || what == api::Counted::bytes;
}

} // namespace

// ---- Hold ----

Ledger::Hold::Hold(Hold&& other) noexcept
    : ledger_(std::exchange(other.ledger_, nullptr)), tenant_(std::move(other.tenant_)),
      charges_(std::move(other.charges_)), turn_(std::move(other.turn_)) {}

Ledger::Hold::~Hold() { settle(Outcome::unknown); }

void Ledger::Hold::settle(Outcome outcome, std::uint64_t answered) {
  if (auto* ledger = std::exchange(ledger_, nullptr))
    ledger->settle(tenant_, charges_, outcome, answered);
  if (turn_ && outcome == Outcome::unknown) turn_->doubt();
  turn_.reset();
}

// ---- accounts ----

std::uint64_t Ledger::Item::amount() const {
  auto out = stored;
  for (const auto each : reserved)
    out = std::max(out, each);
  return out;
}

template <class F>
void Ledger::Account::change(const std::string& key, F apply) {
  auto& item = items[key];
  total -= item.amount();
  apply(item);
  total += item.amount();
  if (item.amount() == 0 && item.reserved.empty()) items.erase(key);
}

bool Ledger::Account::stale(api::Counted what, Clock::time_point now) const {
  return !known || (made_by_controllers(what) && now - counted > k_believed);
}

/// Before a refusal: could a count find less?
bool Ledger::Account::worth_counting(api::Counted what, Clock::time_point now,
                                     Clock::time_point since) const {
  if (counting) return true;
  if (counted > since) return false;
  const bool removing = removal != Clock::time_point{} && now - removal < k_removal;
  const auto cost = made_by_controllers(what) ? k_dear : 1; // all kinds instead of one or two
  return now - counted > cost * (removing ? Clock::duration(k_soon) : Clock::duration(k_again));
}

bool Ledger::Account::idle(Clock::time_point now) const {
  return !counting && now - asked > k_idle &&
         std::all_of(items.begin(), items.end(),
                     [](const auto& item) { return item.second.reserved.empty(); });
}

Ledger::Shard& Ledger::shard_of(const std::string& tenant) const {
  return shards_[std::hash<std::string>{}(tenant) % shards_.size()];
}

void Ledger::sweep(Shard& shard, Clock::time_point now) {
  if (now - shard.swept < k_idle / 10) return;
  shard.swept = now;
  for (auto tenant = shard.tenants.begin(); tenant != shard.tenants.end();) {
    bool any = false;
    for (auto& account : tenant->second) {
      if (account && account->idle(now)) account.reset();
      any = any || account.has_value();
    }
    tenant = any ? std::next(tenant) : shard.tenants.erase(tenant);
  }
}

// ---- reservations ----

bool Ledger::needs_turn(const Charge& charge) {
  return !made_by_controllers(charge.what) && charge.amount > 0;
}

Ledger::Answer Ledger::reserve(const std::string& tenant, const api::Quota& quota,
                               std::vector<Charge> charges, Clock::time_point now,
                               Clock::time_point since, std::optional<std::uint64_t> generation) {
  Answer out;
  std::erase_if(charges, [&](const Charge& charge) { return !quota.contains(charge.what); });
  auto& shard = shard_of(tenant);
  const std::scoped_lock lock(shard.mutex);
  sweep(shard, now);
  if (charges.empty()) {
    out.hold.emplace(Hold(this, tenant, {}));
    return out;
  }
  auto& accounts = shard.tenants[tenant];
  std::erase_if(charges, [&](const Charge& charge) { // nothing, of what nobody has to know yet
    const auto& account = accounts[at(charge.what)];
    return charge.amount == 0 && (!account || !account->known);
  });
  for (auto& charge : charges) {
    auto& account = accounts[at(charge.what)];
    if (!account) account.emplace();
    account->asked = now;
    if (generation && !made_by_controllers(charge.what) && account->generation != *generation) {
      account->generation = *generation;
      account->known = false; // another zood may have written since
    }
    if (account->stale(charge.what, now)) {
      out.count = charge.what;
      return out;
    }
    if (charge.key.empty()) charge.key = k_unnamed + std::to_string(++unnamed_);
    const auto found = account->items.find(charge.key);
    const auto has = found == account->items.end() ? 0 : found->second.amount();
    if (charge.more) charge.amount += std::exchange(charge.more, false) ? has : 0;
    const auto limit = quota.at(charge.what);
    const auto requested = charge.amount > has ? charge.amount - has : 0;
    if (requested == 0 || account->total + requested <= limit) continue;
    if (account->worth_counting(charge.what, now, since)) {
      out.count = charge.what;
    } else {
      out.full = Full{charge.what, requested, account->total, limit};
    }
    return out;
  }
  for (const auto& charge : charges) {
    accounts[at(charge.what)]->change(charge.key,
                                      [&](Item& item) { item.reserved.push_back(charge.amount); });
  }
  out.hold.emplace(Hold(this, tenant, std::move(charges)));
  return out;
}

void Ledger::settle(const std::string& tenant, const std::vector<Charge>& charges,
                    Hold::Outcome outcome, std::uint64_t answered) {
  if (charges.empty()) return;
  auto& shard = shard_of(tenant);
  const std::scoped_lock lock(shard.mutex);
  const auto found = shard.tenants.find(tenant);
  if (found == shard.tenants.end()) return;
  for (const auto& charge : charges) {
    auto& account = found->second[at(charge.what)];
    if (!account) continue;
    account->change(charge.key, [&](Item& item) {
      const auto mine = std::find(item.reserved.begin(), item.reserved.end(), charge.amount);
      if (mine != item.reserved.end()) item.reserved.erase(mine);
      // Upstream adds to what it is sent: defaults, metadata, who owns which field.
      const auto more = charge.what == api::Counted::bytes ? answered : 0;
      if (outcome == Hold::Outcome::written) item.stored = std::max(charge.amount, more);
      if (outcome == Hold::Outcome::unknown) item.stored = std::max(item.stored, charge.amount);
    });
    if (outcome == Hold::Outcome::refused) continue;
    if (account->counting) account->touched.insert(charge.key);
    // Its name may be among what the count finds, or it may not be there at all.
    if ((account->counting && charge.key.front() == k_unnamed) ||
        outcome == Hold::Outcome::unknown) {
      account->removal = Clock::now();
    }
  }
}

// ---- counts ----

bool Ledger::begin_count(const std::string& tenant, api::Counted what, Clock::time_point now,
                         std::function<void()> wake) {
  auto& shard = shard_of(tenant);
  const std::scoped_lock lock(shard.mutex);
  auto& account = shard.tenants[tenant][at(what)];
  if (!account) account.emplace();
  account->asked = now;
  if (account->counting) {
    account->waiting.push_back(std::move(wake));
    return false;
  }
  account->counting = true;
  account->counted = now; // what is removed from here on may still be found
  account->touched.clear();
  return true;
}

void Ledger::finish_count(const std::string& tenant, api::Counted what, const Amounts& found) {
  std::vector<std::function<void()>> waiting;
  auto& shard = shard_of(tenant);
  {
    const std::scoped_lock lock(shard.mutex);
    auto& account = shard.tenants[tenant][at(what)];
    if (!account || !account->counting) return;
    std::vector<std::string> gone;
    for (const auto& [key, item] : account->items) {
      if (!found.contains(key) && !account->touched.contains(key)) gone.push_back(key);
    }
    for (const auto& key : gone)
      account->change(key, [](Item& item) { item.stored = 0; });
    for (const auto& [key, amount] : found) {
      if (account->touched.contains(key)) continue;
      account->change(key, [amount = amount](Item& item) { item.stored = amount; });
    }
    account->known = true;
    account->counting = false;
    account->touched.clear();
    waiting.swap(account->waiting);
  }
  for (const auto& wake : waiting)
    wake();
}

void Ledger::abandon_count(const std::string& tenant, api::Counted what) {
  std::vector<std::function<void()>> waiting;
  auto& shard = shard_of(tenant);
  {
    const std::scoped_lock lock(shard.mutex);
    auto& account = shard.tenants[tenant][at(what)];
    if (!account || !account->counting) return;
    account->counting = false;
    account->counted = {};
    account->touched.clear();
    waiting.swap(account->waiting);
  }
  for (const auto& wake : waiting)
    wake();
}

void Ledger::removed(const std::string& tenant, Clock::time_point now) {
  auto& shard = shard_of(tenant);
  const std::scoped_lock lock(shard.mutex);
  const auto found = shard.tenants.find(tenant);
  if (found == shard.tenants.end()) return;
  for (auto& account : found->second) {
    if (account) account->removal = now;
  }
}

std::map<api::Counted, std::uint64_t> Ledger::used(const std::string& tenant) const {
  std::map<api::Counted, std::uint64_t> out;
  const auto& shard = shard_of(tenant);
  const std::scoped_lock lock(shard.mutex);
  const auto found = shard.tenants.find(tenant);
  if (found == shard.tenants.end()) return out;
  for (std::size_t i = 0; i < api::k_counted; ++i) {
    const auto& account = found->second[i];
    if (account && account->known) out[static_cast<api::Counted>(i)] = account->total;
  }
  return out;
}

} // namespace zoo::gateway
