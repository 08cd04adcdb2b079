// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/templates/deployer.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace zoo::templates {

struct ChartSettings {
  std::filesystem::path program;         ///< templates.helm
  std::vector<std::string> repositories; ///< templates.repositories: what an address begins with
  std::filesystem::path authorities;     ///< templates.repository_ca; empty: the system's
  std::filesystem::path directory;       ///< DIR/charts: packed charts that were fetched
  std::size_t kept = 64u << 20;          ///< bytes of rendered charts in memory
  std::size_t packed = 256u << 20;       ///< bytes of packed charts in `directory`
};

/// Where the tag of "oci://host:5000/chart:1.2" begins; npos: it has none. A colon of the host
/// stands before a port.
std::size_t tag_of(const std::string& oci);

/// Does the chart come from one of these, or from below one? A part of a path is a path of its own:
/// "https://a/b" is not "https://a/bc", and neither a port nor a tag is a part of either.
bool is_listed(const Chart& chart, const std::vector<std::string>& repositories);

/// Why one more wish finds no room in the queue, in which these have one each: one account alone
/// does not fill it. "": it finds some.
std::string why_no_room(const std::vector<std::string>& waiting, const std::string& whose);

/// Removes the packed charts of a directory that were written first, until the others and `more`
/// bytes are no more than `most`. Each of them counts in whole blocks of a file system.
void drop_packed(const std::filesystem::path& directory, std::size_t more, std::size_t most);

/// Renders Helm charts by the real helm, in a sandbox without network. Charts of repositories are
/// fetched before, in another run with network and without what they are rendered for. Two threads,
/// "helm-1" and "helm-2", of which one account holds one at most, as of the queue before them it
/// has a part alone. What was rendered is kept for a while: a chart that makes up a password makes
/// no other one each time it is looked at.
class Charts {
public:
  explicit Charts(ChartSettings settings);
  ~Charts(); ///< waits for a run in progress, which is short
  Charts(const Charts&) = delete;
  Charts& operator=(const Charts&) = delete;

  /// DeployerParts::render. Any thread.
  Result<std::string> render(upstream::ControlApi& api, const ChartWish& wish,
                             std::chrono::milliseconds wait);

  /// Why no chart can be rendered here, for doctor; "": they can.
  static std::string trouble(const ChartSettings& settings);

private:
  struct Credentials {
    std::string username, password;
  };
  struct Job {
    ChartWish wish;
    Credentials credentials;
    bool done = false;
    bool told = false; ///< somebody has had the result
    Result<std::string> result = std::string();
    std::chrono::steady_clock::time_point ended;
    std::size_t bytes() const; ///< that it keeps when it is done
  };
  using JobPtr = std::shared_ptr<Job>;

  void run(const std::stop_token& stop);
  JobPtr next(); ///< under the lock; null: nothing may be begun
  Result<std::string> work(const Job& job) const;
  Result<std::filesystem::path> chart_of(const Job& job, const std::filesystem::path& at) const;
  void keep_packed(const std::filesystem::path& fetched, const std::filesystem::path& at,
                   const std::filesystem::path& kept) const;
  Result<std::filesystem::path> fetch(const Job& job, const std::filesystem::path& at) const;
  Result<Credentials> credentials_of(upstream::ControlApi& api, const Chart& chart) const;
  Result<void> admit(const Chart& chart) const;
  void drop_old(); ///< under the lock

  const ChartSettings settings_;
  mutable std::mutex packed_mutex_; ///< who makes room on disk and fills it
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, JobPtr, std::less<>> jobs_; ///< by digest of the wish
  std::deque<JobPtr> waiting_;
  std::multiset<std::string, std::less<>> running_; ///< accounts
  std::vector<std::jthread> threads_;               // last: stop first
};

} // namespace zoo::templates
