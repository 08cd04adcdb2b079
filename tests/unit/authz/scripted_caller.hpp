// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/upstream/call.hpp"
#include "tests/unit/upstream/idle_call.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace zoo::test {

/// Keeps what was asked until the test answers.
class ScriptedCaller final : public upstream::Caller {
public:
  std::unique_ptr<upstream::Call> start(http::RequestHead head, upstream::CallOptions,
                                        upstream::CallHandler& handler) override {
    requests_.push_back({head.target, &handler});
    if (started) started(requests_.back().target);
    return std::make_unique<test::IdleCall>();
  }

  /// The newest request for this resource, list or watch.
  upstream::CallHandler& asked(std::string_view resource, bool watch) {
    for (auto at = requests_.rbegin(); at != requests_.rend(); ++at) {
      const bool is_watch = at->target.find("watch=true") != std::string::npos;
      if (is_watch == watch && at->target.find(resource) != std::string::npos) return *at->handler;
    }
    FAIL("nobody asked for " << resource);
    return *requests_.back().handler;
  }

  /// How many requests were there whose target has this in it?
  std::size_t count(std::string_view part) const {
    return static_cast<std::size_t>(
        std::count_if(requests_.begin(), requests_.end(), [part](const Request& request) {
          return request.target.find(part) != std::string::npos;
        }));
  }

  void list(std::string_view resource, std::string_view items, int status = 200) {
    auto& handler = asked(resource, false);
    handler.on_head({status, {}});
    handler.on_data(R"({"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":")" +
                    version + R"("},"items":[)" + std::string(items) + "]}");
    handler.on_end();
  }

  /// The newest watch of it begins.
  void open(std::string_view resource) { asked(resource, true).on_head({200, {}}); }

  void event(std::string_view resource, std::string_view type, std::string_view object) {
    auto& handler = asked(resource, true);
    handler.on_head({200, {}});
    // Every change has a version of its own.
    auto changed = std::string(object);
    constexpr std::string_view k_version = R"("resourceVersion":")";
    changed.insert(changed.find(k_version) + k_version.size(), std::to_string(++changes_));
    handler.on_data(R"({"type":")" + std::string(type) + R"(","object":)" + changed + "}\n");
  }

  std::function<void(const std::string& target)> started;
  std::string version = "7"; ///< of lists

private:
  struct Request {
    std::string target;
    upstream::CallHandler* handler;
  };
  std::deque<Request> requests_;
  int changes_ = 10;
};

} // namespace zoo::test
