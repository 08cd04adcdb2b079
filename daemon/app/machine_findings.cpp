// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/machine_findings.hpp"

#include "common/http_client/client.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <ctime>

namespace zoo::app {
namespace {

using Level = tenants::Finding::Level;
using Findings = std::vector<tenants::Finding>;
using namespace std::chrono_literals;

constexpr int k_oldest = 33, k_newest = 36; ///< minor versions of Kubernetes that the tests know

void look_at_clock(const http_client::Response& answer, std::time_t before, std::time_t after,
                   Findings& out) {
  constexpr double k_off = 2, k_wrong = 30;
  std::tm parts{};
  const std::string date(answer.header("date"));
  if (::strptime(date.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts) == nullptr) return;
  const auto said = ::timegm(&parts);
  // The field has whole seconds, of a moment between the two.
  const double off = said < before  ? static_cast<double>(before - said)
                     : said > after ? static_cast<double>(said - after)
                                    : 0;
  if (off <= k_off) {
    out.push_back({Level::ok, "clock", "it agrees with the upstream's", ""});
    return;
  }
  out.push_back({off > k_wrong ? Level::problem : Level::warning, "clock",
                 fmt::format("it is {:.0f} s {} the upstream's: tokens and certificates are taken "
                             "too long, or refused too early",
                             off, said < before ? "before" : "behind"),
                 "let both machines follow a time server (timedatectl)"});
}

void look_at_version(const http_client::Response& answer, Findings& out) {
  const auto version = nlohmann::json::parse(answer.body, nullptr, false);
  if (!version.is_object()) return;
  const auto name = version.value("gitVersion", std::string("unknown"));
  const auto minor = version.value("minor", std::string());
  int number = 0;
  std::from_chars(minor.data(), minor.data() + minor.size(), number);
  if (version.value("major", std::string()) == "1" && number >= k_oldest && number <= k_newest) {
    out.push_back({Level::ok, "upstream version", name, ""});
    return;
  }
  out.push_back(
      {Level::warning, "upstream version",
       fmt::format("{} is none that zood was tested with: 1.{} to 1.{}", name, k_oldest, k_newest),
       number > k_newest ? "upgrade zood" : "upgrade the upstream"});
}

void look_at_upstream(upstream::ControlApi& api, Findings& out) {
  const auto before = std::time(nullptr);
  const auto answer = api.request("GET", "/version", {}, {}, "application/json");
  if (!answer || answer->status != 200) return; // the check of the upstream says so
  look_at_clock(*answer, before, std::time(nullptr), out);
  look_at_version(*answer, out);
}

void look_at_space(const std::filesystem::path& directory, Findings& out) {
  constexpr double k_share = 0.05, k_gib = 1 << 30, k_mib = 1 << 20, k_least = 64 * k_mib;
  struct statvfs disk{};
  if (::statvfs(directory.c_str(), &disk) != 0) return;
  const double room = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
  const double all = static_cast<double>(disk.f_blocks) * static_cast<double>(disk.f_frsize);
  const auto said =
      fmt::format("{:.1f} GiB of {:.1f} at {}", room / k_gib, all / k_gib, directory.string());
  if (room >= k_gib && room >= k_share * all) {
    out.push_back({Level::ok, "free space", said, ""});
    return;
  }
  out.push_back({room < k_least ? Level::problem : Level::warning, "free space",
                 said + ": without room nothing is revoked, and no tenant is created",
                 "make room; audit.max_size and audit.max_files bound the audit log"});
}

void look_at_files(std::size_t wanted, Findings& out) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= wanted) {
    out.push_back(
        {Level::ok, "open files", fmt::format("enough for all connections: {}", wanted), ""});
    return;
  }
  out.push_back({Level::warning, "open files",
                 fmt::format("{} may be opened, and limits.connections lets zood need {}",
                             limit.rlim_cur, wanted),
                 "raise LimitNOFILE= of the unit, or lower limits.connections"});
}

void look_at_store(store::Store& store, Findings& out) {
  constexpr auto k_slow = 250ms, k_too_slow = 2'000ms;
  const auto begun = std::chrono::steady_clock::now();
  const auto done = store.put("doctor", "probe", "{}");
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - begun);
  if (!done) {
    out.push_back({Level::problem, "store latency", done.error().text(), "check the disk"});
  } else if (took < k_slow) {
    out.push_back(
        {Level::ok, "store latency", fmt::format("a write takes {} ms", took.count()), ""});
  } else {
    out.push_back(
        {took >= k_too_slow ? Level::problem : Level::warning, "store latency",
         fmt::format("a write takes {} ms: so do creating tenants and revoking", took.count()),
         "put dir on a faster disk, or find out who else writes to it"});
  }
}

void look_at_door(const std::string& advertise, const std::string& authorities, Findings& out) {
  http_client::Credentials trust;
  trust.ca_pem = authorities;
  trust.direct = true; // as clients of the tenants are not asked to go by a proxy of this machine
  http_client::Request request;
  request.url = advertise + "/livez";
  request.timeout = 5s;
  http_client::Client client(std::move(trust));
  const auto answer = client.perform(request);
  if (answer) {
    out.push_back(
        {Level::ok, "advertise", advertise + " is answered, by the CA that kubeconfigs trust", ""});
    return;
  }
  out.push_back(
      {Level::warning, "advertise",
       fmt::format("{}, which all kubeconfigs name, cannot be used from this machine: {}",
                   advertise, answer.error().message()),
       "if clients reach it all the same, this machine's own way there is closed; else set "
       "advertise to where clients find listen, with a name that tls.certificate has"});
}

} // namespace

std::vector<tenants::Finding> machine_findings(const MachineParts& parts) {
  Findings out;
  look_at_upstream(parts.upstream, out);
  look_at_space(parts.directory, out);
  look_at_files(parts.files_wanted, out);
  look_at_store(parts.store, out);
  look_at_door(parts.advertise, parts.authorities, out);
  return out;
}

} // namespace zoo::app
