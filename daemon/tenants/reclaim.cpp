// SPDX-License-Identifier: Apache-2.0
#include "common/base/log.hpp"
#include "common/kube/client.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/tenants/certificates.hpp"
#include "daemon/tenants/controller.hpp"
#include "daemon/tenants/definitions.hpp"
#include "daemon/tenants/manifests.hpp"
#include "daemon/tenants/records.hpp"
#include "daemon/upstream/control_api.hpp"
#include "daemon/virtuals/board.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <map>
#include <optional>
#include <set>

/// What takes a tenant's room away (DESIGN 9, delete). Each pass begins at the beginning: every
/// step is a request that may be repeated, and is empty when it is done.
namespace zoo::tenants {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using upstream::ControlApi;

constexpr std::string_view k_namespaces = "/api/v1/namespaces";
constexpr std::string_view k_pods = "/api/v1/pods";
constexpr std::size_t k_pods_page = 500;
constexpr std::string_view k_attachments = "/apis/storage.k8s.io/v1/volumeattachments";

const json& in_background() {
  static const json options = {
      {"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"propagationPolicy", "Background"}};
  return options;
}

/// Finalizers that the upstream's own controllers take off, on the kinds where they do.
bool upstreams_own(std::string_view resource, std::string_view finalizer) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> rows{{
      {"", "foregroundDeletion"},
      {"", "orphan"},
      {"persistentvolumeclaims", "kubernetes.io/pvc-protection"},
      {"persistentvolumes", "kubernetes.io/pv-protection"},
      {"pods", "batch.kubernetes.io/job-tracking"},
      {"services", "service.kubernetes.io/load-balancer-cleanup"},
      {"customresourcedefinitions", "customresourcecleanup.apiextensions.k8s.io"},
      {"volumeattributesclasses", "kubernetes.io/vac-protection"},
  }};
  return std::any_of(rows.begin(), rows.end(), [&](const auto& row) {
    return row.second == finalizer && (row.first.empty() || row.first == resource);
  });
}

/// The pieces of one pass over one tenant.
class Reclaim {
public:
  /// `hold`: called before anything is changed that upstream calls for the tenant.
  using Hold = std::function<Result<void>()>;
  /// `attempts`: passes before; what stays wrong is not said in each of them.
  Reclaim(ControlApi& api, const api::Tenant& tenant, bool past_grace, const ControllerParts& parts,
          const Hold& hold, unsigned attempts)
      : api_(api), tenant_(tenant), prefix_(tenant.id + "-"), past_grace_(past_grace),
        parts_(parts), hold_(hold),
        usual_(attempts < 8 || std::has_single_bit(attempts) ? LogLevel::warning
                                                             : LogLevel::debug) {}

  /// But for what other tenants define: objects of that are in no namespace of this one.
  Result<void> discover_kinds() {
    // Without a directory whatever is called like a tenant's is another's.
    const auto all = parts_.directory == nullptr ? nullptr : parts_.directory->snapshot();
    ZOO_TRY(kinds_, discover(api_, [&](std::string_view group) {
              const auto id = id_of_name(group);
              return id.empty() || id == tenant_.id || (all && !all->find(id));
            }));
    return {};
  }

  /// Prepares the tenant's definitions for the deletion of their objects:
  ///  * A webhook that does not answer would keep upstream from listing them, and with them every
  ///    namespace from being deleted. Nobody reads them in another version any more, so that no
  ///    conversion is needed.
  ///  * Upstream deletes a definition that is not established without its objects, and shows none
  ///    of them: such a one is established again. Returns how many these were; their objects are
  ///    seen in the next pass.
  Result<std::size_t> open_definitions() {
    static const json none = {{"strategy", "None"}, {"webhook", nullptr}};
    std::size_t hidden = 0;
    ZOO_TRY(const auto found, tenant_crds(api_, tenant_.id));
    for (const auto& crd : found) {
      const auto path = std::string(k_crds) + kube::path({crd.name});
      const auto object = api_.get(path);
      if (object && hides_objects(*object)) {
        ++hidden;
        if (const auto done = api_.update(path + "/status", established(*object)); !done)
          log::at(usual_, "tenants", "tenant {}: {} stays unestablished: {}", tenant_.id, crd.name,
                  done.error().text());
        continue; // its conversion is looked at in the next pass
      }
      if (object && object->value("/spec/conversion/strategy"_json_pointer, "None") == "None")
        continue;
      if (!object && object.error().code() == Code::not_found) continue; // it has gone meanwhile
      // One that cannot be stopped must not hold for ever: past the grace its definition goes.
      if (!past_grace_) ZOO_TRY_VOID(hold_());
      const auto done = object ? api_.merge_patch(path, {{"metadata", {{"uid", crd.uid}}},
                                                         {"spec", {{"conversion", none}}}})
                               : Result<json>(fail(object.error()));
      if (!done)
        log::at(usual_, "tenants", "tenant {}: the conversions of {} go on: {}", tenant_.id,
                crd.name, done.error().text());
      if (!past_grace_) ZOO_TRY_VOID(hold_());
    }
    return hidden;
  }

  /// Upstream cannot read an object of this kind: that keeps it from deleting it, and every
  /// namespace of the platform. The definition is made one under which everything can be read:
  /// schemas that take anything, no conversion, the names that it has been given, and the versions
  /// that upstream says it misses. `why`: its refusal of the list.
  void make_readable(const Kind& kind, const Error& why) {
    const auto path = std::string(k_crds) + kube::path({kind.title()});
    const auto found = api_.get(path);
    if (!found) return; // it has gone meanwhile, or is read in the next pass
    const auto object = readable_definition(*found, missing_version(why.message(), kind.group));
    auto done = object["spec"] == (*found)["spec"] ? found : api_.update(path, object);
    if (done && object["status"] != (*found)["status"]) {
      (*done)["status"] = object["status"];
      done = api_.update(path + "/status", *done);
    }
    if (!done) {
      log::at(usual_, "tenants", "tenant {}: {} cannot be made readable: {}", tenant_.id, path,
              done.error().text());
    } else if (*done != *found) {
      log::warning("tenants", "tenant {}: {} was changed so that upstream can read its objects: {}",
                   tenant_.id, path, why.message());
    }
  }

  /// How many custom resources of the tenant's own groups are left; all of them are told to go.
  /// What upstream cannot list is left too, and its definition is made one under which it can.
  Result<std::size_t> custom_resources() {
    ZOO_TRY(auto left, open_definitions());
    for (const auto& kind : kinds_) {
      if (!kind.group.starts_with(prefix_) || !kind.removable) continue;
      auto swept = sweep(kind, kind.collection(), {}, left);
      if (swept) {
        const bool some = *swept != left;
        left = *swept;
        // Its objects can be read one by one, and yet not all be listed as controllers list them.
        if (const auto listed = list_nothing(api_, kind);
            some && !listed && listed.error().code() == Code::too_many_requests)
          make_readable(kind, listed.error());
        continue;
      }
      log::at(usual_, "tenants", "tenant {}: {} cannot be listed: {}", tenant_.id,
              kind.collection(), swept.error().text());
      waiting_.push_back(kind.title() + ", which upstream cannot list");
      const auto code = swept.error().code();
      if (code != Code::unavailable && code != Code::timeout) make_readable(kind, swept.error());
      ++left;
    }
    return left;
  }

  /// Webhooks and policies go before what they could hold up.
  Result<std::size_t> cluster_objects(bool admission) {
    std::size_t left = 0;
    for (const auto& kind : private_cluster_kinds(kinds_)) {
      if ((kind.group == "admissionregistration.k8s.io") != admission) continue;
      ZOO_TRY(left, sweep(kind, kind.collection(), prefix_, left));
    }
    return left;
  }

  Result<std::size_t> namespaces() {
    ZOO_TRY(const auto found, range(api_, k_namespaces, prefix_));
    foreign_.clear();
    std::size_t left = 0;
    std::set<std::string> ending;
    for (const auto& space : found) {
      if (!space.labelled || space.label != tenant_.id) {
        foreign_.push_back(space.name);
        continue;
      }
      ++left;
      const auto path = std::string(k_namespaces) + kube::path({space.name});
      if (!space.terminating) {
        ZOO_TRY_VOID(api_.remove_read(path, space.uid, in_background()));
      }
      ZOO_TRY_VOID(tell_namespace(space, path));
      if (space.terminating) ending.insert(space.name);
      if (past_grace_ && space.terminating) {
        ZOO_TRY_VOID(free_namespace(space, path));
      }
    }
    // The syncer, which bounds how long pods take to end, does not work for a cluster that goes.
    if (!ending.empty() && (tenant_.of_cluster || past_grace_)) hurry_pods(ending);
    return left;
  }

  /// They stay while a custom resource may come that was `held`: without its definition nobody
  /// would see it, until whoever has the ID next defines it again.
  Result<std::size_t> definitions(bool held) {
    if (held) return std::size_t{0};
    ZOO_TRY(const auto found, tenant_crds(api_, tenant_.id));
    for (const auto& crd : found) {
      waiting_.push_back("customresourcedefinition " + crd.name);
      if (!crd.terminating) {
        ZOO_TRY_VOID(api_.remove_read(std::string(k_crds) + kube::path({crd.name}), crd.uid,
                                      in_background()));
      } else if (past_grace_) {
        ZOO_TRY_VOID(
            strip("customresourcedefinitions", std::string(k_crds) + kube::path({crd.name}), crd));
      }
    }
    return found.size();
  }

  /// Objects whose namespace went before them, as it does when its finalizer is taken away: whoever
  /// has the ID next would find them in a namespace of that name. The namespace is made once more,
  /// so that it goes with all that is in it: admission finds no way to single objects without it.
  Result<std::size_t> orphans() {
    std::set<std::string> spaces;
    for (const auto& kind : kinds_) {
      if (!kind.namespaced || !kind.removable || kind.resource == "events") continue;
      auto found = range(api_, kind.collection(), prefix_);
      if (!found) { // a kind that cannot be listed must not keep the others; upstream may come back
        const auto code = found.error().code();
        if (code == Code::unavailable || code == Code::timeout) return fail(found.error());
        log::at(usual_, "tenants", "tenant {}: cannot look for {}: {}", tenant_.id, kind.title(),
                found.error().message());
        continue;
      }
      for (const auto& object : *found) {
        if (!stays(object.name_space)) spaces.insert(object.name_space);
      }
    }
    for (const auto& space : spaces) {
      waiting_.push_back("what is left of namespace " + space);
      log::at(usual_, "tenants", "tenant {}: namespace {} went before what was in it", tenant_.id,
              space);
      // What is in there may have waited for it: workloads that a tenant's webhook held until the
      // namespace had gone. Nothing of theirs runs that could reach a node, and it goes at once.
      auto again = namespace_manifest(tenant_.id, space);
      again["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] = "restricted";
      const auto made = api_.create(k_namespaces, again);
      if (!made && made.error().code() == Code::already_exists)
        continue; // whose, is seen next time
      if (!made) return fail(made.error());
      ZOO_TRY_VOID(api_.remove_read(std::string(k_namespaces) + kube::path({space}),
                                    found_of(*made).uid, in_background()));
    }
    return spaces.size();
  }

  /// Their finalizers are the storage's: they are waited for, never taken off. Everybody's are read
  /// to be `certain` that none is left, and where it is not known which they are.
  Result<std::size_t> volumes(bool certain) {
    const auto claimed = certain ? std::nullopt : known(parts_.claimed_volumes, prefix_);
    ZOO_TRY(auto found, tenant_volumes(api_, tenant_.id, claimed));
    std::erase_if(found, [this](const Volume& volume) { return stays(volume.claim_space); });
    if (found.empty()) return std::size_t{0};
    Names names;
    for (const auto& volume : found) {
      names.insert(volume.name);
      waiting_.push_back("persistentvolume " + volume.name);
      // What was provisioned goes with its storage by its provisioner's hand, while there is time.
      if (volume.terminating || (volume.provisioned && !past_grace_)) continue;
      ZOO_TRY_VOID(
          api_.remove_read(std::string(k_volumes) + kube::path({volume.name}), volume.uid));
    }
    ZOO_TRY(const auto attachments, attachments_of(names));
    for (const auto& [name, uid] : attachments) {
      waiting_.push_back("volumeattachment " + name);
      ZOO_TRY_VOID(api_.remove_read(std::string(k_attachments) + kube::path({name}), uid));
    }
    return found.size() + attachments.size();
  }

  /// Events about the tenant's cluster-scoped objects lie in upstream's `default`.
  Result<void> events() {
    std::vector<Found> events;
    ZOO_TRY_VOID(range_objects(api_, "/api/v1/namespaces/default/events", prefix_, 50, 0, false, {},
                               [&](const json& item) {
                                 const auto about = item.value("involvedObject", json::object());
                                 // A node is the platform's, whatever its name.
                                 if (about.value("namespace", std::string()).empty() &&
                                     about.value("kind", std::string()) != "Node" &&
                                     about.value("name", std::string()).starts_with(prefix_)) {
                                   events.push_back(found_of(item));
                                 }
                               }));
    for (const auto& event : events)
      ZOO_TRY_VOID(api_.remove_read("/api/v1/namespaces/default/events" + kube::path({event.name}),
                                    event.uid));
    return {};
  }

  const std::vector<std::string>& foreign() const { return foreign_; }
  void forget_waiting() { waiting_.clear(); }
  std::string waiting(std::size_t most = 4) const {
    std::string out;
    for (std::size_t i = 0; i < waiting_.size() && i < most; ++i)
      out += (i == 0 ? "" : ", ") + waiting_[i];
    if (waiting_.size() > most) out += fmt::format(" and {} more", waiting_.size() - most);
    return out;
  }

private:
  /// Is that namespace under the prefix without being the tenant's?
  bool stays(const std::string& space) const {
    return std::find(foreign_.begin(), foreign_.end(), space) != foreign_.end();
  }

  static std::optional<Names> known(const NamesOf& names_of, std::string_view owner_prefix) {
    return names_of ? names_of(owner_prefix) : std::nullopt;
  }

  using Attachments = std::map<std::string, std::string>; ///< UIDs by name

  Result<Attachments> attachments_of(const Names& volumes) {
    Attachments out;
    const auto take = [&](const json& item) {
      if (volumes.contains(
              item.value("/spec/source/persistentVolumeName"_json_pointer, std::string())))
        out.emplace(found_of(item).name, found_of(item).uid);
    };
    Names names;
    for (const auto& volume : volumes) {
      auto attached = known(parts_.attachments, volume + "/");
      if (!attached) {
        out.clear();
        ZOO_TRY_VOID(range_objects(api_, k_attachments, {}, 500, 0, false, {}, take));
        return out;
      }
      names.merge(*attached);
    }
    for (const auto& name : names) {
      const auto item = api_.get(std::string(k_attachments) + kube::path({name}));
      if (!item && item.error().code() != Code::not_found) return fail(item.error());
      if (item) take(*item);
    }
    return out;
  }

  /// Tells every object of a collection under the prefix to go; returns `before` plus how many
  /// are there.
  Result<std::size_t> sweep(const Kind& kind, const std::string& collection,
                            std::string_view prefix, std::size_t before) {
    auto found = range(api_, collection, prefix);
    if (!found) {
      if (found.error().code() == Code::not_found) return before;
      return fail(std::move(found).error().context("while looking for {}", kind.title()));
    }
    const bool calls_out = kind.group == "admissionregistration.k8s.io" &&
                           kind.resource.ends_with("webhookconfigurations");
    for (const auto& object : *found) {
      if (calls_out) ZOO_TRY_VOID(hold_());
      const auto path = kind.collection(object.name_space) + kube::path({object.name});
      waiting_.push_back(kind.title() + " " + object.name);
      if (!object.terminating) {
        ZOO_TRY_VOID(api_.remove_read(path, object.uid, in_background()));
      } else if (past_grace_) {
        ZOO_TRY_VOID(strip(kind.resource, path, object));
      }
      if (calls_out) ZOO_TRY_VOID(hold_()); // from here on, not from when it was asked for
    }
    return before + found->size();
  }

  Result<void> strip(std::string_view resource, const std::string& path, const Found& object) {
    std::vector<std::string> kept;
    for (const auto& finalizer : object.finalizers)
      if (upstreams_own(resource, finalizer)) kept.push_back(finalizer);
    if (kept.size() == object.finalizers.size()) return {};
    json finalizers = kept;
    if (kept.empty()) finalizers = nullptr;
    auto done = api_.merge_patch(
        path,
        {{"metadata", {{"finalizers", finalizers}, {"resourceVersion", object.resource_version}}}});
    if (!done) {
      const auto code = done.error().code();
      // Gone, or changed in between: the next pass sees it.
      if (code == Code::not_found || code == Code::conflict) return {};
      return fail(std::move(done).error().context("while removing finalizers of {}", path));
    }
    std::string removed;
    for (const auto& finalizer : object.finalizers)
      if (!upstreams_own(resource, finalizer)) removed += " " + finalizer;
    log::warning("tenants", "tenant {}: removed from {} after the grace the finalizers{}",
                 tenant_.id, path, removed);
    return {};
  }

  /// What the namespace controller says is left, for people.
  Result<void> tell_namespace(const Found& space, const std::string& path) {
    std::string why;
    if (told_++ < 5 && space.terminating) {
      const auto actual = api_.get(path);
      if (!actual) {
        if (actual.error().code() == Code::not_found) return {};
        return fail(actual.error());
      }
      for (const auto& condition :
           actual->value("/status/conditions"_json_pointer, json::array())) {
        if (condition.value("status", "") != "True") continue;
        why += (why.empty() ? " (" : "; ") + condition.value("message", std::string());
      }
      if (!why.empty()) why += ")";
    }
    waiting_.push_back("namespace " + space.name + why);
    return {};
  }

  /// Upstream deletes what is in a namespace with the grace that each pod asks for, and the pod's
  /// owner may ask for years. What cannot be shortened now is tried with the next pass.
  void hurry_pods(const std::set<std::string>& spaces) {
    struct Slow {
      std::string path, uid;
    };
    std::vector<Slow> slow;
    auto done =
        range_objects(api_, k_pods, prefix_, k_pods_page, 0, true, {}, [&](const json& pod) {
          const auto space = kube::text_at(pod, "/metadata/namespace");
          const auto* const grace = kube::find_at(pod, "/metadata/deletionGracePeriodSeconds");
          if (!spaces.contains(space) || grace == nullptr || !grace->is_number_integer() ||
              grace->get<std::int64_t>() <= k_longest_pod_grace)
            return;
          slow.push_back({kube::path({"api", "v1", "namespaces", space, "pods",
                                      kube::text_at(pod, "/metadata/name")}),
                          kube::text_at(pod, "/metadata/uid")});
        });
    for (const auto& [path, uid] : slow) {
      auto gone = api_.remove_read(path, uid,
                                   {{"apiVersion", "v1"},
                                    {"kind", "DeleteOptions"},
                                    {"gracePeriodSeconds", k_longest_pod_grace}});
      if (!gone) done = std::move(gone);
    }
    if (!done)
      log::at(usual_, "tenants", "tenant {}: pods that take long to end: {}", tenant_.id,
              done.error().message());
  }

  Result<void> free_namespace(const Found& space, const std::string& path) {
    for (const auto& kind : kinds_) {
      if (!kind.namespaced || !kind.removable || kind.resource == "events") continue;
      auto found = range(api_, kind.collection(space.name), {});
      if (!found) {
        // A kind that cannot be listed must not keep the others.
        log::at(usual_, "tenants", "tenant {}: cannot look for {} in {}: {}", tenant_.id,
                kind.title(), space.name, found.error().message());
        continue;
      }
      for (const auto& object : *found) {
        if (!object.terminating) continue;
        ZOO_TRY_VOID(
            strip(kind.resource, kind.collection(space.name) + kube::path({object.name}), object));
      }
    }
    ZOO_TRY_VOID(strip("namespaces", path, space));
    auto actual = api_.get(path);
    if (!actual) return {};
    // Upstream's controller takes `kubernetes` away when all is gone, and passes by what has it
    // not: others' are removed, and it is given back.
    static const json own = json::array({"kubernetes"});
    auto& finalizers = (*actual)["spec"]["finalizers"];
    if (finalizers == own) return {};
    log::warning("tenants", "tenant {}: finalizers {} of namespace {} are {} now", tenant_.id,
                 finalizers.dump(), space.name, own.dump());
    finalizers = own;
    const auto done = api_.update(path + "/finalize", *actual);
    if (!done && done.error().code() != Code::not_found && done.error().code() != Code::conflict)
      return fail(done.error());
    return {};
  }

  ControlApi& api_;
  const api::Tenant& tenant_;
  std::string prefix_;
  bool past_grace_;
  const ControllerParts& parts_;
  const Hold& hold_;
  const LogLevel usual_;
  std::vector<Kind> kinds_;
  std::vector<std::string> foreign_, waiting_;
  int told_ = 0;
};

/// How long to wait behind that many passes. Each reads upstream's discovery and lists all kinds of
/// what goes: what does not go in minutes is looked at less and less.
milliseconds rest_behind(unsigned passes) {
  if (passes < 60) return milliseconds(std::min(100L << std::min(passes, 5U), 2000L));
  return milliseconds(passes < 120 ? 10'000 : 60'000);
}

/// How long so many passes have waited together.
milliseconds waited(unsigned passes) {
  milliseconds out{0};
  for (unsigned each = 0; each < passes; ++each)
    out += rest_behind(each);
  return out;
}

} // namespace

Result<Controller::Next> Controller::reclaim(ControlApi& api, const api::Tenant& tenant,
                                             unsigned attempts) {
  const auto began = parse_time(tenant.deletion_timestamp);
  const auto clock = std::chrono::system_clock::now();
  // One that began in time to come was asked for when the clock was ahead, or it is behind now: it
  // has its grace by the passes that it took.
  const bool past_grace = began > clock + std::chrono::minutes(1)
                              ? waited(attempts) >= policy()->delete_grace
                              : clock >= began + policy()->delete_grace;
  bool progress = false; // what it waits for is not what it was
  const auto later = [&] {
    const auto rest = rest_behind(attempts);
    return Next{progress ? std::min(rest, milliseconds(2000)) : rest};
  };
  // What upstream has admitted and a webhook of the tenant's holds is stored when that answers, be
  // the namespace and the record gone by then. So the record stays until nothing is held any more.
  auto held_until = parse_time(tenant.held_until);
  const auto held = [&] { return std::chrono::system_clock::now() < held_until; };
  const Reclaim::Hold hold = [&]() -> Result<void> {
    held_until = std::chrono::system_clock::now() + settings_.held;
    const auto written = change_tenant(led_, tenant.id, tenant.uid, [&](api::Tenant& now) {
      auto text = time_text(held_until);
      if (now.held_until == text) return false;
      now.held_until = std::move(text);
      return true;
    });
    if (!written) return fail(written.error());
    return {};
  };
  Reclaim pass(api, tenant, past_grace, parts_, hold, attempts);

  const auto tell = [&](std::string_view reason, const std::string& words) -> Result<void> {
    std::string text = "waiting for " + words;
    if (!pass.foreign().empty()) {
      text += fmt::format("; namespace {} is under the prefix without label {}={} and stays",
                          fmt::join(pass.foreign(), ", "), k_tenant_label, tenant.id);
    }
    const auto written = change_tenant(led_, tenant.id, tenant.uid, [&](api::Tenant& now) {
      const auto* before = now.condition("Deleting");
      if (before != nullptr && before->reason == reason && before->message == text) {
        return false;
      }
      now.phase = api::Phase::deleting;
      now.waiting_for = words;
      now.observed_generation = tenant.generation;
      now.set_condition("Deleting", "True", reason, text, now_text());
      return true;
    });
    if (!written) return fail(written.error());
    progress = progress || written->resource_version != tenant.resource_version;
    return {};
  };

  // (6) Nobody has been admitted for long: nothing of it is written any more.
  const auto forget = [&]() -> Result<Next> {
    step("virtual-objects");
    ZOO_TRY_VOID(virtuals::sweep(led_, {tenant.id, tenant.uid}));
    step("record");
    ZOO_TRY(const auto now, read_tenant(led_, tenant.id));
    if (now.uid != tenant.uid) return Next{milliseconds(0)};
    if (auto gone = led_.remove(k_tenant_kind, tenant.id, now.resource_version); !gone) {
      if (gone.error().code() == Code::not_found) return Next{};
      return fail(std::move(gone).error());
    }
    log::info("tenants", "tenant {} is deleted", tenant.id);
    return Next{};
  };
  const auto place_of_room = [&] {
    return parts_.room_place ? parts_.room_place(api, tenant) : Result<RoomPlace>(RoomPlace{});
  };

  // (1) The phase was recorded when the deletion was asked for: credentials are refused by now. The
  // kept key goes first, so that nothing hands it out any more.
  step("refuse-credentials");
  if (auto gone = led_.remove(k_credential_kind, tenant.id);
      !gone && gone.error().code() != Code::not_found) {
    return fail(std::move(gone).error());
  }
  ZOO_TRY_VOID(forget_certificates(led_, tenant.id));
  // Those that it has taken away itself a moment ago, too.
  const bool untold = tenant.had_webhooks && tenant.held_until.empty();
  const bool set_back = held_until > std::chrono::system_clock::now() + settings_.held; // the clock
  if (untold || set_back) ZOO_TRY_VOID(hold());
  step("place");
  ZOO_TRY(const auto place, place_of_room());
  if (place.is == RoomPlace::Is::elsewhere) {
    ZOO_TRY_VOID(tell("OtherStore", place.words));
    return later();
  }
  if (place.is == RoomPlace::Is::given_up) {
    log::warning("tenants", "tenant {}: what it has in another store stays there", tenant.id);
    return forget();
  }
  ZOO_TRY_VOID(pass.discover_kinds());

  // Webhooks and policies first: a closed one would hold up all that follows, and for ever.
  step("admission");
  ZOO_TRY(const auto admission, pass.cluster_objects(true));

  // (2) Custom resources, while the tenant's controllers still run to take their finalizers off.
  step("custom-resources");
  ZOO_TRY(const auto custom, pass.custom_resources());
  if (custom != 0 && !past_grace) {
    ZOO_TRY_VOID(
        tell("CustomResources", fmt::format("{} custom resources: {}", custom, pass.waiting())));
    return later();
  }

  // (3) and, past the grace, (4).
  step("namespaces");
  pass.forget_waiting();
  ZOO_TRY(const auto spaces, pass.namespaces());
  if (spaces != 0) {
    ZOO_TRY_VOID(tell("Namespaces", fmt::format("{} namespaces: {}", spaces, pass.waiting())));
  }
  step("cluster-objects");
  ZOO_TRY(const auto objects, pass.cluster_objects(false));
  step("definitions");
  ZOO_TRY(const auto definitions, pass.definitions(held()));
  if (spaces != 0) return later();
  step("volumes");
  ZOO_TRY(const auto volumes, pass.volumes(false));
  step("events");
  ZOO_TRY_VOID(pass.events());
  if (const auto left = custom + admission + objects + definitions + volumes; left != 0) {
    ZOO_TRY_VOID(
        tell("ClusterObjects", fmt::format("{} cluster-scoped objects: {}", left, pass.waiting())));
    return later();
  }

  if (held()) {
    ZOO_TRY_VOID(tell("Held", fmt::format("what its webhooks hold upstream, until {} at the latest",
                                          time_text(held_until))));
    const auto left =
        std::chrono::ceil<milliseconds>(held_until - std::chrono::system_clock::now());
    return Next{std::max(left, milliseconds(0))};
  }

  // (5) The pass above found nothing; once more, with discovery as it is now: a definition that
  // was just removed may have served kinds that the first did not show.
  step("proof");
  Reclaim proof(api, tenant, past_grace, parts_, hold, attempts);
  ZOO_TRY_VOID(proof.discover_kinds());
  ZOO_TRY(auto left, proof.custom_resources());
  for (const bool which : {true, false}) {
    ZOO_TRY(const auto more, proof.cluster_objects(which));
    left += more;
  }
  ZOO_TRY(const auto more_spaces, proof.namespaces());
  ZOO_TRY(const auto more_definitions, proof.definitions(held()));
  ZOO_TRY(const auto more_volumes, proof.volumes(true));
  left += more_spaces + more_definitions + more_volumes;
  if (left == 0) {
    ZOO_TRY(const auto orphans, proof.orphans());
    left += orphans;
  }
  if (left != 0) {
    ZOO_TRY_VOID(
        tell("Proof", fmt::format("{} objects that came late: {}", left, proof.waiting())));
    return later();
  }

  // What is empty may be another store, since a moment ago.
  ZOO_TRY(const auto still, place_of_room());
  if (still.is != RoomPlace::Is::here) return later();
  for (const auto& space : proof.foreign()) {
    log::warning("tenants",
                 "tenant {} is deleted; namespace {} under its prefix stays, for it does not carry "
                 "label {}={}",
                 tenant.id, space, k_tenant_label, tenant.id);
  }
  return forget();
}

} // namespace zoo::tenants
