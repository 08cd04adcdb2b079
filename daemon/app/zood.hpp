// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/config/config.hpp"
#include "common/kube/kubeconfig.hpp"

#include <functional>
#include <memory>

namespace zoo::app {

class Signals;

/// What can be known of a configuration before anything is made: the upstream's kubeconfig is
/// named, can be read and lets the upstream be verified; addresses are ones to listen on, and to
/// connect to. Reads files, touches nothing.
Result<kube::ClusterAccess> check_startable(const config::Values& values);

/// The daemon: every room's objects, made in the order in which they depend on each other and
/// destroyed in the reverse one. The only place that knows them all.
class Zood {
public:
  /// Opens the store, prepares the upstream, starts threads and listeners. Blocks (disk, upstream).
  /// `read`: the configuration again, on SIGHUP.
  static Result<std::unique_ptr<Zood>> start(config::Values values,
                                             std::function<Result<config::Values>()> read);
  ~Zood();

  /// Until a signal says to end; drains first.
  void run(Signals& signals);

private:
  Zood();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace zoo::app
