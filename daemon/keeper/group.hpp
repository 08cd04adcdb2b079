// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/keeper/cgroups.hpp"
#include "daemon/keeper/fence.hpp"
#include "daemon/keeper/plan.hpp"
#include "daemon/keeper/process.hpp"
#include "daemon/keeper/users.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace zoo::keeper {

/// How patient a Group is.
struct Patience {
  std::chrono::milliseconds retry{200};      ///< after a component ended; doubles each time
  std::chrono::milliseconds most{30'000};    ///< up to this
  std::chrono::milliseconds healthy{60'000}; ///< after that long the next end is the first again
  std::chrono::milliseconds grace{10'000};   ///< between SIGTERM and SIGKILL
  std::chrono::milliseconds look{50};        ///< between two looks whether it accepts connections
  std::uint64_t log_bytes = 8 << 20;         ///< of a log, before it is put aside
  unsigned logs = 4;                         ///< of a component, the current one included
};

/// The processes of one Plan, kept as it wishes. Level-triggered: turn() makes the next steps that
/// are due. What it must know after the keeper's death stands in its directory:
/// `keeper/plan.json` and `keeper/state.json`; logs in `log/<component>.log`. One thread.
class Group {
public:
  using Clock = std::chrono::steady_clock;

  /// `directory`: of the cluster, with mode 0700. `binaries`: has a directory for each version.
  /// `cgroups` and `users` outlive it.
  Group(std::filesystem::path directory, std::filesystem::path binaries, Patience patience,
        Cgroups& cgroups, const Users& users);

  /// Takes up what the keeper before has left, with the processes that still run. Code::not_found
  /// if there is no plan; Code::invalid if it cannot be read.
  Result<void> load();
  /// Has that plan from now on. Components that are another than before are started anew, each
  /// when its turn comes; those that are in it no more end. Code::io.
  Result<void> put(Plan plan);
  Result<void> wish(bool run); ///< Code::io
  void enter();                ///< has its processes in its cgroup
  void bound();                ///< and that held to the plan's limits
  /// The wish is to end, and then to be forgotten: see gone().
  void remove() { removing_ = true; }
  bool removing() const { return removing_; }
  bool gone() const { return state().gone(); }
  void forget(); ///< removes what stands in the directory of the keeper's; after gone()

  /// `may_start`: else no component is started, for others are starting. Returns when it wants
  /// to be called again, if no process ends before.
  std::optional<Clock::time_point> turn(Clock::time_point now, bool may_start);
  bool begun() const;    ///< some of it runs
  bool starting() const; ///< it runs, or is to, and not all of it accepts connections yet
  void rotate_logs();

  const Plan& plan() const { return plan_; }
  PlanState state() const;
  /// Some of it runs as another user than what starts anew would: it keeps its user as long as any
  /// of it runs.
  bool of_former_user() const;
  /// pidfds, for poll(2).
  std::vector<int> descriptors() const;
  /// Has state() become another since this was asked last?
  bool changed();

private:
  struct Started {
    Component component;
    std::string version;
    bool operator==(const Started&) const = default;
  };
  struct Member {
    explicit Member(Component wanted) : component(std::move(wanted)) {}
    Component component;
    std::optional<Started> running = {}; ///< as its process was started
    std::optional<Process> process = {};
    bool ready = false;
    std::optional<Clock::time_point> told_to_end = {}; ///< SIGTERM was sent
    bool killed = false;
    Clock::time_point started{};
    Clock::time_point next{}; ///< not to be started before
    std::chrono::milliseconds backoff{0};
    std::int64_t since = 0;
    std::uint64_t restarts = 0;
    std::uint64_t failures = 0; ///< in a row
    std::string ended = {};
  };
  void note_end(Member& member, const std::string& how, Clock::time_point now);
  bool wanted(const Member& member) const; ///< is a process of it to run?
  bool may_end(const Member& member) const;
  void end(Member& member, Clock::time_point now);
  void start(Member& member, Clock::time_point now);
  Result<void> choose_user();
  Result<Fence> fence_of(const Component& component) const;
  bool is_ready(const std::string& name) const;
  Result<void> save_plan();
  Result<void> save_state(const Member* starting = nullptr, const Identity* identity = nullptr);

  const std::filesystem::path directory_, binaries_;
  const Patience patience_;
  Cgroups& cgroups_;
  const Users& users_;
  Plan plan_;
  User user_;                   ///< whose its processes are, all of them
  std::vector<Member> members_; ///< those of the plan in order, then those that are to end
  bool removing_ = false;
  PlanState told_; ///< when changed() was asked last
};

} // namespace zoo::keeper
