// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/http/stream.hpp"
#include "daemon/upstream/call.hpp"
#include "tests/unit/upstream/idle_call.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Stand-ins for tests of what zood serves to a virtual cluster's API server: a Script for an API
/// server that zood asks, a Stream for the client that is answered. One thread.
namespace zoo::test {

/// Keeps what was asked until the test answers.
class Script final : public upstream::Caller {
public:
  std::unique_ptr<upstream::Call> start(http::RequestHead head, upstream::CallOptions,
                                        upstream::CallHandler& handler) override {
    asked.push_back(head);
    handler_ = &handler;
    return std::make_unique<IdleCall>();
  }
  void answer(int status, const std::string& body) {
    REQUIRE(handler_ != nullptr);
    auto& handler = *std::exchange(handler_, nullptr);
    handler.on_head({status, {}});
    handler.on_data(body);
    handler.on_end();
  }
  void fail(Error error) {
    REQUIRE(handler_ != nullptr);
    std::exchange(handler_, nullptr)->on_error(std::move(error));
  }
  std::vector<http::RequestHead> asked;

private:
  upstream::CallHandler* handler_ = nullptr;
};

/// What a client is answered.
class Stream final : public http::ServerStream {
public:
  void send_head(const http::ResponseHead& head, bool) override { status = head.status; }
  void send_data(std::string_view bytes, bool) override { body += bytes; }
  bool writable() const override { return true; }
  std::size_t pending() const override { return 0; }
  void set_high_watermark(std::size_t) override {}
  void reset(http::ResetReason) override {}
  void consume(std::size_t) override {}
  const http::ConnectionInfo& connection() const override { return info; }
  int status = 0;
  std::string body;
  http::ConnectionInfo info;
};

} // namespace zoo::test
