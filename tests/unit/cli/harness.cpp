// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cli/harness.hpp"

#include "common/base/file.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>

namespace zoo::cli::test {
namespace {

class ScriptedTransport : public Transport {
public:
  explicit ScriptedTransport(Server& server) : server_(server) {}

  Result<http_client::Response> perform(const http_client::Request& request) override {
    server_.requests.push_back(request);
    const auto begin = request.url.find('/', request.url.find("://") + 3);
    const auto path = request.url.substr(begin, request.url.find('?') - begin);
    const bool watch = request.url.find("watch=true") != std::string::npos;
    const auto at = server_.script.find((watch ? "WATCH " : request.method + " ") + path);
    if (at == server_.script.end()) {
      return http_client::Response{
          404, {}, status(404, "NotFound", "nothing scripted for " + path)};
    }
    auto answer = at->second.front();
    if (at->second.size() > 1) at->second.erase(at->second.begin());
    if (watch) {
      after_ = answer.takes;
    } else {
      server_.pass(answer.takes);
    }
    if (answer.error) return fail(*answer.error);
    return http_client::Response{answer.status, {}, answer.body};
  }

  Result<http_client::Response>
  stream(const http_client::Request& request,
         const std::function<bool(std::string_view)>& on_data) override {
    after_ = {};
    auto response = perform(request);
    if (!response || response->status != 200) {
      server_.pass(after_);
      return response;
    }
    // A byte at a time: no line of the stream may depend on how it is cut.
    for (const char byte : response->body) {
      if (!on_data(std::string_view(&byte, 1))) break;
    }
    // A stream says what it has at once, and then is silent for a while.
    server_.pass(after_);
    response->body.clear();
    return response;
  }

private:
  Server& server_;
  std::chrono::milliseconds after_{0};
};

} // namespace

const http_client::Request& Server::asked(std::string_view method, std::string_view part) const {
  for (auto at = requests.rbegin(); at != requests.rend(); ++at) {
    if (at->method == method && at->url.find(part) != std::string::npos) return *at;
  }
  FAIL("no request ", std::string(method), " ", std::string(part));
  std::abort();
}

Zooctl::Zooctl() {
  server.pass = [this](std::chrono::milliseconds span) { elapsed_ += span; };
}

Outcome Zooctl::operator()(std::vector<std::string> arguments) {
  std::istringstream in(input);
  std::ostringstream out, err;
  Context context(in, out, err);
  context.environment = environment;
  context.terminal = terminal;
  const auto begin = std::chrono::steady_clock::time_point(std::chrono::hours(1));
  context.now = [this] {
    return std::chrono::system_clock::time_point(std::chrono::seconds(1769904000)) + elapsed_;
  };
  context.steady = [this, begin] { return begin + elapsed_; };
  context.pause = [this](std::chrono::milliseconds span) {
    elapsed_ += span;
    slept += span;
  };
  context.connect = [this](http_client::Credentials) -> std::unique_ptr<Transport> {
    return std::make_unique<ScriptedTransport>(server);
  };
  context.execute = [this](const Program& program) {
    executed.push_back(program);
    return Error(Code::cancelled, "executed");
  };
  const int result = run(arguments, context);
  return {result, out.str(), err.str()};
}

std::string tenant(const std::string& id, const std::string& phase, const std::string& more_status,
                   const std::string& spec) {
  return R"({"apiVersion":"tenant.kubezoo.io/v1alpha1","kind":"Tenant","metadata":{"name":")" + id +
         R"(","uid":"uid-)" + id +
         R"(","resourceVersion":"7","creationTimestamp":"2026-01-31T21:30:00Z"},"spec":)" + spec +
         R"(,"status":{"phase":")" + phase + "\"" + (more_status.empty() ? "" : ",") + more_status +
         "}}";
}

std::string list(const std::vector<std::string>& items, const std::string& next) {
  std::string text = R"({"apiVersion":"tenant.kubezoo.io/v1alpha1","kind":"TenantList","metadata":)"
                     R"({"resourceVersion":"9")";
  if (!next.empty()) text += R"(,"continue":")" + next + "\"";
  text += R"(},"items":[)";
  for (std::size_t i = 0; i < items.size(); ++i)
    text += (i == 0 ? "" : ",") + items[i];
  return text + "]}";
}

std::string status(int code, const std::string& reason, const std::string& message) {
  return R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":")" + message +
         R"(","reason":")" + reason + R"(","code":)" + std::to_string(code) + "}";
}

void check_golden(const std::string& name, const std::string& actual) {
  const auto path = std::filesystem::path(ZOO_SOURCE_DIR) / "tests/unit/cli/golden" / name;
  const char* accept = ::getenv("ZOO_TEST_ACCEPT");
  if (accept != nullptr && std::string_view(accept) == "1") {
    REQUIRE(file::write(path, actual, 0644).has_value());
    return;
  }
  const auto expected = file::read(path);
  REQUIRE_MESSAGE(expected.has_value(), "no golden ", path.string(),
                  ": ZOO_TEST_ACCEPT=1 writes it");
  CHECK_MESSAGE(actual == *expected, "differs from ", name);
}

TemporaryDirectory::TemporaryDirectory() {
  auto form = (std::filesystem::temp_directory_path() / "zooctl-test-XXXXXX").string();
  REQUIRE(::mkdtemp(form.data()) != nullptr);
  path_ = form;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ec;
  std::filesystem::remove_all(path_, ec);
}

} // namespace zoo::cli::test
