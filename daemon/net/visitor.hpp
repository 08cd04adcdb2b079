// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/file.hpp"

namespace zoo::net {

/// A connection of a listener that is not served, or not yet: somebody has to say first where it
/// belongs, or its bytes are handed on. On one loop; LoopShare has it, and destroys it a moment
/// after die().
class Visitor {
public:
  virtual ~Visitor() = default;
  virtual void start(file::Fd socket) = 0; ///< accepted, non-blocking; once
  virtual void die() = 0;                  ///< closes it at once
  /// Nothing is handed on: not yet, or never. Who drains lets it go at once.
  virtual bool waits() const = 0;
};

} // namespace zoo::net
