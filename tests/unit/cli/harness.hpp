// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/app.hpp"
#include "cli/context.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::cli::test {

/// A zood that answers from a script: per "METHOD /path" (without query) one answer after the
/// other, the last one for ever. What nobody scripted is a 404.
struct Server {
  struct Answer {
    int status = 200;
    std::string body;
    std::optional<Error> error = {};
    std::chrono::milliseconds takes{0}; ///< the clock moves on by this
  };
  std::map<std::string, std::vector<Answer>> script;
  std::vector<http_client::Request> requests;
  std::function<void(std::chrono::milliseconds)> pass;

  void on(const std::string& what, std::vector<Answer> answers) {
    script[what] = std::move(answers);
  }
  /// The last request of that method whose URL has `part`; fails the test if there is none.
  const http_client::Request& asked(std::string_view method, std::string_view part) const;
};

struct Outcome {
  int status = 0;
  std::string out, err;
};

/// Runs command lines against a Server, with a clock that stands still at 2026-02-01T00:00:00Z
/// but for sleeps and slow answers.
class Zooctl {
public:
  Zooctl();
  Outcome operator()(std::vector<std::string> arguments);

  Server server;
  std::vector<std::string> environment;
  std::string input;
  Terminal terminal;
  std::vector<Program> executed;
  std::chrono::milliseconds slept{0};

private:
  std::chrono::milliseconds elapsed_{0};
};

inline constexpr const char* k_tenants = "/apis/tenant.kubezoo.io/v1alpha1/tenants";

/// A Tenant's JSON.
std::string tenant(const std::string& id, const std::string& phase = "Ready",
                   const std::string& more_status = "", const std::string& spec = "{}");
std::string list(const std::vector<std::string>& items, const std::string& next = "");
std::string status(int code, const std::string& reason, const std::string& message);

inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Compares with tests/unit/cli/golden/<name>; with ZOO_TEST_ACCEPT=1 writes it instead.
void check_golden(const std::string& name, const std::string& actual);

/// A directory of its own, removed with all it holds.
class TemporaryDirectory {
public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

} // namespace zoo::cli::test
