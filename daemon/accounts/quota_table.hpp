// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/quota/limits.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// What is known of the quotas of accounts, and of the slices in namespaces.
namespace zoo::accounts {

/// A ResourceQuota of zood's own in a space, as it was read or written last.
struct KnownSlice {
  std::string space, name;
  std::string owner; ///< by what it carries: an account, or "tenant/ID" (quota_owners.hpp)
  std::int64_t revision = 0;
  std::string object; ///< the ResourceQuota (JSON)
  quota::Slice slice;
};

/// Nothing: it is no slice of zood's.
std::optional<KnownSlice> read_known_slice(std::string_view resource_quota);

/// For so long what was refused for want of room counts as wanted.
inline constexpr std::chrono::seconds k_wish{3};

/// Filled by watches, and by what zood itself has written, whichever is newer. Any thread.
class QuotaTable {
public:
  /// An AccountQuota as upstream stores it. Answers the accounts that it concerns or concerned.
  std::vector<std::string> put_quota(std::string_view object);
  std::vector<std::string> remove_quota(const std::string& name);
  /// A ResourceQuota; one that is no slice is left out. Answers the owner, or "".
  std::string put_slice(std::string_view object);
  std::string put_slice(KnownSlice slice); ///< the same, read already
  std::string remove_slice(std::string_view space, std::string_view name);
  /// A ResourceQuota of somebody else, as "space/name": beside a slice it opens
  /// kubernetes#141904. Of very many some are not remembered.
  void put_other(std::string_view space, std::string_view name, bool there);
  std::vector<std::string> others() const;
  /// Something in this space was refused for want of room. What the slices there limit counts as
  /// wanted for k_wish; false: they limit nothing of it.
  bool want(std::string_view space, const quota::ResourceList& refused);

  /// Everything was read: what is not among `names` (of quotas), or `keys` ("space/name" of
  /// ResourceQuotas, whosever they are), is no more. Answers the accounts whose quotas have gone,
  /// and the slices that have.
  std::vector<std::string> keep_quotas(const std::set<std::string, std::less<>>& names);
  std::vector<KnownSlice> keep_slices(const std::set<std::string, std::less<>>& keys);

  std::vector<quota::QuotaSpec> quotas_of(std::string_view account) const;
  std::set<std::string, std::less<>> owners() const; ///< that have an AccountQuota, or slices
  std::vector<KnownSlice> slices_of(std::string_view owner) const;
  std::vector<std::string> owners_in(std::string_view space) const; ///< of slices there
  std::optional<KnownSlice> slice(std::string_view space, std::string_view name) const;
  quota::ResourceList wanted(std::string_view space) const;

  /// Waits until `holds`, at most so long; asked after each change of a slice. False: it does not.
  bool wait(const std::function<bool()>& holds, std::chrono::milliseconds most);

private:
  using Clock = std::chrono::steady_clock;
  struct Quota {
    std::string account, spec;
  };
  struct Wish {
    Clock::time_point until;
    quota::ResourceList more;
  };
  using Names = std::set<std::string, std::less<>>;
  static void index(std::map<std::string, Names, std::less<>>& by, const std::string& account,
                    const std::string& key, bool there);
  void change_slices(); ///< under the lock

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t changes_ = 0; ///< of slices: what wait() waits for
  std::map<std::string, Quota, std::less<>> quotas_;
  std::map<std::string, KnownSlice, std::less<>> slices_;           ///< by "space/name"
  std::map<std::string, Names, std::less<>> quotas_of_, slices_of_; ///< keys, by account
  std::map<std::string, Wish, std::less<>> wishes_;                 ///< by space
  Names others_;
};

} // namespace zoo::accounts
