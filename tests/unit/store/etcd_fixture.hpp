// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/store/etcd/etcd.hpp"
#include "tests/unit/base/temporary_directory.hpp"

#include <nlohmann/json_fwd.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace zoo::test {

/// A real etcd, of one member unless the flags say another number, started by tests/upstream/etcd
/// and ended with this. Of the version that ZOO_ETCD names, by default Debian's.
class EtcdServer {
public:
  explicit EtcdServer(const std::string& flags = "--no-fsync");
  ~EtcdServer();
  static EtcdServer& one(); ///< that all cases share which have no wishes; each by its own prefix
  static std::string new_prefix();

  const std::string& endpoint() const { return endpoint_; } ///< with commas between several
  void kill_and_start_again(int member);
  std::string file(const std::string& name) const; ///< of its directory: "pki/ca.crt"
  store::EtcdOptions options(const std::string& prefix) const;
  std::unique_ptr<store::Store> open(const std::string& prefix) const;
  /// An answer of 200; throws on every other one.
  nlohmann::json ask(const std::string& path, const nlohmann::json& body) const;

private:
  TemporaryDirectory directory_;
  std::string endpoint_;
};

/// Passes TCP connections on to an etcd on loopback, and breaks them as a test wishes.
class Cutter {
public:
  explicit Cutter(const std::string& endpoint);
  ~Cutter();
  std::string endpoint() const;

  /// One of so many answers is lost: the connection ends after the request has gone on. 0: none.
  void lose_answers(int one_of) { one_of_ = one_of; }
  void close_all(); ///< ends what runs, and refuses what comes
  void open_again() { open_ = true; }
  void hold(bool held) { held_ = held; } ///< connections stay, and nothing passes
  int lost() const { return lost_; }

private:
  void accept_all();
  void pass(int client);

  const int port_;
  int listening_ = -1;
  int own_port_ = 0;
  std::atomic<bool> open_ = true, stopping_ = false, held_ = false;
  std::atomic<int> one_of_ = 0, lost_ = 0, answers_ = 0;
  std::mutex mutex_;
  std::map<int, int> connections_; ///< client -> server
  std::vector<std::jthread> threads_;
  std::jthread accepting_;
};

} // namespace zoo::test
