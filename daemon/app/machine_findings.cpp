// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/machine_findings.hpp"

#include "common/api/aggregated_door.hpp"
#include "common/http_client/client.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/upstream/upstream_rbac.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <ctime>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace zoo::app {
namespace {

using Level = tenants::Finding::Level;
using Findings = std::vector<tenants::Finding>;
using namespace std::chrono_literals;

constexpr int k_oldest = 33, k_newest = 36; ///< minor versions of Kubernetes that the tests know

constexpr std::string_view k_schemas_path = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
/// Of an answer: the FlowSchema that its request was counted by.
constexpr std::string_view k_matched_schema = "x-kubernetes-pf-flowschema-uid";
constexpr std::string_view k_own_schema = "zoo-system", k_tenants_schema = "zoo-tenants";

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

std::optional<tenants::Finding> fairness_finding(upstream::ControlApi& as_zood,
                                                 upstream::ActingApi& as_tenant) {
  const auto listed = as_zood.request("GET", k_schemas_path, {}, {}, "application/json");
  if (!listed || listed->status != 200) return {};
  const auto schemas = kube::parse_foreign(listed->body);
  std::map<std::string, std::string, std::less<>> names; // by UID
  std::set<std::string, std::less<>> known;
  for (const auto& each : kube::list_at(schemas, "/items")) {
    const auto name = kube::text_at(each, "/metadata/name");
    known.insert(name);
    names.insert_or_assign(kube::text_at(each, "/metadata/uid"), name);
  }
  if (!known.contains(k_own_schema) || !known.contains(k_tenants_schema)) return {};
  // A user of no tenant: IDs have no dot. What it may do there does not matter, for upstream counts
  // a request before it judges it.
  as_tenant.act_as(fmt::format("{}doctor.zood", upstream::k_tenant_user_prefix),
                   {std::string(upstream::k_tenants_group)});
  const auto asked = as_tenant.request("GET", k_schemas_path, {}, {}, "application/json");
  if (!asked) return {};
  const std::string own(listed->header(k_matched_schema)), theirs(asked->header(k_matched_schema));
  tenants::Finding out{Level::warning, "fairness", "", ""};
  if (own.empty() || theirs.empty()) {
    out.message = "the upstream does not share itself out between its clients (API priority and "
                  "fairness): requests of one of them delay those of all";
    out.remedy = "do not start its API servers with --enable-priority-and-fairness=false";
    return out;
  }
  const bool of_tenants = names[theirs] != k_tenants_schema;
  if (!of_tenants && names[own] == k_own_schema) {
    out.level = Level::ok;
    out.message = "tenants and zood each have their share of the upstream";
    return out;
  }
  const auto wanted = of_tenants ? k_tenants_schema : k_own_schema;
  const auto& uid = of_tenants ? theirs : own;
  const auto name = names[uid].empty() ? uid : names[uid];
  out.message =
      fmt::format("the upstream counts {} by FlowSchema {}, and not by {}",
                  of_tenants ? "requests of tenants" : "zood's own requests", name, wanted);
  out.remedy = fmt::format("give {} a higher matchingPrecedence than {} has, or subjects that are "
                           "not zood's",
                           name, wanted);
  return out;
}

std::optional<tenants::Finding> services_finding(upstream::ControlApi& as_zood) {
  constexpr std::size_t k_named = 5;
  const auto listed = as_zood.get(api::aggregated::k_api_services);
  if (!listed) return {};
  std::vector<std::string> away;
  std::size_t all = 0;
  for (const auto& each : kube::list_at(*listed, "/items")) {
    const auto name = kube::text_at(each, "/metadata/name");
    if (!kube::value_at(each, "/spec/service").is_object()) continue;
    if (name == api::aggregated::k_api_service) continue;
    ++all;
    for (const auto& condition : kube::list_at(each, "/status/conditions")) {
      if (kube::text_at(condition, "/type") != "Available" ||
          kube::text_at(condition, "/status") == "True")
        continue;
      away.push_back(fmt::format("{} ({})", name, kube::text_at(condition, "/reason")));
    }
  }
  if (away.empty()) {
    return tenants::Finding{Level::ok, "api services",
                            fmt::format("all {} that other API servers serve upstream answer", all),
                            ""};
  }
  const auto count = away.size();
  away.resize(std::min(count, k_named));
  return tenants::Finding{
      Level::warning, "api services",
      fmt::format("{} of {} do not answer, so that the upstream deletes no namespace, and a tenant "
                  "that is deleted stays: {}{}",
                  count, all, fmt::join(away, ", "), count > k_named ? " and others" : ""),
      "as an administrator of the upstream see to what serves them, or delete the APIService"};
}

std::vector<tenants::Finding> machine_findings(const MachineParts& parts) {
  Findings out;
  look_at_upstream(parts.upstream, out);
  if (auto fairness = fairness_finding(parts.upstream, parts.acting))
    out.push_back(*std::move(fairness));
  if (auto services = services_finding(parts.upstream)) out.push_back(*std::move(services));
  look_at_space(parts.directory, out);
  look_at_files(parts.files_wanted, out);
  look_at_store(parts.store, out);
  look_at_door(parts.advertise, parts.authorities, out);
  return out;
}

} // namespace zoo::app
