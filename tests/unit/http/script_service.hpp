// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/http/codec.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace zoo::test {

/// What a handler heard. Kept after the handler is gone.
struct Heard {
  http::RequestHead head;
  http::ServerStream* stream = nullptr; ///< null once the handler is destroyed
  std::string body;
  int ends = 0;
  int resets = 0;
  int drains = 0;
  int leavings = 0;
  bool destroyed = false;
};

/// A service whose answers are a test's: `on_head` and `on_end` run inside the callbacks.
class ScriptService : public http::Service {
public:
  std::function<void(Heard&)> on_head = [](Heard&) {};
  std::function<void(Heard&)> on_end = [](Heard&) {};
  std::function<void(Heard&)> on_drained = [](Heard&) {};
  std::function<void(Heard&)> on_leaving = [](Heard&) {};
  bool consume = true; ///< at once, in on_data
  std::vector<std::shared_ptr<Heard>> requests;

  std::unique_ptr<http::StreamHandler> on_request(http::RequestHead head,
                                                  http::ServerStream& stream) override {
    auto heard = std::make_shared<Heard>();
    heard->head = std::move(head);
    heard->stream = &stream;
    requests.push_back(heard);
    auto handler = std::make_unique<Handler>(*this, heard);
    on_head(*heard);
    return handler;
  }

private:
  class Handler : public http::StreamHandler {
  public:
    Handler(ScriptService& service, std::shared_ptr<Heard> heard)
        : service_(service), heard_(std::move(heard)) {}
    ~Handler() override {
      heard_->destroyed = true;
      heard_->stream = nullptr;
    }
    void on_data(std::string_view bytes) override {
      heard_->body += bytes;
      if (service_.consume) heard_->stream->consume(bytes.size());
    }
    void on_end() override {
      ++heard_->ends;
      service_.on_end(*heard_);
    }
    void on_reset() override { ++heard_->resets; }
    void on_drained() override {
      ++heard_->drains;
      service_.on_drained(*heard_);
    }
    void on_leaving() override {
      ++heard_->leavings;
      service_.on_leaving(*heard_);
    }

  private:
    ScriptService& service_;
    std::shared_ptr<Heard> heard_;
  };
};

/// Answers 200 with the method, target and body of the request.
inline void echo(Heard& heard) {
  heard.stream->send_head({200, {{"Content-Type", "text/plain"}}}, false);
  heard.stream->send_data(heard.head.method + " " + heard.head.target + " " + heard.body, true);
}

} // namespace zoo::test
