// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/controller.hpp"

#include "common/api/tenant.hpp"
#include "common/base/file.hpp"
#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/age.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>

namespace zoo::clusters {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr std::chrono::hours k_id_rest{30 * 24}; ///< until an ID is given out again
constexpr milliseconds k_keeper_start{5'000};
constexpr milliseconds k_keeper_look{50};
constexpr milliseconds k_lost_pause{300};

} // namespace

Controller::Controller(ControllerParts parts)
    : parts_(std::move(parts)), keeper_(parts_.settings.directory / "keeper.sock"),
      pki_([this](const std::string& id) { return parts_.settings.directory_of(id); },
           [this](const std::string& id, PkiKeeper::Change change) { pki_changed(id, change); }),
      // The administrator of a cluster can make its API server answer slowly, and a look at the
      // cluster waits for these answers: one worker is left for the other clusters.
      queue_(reconcile::Queue::Bound{.workers = std::max(parts_.settings.workers, 2U) - 1}),
      runner_(
          {.name = "clusters",
           .look = [this](const std::string& key,
                          unsigned attempts) { return look(key, attempts); },
           .failed = [this](const std::string& key, const Error& error) { failed(key, error); }},
          queue_) {}

Controller::~Controller() = default;

void Controller::step(std::string_view name, const Record& record) const {
  log::debug("clusters", "{}: step {}", record.key(), name);
}

Result<void> Controller::start() {
  ZOO_TRY_VOID(file::ensure_private_directory(parts_.settings.directory));
  ZOO_TRY(const auto records, all_records(parts_.store));
  tell_reserved(records);
  std::set<std::string> used;
  for (const auto& record : records) {
    if (record.place.id.empty()) continue;
    used.insert(record.place.id);
    publish(record, record.deleting() ? DoorEntry::State::closed : DoorEntry::State::starting);
  }
  // An ID that was taken just before zood was killed, and that no record names.
  ZOO_TRY(const auto ids, parts_.store.list(k_id_kind));
  for (const auto& each : ids.records) {
    const auto value = json::parse(each.value, nullptr, false);
    const auto until = value.is_object() ? value.value("until", std::int64_t{0}) : 0;
    if (used.contains(each.key)) continue;
    if (until == 0) {
      forget(each.key);
    } else if (until < kube::unix_now()) {
      ZOO_TRY_VOID(parts_.store.remove(k_id_kind, each.key, each.revision));
    }
  }
  watch_ = std::jthread([this](const std::stop_token& stop) { watch_keeper(stop); });
  runner_.start(parts_.settings.workers);
  for (const auto& record : records)
    wake(record.key());
  return {};
}

/// The ID rests: nothing that knew the cluster by it meets another one.
void Controller::forget(const std::string& id) {
  pki_.forget(id);
  const auto until = kube::unix_now() + std::chrono::seconds(k_id_rest).count();
  const auto rests = parts_.store.put(k_id_kind, id, json{{"until", until}}.dump());
  if (!rests) log::error("clusters", "{}", rests.error().text());
  const std::scoped_lock lock(doors_mutex_);
  auto next = std::make_shared<DoorTable>(*parts_.doors.load());
  if (next->clusters.erase(id) == 0) return;
  parts_.doors.store(std::move(next));
  parts_.doors_changed();
}

void Controller::publish(const Record& record, DoorEntry::State state) {
  const auto& place = record.place;
  DoorEntry entry{place.id,
                  record.key(),
                  record.uid(),
                  place.number == 0 ? std::string() : parts_.settings.addresses.text(place.number),
                  place.port,
                  state};
  const std::scoped_lock lock(doors_mutex_);
  const auto before = parts_.doors.load();
  if (const auto* there = before->find(place.id); there != nullptr && *there == entry) return;
  auto next = std::make_shared<DoorTable>(*before);
  next->clusters[place.id] = std::move(entry);
  parts_.doors.store(std::move(next));
  parts_.doors_changed();
}

Result<Record> Controller::tell(const Record& record, const std::function<void(Record&)>& change) {
  bool other = false;
  auto out = change_record(parts_.store, record.key(), record.uid(), [&](Record& now) {
    const auto object = now.object;
    const auto place = now.place;
    const auto phase = now.phase();
    change(now);
    if (now.phase() != phase) now.object["status"]["updateTime"] = now_text();
    other = now.object != object || !(now.place == place);
    return other;
  });
  if (out && other) parts_.written(record.key());
  return out;
}

// ---- the keeper ----

Result<void> Controller::ensure_keeper() const {
  const std::scoped_lock lock(keeper_mutex_);
  keeper::Request asked;
  asked.verb = keeper::Request::Verb::state;
  asked.id = "000000";
  const auto answers = [&] {
    const auto reply = keeper_.ask(asked);
    return reply || reply.error().code() != Code::unavailable;
  };
  if (answers()) return {};
  // A service manager keeps the keeper: one within zood's own unit would end with that.
  if (std::getenv("INVOCATION_ID") != nullptr)
    return fail(Code::unavailable, "the keeper of control planes does not answer: `systemctl start "
                                   "zood-keeper` starts it");
  log::info("clusters", "starting the keeper of control planes");
  ZOO_TRY_VOID(keeper::start_keeper(parts_.settings.directory, parts_.settings.binaries,
                                    parts_.settings.uid_base));
  const auto end = std::chrono::steady_clock::now() + k_keeper_start;
  while (!answers()) {
    if (std::chrono::steady_clock::now() > end)
      return fail(Code::unavailable, "the keeper of control planes does not come up: see {}",
                  (parts_.settings.directory / "keeper.log").string());
    std::this_thread::sleep_for(k_keeper_look);
  }
  return {};
}

Result<keeper::Reply> Controller::ask(const keeper::Request& request) const {
  auto reply = keeper_.ask(request);
  if (reply || reply.error().code() != Code::unavailable) return reply;
  ZOO_TRY_VOID(ensure_keeper());
  return keeper_.ask(request);
}

std::string Controller::keeper_trouble() const {
  keeper::Request asked;
  asked.verb = keeper::Request::Verb::state;
  asked.id = "000000";
  const auto reply = keeper_.ask(asked);
  return reply || reply.error().code() != Code::unavailable ? "" : reply.error().message();
}

std::uint64_t Controller::free_memory() const {
  keeper::Request asked;
  asked.verb = keeper::Request::Verb::memory;
  const auto reply = ask(asked);
  return reply ? static_cast<std::uint64_t>(reply->available) : 0;
}

Controller::Unheld Controller::unheld() const {
  keeper::Request asked;
  asked.verb = keeper::Request::Verb::memory;
  const auto reply = keeper_.ask(asked);
  return reply ? Unheld{reply->soft, reply->unfenced, reply->users, reply->uid_base} : Unheld{};
}

std::optional<keeper::PlanState> Controller::processes(const std::string& id) const {
  if (id.empty()) return std::nullopt;
  keeper::Request asked;
  asked.verb = keeper::Request::Verb::state;
  asked.id = id;
  const auto reply = keeper_.ask(asked);
  if (!reply || reply->states.empty()) return std::nullopt;
  return reply->states.front();
}

/// A change of a process is looked at in the same moment; a keeper that was killed is started
/// again, so that its processes are supervised.
void Controller::watch_keeper(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "clusters-watch");
  while (!stop.stop_requested()) {
    if (!parts_.doors.load()->clusters.empty()) {
      if (const auto there = ensure_keeper(); !there)
        log::warning("clusters", "{}", there.error().text());
      const auto over = keeper_.watch(stop, [this](const keeper::PlanState& state, bool) {
        const auto table = parts_.doors.load();
        if (const auto* entry = table->find(state.id)) wake(entry->key);
      });
      if (!over) log::debug("clusters", "{}", over.error().text());
    }
    std::this_thread::sleep_for(k_lost_pause);
  }
}

// ---- what the API shows ----

PkiWish Controller::pki_wish(const Record& record, const api::ClusterSpec& spec) const {
  const auto& settings = parts_.settings;
  PkiWish out;
  out.id = record.place.id;
  out.address = settings.addresses.text(record.place.number);
  out.names = {settings.server_name(record.place.id), settings.advertise_host};
  if (!record.place.api_address.empty()) out.names.push_back(record.place.api_address);
  out.names.insert(out.names.end(), spec.extra_sans.begin(), spec.extra_sans.end());
  out.epoch = record.place.epoch;
  out.mark = record.place.mark;
  out.rotation = record.place.rotation;
  out.authority = record.place.authority;
  out.authority_turn = record.place.authority_turn;
  out.validity = settings.validity;
  return out;
}

Result<std::string> Controller::kubeconfig(const Record& record) const {
  if (!holds(record, "KubeconfigReady")) return std::string();
  ZOO_TRY(const auto spec, api::cluster_spec(record.object));
  ZOO_TRY(const auto text,
          administrator_kubeconfig(parts_.settings.directory_of(record.place.id),
                                   pki_wish(record, spec),
                                   parts_.settings.entrance(record.place.id), record.name()));
  return crypto::base64_encode(text.view());
}

void Controller::decorate(json& object, std::vector<std::string>& warnings) const {
  const auto record = read_record(parts_.store, key_of(object["metadata"].value("namespace", ""),
                                                       object["metadata"].value("name", "")));
  if (!record || record->uid() != object["metadata"].value("uid", "")) return;
  auto encoded = kubeconfig(*record);
  if (!encoded)
    warnings.push_back("the cluster's kubeconfig cannot be shown: " + encoded.error().message());
  else if (!encoded->empty())
    object["spec"]["kubeconfig"] = *std::move(encoded);
  const auto state = processes(record->place.id);
  if (!state || !object["status"].contains("components")) return;
  for (auto& shown : object["status"]["components"])
    for (const auto& each : state->components) {
      if (shown.value("name", std::string()) != each.name || each.pid == 0) continue;
      shown["pid"] = each.pid;
      if (const auto bytes = process_memory(each.pid); bytes != 0)
        shown["memory"] = fmt::format("{}Mi", bytes >> 20U);
    }
}

Result<json> Controller::certificates(const std::string& key) const {
  ZOO_TRY(const auto record, read_record(parts_.store, key));
  ZOO_TRY(const auto spec, api::cluster_spec(record.object));
  if (record.place.number == 0)
    return fail(Code::conflict, "virtual cluster {} has no certificates yet", record.name());
  ZOO_TRY(const auto facts, check_pki(parts_.settings.directory_of(record.place.id),
                                      pki_wish(record, spec), std::chrono::system_clock::now()));
  json items = json::array();
  for (const auto& each : facts)
    items.push_back({{"name", each.name},
                     {"authority", each.authority},
                     {"begins", each.begins == 0 ? "" : api::rfc3339(each.begins)},
                     {"ends", each.ends == 0 ? "" : api::rfc3339(each.ends)},
                     {"trouble", each.trouble}});
  return json{{"apiVersion", api::k_cluster_api_version},
              {"kind", "VirtualClusterCertificateList"},
              {"metadata", json::object()},
              {"authorityStage", stage_name(record.place.authority)},
              {"items", std::move(items)}};
}

Result<json> Controller::renew(const std::string& key, bool revoke) {
  ZOO_TRY(auto record, read_record(parts_.store, key));
  if (record.deleting() || record.place.number == 0)
    return fail(Code::conflict, "virtual cluster {} is not in a state to have certificates",
                record.name());
  ZOO_TRY(const auto spec, api::cluster_spec(record.object));
  ZOO_TRY(const auto mark, random_mark());
  ZOO_TRY(record, tell(record, [revoke, &mark](Record& now) {
            ++now.place.rotation;
            if (!revoke) return;
            ++now.place.epoch;
            now.place.mark = mark;
          }));
  const auto done = [&]() -> Result<void> {
    ZOO_TRY_VOID(keep_pki(record, spec, revoke ? PkiKeeper::How::now : PkiKeeper::How::leaves));
    if (!revoke || record.phase() != api::cluster_phase::k_initialized) return {};
    // What is taken back is refused when this returns; of one that sleeps, when it wakes.
    ZOO_TRY(auto access, own_access(parts_.settings.directory_of(record.place.id),
                                    parts_.settings.addresses.text(record.place.number)));
    kube::KubeClient api(std::move(access));
    return bootstrap(api, record);
  }();
  wake(key); // the record says so: what could not be done now is tried again
  if (!done) return fail(done.error());
  return certificates(key);
}

Result<json> Controller::turn_authority(const std::string& key, AuthorityStage stage) {
  ZOO_TRY(auto record, read_record(parts_.store, key));
  if (record.deleting() || record.place.number == 0)
    return fail(Code::conflict, "virtual cluster {} is not in a state to have certificates",
                record.name());
  ZOO_TRY(const auto spec, api::cluster_spec(record.object));
  // What the stage until now asks for: an attempt before this may have ended in between.
  ZOO_TRY_VOID(keep_pki(record, spec, PkiKeeper::How::now));
  if (record.place.authority == stage) return certificates(key);
  bool follows = false;
  AuthorityStage before{};
  ZOO_TRY(record, tell(record, [&](Record& now) {
            before = now.place.authority;
            follows = may_follow(before, stage);
            if (!follows) return;
            now.place.authority = stage;
            ++now.place.authority_turn;
          }));
  if (!follows)
    return fail(Code::conflict,
                "the authority of virtual cluster {} is {}, after which it is not {}: it is "
                "announced, then used, then settled",
                record.name(), stage_name(before), stage_name(stage));
  wake(key); // its programs are started anew, whatever comes of the rest
  ZOO_TRY_VOID(keep_pki(record, spec, PkiKeeper::How::now));
  log::info("clusters", "{}: its authority is {}", key, stage_name(stage));
  return certificates(key);
}

Result<std::filesystem::path> Controller::log_of(const std::string& key,
                                                 const std::string& component) const {
  ZOO_TRY(const auto record, read_record(parts_.store, key));
  constexpr std::string_view k_known[] = {"etcd", "kube-apiserver", "kube-controller-manager",
                                          "kube-scheduler"};
  if (std::find(std::begin(k_known), std::end(k_known), component) == std::end(k_known))
    return fail(Code::not_found, "there is no component '{}': there are {}", component,
                fmt::join(k_known, ", "));
  if (record.place.id.empty())
    return fail(Code::not_found, "virtual cluster {} has no logs yet", record.name());
  return parts_.settings.directory_of(record.place.id) / "log" / (component + ".log");
}

Result<FilePart> Controller::log_part(const std::string& key, const std::string& component,
                                      std::size_t lines, std::optional<std::uint64_t> from) const {
  constexpr std::size_t k_most = 4 << 20, k_of_line = 32 << 10; // bytes of the end of a log
  ZOO_TRY(const auto path, log_of(key, component));
  auto part = from ? read_lines(path, *from, k_log_part)
                   : read_end(path, lines < k_most / k_of_line ? lines * k_of_line : k_most);
  if (!part && part.error().code() == Code::not_found) return FilePart{};
  if (part && !from) part->text = last_lines(std::move(part->text), lines);
  return part;
}

Result<std::string> Controller::logs(const std::string& key, const std::string& component,
                                     std::size_t lines) const {
  return log_part(key, component, lines, std::nullopt).map([](FilePart part) {
    return std::move(part.text);
  });
}

void Controller::wake_up(const std::string& key) {
  const auto woken = change_record(parts_.store, key, {}, [](Record& record) {
    return std::exchange(record.place.asleep, false);
  });
  if (!woken) log::warning("clusters", "{} cannot wake: {}", key, woken.error().text());
  wake(key);
}

} // namespace zoo::clusters
