// SPDX-License-Identifier: Apache-2.0
#include "cli/context.hpp"

#include "cli/door.hpp"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

namespace zoo::cli {
namespace {

class CurlTransport : public Transport {
public:
  explicit CurlTransport(http_client::Credentials credentials) : client_(std::move(credentials)) {}

  Result<http_client::Response> perform(const http_client::Request& request) override {
    return client_.perform(request);
  }
  Result<http_client::Response>
  stream(const http_client::Request& request,
         const std::function<bool(std::string_view)>& on_data) override {
    return client_.stream(request, on_data);
  }

private:
  http_client::Client client_;
};

Error execute_program(const Program& program) {
  const auto pointers = [](const std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (const auto& text : texts)
      out.push_back(const_cast<char*>(text.c_str()));
    out.push_back(nullptr);
    return out;
  };
  auto arguments = pointers(program.arguments);
  auto environment = pointers(program.environment);
  // main() ignores SIGPIPE, and an ignored signal would stay ignored in the new program.
  ::signal(SIGPIPE, SIG_DFL);
  ::execve(program.path.c_str(), arguments.data(), environment.data());
  return Error(Code::io, fmt::format("cannot run {}: {}", program.path, std::strerror(errno)));
}

} // namespace

std::optional<std::string> Context::env(std::string_view name) const {
  for (const auto& entry : environment) {
    const std::string_view text(entry);
    if (text.size() > name.size() + 1 && text.starts_with(name) && text[name.size()] == '=') {
      return std::string(text.substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

bool Context::colours() const { return terminal.out && !env("NO_COLOR"); }

void Context::say(std::string_view words) {
  if (!globals.quiet) err << words << '\n' << std::flush;
}

void Context::hint(std::string_view words) {
  if (terminal.err) say(words);
}

void Context::patient() {
  if (!globals.request_timeout_given) globals.request_timeout = "60s";
}

Result<AdminClient*> Context::client() {
  if (!client_) {
    ZOO_TRY(auto door, find_door(*this));
    ZOO_TRY(client_, client_of(std::move(door)));
  }
  return client_.get();
}

Result<std::unique_ptr<AdminClient>> Context::client_of(Door door) {
  ZOO_TRY(const auto timeout, option_duration("--request-timeout", globals.request_timeout));
  auto transport = connect(door.credentials.clone());
  return std::make_unique<AdminClient>(std::move(door), std::move(transport), timeout, steady);
}

void connect_to_process(Context& context) {
  for (char** entry = ::environ; *entry != nullptr; ++entry)
    context.environment.emplace_back(*entry);
  const auto term = context.env("TERM");
  const bool dumb = term && *term == "dumb";
  context.terminal = {::isatty(STDOUT_FILENO) == 1 && !dumb, ::isatty(STDERR_FILENO) == 1 && !dumb};
  context.now = [] { return std::chrono::system_clock::now(); };
  context.steady = [] { return std::chrono::steady_clock::now(); };
  context.pause = [](std::chrono::milliseconds span) { std::this_thread::sleep_for(span); };
  context.connect = [](http_client::Credentials credentials) -> std::unique_ptr<Transport> {
    return std::make_unique<CurlTransport>(std::move(credentials));
  };
  context.execute = execute_program;
}

} // namespace zoo::cli
