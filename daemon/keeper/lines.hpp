// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/keeper/plan.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The keeper's protocol on its Unix socket: a line of JSON for each request, a line for each
/// answer, in order. Pure.
namespace zoo::keeper {

/// The longest line either side takes, its end included.
inline constexpr std::size_t k_longest_line = 256 * 1024;
/// How deep the JSON of a line may be nested.
inline constexpr std::size_t k_deepest_line = 16;

/// Cuts a stream into lines. A line that is too long breaks it for good.
class LineReader {
public:
  /// False: a line is longer than k_longest_line.
  [[nodiscard]] bool add(std::string_view bytes);
  std::optional<std::string> next(); ///< without its end
  std::size_t held() const { return bytes_.size() - used_; }

private:
  std::string bytes_;
  std::size_t used_ = 0;
};

struct Request {
  /// put: have this plan. run: change the wish of a plan. remove: end its processes and forget it.
  /// state: how it is. watch: a line for the state of each plan, then one at each change. memory:
  /// how much of it this machine has left, which zood's own sandbox may hide from it.
  enum class Verb { put, run, remove, state, watch, memory };
  Verb verb = Verb::watch;
  std::string id;    ///< of run, remove and state
  bool wish = false; ///< of run
  Plan plan;         ///< of put
};

/// Code::invalid for whatever is no such line.
Result<Request> request_of(std::string_view line);
std::string text_of(const Request& request); ///< with the end of the line

/// What is answered: an error, or states. A watch's answers have one state each.
struct Reply {
  std::optional<Error> error;
  std::vector<PlanState> states;
  bool removed = false;       ///< of a watch: the plan of the state is gone
  std::int64_t available = 0; ///< of memory: bytes; 0: not known
  /// Of memory: why no plan is held to its limits; "": each is.
  std::string soft = {};
  /// Of memory: why programs may open files of other plans; "": they may not.
  std::string unfenced = {};
  /// Of memory: clusters.uid_base of the keeper.
  std::uint32_t uid_base = 0;
  /// Of memory: which plans do not run as the users that they should have, and why; "": all do.
  std::string users = {};
};
Result<Reply> reply_of(std::string_view line);
std::string text_of(const Reply& reply); ///< with the end of the line

} // namespace zoo::keeper
