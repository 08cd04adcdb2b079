// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/authz/rights.hpp"
#include "daemon/upstream/page_spaces.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

/// Lists and watches over all namespaces of who may read only some of them, in a view that is
/// filtered by upstream's rights (access::View::rights).
namespace zoo::gateway {

class Exchange;

/// The namespaces to which such a request is held.
struct OwnSpaces {
  authz::RightsPtr rights;             ///< of which this was computed
  upstream::PageSpaces::Spaces spaces; ///< in key order, each with a slash; never empty
  std::uint64_t watched = 0;           ///< a hash of those that a watch of the kind would show

  bool contain(std::string_view key) const; ///< "<namespace>/<name>"
};

/// Nothing: the request goes straight, for he may read all of them, or none, which upstream says
/// in its own words; or the view is not filtered, or the request is no such one.
/// Code::unavailable: upstream's rights are not known at the moment. Code::expired: a watch may not
/// go on from where it stood, for they were others then.
Result<std::optional<OwnSpaces>> own_spaces_of(const Exchange& exchange);

/// Are they others than `before` by now? While upstream's rights are not known they are not.
bool own_spaces_changed(const Exchange& exchange, OwnSpaces& before);

/// What a client hears who is to list again.
inline constexpr std::string_view k_spaces_changed =
    "the namespaces that you may see have changed; list again";

/// So many namespaces are listed one by one, as the caller himself; of more the whole kind is read
/// as zood, and what stands elsewhere left out.
inline constexpr std::size_t k_most_own_spaces = 64;

/// A client that lists, and then watches from there, must not miss what stands in a namespace that
/// he was given in between: a list hears nothing of it, a watch only of its changes. So it is
/// remembered from which resourceVersion on the namespaces of a user and kind have been the same.
/// Thread-safe; bounded: who is forgotten lists once more.
class SeenSpaces {
public:
  /// A list of what `key` names, a user and a kind, was answered at this resourceVersion.
  /// `watched`: a digest of the namespaces that a watch would show him at this moment. `changed`:
  /// the list itself showed others, since they changed while it was read.
  void listed(const std::string& key, std::uint64_t watched, std::int64_t revision, bool changed);
  /// Has every list at this resourceVersion, or later, shown what stands in the same namespaces?
  bool same_since(const std::string& key, std::uint64_t watched, std::int64_t revision);
  /// The same of who may read all of them now, where nothing need be known of his lists.
  bool whole_since(const std::string& key, std::int64_t revision);

  /// A watch of his that was begun while he was shown `watched` has told this resourceVersion. Who
  /// goes on from there by what is seen now goes on from something else.
  void told(const std::string& key, std::uint64_t watched, std::int64_t revision);

  static constexpr std::size_t k_most = 16'384;

private:
  struct Seen {
    std::uint64_t watched = 0;
    std::int64_t since = 0;  ///< from here on they are the same
    std::int64_t handed = 0; ///< the newest resourceVersion of a list
  };
  std::mutex mutex_;
  std::unordered_map<std::string, Seen> seen_;
};

/// Whose rights to what: they follow from his name and his groups. A key of SeenSpaces.
std::string seen_key_of(const Exchange& exchange);

/// The list of `exchange`, which was held to its OwnSpaces, was answered at this resourceVersion.
void own_spaces_listed(const Exchange& exchange, std::int64_t revision);

} // namespace zoo::gateway
