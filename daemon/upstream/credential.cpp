// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/credential.hpp"

#include "common/api/tenant.hpp"
#include "common/base/error_table.hpp"
#include "common/base/file.hpp"
#include "common/base/log.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/upstream/control_tally.hpp"

#include <nlohmann/json.hpp>
#include <pthread.h>
#include <sysexits.h>

#include <ctime>
#include <string_view>
#include <utility>

namespace zoo::upstream {
namespace {

using Clock = std::chrono::system_clock;
constexpr std::string_view k_token_path =
    "/api/v1/namespaces/zoo-system/serviceaccounts/zood/token";

std::int64_t seconds_of(Clock::time_point point) {
  return std::chrono::duration_cast<std::chrono::seconds>(point.time_since_epoch()).count();
}

Result<Clock::time_point> parse_time(const std::string& text) {
  std::tm parts{};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (end == nullptr || std::string_view(end) != "Z") {
    return fail(Code::invalid, "'{}' is not a time as RFC 3339 writes it in UTC", text);
  }
  return Clock::from_time_t(::timegm(&parts));
}

Result<void> check_identity(const UpstreamUser& user) {
  if (user.in_group(k_masters_group)) {
    return fail(Code::forbidden,
                "the credential that zood obtained ({}) is in group {}, which no rule upstream can "
                "narrow: zood does not work with it",
                user.name, k_masters_group);
  }
  return {};
}

/// zood in front of a tenant of zood's: it would install itself in there until the first thing that
/// no tenant may have.
Result<void> check_cluster(const UpstreamUser& user) {
  constexpr std::string_view k_tenant_admins = "zoo:cluster-admins"; // tenants/identity.hpp
  if (!user.in_group(k_tenant_admins)) return {};
  return fail(Code::invalid, "the upstream's kubeconfig leads to a tenant of a zood, not to a "
                             "cluster: give the cluster's own");
}

/// RBAC is watched, not asked, by the API server: a new binding holds a moment later.
Result<void> wait_until_allowed(ControlApi& api) {
  const nlohmann::json review = {
      {"apiVersion", "authorization.k8s.io/v1"},
      {"kind", "SelfSubjectAccessReview"},
      {"spec",
       {{"resourceAttributes",
         {{"verb", "impersonate"}, {"resource", "users"}, {"name", "zoo:"}}}}}};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (;;) {
    ZOO_TRY(const auto answer,
            api.create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review));
    if (answer.value("/status/allowed"_json_pointer, false)) return {};
    if (std::chrono::steady_clock::now() > deadline) {
      return fail(Code::forbidden,
                  "the upstream does not give ServiceAccount zoo-system/zood the right to "
                  "impersonate users: install upstream-rbac.yaml (zood --print-upstream-rbac)");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

/// A KubeApi whose requests are counted.
class CountedApi final : public ActingApi {
public:
  CountedApi(kube::ClusterAccess access, KubeApi::Authorization authorization,
             kube::KubeClientOptions options, ControlTally& tally)
      : api_(std::move(access), std::move(authorization), std::move(options)), tally_(tally) {}
  Result<http_client::Response> request(std::string_view method, std::string_view path,
                                        std::string_view content_type, std::string body,
                                        std::string_view accept) override {
    const auto begun = std::chrono::steady_clock::now();
    auto answer = api_.request(method, path, content_type, std::move(body), accept);
    if (!answer) {
      tally_.failed(answer.error().code());
      return answer;
    }
    tally_.answered(answer->status, std::chrono::duration_cast<std::chrono::microseconds>(
                                        std::chrono::steady_clock::now() - begun));
    return answer;
  }
  void act_as(const std::string& user, const std::vector<std::string>& groups) override {
    api_.act_as(user, groups);
  }

private:
  KubeApi api_;
  ControlTally& tally_;
};

} // namespace

Credential::Credential(const kube::ClusterAccess& access, CredentialOptions options)
    : options_(std::move(options)), tally_(std::make_unique<ControlTally>()),
      given_(access.clone()), server_(access.server), file_(options_.directory / "upstream.token") {
  bare_ = access.clone();
  bare_.credentials.client_cert_pem.clear();
  bare_.credentials.client_key_pem = Secret();
  bare_.credentials.bearer_token = Secret();
  bare_.token_file.clear();
}

Credential::~Credential() {
  thread_.request_stop();
  stop_requests();
  wake_.notify_all();
}

Result<std::unique_ptr<Credential>> Credential::obtain(const kube::ClusterAccess& access,
                                                       CredentialOptions options) {
  std::unique_ptr<Credential> out(new Credential(access, std::move(options)));
  ZOO_TRY_VOID(out->start());
  auto* self = out.get();
  out->thread_ = std::jthread([self](const std::stop_token& stop) { self->run(stop); });
  return out;
}

Result<void> Credential::start() {
  ZOO_TRY(const bool kept, load());
  KubeApi given(given_.clone());
  auto user = who_am_i(given);
  if (!user && !(kept && user.error().code() == Code::unauthorized)) {
    // What stands between may answer anything while the upstream comes up: that is no kubeconfig
    // which somebody has to mend, and zood is started again.
    const bool for_good = error_row(user.error().code()).exit_status == EX_DATAERR;
    if (!for_good) return fail(std::move(user).error());
    return fail(Code::unavailable, "{}", user.error().text());
  }
  if (user) {
    ZOO_TRY_VOID(check_cluster(*user));
    given_is_own_ = user->name == k_service_account_user;
    ZOO_TRY(const auto states, bootstrap(given, given_is_own_));
  }
  bool good = false;
  if (kept) {
    if (auto me = who_am_i(*api()); me && me->name == k_service_account_user) good = true;
  }
  if (!user) {
    if (!good) return fail(std::move(user).error());
    log::warning("upstream",
                 "the kubeconfig given for the upstream is refused ({}); zood goes on "
                 "with the credential it keeps until {}",
                 user.error().message(), api::rfc3339(seconds_of(expires())));
    auto own = api();
    ZOO_TRY(const auto states, bootstrap(*own, true));
  } else if (!good) {
    auto requested = request(given);
    if (!requested) {
      if (!given_is_own_ || given_.credentials.bearer_token.empty()) return requested;
      log::warning("upstream",
                   "zood cannot renew its token ({}): it works with the one of the "
                   "kubeconfig until that ends",
                   requested.error().message());
      ZOO_TRY_VOID(adopt(std::string(given_.credentials.bearer_token.view()), {}, {}, false));
    }
  }
  auto mine = api();
  ZOO_TRY(const auto me, who_am_i(*mine));
  ZOO_TRY_VOID(check_identity(me));
  if (me.name != k_service_account_user) {
    return fail(Code::forbidden, "the upstream takes zood's token for {}, not for {}", me.name,
                k_service_account_user);
  }
  return wait_until_allowed(*mine);
}

Result<bool> Credential::load() {
  const auto text = file::read_secret(file_);
  if (!text) {
    if (text.error().code() == Code::not_found) return false;
    return fail(text.error());
  }
  const auto json = nlohmann::json::parse(text->view(), nullptr, false);
  // A file that is damaged or of another upstream is replaced: it holds nothing that is not made
  // again.
  if (!json.is_object() || json.value("server", "") != server_) return false;
  const auto token = json.value("token", "");
  const auto obtained = parse_time(json.value("obtained", ""));
  const auto expires = parse_time(json.value("expires", ""));
  if (token.empty() || !obtained || !expires || *expires <= Clock::now()) return false;
  ZOO_TRY_VOID(adopt(token, *obtained, *expires, false));
  return true;
}

Result<void> Credential::request(ControlApi& api) {
  const nlohmann::json wanted = {{"apiVersion", "authentication.k8s.io/v1"},
                                 {"kind", "TokenRequest"},
                                 {"spec", {{"expirationSeconds", options_.lifetime.count()}}}};
  const auto obtained = Clock::now();
  auto answer = api.create(k_token_path, wanted);
  if (!answer) {
    return fail(std::move(answer).error().context(
        "while asking the upstream for a token of ServiceAccount zoo-system/zood (right needed: "
        "create serviceaccounts/token)"));
  }
  auto token = kube::text_at(*answer, "/status/token");
  ZOO_TRY(const auto expires, parse_time(kube::text_at(*answer, "/status/expirationTimestamp")));
  if (token.empty()) return fail(Code::unavailable, "the upstream answered without a token");
  return adopt(std::move(token), obtained, expires, true);
}

Result<void> Credential::adopt(std::string token, Clock::time_point obtained,
                               Clock::time_point expires, bool keep) {
  std::string trouble;
  if (keep) { // on a full disk it is good all the same, until zood starts anew
    const nlohmann::json kept = {{"server", server_},
                                 {"token", token},
                                 {"obtained", api::rfc3339(seconds_of(obtained))},
                                 {"expires", api::rfc3339(seconds_of(expires))}};
    if (const auto written = file::write_secret(file_, kept.dump(1) + "\n"); !written) {
      trouble = fmt::format("zood's token upstream is not kept: {}", written.error().message());
      log::warning("upstream", "{}", trouble);
    }
  }
  std::function<void(Authorization)> listener;
  auto authorization = std::make_shared<const std::string>("Bearer " + token);
  {
    const std::lock_guard lock(mutex_);
    token_ = {authorization, obtained, expires};
    trouble_ = std::move(trouble);
    listener = listener_;
  }
  if (listener) listener(authorization);
  return {};
}

Credential::Authorization Credential::authorization() const {
  const std::lock_guard lock(mutex_);
  return token_.authorization;
}

void Credential::on_change(std::function<void(Authorization)> listener) {
  Authorization now;
  {
    const std::lock_guard lock(mutex_);
    listener_ = listener;
    now = token_.authorization;
  }
  listener(now);
}

std::unique_ptr<ActingApi> Credential::acting_api() const {
  kube::KubeClientOptions options;
  options.repeatable = true;
  options.stop = stop_.get_token();
  return std::make_unique<CountedApi>(
      bare_.clone(), [this] { return authorization(); }, std::move(options), *tally_);
}

std::unique_ptr<ControlApi> Credential::api(bool repeatable) const {
  kube::KubeClientOptions options;
  // What zood writes for itself it compares first or repeats anyway: an object that is there
  // already is no failure, and a handshake costs upstream more than the write.
  options.repeatable = repeatable;
  options.stop = stop_.get_token();
  return std::make_unique<CountedApi>(
      bare_.clone(), [this] { return authorization(); }, std::move(options), *tally_);
}

Clock::time_point Credential::expires() const {
  const std::lock_guard lock(mutex_);
  return token_.expires;
}

std::string Credential::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

Result<void> Credential::renew() {
  auto own = api();
  auto result = request(*own);
  if (!result) {
    kube::KubeClientOptions options;
    options.stop = stop_.get_token();
    KubeApi given(given_.clone(), {}, std::move(options));
    if (request(given)) result = {};
  }
  if (!result) {
    const std::lock_guard lock(mutex_);
    trouble_ = result.error().message();
  }
  return result;
}

Clock::time_point Credential::renewal_due() const {
  const std::lock_guard lock(mutex_);
  if (token_.expires == Clock::time_point{}) return Clock::time_point::max();
  // Obtained by this clock, which may have been ahead and set back since; it expires by upstream's.
  const auto half =
      std::max<Clock::duration>((token_.expires - token_.obtained) / 2, std::chrono::minutes(1));
  return std::min(token_.obtained + half, token_.expires - half);
}

void Credential::run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "upstream-token");
  bool failed = false;
  while (!stop.stop_requested()) {
    const auto now = Clock::now();
    const auto soonest = now + options_.retry;
    const auto due = failed ? soonest : std::max(renewal_due(), soonest);
    // Clocks may be set: look again every hour at the latest.
    const auto until = std::min(due, now + std::chrono::hours(1));
    if (until > now) {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, stop, until - now, [] { return false; });
      if (stop.stop_requested()) return;
      if (!failed && Clock::now() < due) continue;
    }
    const auto renewed = renew();
    if (stop.stop_requested()) return;
    failed = !renewed;
    if (renewed) {
      log::info("upstream", "renewed zood's credential upstream");
    } else {
      log::warning("upstream", "cannot renew zood's credential upstream: {}",
                   renewed.error().text());
    }
  }
}

} // namespace zoo::upstream
