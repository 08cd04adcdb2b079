// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl_program.hpp"

#include "common/base/file.hpp"
#include "common/base/text.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>

namespace zoo::cli {
namespace {

/// Sealed: nobody changes it behind the program that reads it.
Result<file::Fd> unnamed_file(std::string_view text) {
  file::Fd fd(::memfd_create("zooctl-kubeconfig", MFD_ALLOW_SEALING));
  const auto failed = []() -> Result<file::Fd> {
    return fail(Code::io, "cannot keep the kubeconfig in memory: {}", std::strerror(errno));
  };
  if (!fd || ::fchmod(fd.get(), 0600) != 0) return failed();
  while (!text.empty()) {
    const auto n = ::write(fd.get(), text.data(), text.size());
    if (n < 0) return failed();
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0)
    return failed();
  return fd;
}

} // namespace

Result<std::string> find_program(const Context& context, std::string_view name) {
  if (name.find('/') != name.npos) return std::string(name);
  const auto path = context.env("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  for (const auto directory : text::split(path, ':')) {
    const auto candidate =
        (std::filesystem::path(directory.empty() ? "." : directory) / name).string();
    std::error_code ec;
    if (std::filesystem::is_regular_file(candidate, ec) && ::access(candidate.c_str(), X_OK) == 0)
      return candidate;
  }
  if (name != "kubectl") return fail(Code::not_found, "there is no {} in PATH ({})", name, path);
  return fail(Code::not_found,
              "there is no kubectl in PATH ({}): install it (on Debian 12 and later the package "
              "kubernetes-client has it; else see https://kubernetes.io/docs/tasks/tools/), or "
              "write a kubeconfig for another machine with `zooctl kubeconfig export`",
              path);
}

std::vector<std::string> kubectl_words(std::vector<std::string> words) {
  constexpr std::array<std::string_view, 14> k_with_value = {
      "-n", "--namespace", "--as",      "--as-group",  "--as-uid",
      "-s", "--server",    "--context", "--token",     "--request-timeout",
      "-v", "--cache-dir", "--cluster", "--kubeconfig"};
  for (std::size_t i = 0; i < words.size() && words[i].starts_with("-"); ++i) {
    if (words[i] == "--") {
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
    i += std::find(k_with_value.begin(), k_with_value.end(), words[i]) != k_with_value.end();
  }
  return words;
}

Error run_with_kubeconfig(Context& context, const std::string& path, const std::string& argv0,
                          const std::vector<std::string>& arguments, std::string_view kubeconfig,
                          std::string_view cache) {
  const auto fd = unnamed_file(kubeconfig);
  if (!fd) return fd.error();
  Program program{path, {argv0}, {}};
  program.arguments.insert(program.arguments.end(), arguments.begin(), arguments.end());
  for (const auto& entry : context.environment) {
    if (!entry.starts_with("KUBECONFIG=")) program.environment.push_back(entry);
  }
  program.environment.push_back(fmt::format("KUBECONFIG=/proc/self/fd/{}", fd->get()));
  const auto home = context.env("HOME");
  if (home && !context.env("KUBECACHEDIR")) {
    program.environment.push_back(
        fmt::format("KUBECACHEDIR={}/.kube/cache/zooctl/{}", *home, cache));
  }
  context.out.flush();
  context.err.flush();
  return context.execute(program);
}

} // namespace zoo::cli
