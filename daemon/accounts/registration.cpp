// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/registration.hpp"

#include "common/api/aggregated_door.hpp"
#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/accounts/account.hpp"
#include "daemon/upstream/bootstrap.hpp"

#include <arpa/inet.h>
#include <nlohmann/json.hpp>
#include <pthread.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <optional>
#include <utility>

namespace zoo::accounts {
namespace {

using nlohmann::json;
namespace aggregated = api::aggregated;

constexpr int k_service_port = 443;
constexpr std::string_view k_port_name = "https";
constexpr std::chrono::seconds k_look_at_least{60}; ///< however quiet it is
constexpr std::chrono::milliseconds k_first_pause{250};
constexpr std::chrono::milliseconds k_longest_pause{10'000};

json metadata(std::string_view name, bool namespaced) {
  json out{{"name", name},
           {"labels", {{std::string(aggregated::k_label), aggregated::k_label_value}}}};
  if (namespaced) out["namespace"] = aggregated::k_namespace;
  return out;
}

/// The object, or nothing if there is none.
Result<std::optional<json>> find(upstream::ControlApi& api, std::string_view path) {
  auto object = api.get(path);
  if (object) return std::optional(*std::move(object));
  if (object.error().code() == Code::not_found) return std::optional<json>();
  return fail(std::move(object).error());
}

/// Makes it what it should be, if it is not. True: something was written.
Result<bool> make_right(upstream::ControlApi& api, std::string_view path, const json& wanted) {
  ZOO_TRY(const auto actual, find(api, path));
  std::string where;
  if (actual && upstream::covers(*actual, wanted, where)) return false;
  ZOO_TRY_VOID(api.apply(path, wanted));
  return true;
}

/// By itself, since removing it is what everything else waits for.
Result<void> remove_api_service(upstream::ControlApi& api) {
  return api.remove_unless(aggregated::k_api_service_path,
                           [](const json& object) { return !aggregated::is_own(object); });
}

/// By its address, so that zoods behind the same Service have one each.
std::string slice_name(const DoorAddress& address) {
  const auto whole = fmt::format("{} {}", address.ip, address.port);
  return fmt::format("{}-{}", aggregated::k_service, crypto::short_digest(whole));
}

std::string slice_path(std::string_view name) {
  return fmt::format("{}/{}", aggregated::k_slices, name);
}

/// Names of the slices that there are.
Result<std::vector<std::string>> slice_names(upstream::ControlApi& api) {
  ZOO_TRY(const auto list, api.get(aggregated::k_slices_of_service));
  std::vector<std::string> out;
  for (const auto& slice : list.value("items", json::array()))
    out.push_back(slice.value("/metadata/name"_json_pointer, std::string()));
  return out;
}

/// As k8s.io/kubernetes pkg/apis/core/validation ValidateEndpointIP has it.
bool takes_endpoint(const std::string& ip) {
  in_addr four{};
  if (::inet_pton(AF_INET, ip.c_str(), &four) == 1) {
    const auto first = ntohl(four.s_addr);
    const bool loopback = first >> 24 == 127, link_local = first >> 16 == 0xa9fe;
    const bool local_multicast = first >> 8 == 0xe00000;
    return first != 0 && !loopback && !link_local && !local_multicast;
  }
  in6_addr six{};
  if (::inet_pton(AF_INET6, ip.c_str(), &six) != 1) return false;
  return !IN6_IS_ADDR_UNSPECIFIED(&six) && !IN6_IS_ADDR_LOOPBACK(&six) &&
         !IN6_IS_ADDR_LINKLOCAL(&six) && !IN6_IS_ADDR_MC_LINKLOCAL(&six);
}

} // namespace

Result<DoorAddress> parse_door_address(std::string_view text) {
  DoorAddress out;
  const auto colon = text.rfind(':');
  auto host = text.substr(0, colon == std::string_view::npos ? 0 : colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  const auto digits = colon == std::string_view::npos ? text : text.substr(colon + 1);
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), out.port);
  out.ip = host;
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size() || out.port == 0 ||
      !takes_endpoint(out.ip))
    return fail(Code::usage,
                "'{}' is no IP address and port by which the upstream's kube-apiserver can reach "
                "this machine: give one as 192.0.2.7:7445, not loopback or link-local, which an "
                "EndpointSlice does not take",
                text);
  return out;
}

json door_service() {
  return {
      {"apiVersion", "v1"},
      {"kind", "Service"},
      {"metadata", metadata(aggregated::k_service, true)},
      {"spec",
       {{"ports",
         json::array({{{"name", k_port_name}, {"port", k_service_port}, {"protocol", "TCP"}}})}}}};
}

json door_slice(const DoorAddress& address, const std::string& service_uid) {
  auto meta = metadata(slice_name(address), true);
  meta["labels"]["kubernetes.io/service-name"] = aggregated::k_service;
  meta["labels"]["endpointslice.kubernetes.io/managed-by"] = "zood";
  if (!service_uid.empty())
    meta["ownerReferences"] = json::array({{{"apiVersion", "v1"},
                                            {"kind", "Service"},
                                            {"name", aggregated::k_service},
                                            {"uid", service_uid}}});
  const bool six = address.ip.find(':') != std::string::npos;
  return {{"apiVersion", "discovery.k8s.io/v1"},
          {"kind", "EndpointSlice"},
          {"metadata", std::move(meta)},
          {"addressType", six ? "IPv6" : "IPv4"},
          {"endpoints", json::array({{{"addresses", json::array({address.ip})},
                                      {"conditions", {{"ready", true}}}}})},
          {"ports",
           json::array({{{"name", k_port_name}, {"port", address.port}, {"protocol", "TCP"}}})}};
}

json door_api_service(const std::string& ca_pem) {
  return {{"apiVersion", "apiregistration.k8s.io/v1"},
          {"kind", "APIService"},
          {"metadata", metadata(aggregated::k_api_service, false)},
          {"spec",
           {{"group", k_tenancy_group},
            {"version", k_version},
            {"groupPriorityMinimum", 10000},
            {"versionPriority", 1000},
            {"caBundle", crypto::base64_encode(ca_pem)},
            {"service",
             {{"name", aggregated::k_service},
              {"namespace", aggregated::k_namespace},
              {"port", k_service_port}}}}}};
}

Result<aggregated::State> look_at_door(upstream::ControlApi& api) {
  ZOO_TRY(const auto name_space, find(api, aggregated::k_namespace_path));
  ZOO_TRY(const auto api_service, find(api, aggregated::k_api_service_path));
  ZOO_TRY(const auto slices, find(api, aggregated::k_slices_of_service));
  const auto at = [](const std::optional<json>& object) { return object ? &*object : nullptr; };
  return aggregated::read_state(at(name_space), at(api_service), at(slices));
}

Result<void> remove_door(upstream::ControlApi& api) {
  ZOO_TRY_VOID(remove_api_service(api));
  ZOO_TRY(const auto slices, slice_names(api));
  for (const auto& name : slices)
    ZOO_TRY_VOID(api.remove(slice_path(name)));
  return api.remove(aggregated::k_service_path);
}

Result<void> Registration::attempt(Step step) {
  try {
    return (this->*step)(*parts_.api());
  } catch (const std::exception& problem) { // JSON of another shape than upstream's API has
    return fail(Code::internal, "what upstream says of the door cannot be read: {}",
                problem.what());
  }
}

Registration::Registration(Parts parts) : parts_(std::move(parts)) {}

Registration::~Registration() { stop(); }

void Registration::stop() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Registration::start() {
  thread_ = std::thread([this] {
    ::pthread_setname_np(::pthread_self(), "accounts-door");
    run();
  });
}

void Registration::touch() {
  {
    const std::scoped_lock lock(mutex_);
    touched_ = true;
  }
  wake_.notify_all();
}

void Registration::run() {
  auto pause = k_first_pause;
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto until = trouble_.empty() ? std::chrono::milliseconds(k_look_at_least) : pause;
    // Where something is wrong upstream speaks of its own attempts, too: the pause holds.
    wake_.wait_for(lock, until,
                   [this] { return ending_ || withdraw_ || (touched_ && trouble_.empty()); });
    if (withdraw_) {
      lock.unlock();
      Result<void> done;
      {
        const std::scoped_lock settling(settling_);
        done = attempt(&Registration::leave);
      }
      if (!done)
        log::warning("accounts",
                     "the aggregated door stays registered upstream, and while nobody serves it no "
                     "namespace can be deleted there: {}; run `zooctl account aggregated off "
                     "--upstream KUBECONFIG`",
                     done.error().text());
      lock.lock();
      withdrawn_ = true;
      wake_.notify_all();
      return;
    }
    if (ending_) return;
    touched_ = false;
    lock.unlock();
    const auto done = attempt(&Registration::settle);
    lock.lock();
    if (done) {
      if (!told_.empty()) log::info("accounts", "the aggregated door is as it should be again");
      told_.clear();
      trouble_.clear();
      pause = k_first_pause;
      continue;
    }
    trouble_ = done.error().text();
    if (trouble_ != told_ && pause > k_first_pause * 4) { // what passes at once is no news
      log::warning("accounts", "the aggregated door is not registered: {}", trouble_);
      told_ = trouble_;
    }
    pause = std::min(pause * 2, k_longest_pause);
  }
}

Result<void> Registration::settle(upstream::ControlApi& api) {
  const std::scoped_lock settling(settling_);
  ZOO_TRY(const auto name_space, find(api, aggregated::k_namespace_path));
  if (name_space && aggregated::is_off(*name_space)) {
    ZOO_TRY_VOID(remove_door(api));
    if (std::exchange(standing_, false)) log::info("accounts", "the aggregated door is off");
    return {};
  }
  ZOO_TRY(const auto object, find(api, aggregated::k_api_service_path));
  if (object && !aggregated::is_own(*object))
    return fail(Code::already_exists,
                "APIService {} is another's (kiosk's?) and is left alone: remove it to have zood "
                "serve the group",
                aggregated::k_api_service);
  const auto wanted = door_api_service(parts_.ca_pem);
  std::string where;
  if (!object || !upstream::covers(*object, wanted, where)) ZOO_TRY_VOID(parts_.ready());
  ZOO_TRY_VOID(make_right(api, aggregated::k_service_path, door_service()));
  ZOO_TRY_VOID(put_slice(api));
  if (object) {
    ZOO_TRY_VOID(make_right(api, aggregated::k_api_service_path, wanted));
  } else {
    // Not applied: one that another has made meanwhile is his.
    ZOO_TRY_VOID(api.create(aggregated::k_api_services, wanted));
  }
  if (!std::exchange(standing_, true))
    log::info("accounts", "the aggregated door is registered upstream as APIService {}, at {}",
              aggregated::k_api_service, parts_.address.ip);
  return {};
}

Result<void> Registration::put_slice(upstream::ControlApi& api) const {
  const auto own = slice_name(parts_.address);
  ZOO_TRY(const auto service, api.get(aggregated::k_service_path));
  const auto uid = service.value("/metadata/uid"_json_pointer, std::string());
  ZOO_TRY_VOID(make_right(api, slice_path(own), door_slice(parts_.address, uid)));
  if (parts_.keep) return {};
  ZOO_TRY(const auto names, slice_names(api)); // of an address that zood had before
  for (const auto& name : names) {
    if (name != own) ZOO_TRY_VOID(api.remove(slice_path(name)));
  }
  return {};
}

Result<void> Registration::leave(upstream::ControlApi& api) {
  if (!parts_.keep) return remove_door(api);
  ZOO_TRY(const auto names, slice_names(api));
  if (names.size() < 2) return {};
  return api.remove(slice_path(slice_name(parts_.address)));
}

void Registration::withdraw(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  if (!thread_.joinable()) return;
  withdraw_ = true;
  wake_.notify_all();
  wake_.wait_for(lock, limit, [this] { return withdrawn_; });
}

Result<void> Registration::switch_to(bool on) {
  const auto api = parts_.api();
  {
    const std::scoped_lock settling(settling_);
    const json value = on ? json() : json(aggregated::k_off);
    ZOO_TRY_VOID(api->merge_patch(
        aggregated::k_namespace_path,
        {{"metadata", {{"annotations", {{std::string(aggregated::k_switch), value}}}}}}));
    if (!on) {
      ZOO_TRY_VOID(remove_door(*api));
      standing_ = false;
    }
  }
  if (on) {
    {
      const std::scoped_lock lock(mutex_);
      trouble_.clear();
    }
    touch();
  }
  return {};
}

Result<aggregated::State> Registration::look() const { return look_at_door(*parts_.api()); }

std::string Registration::trouble() const {
  const std::scoped_lock lock(mutex_);
  return trouble_;
}

} // namespace zoo::accounts
