// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/upstream/call.hpp"

#include <string_view>

namespace zoo::test {

/// The asker's end of a request whose answer a test gives: nothing of what it is told matters.
class IdleCall : public upstream::Call {
public:
  void pause() override {}
  void resume() override {}
  void send_data(std::string_view) override {}
  void send_end() override {}
  bool writable() const override { return true; }
};

} // namespace zoo::test
