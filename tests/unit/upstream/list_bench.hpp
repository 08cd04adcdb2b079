// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/http/field_lines.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/translate/continue.hpp"
#include "daemon/translate/structure.hpp"
#include "daemon/upstream/list_source.hpp"
#include "daemon/upstream/upstream.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// Lists of an upstream that answers what the test says, on the test's thread.
namespace zoo::upstream::list_test {

/// Answers what the test says, when the test says so.
class ScriptedCaller final : public Caller {
public:
  struct Request {
    http::RequestHead head;
    CallHandler* handler;
  };
  std::unique_ptr<Call> start(http::RequestHead head, CallOptions, CallHandler& handler) override {
    requests.push_back({std::move(head), &handler});
    return std::make_unique<Idle>(*this, requests.size() - 1);
  }
  /// Of the last request: a parameter, or "".
  std::string param(std::string_view key) const {
    const auto& target = requests.back().head.target;
    const auto params = translate::parse_query(target.substr(target.find('?') + 1));
    const auto* found = translate::find_param(*params, key);
    return found == nullptr ? "" : *found;
  }
  /// Of the last request, without its parameters.
  std::string path() const {
    const auto& target = requests.back().head.target;
    return target.substr(0, target.find('?'));
  }
  /// The answer to the last request in pieces of `slice` bytes.
  void answer(int status, std::string_view body, std::size_t slice,
              std::string_view retry_after = "") {
    const auto number = requests.size() - 1;
    auto* handler = requests.back().handler;
    http::ResponseHead head{status, {}};
    if (!retry_after.empty()) head.headers.add("Retry-After", retry_after);
    handler->on_head(std::move(head));
    for (; !body.empty() && alive.contains(number);
         body.remove_prefix(std::min(slice, body.size())))
      handler->on_data(body.substr(0, slice));
    if (alive.contains(number)) handler->on_end();
  }
  /// One that was asked for earlier; `end` false: its end has not come yet.
  void answer_of(std::size_t request, std::string_view body, bool end = true) {
    auto* handler = requests.at(request).handler;
    if (!body.empty()) {
      handler->on_head({200, {}});
      handler->on_data(body);
    }
    if (end) handler->on_end();
  }
  std::deque<Request> requests;
  std::set<std::size_t> alive, paused; ///< requests; those that hand nothing on

private:
  class Idle final : public Call {
  public:
    Idle(ScriptedCaller& caller, std::size_t number) : caller_(caller), number_(number) {
      caller_.alive.insert(number_);
    }
    ~Idle() override {
      caller_.alive.erase(number_);
      caller_.paused.erase(number_);
    }

  private:
    void pause() override { caller_.paused.insert(number_); }
    void resume() override { caller_.paused.erase(number_); }
    void send_data(std::string_view) override {}
    void send_end() override {}
    bool writable() const override { return true; }
    ScriptedCaller& caller_;
    std::size_t number_;
  };
};

/// What a list said. Items whose end has come are taken on the way, unless it does not `take`.
struct Heard final : ListHandler {
  void on_list_begin(std::string_view) override { ++begun; }
  void on_list_item(std::string_view key, std::string_view) override { keys.emplace_back(key); }
  std::size_t on_list_open_item(std::string_view key, std::string_view rest) override {
    translate::NestScanner scanner;
    const auto size = 1 + scanner.scan(rest.substr(1));
    const bool counts =
        hidden.empty() || rest.substr(0, size).find(hidden) == std::string_view::npos;
    if (!takes || !scanner.done() || !counts) return 0;
    ++taken;
    keys.emplace_back(key);
    return size;
  }
  void on_list_end(const ListEnd& what) override { end = what; }
  void on_list_error(const Error&, int status, std::string_view) override { error_status = status; }
  int begun = 0;
  bool takes = true;
  std::string hidden; ///< what has this in it does not count
  std::size_t taken = 0;
  std::vector<std::string> keys;
  std::optional<ListEnd> end;
  std::optional<int> error_status;
};

inline std::string item(std::string_view name_space, std::string_view name) {
  return fmt::format(R"({{"metadata":{{"name":"{}","namespace":"{}"}},"spec":{{"x":"]}}"}}}})",
                     name, name_space);
}

/// Of a list, behind which upstream has 9 objects more.
inline std::string page(std::string_view next, const std::vector<std::string>& items,
                        std::string_view version = "42") {
  std::string out = fmt::format(
      R"({{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"{}","continue":"{}","remainingItemCount":9}},"items":[)",
      version, next);
  for (const auto& each : items) {
    if (out.back() != '[') out += ',';
    out += each;
  }
  return out + "]}";
}

/// Runs the loop until `done`, two seconds at most.
inline bool run_until(net::Loop& loop, const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  net::Timer timer(loop);
  std::function<void()> look = [&] {
    if (done() || std::chrono::steady_clock::now() > end) return loop.stop();
    timer.start(std::chrono::milliseconds(5), look);
  };
  look();
  loop.run();
  return done();
}

/// An upstream, and tenant-wide lists of one tenant's ("foofoo") there.
struct Bench {
  net::Loop loop;
  Upstream upstream{std::make_shared<UpstreamEndpoint>(), {&loop}, {}};
  ScriptedCaller caller;
  Heard heard;
  std::shared_ptr<const http::FieldLines> fields; ///< that each request shall have
  std::string path = "/api/v1/pods";
  std::int64_t revision = -1;
  bool all_namespaces = true;

  std::unique_ptr<List> list(std::size_t limit = 0, std::string hidden = "",
                             const std::string& labels = "", std::string start = "") {
    ListRequest request;
    request.head.method = "GET";
    request.head.target = path;
    request.head.prepared = fields;
    request.range = {"foofoo-", std::move(start), false};
    request.all_namespaces = all_namespaces;
    request.revision = revision;
    request.limit = limit;
    request.patience = std::make_shared<ListPatience>(loop);
    if (!labels.empty()) request.params = {{"labelSelector", labels}};
    heard.hidden = hidden;
    if (!hidden.empty())
      request.counts = [hidden](std::string_view item) { return item.find(hidden) == item.npos; };
    return list_range(upstream, caller, std::move(request), "pods", heard);
  }
};

} // namespace zoo::upstream::list_test
