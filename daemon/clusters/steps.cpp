// SPDX-License-Identifier: Apache-2.0
// The steps that bring a virtual cluster up, keep it, and take it down.
#include "common/base/file.hpp"
#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/json_reads.hpp"
#include "common/kube/kubeconfig.hpp"
#include "daemon/clusters/controller.hpp"
#include "daemon/clusters/files.hpp"
#include "daemon/keeper/port_owner.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <system_error>

namespace zoo::clusters {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
namespace phase = api::cluster_phase;

constexpr milliseconds k_soon{100};      ///< until something answers that runs
constexpr milliseconds k_told{1'000};    ///< until something runs, which the keeper tells
constexpr milliseconds k_waiting{5'000}; ///< for memory, a version, somebody to mend something
constexpr milliseconds k_call{5'000};
constexpr std::size_t k_last_lines = 5;
constexpr std::uint64_t k_crashes = 5; ///< in a row: from so many on it is said to be a loop

/// Can somebody else listen there? Of a name or an address of all it is asked as it stands.
bool is_free(const std::string& host, std::uint16_t port) {
  const bool six = host.find(':') != std::string::npos;
  const file::Fd socket(::socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (six) {
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(port);
    if (::inet_pton(AF_INET6, host.c_str(), &to.sin6_addr) != 1) return true;
    return ::bind(socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0 &&
           ::listen(socket.get(), 1) == 0;
  }
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  if (!host.empty() && ::inet_pton(AF_INET, host.c_str(), &to.sin_addr) != 1) return true;
  return ::bind(socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0 &&
         ::listen(socket.get(), 1) == 0;
}

/// Can all programs of a control plane listen at that address?
bool all_free(const std::string& address) {
  const auto ports = ports_of("");
  return std::all_of(ports.begin(), ports.end(),
                     [&address](auto port) { return is_free(address, port); });
}

bool has(const keeper::PlanState& state, std::string_view name) {
  return std::any_of(state.components.begin(), state.components.end(),
                     [name](const auto& each) { return each.name == name; });
}

bool runs(const keeper::PlanState& state, std::string_view name) {
  return std::any_of(state.components.begin(), state.components.end(), [name](const auto& each) {
    return each.name == name && each.phase == keeper::ComponentState::Phase::running;
  });
}

/// What is said of a cluster that is wished to run another version; "": it is not.
std::string stays_at(const std::string& version, const std::string& wanted) {
  if (wanted.empty() || wanted == version) return {};
  return fmt::format("it stays at Kubernetes {}: make another cluster for {}", version, wanted);
}

Result<std::string> random_id() {
  constexpr std::string_view k_letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::string out;
  while (out.size() < 6) {
    ZOO_TRY(const auto bytes, crypto::random_bytes(16));
    for (const char byte : bytes) {
      const auto value = static_cast<unsigned char>(byte);
      if (value < 252 && out.size() < 6) out += k_letters[value % k_letters.size()];
    }
  }
  return out;
}

} // namespace

void Controller::put_entrance(Record& record) const {
  const auto& settings = parts_.settings;
  const auto entrance = settings.entrance(record.place.id);
  const bool six = settings.advertise_host.find(':') != std::string::npos;
  auto& status = record.object["status"];
  status["server"] = entrance.server;
  status["directServer"] = fmt::format("https://{}{}{}:{}", six ? "[" : "", settings.advertise_host,
                                       six ? "]" : "", record.place.port);
  if (entrance.server_name.empty()) {
    status.erase("serverName");
  } else {
    status["serverName"] = entrance.server_name;
  }
}

void Controller::put_components(Record& record, const keeper::PlanState* state) const {
  json all = json::array();
  if (state != nullptr)
    for (const auto& each : state->components) {
      all.push_back({{"name", each.name},
                     {"phase", keeper::phase_name(each.phase)},
                     {"restarts", each.restarts}});
      if (!each.ended.empty()) all.back()["lastEnd"] = each.ended;
    }
  record.object["status"]["components"] = std::move(all);
}

/// The component that ends again and again, with its last lines; "": there is none.
std::string Controller::crash_of(const Record& record, const keeper::PlanState& state) const {
  for (const auto& each : state.components) {
    if (each.failures < k_crashes || each.phase == keeper::ComponentState::Phase::running) continue;
    const auto lines = logs(record.key(), each.name, k_last_lines);
    const auto address = parts_.settings.addresses.text(record.place.number);
    const auto taken =
        each.pid == 0 ? keeper::taken_port(address, ports_of(each.name)) : std::string();
    return fmt::format(
        "{} ends again and again ({} times in a row, the last time by {}){}; its last lines: "
        "{}",
        each.name, each.failures, each.ended,
        taken.empty() ? "" : fmt::format("; {}: `ss -ltnp` tells the process, end it", taken),
        lines ? *lines : "none");
  }
  return {};
}

Result<Controller::Next> Controller::wait(Record record, std::string_view phase,
                                          std::string_view reason, std::string message,
                                          const keeper::PlanState* state, milliseconds after) {
  const bool stays = record.phase() == phase::k_initialized;
  ZOO_TRY(const auto told, tell(record, [&](Record& now) {
            auto& status = now.object["status"];
            // Initialized stays: what is the matter with it say the conditions.
            if (!stays) status["phase"] = phase;
            if (!stays) status["reason"] = reason;
            status["message"] = message;
            if (!now.place.id.empty()) status["id"] = now.place.id;
            if (!now.place.version.empty()) status["version"] = now.place.version;
            put_components(now, state);
            set_condition(now.object, "ControlPlaneReady", false, reason, message);
            if (stays && holds(now, "Synced"))
              set_condition(now.object, "Synced", false, "NotReached",
                            "its API server does not answer: nothing is copied or deleted before "
                            "it does");
          }));
  return Next{after, true};
}

void Controller::failed(const std::string& key, const Error& error) {
  log::warning("clusters", "{}: {}", key, error.text());
  const auto record = read_record(parts_.store, key);
  if (!record) return;
  const auto told = tell(*record, [&error](Record& now) {
    auto& status = now.object["status"];
    status["message"] = error.message();
    if (now.phase().empty()) status["phase"] = phase::k_preparing;
    if (!now.deleting())
      set_condition(now.object, "ControlPlaneReady", false, "Error", error.message());
  });
  if (!told) log::warning("clusters", "{}: {}", key, told.error().text());
}

Result<Controller::Next> Controller::look(const std::string& key, unsigned) {
  if (key.starts_with(k_knock)) {
    wake_up(key.substr(1));
    return Next{};
  }
  auto record = read_record(parts_.store, key);
  if (!record && record.error().code() == Code::not_found) return Next{};
  if (!record) return fail(std::move(record).error());
  return record->deleting() ? remove(*std::move(record)) : sync(*std::move(record));
}

// ---- coming up ----

Result<bool> Controller::identify(Record& record, const api::ClusterSpec& spec) {
  step("C1 identify", record);
  const auto& settings = parts_.settings;
  if (record.place.version.empty()) {
    const auto wanted = spec.version.empty() ? settings.version : spec.version;
    const auto version = choose_version(wanted, present_versions(settings.binaries));
    if (!version) {
      ZOO_TRY_VOID(wait(record, phase::k_pending, "VersionNotFound", version.error().message(),
                        nullptr, k_waiting));
      return false;
    }
    ZOO_TRY(record, tell(record, [&version](Record& now) { now.place.version = *version; }));
  }
  if (!record.place.id.empty()) return true;
  const std::scoped_lock lock(place_mutex_);
  for (;;) {
    ZOO_TRY(const auto id, random_id());
    // A tenant's ID is its prefix upstream, which the cluster's objects are to have some day.
    const auto tenant = parts_.store.get("tenant", id);
    if (tenant) continue;
    if (tenant.error().code() != Code::not_found) return fail(tenant.error());
    const auto taken = parts_.store.put(k_id_kind, id, json{{"until", 0}}.dump(), 0);
    if (!taken && taken.error().code() == Code::already_exists) continue;
    if (!taken) return fail(taken.error());
    ZOO_TRY(record, tell(record, [&id](Record& now) {
              now.place.id = id;
              now.object["status"]["id"] = id;
            }));
    return true;
  }
}

Result<void> Controller::place(Record& record) {
  step("C2 place", record);
  if (record.place.number != 0 && record.place.port != 0) return {};
  const std::scoped_lock lock(place_mutex_);
  const auto& settings = parts_.settings;
  ZOO_TRY(const auto all, all_records(parts_.store));
  std::set<std::uint32_t> numbers;
  std::set<std::uint32_t> ports;
  for (const auto& each : all) {
    numbers.insert(each.place.number);
    ports.insert(each.place.port);
  }
  auto number = record.place.number;
  for (std::uint32_t next = 1; number == 0 && next + 1 < settings.addresses.size; ++next)
    if (!numbers.contains(next) && all_free(settings.addresses.text(next))) number = next;
  if (number == 0) {
    const auto taken = keeper::taken_port(settings.addresses.text(1), ports_of(""));
    return fail(Code::unavailable,
                "all addresses of clusters.addresses are taken: give it a larger network, or "
                "delete clusters{}",
                taken.empty() ? "" : fmt::format(" ({}: `ss -ltnp` tells the process)", taken));
  }
  std::uint32_t port = record.place.port;
  for (std::uint32_t next = settings.ports.first; port == 0 && next <= settings.ports.last; ++next)
    if (!ports.contains(next) && is_free(settings.listen_host, static_cast<std::uint16_t>(next)))
      port = next;
  if (port == 0)
    return fail(Code::unavailable, "all ports of clusters.ports are taken: give it a larger range, "
                                   "or delete clusters");
  // One that had a number before has certificates, whose group stays.
  auto mark = record.place.mark;
  if (record.place.number == 0) {
    ZOO_TRY(mark, random_mark());
  }
  ZOO_TRY(record, tell(record, [&](Record& now) {
            now.place.mark = mark;
            now.place.number = number;
            now.place.port = static_cast<std::uint16_t>(port);
            put_entrance(now);
          }));
  return {};
}

Result<void> Controller::furnish(const Record& record, const api::ClusterSpec& spec) {
  step("C3 furnish", record);
  const auto directory = parts_.settings.directory_of(record.place.id);
  ZOO_TRY_VOID(file::ensure_private_directory(directory));
  ZOO_TRY_VOID(keep_pki(record, spec, PkiKeeper::How::due));
  const auto egress = egress_configuration();
  if (const auto there = file::read(directory / "egress.yaml"); there && *there == egress)
    return {};
  return write_for_programs(directory / "egress.yaml", egress);
}

Result<void> Controller::keep_pki(const Record& record, const api::ClusterSpec& spec,
                                  PkiKeeper::How how) {
  return pki_.keep(
      record.place.id,
      [&]() -> Result<PkiWish> {
        // Of the record as it is now: somebody may have rotated since it was read.
        ZOO_TRY(const auto now, read_record(parts_.store, record.key()));
        if (now.uid() != record.uid()) return fail(Code::conflict, "it is another cluster by now");
        return pki_wish(now, spec);
      },
      how);
}

/// What follows the record hears of another kubeconfig; what connects to the cluster does so anew.
void Controller::pki_changed(const std::string& id, PkiKeeper::Change change) {
  const auto table = parts_.doors.load();
  if (const auto* const entry = table->find(id)) {
    if (change.administrator) parts_.written(entry->key);
    if (change.own) wake(entry->key);
  }
  parts_.furnished(id, change.own);
}

/// The range of the upstream: what the cluster calls a ClusterIP is one there, too. Kubernetes says
/// it since 1.33; where it does not, the usual one. The answer is the cluster's for good.
Result<std::string> Controller::service_range() {
  if (!parts_.settings.service_range.empty()) return parts_.settings.service_range;
  const std::scoped_lock lock(service_mutex_);
  if (!service_range_.empty()) return service_range_;
  const auto upstream = parts_.connect();
  const auto found = upstream->get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes");
  if (!found && found.error().code() != Code::not_found)
    return fail(
        Error(found.error()).context("while asking the upstream for its range of Services"));
  std::vector<std::string> ranges;
  if (found)
    for (const auto& each : kube::list_at(*found, "/spec/cidrs"))
      if (each.is_string()) ranges.push_back(each.get<std::string>());
  service_range_ = ranges.empty() ? "10.0.0.0/16" : fmt::format("{}", fmt::join(ranges, ","));
  return service_range_;
}

Result<keeper::PlanState> Controller::run(const Record& record, bool wish, bool whole) {
  step("C4 run", record);
  const auto& settings = parts_.settings;
  ZOO_TRY(const auto spec, api::cluster_spec(record.object));
  const auto directory = settings.directory_of(record.place.id);
  // The range is the cluster's for good: another one would not hold the addresses it has given.
  const auto file = directory / "service-range";
  auto range = file::read(file);
  if (!range && range.error().code() == Code::not_found) {
    ZOO_TRY(range, service_range());
    ZOO_TRY_VOID(write_for_programs(file, *range));
  }
  if (!range) return fail(range.error());
  keeper::Request request;
  request.verb = keeper::Request::Verb::put;
  request.plan = plan_for({.id = record.place.id,
                           .version = record.place.version,
                           .address = settings.addresses.text(record.place.number),
                           .directory = directory.string(),
                           .service_range = *range,
                           .node_ports = settings.node_ports,
                           .memory = settings.memory,
                           .etcd_quota = settings.etcd_quota,
                           .weight = spec.weight,
                           .authority_turn = record.place.authority_turn,
                           .number = record.place.number,
                           .run = wish,
                           .whole = whole});
  ZOO_TRY(auto reply, ask(request));
  if (reply.states.empty()) return fail(Code::internal, "the keeper says nothing of the plan");
  return std::move(reply.states.front());
}

Result<Controller::Ready> Controller::reach(const Record& record, const keeper::PlanState& state,
                                            std::string& waits) {
  step("C5 reach", record);
  for (const char* name : {"etcd", "kube-apiserver"}) {
    if (runs(state, name)) continue;
    waits = fmt::format("{} to come up", name);
    return Ready::no;
  }
  const auto directory = parts_.settings.directory_of(record.place.id);
  const auto address = parts_.settings.addresses.text(record.place.number);
  ZOO_TRY(auto access, own_access(directory, address));
  kube::KubeClientOptions options;
  options.timeout = k_call;
  kube::KubeClient api(std::move(access), std::move(options));
  const auto answer = api.raw("GET", "/readyz", "", "", "*/*");
  if (!answer || answer->status != 200) {
    waits = "kube-apiserver to be ready";
    return Ready::no;
  }
  step("C6 bootstrap", record);
  const auto made = bootstrap(api, record);
  if (!made && made.error().code() == Code::not_found) { // its own controllers make namespaces
    waits = "namespace default";
    return Ready::no;
  }
  if (!made) return fail(made.error());
  return Ready::yes;
}

Result<Controller::Ready> Controller::helpers_healthy(const Record& record,
                                                      const keeper::PlanState& state,
                                                      std::string& waits) {
  step("C8 helpers", record);
  const auto directory = parts_.settings.directory_of(record.place.id);
  const auto address = parts_.settings.addresses.text(record.place.number);
  constexpr std::pair<const char*, std::uint16_t> k_helpers[] = {
      {"kube-controller-manager", k_controllers_port}, {"kube-scheduler", k_scheduler_port}};
  for (const auto& [name, port] : k_helpers) {
    waits = fmt::format("{} to be healthy", name);
    if (!runs(state, name)) return Ready::no;
    ZOO_TRY(auto access, own_access(directory, address));
    access.server = fmt::format("https://{}:{}", address, port);
    kube::KubeClientOptions options;
    options.timeout = k_call;
    kube::KubeClient api(std::move(access), std::move(options));
    const auto answer = api.raw("GET", "/healthz", "", "", "*/*");
    if (!answer || answer->status != 200) return Ready::no;
  }
  return Ready::yes;
}

/// Through the door, with the credential that is handed out: what a user would meet.
Result<Controller::Ready> Controller::user_is_served(const Record& record, std::string& waits) {
  step("C9 serve", record);
  const auto& settings = parts_.settings;
  ZOO_TRY(const auto spec, api::cluster_spec(record.object));
  const Entrance entrance{"https://" + settings.listen, settings.server_name(record.place.id)};
  ZOO_TRY(const auto text,
          administrator_kubeconfig(settings.directory_of(record.place.id), pki_wish(record, spec),
                                   entrance, record.name()));
  ZOO_TRY(auto access, kube::parse_kubeconfig(text.view()));
  access.credentials.direct = true;
  kube::KubeClientOptions options;
  options.timeout = k_call;
  kube::KubeClient api(std::move(access), std::move(options));
  const auto account = api.get("/api/v1/namespaces/default/serviceaccounts/default");
  if (account) return Ready::yes;
  waits = "the administrator's kubeconfig to work: " + account.error().message();
  return Ready::no;
}

Result<Controller::Next> Controller::settle(Record record, const api::ClusterSpec& spec,
                                            const keeper::PlanState& state) {
  const bool first = record.phase() != phase::k_initialized;
  const auto promoted = first ? unpromoted() : promote(record, spec);
  ZOO_TRY(record, tell(record, [&](Record& now) {
            auto& status = now.object["status"];
            status["phase"] = phase::k_initialized;
            status.erase("reason");
            status["message"] = stays_at(now.place.version, spec.version);
            status["id"] = now.place.id;
            status["version"] = now.place.version;
            status["observedGeneration"] = now.object["metadata"].value("generation", 1);
            put_entrance(now);
            put_components(now, &state);
            auto& object = now.object;
            set_condition(object, "ControlPlaneReady", true, "Ready", "all components are healthy");
            set_condition(object, "KubeconfigReady", true, "Ready", "spec.kubeconfig works");
            set_condition(object, "CertificatesValid", true, "Valid",
                          "they are renewed at two thirds of their life");
            const auto& [nodes, pods, dns, reach, own_store, upstream_store, api_address, again] =
                promoted;
            set_condition(object, "NodesReady", nodes.holds, nodes.reason, nodes.message);
            set_condition(object, "Synced", pods.holds, pods.reason, pods.message);
            set_condition(object, "DNSDeployed", dns.holds, dns.reason, dns.message);
            set_condition(object, "PodsReachAPI", reach.holds, reach.reason, reach.message);
            // Its certificate says so, too, from the next look on, which this change brings about.
            if (!api_address.empty()) now.place.api_address = api_address;
            if (now.place.own_store.empty()) now.place.own_store = own_store;
            // That of an order is where the order was seen (order.cpp), and no other.
            if (now.place.upstream_store.empty() && now.place.upstream.empty())
              now.place.upstream_store = upstream_store;
            if (spec.unused.empty()) {
              set_condition(object, "UnknownFields", false, "None", "every field has a meaning");
            } else {
              set_condition(
                  object, "UnknownFields", true, "Kept",
                  fmt::format("these have no meaning here: {}", fmt::join(spec.unused, ", ")));
            }
          }));
  if (first) log::info("clusters", "{} is Initialized", record.key());
  auto after = promoted.after.value_or(parts_.settings.settled);
  if (spec.sleep_after.count() == 0) return Next{after, true};
  const auto idle = parts_.idle(record.place.id);
  if (!idle) return Next{std::min(after, spec.sleep_after), true};
  if (*idle < spec.sleep_after) return Next{std::min(after, spec.sleep_after - *idle), true};
  log::info("clusters", "{} goes to sleep: nobody has been connected for {} s", record.key(),
            std::chrono::duration_cast<std::chrono::seconds>(*idle).count());
  // First the door: who comes from this moment on wakes it.
  publish(record, DoorEntry::State::asleep);
  if (!parts_.idle(record.place.id)) return Next{k_soon, true};
  ZOO_TRY(record, tell(record, [](Record& now) { now.place.asleep = true; }));
  // Who came before that was written found nobody to wake.
  if (!parts_.idle(record.place.id)) wake_up(record.key());
  return Next{milliseconds(0), true};
}

Result<Controller::Next> Controller::halt(Record record, const keeper::PlanState& state,
                                          bool asleep) {
  if (!state.gone())
    return wait(std::move(record), phase::k_preparing, "Stopping", "its processes to end", &state,
                k_soon);
  ZOO_TRY(record, tell(record, [&](Record& now) {
            auto& status = now.object["status"];
            status["phase"] = phase::k_paused;
            status["reason"] = asleep ? "Asleep" : "Paused";
            status["message"] = asleep ? "a connection wakes it"
                                       : "spec.paused is true: `zooctl cluster resume` starts it";
            status["observedGeneration"] = now.object["metadata"].value("generation", 1);
            put_components(now, &state);
            set_condition(now.object, "ControlPlaneReady", false, asleep ? "Asleep" : "Paused",
                          "its processes were stopped, as is wished");
          }));
  return Next{parts_.settings.settled, true};
}

Result<Controller::Next> Controller::sync(Record record) {
  ZOO_TRY(const auto spec, api::cluster_spec(record.object));
  if (record.phase().empty()) {
    ZOO_TRY(record, tell(record, [](Record& now) {
              now.object["status"]["phase"] = phase::k_preparing;
              now.object["status"]["message"] = "its first step";
            }));
  }
  ZOO_TRY(const bool goes_on, identify(record, spec));
  if (!goes_on) return Next{k_waiting, true};
  ZOO_TRY_VOID(place(record));
  // An empty etcd under the same name would be another cluster, and nobody would have been told.
  const auto data = parts_.settings.directory_of(record.place.id) / "etcd" / "member";
  std::error_code ignored;
  // Of a user of its own zood does not see what is in that directory.
  if (holds(record, "KubeconfigReady") &&
      std::filesystem::status(data, ignored).type() == std::filesystem::file_type::not_found)
    return wait(std::move(record), phase::k_pending, "DataLost",
                fmt::format("what was in it is gone: there is no {}. Put its directory back, or "
                            "delete the cluster",
                            data.string()),
                nullptr, k_waiting);
  // Who resumes it later means that it runs.
  if (spec.paused && record.place.asleep) {
    ZOO_TRY(record, tell(record, [](Record& now) { now.place.asleep = false; }));
  }
  const bool wish = !spec.paused && !record.place.asleep;
  const auto closed = spec.paused ? DoorEntry::State::closed : DoorEntry::State::asleep;
  const auto table = parts_.doors.load();
  const auto* const entry = table->find(record.place.id);
  const bool open = entry != nullptr && entry->state == DoorEntry::State::open;
  if (!wish) {
    publish(record, closed);
    demote(record);
  } else if (!open) {
    publish(record, DoorEntry::State::starting);
  }
  ZOO_TRY_VOID(furnish(record, spec));
  // Of a keeper that answers: what it does not say is not gone.
  keeper::Request asked;
  asked.verb = keeper::Request::Verb::state;
  asked.id = record.place.id;
  const auto now = ask(asked);
  if (!now && now.error().code() != Code::not_found) return fail(now.error());
  const bool stopped = !now || now->states.empty() || now->states.front().gone();
  if (wish && stopped) {
    const auto full =
        why_full(parts_.settings, {free_memory(), free_disk(parts_.settings.directory)});
    if (!full.empty())
      return wait(std::move(record), phase::k_pending, "BastionFull", full, nullptr, k_waiting);
  }
  // What runs, runs on, whatever else of it has to come back.
  const bool whole = !wish || (!stopped && has(now->states.front(), "kube-controller-manager"));
  ZOO_TRY(auto state, run(record, wish, whole));
  if (!wish) return halt(std::move(record), state, !spec.paused);
  if (const auto crash = crash_of(record, state); !crash.empty()) {
    publish(record, DoorEntry::State::starting);
    return wait(std::move(record), phase::k_preparing, "CrashLoop", crash, &state, k_waiting);
  }
  std::string waits;
  ZOO_TRY(const auto reached, reach(record, state, waits));
  if (reached == Ready::no) {
    publish(record, DoorEntry::State::starting);
    return wait(std::move(record), phase::k_preparing, "Starting", std::move(waits), &state,
                runs(state, "kube-apiserver") ? k_soon : k_told);
  }
  publish(record, DoorEntry::State::open);
  if (!whole) {
    step("C7 run helpers", record);
    ZOO_TRY(state, run(record, true, true));
  }
  ZOO_TRY(const auto healthy, helpers_healthy(record, state, waits));
  if (healthy == Ready::no)
    return wait(std::move(record), phase::k_preparing, "Starting", std::move(waits), &state,
                state.ready() ? k_soon : k_told);
  if (record.phase() != phase::k_initialized) {
    ZOO_TRY(const auto served, user_is_served(record, waits));
    if (served == Ready::no)
      return wait(std::move(record), phase::k_preparing, "Starting", std::move(waits), &state,
                  k_soon);
  }
  return settle(std::move(record), spec, state);
}

// ---- going ----

Result<Controller::Next> Controller::remove(Record record) {
  const auto id = record.place.id;
  if (!id.empty()) {
    step("D1 close", record);
    publish(record, DoorEntry::State::closed);
    demote(record);
    ZOO_TRY(const auto waits, reclaim(record));
    if (waits) return *waits;
    step("D4 end", record);
    keeper::Request request;
    request.verb = keeper::Request::Verb::remove;
    request.id = id;
    ZOO_TRY(const auto reply, ask(request));
    if (!reply.removed) {
      ZOO_TRY(record, tell(record, [&](Record& now) {
                now.object["status"]["phase"] = phase::k_deleting;
                now.object["status"]["message"] = "its processes to end";
                put_components(now, reply.states.empty() ? nullptr : &reply.states.front());
              }));
      return Next{k_soon, true};
    }
    step("D5 clear", record);
    std::error_code error;
    std::filesystem::remove_all(parts_.settings.directory_of(id), error);
    if (error)
      return fail(Code::io, "cannot remove {}: {}", parts_.settings.directory_of(id).string(),
                  error.message());
    forget(id);
  }
  step("D6 forget", record);
  // Of its own revision: whoever has changed it meanwhile is looked at once more.
  const auto gone = parts_.store.remove(k_record_kind, record.key(), record.revision);
  if (!gone && gone.error().code() == Code::conflict) return Next{milliseconds(0), true};
  if (!gone && gone.error().code() != Code::not_found) return fail(gone.error());
  log::info("clusters", "{} is gone", record.key());
  parts_.written(record.key());
  if (record.place.exclusive) {
    const std::scoped_lock lock(place_mutex_);
    ZOO_TRY(const auto now, all_records(parts_.store));
    tell_reserved(now);
  }
  return Next{};
}

} // namespace zoo::clusters
