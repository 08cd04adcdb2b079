// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/net/loop.hpp"

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace zoo::net {

/// N loops, each run by a thread of its own named "<name>-<n>". Owned by the composition root.
class Workers {
public:
  Workers(std::size_t count, const std::string& name);
  ~Workers(); ///< stop(), then destroys the loops
  std::vector<Loop*> loops() const;
  void stop(); ///< stops the loops and joins their threads; twice is once

private:
  std::vector<std::unique_ptr<Loop>> loops_;
  std::vector<std::thread> threads_;
};

} // namespace zoo::net
