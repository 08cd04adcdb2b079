// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/quota_table.hpp"

#include "daemon/accounts/account.hpp"
#include "daemon/accounts/bindings.hpp"
#include "daemon/accounts/quota_owners.hpp"
#include "daemon/translate/discovery_json.hpp"

#include <charconv>
#include <utility>

namespace zoo::accounts {
namespace {

/// Of spaces with wishes at the same time; the oldest goes where there are more.
constexpr std::size_t k_most_wishes = 10'000;
constexpr std::size_t k_most_others = 10'000;

std::string slice_key(std::string_view space, std::string_view name) {
  return std::string(space) + '/' + std::string(name);
}

/// Whose slice that is; "": nobody's.
std::string owner_in(const translate::JsonNode& metadata) {
  constexpr std::string_view k_account = "account.", k_tenant = "tenant.";
  if (auto account = metadata["labels"][k_account_label].string(); !account.empty()) return account;
  const auto whose = metadata["annotations"][k_quota_of].string();
  if (whose.starts_with(k_account)) return whose.substr(k_account.size());
  if (whose.starts_with(k_tenant) && whose.size() > k_tenant.size())
    return tenant_owner(whose.substr(k_tenant.size()));
  return {};
}

std::int64_t revision_in(const translate::JsonNode& metadata) {
  const auto text = metadata["resourceVersion"].string();
  std::int64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

} // namespace

std::optional<KnownSlice> read_known_slice(std::string_view object) {
  const auto tree = translate::JsonTree::parse(object);
  if (!tree) return std::nullopt;
  const auto metadata = tree->root()["metadata"];
  KnownSlice slice;
  slice.name = metadata["name"].string();
  slice.owner = owner_in(metadata);
  if (!slice.name.starts_with(quota::k_slice) || slice.owner.empty() ||
      metadata["labels"][k_managed_label].string() != "true")
    return std::nullopt;
  slice.space = metadata["namespace"].string();
  slice.revision = revision_in(metadata);
  slice.object = std::string(object);
  slice.slice = quota::read_slice(tree->root());
  return slice;
}

void QuotaTable::index(std::map<std::string, Names, std::less<>>& by, const std::string& account,
                       const std::string& key, bool there) {
  auto& keys = by[account];
  if (there) {
    keys.insert(key);
  } else {
    keys.erase(key);
  }
  if (keys.empty()) by.erase(account);
}

void QuotaTable::change_slices() {
  ++changes_;
  changed_.notify_all();
}

std::vector<std::string> QuotaTable::put_quota(std::string_view object) {
  const auto tree = translate::JsonTree::parse(object);
  if (!tree) return {};
  const auto name = tree->root()["metadata"]["name"].string();
  const auto spec = tree->root()["spec"];
  if (name.empty()) return {};
  Quota quota{spec["account"].string(), std::string(spec["quota"].raw())};
  const std::lock_guard lock(mutex_);
  auto& known = quotas_[name];
  if (known.account == quota.account && known.spec == quota.spec) return {};
  std::vector<std::string> out{quota.account};
  if (!known.account.empty() && known.account != quota.account) {
    out.push_back(known.account);
    index(quotas_of_, known.account, name, false);
  }
  index(quotas_of_, quota.account, name, true);
  known = std::move(quota);
  return out;
}

std::vector<std::string> QuotaTable::remove_quota(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = quotas_.find(name);
  if (found == quotas_.end()) return {};
  std::vector<std::string> out{found->second.account};
  index(quotas_of_, found->second.account, name, false);
  quotas_.erase(found);
  return out;
}

std::string QuotaTable::put_slice(std::string_view object) {
  auto slice = read_known_slice(object);
  return slice ? put_slice(*std::move(slice)) : std::string();
}

std::string QuotaTable::put_slice(KnownSlice slice) {
  const std::lock_guard lock(mutex_);
  const auto key = slice_key(slice.space, slice.name);
  auto& known = slices_[key];
  if (known.revision >= slice.revision) return {};
  if (known.owner != slice.owner) {
    if (!known.owner.empty()) index(slices_of_, known.owner, key, false);
    index(slices_of_, slice.owner, key, true);
  }
  known = std::move(slice);
  change_slices();
  return known.owner;
}

std::string QuotaTable::remove_slice(std::string_view space, std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto found = slices_.find(slice_key(space, name));
  if (found == slices_.end()) return {};
  auto owner = found->second.owner;
  index(slices_of_, owner, found->first, false);
  slices_.erase(found);
  change_slices();
  return owner;
}

void QuotaTable::put_other(std::string_view space, std::string_view name, bool there) {
  auto key = slice_key(space, name);
  const std::lock_guard lock(mutex_);
  if (!there) {
    others_.erase(key);
  } else if (others_.size() < k_most_others) {
    others_.insert(std::move(key));
  }
}

std::vector<std::string> QuotaTable::others() const {
  const std::lock_guard lock(mutex_);
  return {others_.begin(), others_.end()};
}

bool QuotaTable::want(std::string_view space, const quota::ResourceList& refused) {
  const std::lock_guard lock(mutex_);
  // A member can write such an event, too: resources that no slice here limits are left out.
  quota::ResourceList more;
  const auto prefix = slice_key(space, "");
  for (auto each = slices_.lower_bound(prefix);
       each != slices_.end() && each->first.starts_with(prefix); ++each) {
    for (const auto& [name, amount] : quota::only(refused, each->second.slice.spec))
      more.insert_or_assign(name, amount);
  }
  if (more.empty()) return false;
  const auto now = Clock::now();
  if (wishes_.size() >= k_most_wishes)
    std::erase_if(wishes_, [now](const auto& entry) { return entry.second.until < now; });
  if (wishes_.size() >= k_most_wishes) wishes_.erase(wishes_.begin());
  auto& wish = wishes_[std::string(space)];
  if (wish.until < now) wish.more.clear();
  wish.until = now + k_wish;
  quota::add(wish.more, more); // each refusal is of another object
  return true;
}

std::vector<std::string> QuotaTable::keep_quotas(const std::set<std::string, std::less<>>& names) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> out;
  std::erase_if(quotas_, [&](const auto& entry) {
    if (names.contains(entry.first)) return false;
    out.push_back(entry.second.account);
    index(quotas_of_, entry.second.account, entry.first, false);
    return true;
  });
  return out;
}

std::vector<KnownSlice> QuotaTable::keep_slices(const std::set<std::string, std::less<>>& keys) {
  const std::lock_guard lock(mutex_);
  std::vector<KnownSlice> out;
  std::erase_if(slices_, [&](auto& entry) {
    if (keys.contains(entry.first)) return false;
    index(slices_of_, entry.second.owner, entry.first, false);
    out.push_back(std::move(entry.second));
    return true;
  });
  std::erase_if(others_, [&](const auto& key) { return !keys.contains(key); });
  change_slices();
  return out;
}

std::vector<quota::QuotaSpec> QuotaTable::quotas_of(std::string_view account) const {
  const std::lock_guard lock(mutex_);
  std::vector<quota::QuotaSpec> out;
  if (const auto found = quotas_of_.find(account); found != quotas_of_.end())
    for (const auto& name : found->second)
      out.push_back({name, quotas_.at(name).spec});
  return out;
}

std::set<std::string, std::less<>> QuotaTable::owners() const {
  const std::lock_guard lock(mutex_);
  std::set<std::string, std::less<>> out;
  for (const auto* by : {&quotas_of_, &slices_of_})
    for (const auto& [owner, names] : *by)
      out.insert(owner);
  return out;
}

std::vector<std::string> QuotaTable::owners_in(std::string_view space) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> out;
  const auto prefix = slice_key(space, "");
  for (auto each = slices_.lower_bound(prefix);
       each != slices_.end() && each->first.starts_with(prefix); ++each)
    out.push_back(each->second.owner);
  return out;
}

std::vector<KnownSlice> QuotaTable::slices_of(std::string_view owner) const {
  const std::lock_guard lock(mutex_);
  std::vector<KnownSlice> out;
  if (const auto found = slices_of_.find(owner); found != slices_of_.end())
    for (const auto& key : found->second)
      out.push_back(slices_.at(key));
  return out;
}

std::optional<KnownSlice> QuotaTable::slice(std::string_view space, std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = slices_.find(slice_key(space, name));
  if (found == slices_.end()) return std::nullopt;
  return found->second;
}

quota::ResourceList QuotaTable::wanted(std::string_view space) const {
  const std::lock_guard lock(mutex_);
  const auto found = wishes_.find(space);
  if (found == wishes_.end() || found->second.until < Clock::now()) return {};
  return found->second.more;
}

bool QuotaTable::wait(const std::function<bool()>& holds, std::chrono::milliseconds most) {
  const auto end = Clock::now() + most;
  for (;;) {
    std::uint64_t seen = 0;
    {
      const std::lock_guard lock(mutex_);
      seen = changes_;
    }
    if (holds()) return true; // it reads the table itself
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, end, [&] { return changes_ != seen; })) return false;
  }
}

} // namespace zoo::accounts
