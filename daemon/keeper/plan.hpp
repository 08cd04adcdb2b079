// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// What the keeper of control planes is told and what it tells: values, read strictly. Pure.
namespace zoo::keeper {

/// Bounds of a Plan; what is above one of them is refused.
inline constexpr std::size_t k_most_components = 16;
inline constexpr std::size_t k_most_arguments = 256; ///< of a component, and of its environment
inline constexpr std::size_t k_longest_argument = 4'096;

/// A program that is to run. Its file is BINARIES/<version of the plan>/<name>, whatever else the
/// plan says.
struct Component {
  std::string name;                     ///< lower-case letters and dashes: "kube-apiserver"
  std::vector<std::string> arguments;   ///< behind argv[0], which is `name`
  std::vector<std::string> environment; ///< "NAME=value"; nothing is inherited but PATH and HOME
  std::vector<std::string> after;       ///< components that must accept connections first
  std::string address;                  ///< IPv4 address at which it accepts connections, with:
  std::uint16_t port = 0;
  /// Directories of the cluster's own in which it writes; all else there it may read alone.
  std::vector<std::string> writes = {};
  bool operator==(const Component&) const = default;
};

/// What the components of a plan may have together, where the keeper can hold them to it. Another
/// bound starts nothing anew.
struct Limits {
  std::uint64_t memory = 0; ///< bytes; 0: no bound
  unsigned weight = 0;      ///< of 1 to 10,000: its part where processors are short; 0: the usual
  bool operator==(const Limits&) const = default;
};

/// The components of one control plane, in the order of their start. They stop in reverse.
struct Plan {
  std::string id;      ///< six characters of a-z and 0-9
  std::string version; ///< "1.36.3"
  bool run = false;    ///< the wish, which outlives the keeper
  std::vector<Component> components;
  Limits limits = {};
  std::uint32_t number = 0; ///< no other plan's: its user's, where each has one; 0: not said
  bool operator==(const Plan&) const = default;
};

/// How one component is.
struct ComponentState {
  /// waiting: for what it comes after, or for its next try. starting: it runs, and does not accept
  /// connections yet. stopping: it was told to end.
  enum class Phase { stopped, waiting, starting, running, stopping };
  std::string name;
  Phase phase = Phase::stopped;
  std::int64_t pid = 0;       ///< 0: there is no process
  std::uint64_t restarts = 0; ///< times that it ended without being told to
  std::uint64_t failures = 0; ///< the same in a row, with no minute of health between them
  std::int64_t since = 0;     ///< Unix seconds of its start; 0: it was never started
  std::string ended;          ///< why it ended last: "exit status 1", "signal 9"; "": it never did
  bool operator==(const ComponentState&) const = default;
};
std::string_view phase_name(ComponentState::Phase phase);

struct PlanState {
  std::string id, version;
  bool run = false;
  std::vector<ComponentState> components;
  bool ready() const; ///< all components accept connections
  bool gone() const;  ///< no component has a process
};

bool is_id(std::string_view text);      ///< six characters of a-z and 0-9
bool is_version(std::string_view text); ///< three numbers with dots between them
bool is_component_name(std::string_view text);

/// Code::invalid, with what of which component is wrong.
Result<Plan> plan_of(const nlohmann::json& value);
nlohmann::json to_json(const Plan& plan);
/// One of a plan, alone: whether those it comes after are there is not asked.
Result<Component> component_of(const nlohmann::json& value);
nlohmann::json to_json(const Component& component);
Result<PlanState> state_of(const nlohmann::json& value);
nlohmann::json to_json(const PlanState& state);

} // namespace zoo::keeper
