// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/context.hpp"
#include "cli/output/table.hpp"

#include <string_view>

namespace zoo::cli {

/// One line of standard error that is written over, and taken away at the end. Shows nothing where
/// standard error is no terminal, or with --quiet.
class Progress {
public:
  explicit Progress(Context& context)
      : context_(context), shown_(context.terminal.err && !context.globals.quiet) {}
  ~Progress() {
    if (written_) context_.err << "\r\x1b[K" << std::flush;
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::string_view words) {
    if (!shown_) return;
    context_.err << "\r\x1b[K" << printable(words).substr(0, 200) << std::flush;
    written_ = true;
  }

private:
  Context& context_;
  const bool shown_;
  bool written_ = false;
};

} // namespace zoo::cli
