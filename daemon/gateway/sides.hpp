// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/authz/rights.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Lists and watches of a kind that upstream answers to callers who may read the whole of it, and
/// zood to the others (access::LocalApi::divides). Both say resourceVersions of one cluster, but do
/// not show one set of objects: a client that is answered by the other side than before must list
/// again. docs/decisions/203.
namespace zoo::gateway {

class Exchange;

/// Who answers this caller's lists and watches of the kind, as his rights are at one moment.
struct Side {
  std::string key;           ///< of the caller and the kind, in SeenSpaces
  std::uint64_t answers = 0; ///< 0: upstream answers both; else zood answers one of them, or both
  authz::RightsPtr rights;   ///< by which that is so
  bool begins_anywhere = false; ///< a watch that does not go on from a position of the client's
  bool over = false;            ///< it was found to be another one
};

/// Nothing: the kind is not divided, the request is no list or watch, or upstream's rights are not
/// known, which the view says itself. Code::expired: a watch may not go on from where it stood, for
/// that was said by the other side, or nobody remembers by whom. Loop thread, like the rest.
Result<std::optional<Side>> side_of(const Exchange& exchange);

/// Does the other side answer by now? While upstream's rights are not known it does not.
bool side_changed(Exchange& exchange);

/// The state of the kind was answered to the client at this resourceVersion.
void side_listed(Exchange& exchange, std::int64_t revision);

/// One event of a watch in JSON is to be told. False: the other side answers by now, and nothing
/// more may be told; the stream ends in a moment. What is told is remembered. Always true where
/// there are no sides.
bool side_tells(Exchange& exchange, std::string_view event);

} // namespace zoo::gateway
