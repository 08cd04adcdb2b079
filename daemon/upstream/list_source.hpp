// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/http/message.hpp"
#include "daemon/translate/query.hpp"
#include "daemon/upstream/page_spaces.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace zoo::net {
class Loop;
}
namespace zoo::upstream {

class Upstream;
class Caller;

/// Hears what upstream's head says beside the body: Warnings, Retry-After. On the loop that asked,
/// before anything else of that answer.
using HeadListener = std::function<void(const http::ResponseHead& head)>;

/// For what is no part of what was asked, but for its refusal, which says when to come again.
HeadListener of_refusals(HeadListener listener);

/// A stretch of upstream's key order (DESIGN 6). Keys are "<namespace>/<name>" on an
/// all-namespaces path and "<name>" elsewhere.
struct KeyRange {
  std::string prefix;   ///< keys in it begin with this
  std::string start;    ///< go on from here ("<key>\0"); "" = from the prefix
  bool exact = false;   ///< the one key equal to `prefix`; not on an all-namespaces path
  std::string labels{}; ///< a list asks for objects with these only: requirements of a selector

  bool contains(std::string_view key) const {
    return exact ? key == prefix : key.starts_with(prefix);
  }
};

/// An object as upstream writes it, bytes: beyond what etcd takes (1.5 MiB), each character of
/// which may be six in JSON. Whoever reads more than one tenant's objects reads up to it: no tenant
/// can make one that stops what others ask.
inline constexpr std::size_t k_largest_object = std::size_t{16} << 20;

/// Bytes of one answer that nobody counts.
inline constexpr std::size_t k_uncounted = std::size_t{64} << 10;

/// An object is here in part, `bytes` of it, and `counted` were told to `room(before, now)`, which
/// says whether so many may be held: tells it what is different now. False: they may not.
bool count_part(std::size_t bytes, std::size_t& counted, auto&& room) {
  const auto now = bytes > k_uncounted ? bytes : 0;
  if (now == counted) return true;
  if (!room(counted, now)) return false;
  counted = now;
  return true;
}

/// For a list that is handed on as it comes, so that nobody can be told any more that upstream
/// refuses the next page for now: the page, which is fixed to one revision, is asked for again. One
/// for all parts of a list that is read namespace by namespace; on its loop.
struct ListPatience {
  explicit ListPatience(net::Loop& on) : loop(on) {}
  net::Loop& loop;
  bool told = false; ///< the handler has heard its beginning
  std::optional<std::chrono::steady_clock::time_point> until; ///< from the first refusal on
  unsigned tries = 0;                                         ///< of one page
};

/// What to list. Everything is in upstream's names and was proven inside by the asker.
struct ListRequest {
  http::RequestHead head;   ///< GET, path without query, Accept, impersonation
  translate::Params params; ///< selectors, includeObject; limit and continue are the source's
  KeyRange range;
  bool all_namespaces = false; ///< keys carry the namespace
  /// Of an all-namespaces path: only these namespaces, each by a list of its own, so that whoever
  /// may read no others can ask. In key order, each with a slash; not empty. Null: all of the
  /// range.
  PageSpaces::Spaces spaces{};
  bool table = false;         ///< rows of a Table instead of items
  std::int64_t revision = -1; ///< exactly at this resourceVersion; -1 = latest, consistent
  std::size_t limit = 0;      ///< most items to deliver; 0 = all
  /// Of an item (of a Table: a row): does it count for the limit? Null: each does.
  std::function<bool(std::string_view)> counts;
  std::size_t max_object = k_largest_object; ///< bytes, of what is handed on
  /// Of an item above max_object: is it handed on? Else it is passed over, and the list goes on.
  /// Null: each is.
  std::function<bool(std::string_view)> shows;
  /// An object above k_uncounted is here in part: `now` bytes are held instead of `before`, 0 at
  /// last. False: that is too much, and the list fails with Code::too_many_requests. Null: nobody
  /// counts.
  std::function<bool(std::size_t before, std::size_t now)> room;
  /// Of the first page; where it is read namespace by namespace, of each one's and of the list that
  /// says the version; and of a page that is refused, be it that it is tried in another way then.
  /// Null: nobody does.
  HeadListener heard;
  std::shared_ptr<ListPatience> patience; ///< null: what refuses a page ends the list
};

/// What is known once a list is over.
struct ListEnd {
  std::string resource_version;
  /// With a limit and more items behind it: the start key to go on from.
  std::optional<std::string> next_start;
};

/// A resourceVersion of upstream's as the number that a list can be asked for again by.
/// Code::unavailable if it is none: an extension API server may leave it out.
Result<std::int64_t> revision_of(std::string_view resource_version);

/// Hears a list, on the loop that started it. Must not destroy the List inside a callback: retire
/// it.
class ListHandler {
public:
  virtual ~ListHandler() = default;
  /// Once, before the first item: upstream's bytes up to and with the `[` of the array; of a list
  /// without array (null) its whole object.
  virtual void on_list_begin(std::string_view head) = 0;
  virtual void on_list_item(std::string_view key, std::string_view item) = 0;
  /// `rest` begins with the next item and may end in the middle of it: for who finds its end on the
  /// way. Its size, and then it was heard, and counts (ListRequest::counts); 0: it comes by
  /// on_list_item().
  virtual std::size_t on_list_open_item(std::string_view /*key*/, std::string_view /*rest*/) {
    return 0;
  }
  virtual void on_list_end(const ListEnd& end) = 0;
  /// `http_status` != 0: what upstream answered to a page, `body` its Status in upstream's names.
  virtual void on_list_error(const Error& error, int http_status, std::string_view body) = 0;
};

/// A list on its way; destroying it cancels.
class List {
public:
  virtual ~List() = default;
  virtual void pause() = 0;
  virtual void resume() = 0;
};

/// Reads one key range, page by page, at one resourceVersion, and stops at the first key behind it,
/// so that what is read follows the range, not the cluster. A tenant's range of all namespaces may
/// be read namespace by namespace instead: where upstream takes no positions
/// (Upstream::range_reads()), and where so much lies behind it that upstream would look at for
/// longer (docs/decisions/138-namespace-by-namespace.md). One key is asked for by its name. Other
/// paths are read from their beginning where there are no positions. No callback comes from inside.
/// `hint` names what is listed, for the size of the first page. Loop thread.
std::unique_ptr<List> list_range(Upstream& upstream, Caller& caller, ListRequest request,
                                 std::string hint, ListHandler& handler);

} // namespace zoo::upstream
