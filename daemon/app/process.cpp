// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/process.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

namespace zoo::app {
namespace {

/// Unix seconds; 0 where it is not told.
double boot_time() {
  std::ifstream stat("/proc/stat");
  for (std::string line; std::getline(stat, line);) {
    std::istringstream words(line);
    std::string name;
    double value = 0;
    if (words >> name >> value && name == "btime") return value;
  }
  return 0;
}

} // namespace

std::optional<ProcessFacts> process_facts() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  // Behind the name, which may hold anything, the third field comes first.
  const auto end = line.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  std::istringstream words(line.substr(end + 1));
  const std::vector<std::string> fields{std::istream_iterator<std::string>(words), {}};
  constexpr std::size_t k_third = 3, k_user = 14, k_system = 15, k_threads = 20, k_start = 22;
  if (fields.size() <= k_start - k_third) return std::nullopt;
  const auto number = [&](std::size_t field) {
    return static_cast<double>(std::strtoull(fields[field - k_third].c_str(), nullptr, 10));
  };
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  ProcessFacts out;
  out.cpu_seconds = (number(k_user) + number(k_system)) / ticks;
  out.started = boot_time() + number(k_start) / ticks;
  out.threads = static_cast<std::size_t>(number(k_threads));
  std::error_code failed;
  for (std::filesystem::directory_iterator it("/proc/self/fd", failed), none; !failed && it != none;
       it.increment(failed))
    ++out.open_files;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0)
    out.most_files = static_cast<std::size_t>(limit.rlim_cur);
  return out;
}

} // namespace zoo::app
