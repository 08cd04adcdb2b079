// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/file.hpp"
#include "common/base/result.hpp"
#include "daemon/keeper/group.hpp"
#include "daemon/keeper/lines.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace zoo::keeper {

struct KeeperOptions {
  std::filesystem::path directory; ///< DIR/clusters: the socket, and a directory for each cluster
  std::filesystem::path binaries;
  Patience patience;
  std::size_t starts = 2; ///< groups that may be starting at a time
  /// Directory of the keeper's cgroup, which is its alone (Delegate= of systemd.unit); "": none is.
  std::filesystem::path cgroup = {};
  /// That a client has to read what is left for it, once it is to be closed.
  std::chrono::milliseconds last_words{10'000};
  std::uint32_t uid_base = 0; ///< clusters.uid_base
};

/// What supervises control planes: one thread, one poll(2). It listens on keeper.sock of its
/// directory (0600), to processes of zood's user, which is its own or, if it is root, that of the
/// directory. All that it must know stands in files, so that
/// another keeper goes on where one was killed; the processes do not notice.
class Keeper {
public:
  /// Takes the lock of the directory (Code::io if another keeper has it), listens, and takes up
  /// the plans that are there.
  static Result<std::unique_ptr<Keeper>> open(KeeperOptions options);
  ~Keeper();
  Keeper(const Keeper&) = delete;

  /// Until `signals`, a signalfd(2) of SIGTERM and SIGINT, says so. The processes run on after
  /// SIGTERM; SIGINT ends them first, and from then on nothing is started, whoever wishes it.
  void run(int signals);

  static constexpr std::size_t k_most_connections = 64;
  static constexpr std::size_t k_most_pending = 1 << 20; ///< bytes that a client does not read

private:
  struct Client {
    file::Fd socket;
    LineReader lines;
    std::string out;
    bool watches = false;
    bool over = false; ///< closed once `out` is written, or `until` has come
    std::optional<Group::Clock::time_point> until = {};
    /// Whoever does not read what it has asked for is closed with that.
    void cut_if_much() {
      if (out.size() <= k_most_pending) return;
      out.clear();
      over = true;
    }
  };
  explicit Keeper(KeeperOptions options) : options_(std::move(options)) {}
  void adopt_all();
  void clear_cgroups(); ///< of plans that went while no keeper was there
  bool close_clients(); ///< those that are over; true: some still have something to read
  void accept();
  void serve(Client& client, short events);
  Reply answer(const Request& request, Client& client);
  Reply put(const Plan& plan);
  Reply facts() const; ///< of Verb::memory
  Reply forgotten(const std::string& id) const;
  void end_all();
  /// Makes the due steps of all groups, tells watchers; returns milliseconds for poll(2).
  int turn();

  KeeperOptions options_;
  file::Fd lock_, listening_;
  Users users_;
  Cgroups cgroups_;
  std::map<std::string, std::unique_ptr<Group>> groups_;
  std::map<int, std::unique_ptr<Client>> clients_; ///< by descriptor
  Group::Clock::time_point logs_looked_{};
  bool ending_ = false; ///< SIGINT came
};

/// How the role of the program, `zood --keeper`, is asked for.
struct KeeperRole {
  bool detach = false;    ///< goes into the background once it listens
  bool delegated = false; ///< its cgroup is its alone
  bool release = false;   ///< makes that ready for the next keeper, and ends
};
/// Returns the exit status.
int run_keeper(KeeperOptions options, const KeeperRole& role);

} // namespace zoo::keeper
