// SPDX-License-Identifier: Apache-2.0
#include "common/base/log.hpp"
#include "common/kube/client.hpp"
#include "daemon/tenants/certificates.hpp"
#include "daemon/tenants/controller.hpp"
#include "daemon/tenants/ensure.hpp"
#include "daemon/tenants/kept.hpp"
#include "daemon/tenants/manifests.hpp"
#include "daemon/tenants/records.hpp"
#include "daemon/upstream/bootstrap.hpp"
#include "daemon/upstream/control_api.hpp"
#include "daemon/upstream/upstream_rbac.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

/// What makes and keeps a tenant's room (DESIGN 9, create).
namespace zoo::tenants {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using upstream::ControlApi;

constexpr std::string_view k_slices = "endpointslices";
constexpr milliseconds k_furnish_after{750};
constexpr milliseconds k_first_look{10'000};
constexpr milliseconds k_heard_within{5'000};

std::string namespaced(std::string_view group, std::string_view name_space,
                       std::string_view resource) {
  if (group.empty()) return kube::path({"api", "v1", "namespaces", name_space, resource});
  return kube::path({"apis", group, "v1", "namespaces", name_space, resource});
}

Result<void> write_binding(ControlApi& api, std::string_view id, std::string_view name_space) {
  const auto wanted = binding_manifest(id, name_space);
  auto done =
      ensure(api, namespaced("rbac.authorization.k8s.io", name_space, "rolebindings"), wanted);
  // A roleRef cannot be changed (RBAC validation): one that points elsewhere is made anew.
  if (!done && done.error().code() == Code::invalid) {
    ZOO_TRY_VOID(api.remove_unless(binding_path(name_space), [&](const json& actual) {
      return binding_is_ours(actual, id); // made right meanwhile
    }));
    done = ensure(api, namespaced("rbac.authorization.k8s.io", name_space, "rolebindings"), wanted);
  }
  return done;
}

/// The API server's authorizer watches RBAC: a binding holds a moment after it was written.
Result<void> wait_until_bound(ControlApi& api, std::string_view id, std::string_view name_space) {
  const json review = {{"apiVersion", "authorization.k8s.io/v1"},
                       {"kind", "SubjectAccessReview"},
                       {"spec",
                        {{"user", fmt::format("{}{}", upstream::k_tenant_user_prefix, id)},
                         {"groups", {upstream::k_tenants_group}},
                         {"resourceAttributes",
                          {{"namespace", name_space}, {"verb", "create"}, {"resource", "pods"}}}}}};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  for (;;) {
    ZOO_TRY(const auto answer,
            api.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", review));
    if (answer.value("/status/allowed"_json_pointer, false)) return {};
    if (std::chrono::steady_clock::now() > deadline) {
      return fail(Code::timeout,
                  "the upstream does not honour role binding {} in namespace {} after 5 seconds: "
                  "see zooctl doctor",
                  upstream::k_tenant_binding, name_space);
    }
    std::this_thread::sleep_for(milliseconds(5));
  }
}

/// What a tenant's namespaces are furnished with is read of the directory, which may be behind the
/// record.
Result<void> known_here(const TenantDirectory* directory, const api::Tenant& tenant) {
  if (directory == nullptr ||
      directory->wait_for(tenant.id, tenant.resource_version, k_heard_within))
    return {};
  return fail(Code::unavailable, "the record of tenant {} is not known here yet", tenant.id);
}

} // namespace

Result<void> Controller::make_namespace(ControlApi& api, const api::Tenant& tenant,
                                        const std::string& name) {
  const auto inside = inside_label(tenant.inside);
  const auto wanted = namespace_manifest(tenant.id, name, inside);
  auto made = api.create("/api/v1/namespaces", wanted);
  if (!made) {
    if (made.error().code() != Code::already_exists) {
      return fail(std::move(made).error().context("while making namespace {}", name));
    }
    const auto path = kube::path({"api", "v1", "namespaces", name});
    ZOO_TRY(const auto actual, api.get(path));
    const auto found = found_of(actual);
    if (found.terminating) {
      return fail(Code::conflict,
                  "namespace {} is being deleted upstream: it is made again when it is gone", name);
    }
    const bool mine = found.labelled && found.label == tenant.id;
    // Before the tenant was Ready for the first time nobody but its maker can have made it. Those
    // of a virtual cluster are made one by one, later.
    const bool takes = !tenant.of_cluster && tenant.phase != api::Phase::pending;
    if (!mine && (found.labelled || !takes)) {
      return fail(Code::conflict,
                  "namespace {} exists upstream and is not this tenant's (no label {}={}): rename "
                  "or delete it there, or label it if it is",
                  name, k_tenant_label, tenant.id);
    }
    std::string where;
    if (!upstream::covers(actual, wanted, where)) {
      log::warning("tenants", "tenant {}: restoring namespace {} at {}", tenant.id, name, where);
      auto applied = api.apply(path, wanted);
      if (!applied) return fail(std::move(applied).error().context("while repairing {}", name));
    }
    if (found.inside != inside) ZOO_TRY_VOID(label_inside(api, tenant, name));
  }
  return {};
}

Result<void> Controller::label_inside(ControlApi& api, const api::Tenant& tenant,
                                      const std::string& name) {
  const auto patched = api.merge_patch(kube::path({"api", "v1", "namespaces", name}),
                                       json::parse(inside_patch(inside_label(tenant.inside))));
  if (patched || patched.error().code() == Code::not_found) return {};
  return fail(Error(patched.error()).context("while labelling namespace {}", name));
}

Result<void> Controller::make_service(ControlApi& api, std::string_view name_space, bool fresh) {
  const auto services = namespaced("", name_space, "services");
  const auto service = service_manifest(name_space, settings_.advertise_port);
  if (fresh) {
    ZOO_TRY_VOID(ensure(api, services, service));
  } else {
    ZOO_TRY_VOID(repair(api, services, service));
  }
  return make_addresses(api, name_space, fresh);
}

Result<void> Controller::make_addresses(ControlApi& api, std::string_view name_space, bool fresh) {
  const auto& host = settings_.advertise_host;
  const auto port = settings_.advertise_port;
  const auto all = namespaced("", name_space, "endpoints");
  const auto slices = namespaced("discovery.k8s.io", name_space, k_slices);
  if (!why_not_an_endpoint(host).empty()) {
    if (fresh) return {};
    ZOO_TRY_VOID(api.remove_unless(all + "/kubernetes", nullptr));
    return api.remove_unless(slices + "/kubernetes", nullptr);
  }
  const auto endpoints = endpoints_manifest(name_space, host, port);
  const auto slice = endpoint_slice_manifest(name_space, host, port);
  if (fresh) {
    ZOO_TRY_VOID(ensure(api, all, endpoints));
    return ensure(api, slices, slice);
  }
  ZOO_TRY_VOID(repair(api, all, endpoints));
  auto repaired = repair(api, slices, slice);
  if (!repaired && repaired.error().code() == Code::invalid) { // addressType cannot be changed
    ZOO_TRY_VOID(api.remove_unless(slices + "/kubernetes", [&](const json& actual) {
      return actual.value("addressType", "") == slice.value("addressType", "");
    }));
    repaired = repair(api, slices, slice);
  }
  return repaired;
}

Result<void> Controller::make_authentication(ControlApi& api, const api::Tenant& tenant,
                                             bool fresh) {
  const auto space = tenant.id + "-kube-system";
  const auto map = authentication_manifest(space, parts_.pki.ca_pem());
  const auto role = authentication_role_manifest(space);
  const auto maps = namespaced("", space, "configmaps");
  const auto roles = namespaced("rbac.authorization.k8s.io", space, "roles");
  if (fresh) {
    ZOO_TRY_VOID(ensure(api, maps, map));
    return ensure(api, roles, role);
  }
  ZOO_TRY_VOID(repair(api, maps, map));
  return repair(api, roles, role);
}

/// Before the tenant has rights there.
Result<void> Controller::furnish(ControlApi& api, const api::Tenant& tenant,
                                 const std::string& space) {
  if (!parts_.furnish || tenant.of_cluster) return {};
  ZOO_TRY_VOID(known_here(parts_.directory, tenant));
  auto done = parts_.furnish(api, tenant.id, space);
  if (!done) return fail(std::move(done).error().context("while furnishing namespace {}", space));
  return {};
}

KeptTerms Controller::kept_terms(const api::Tenant& tenant) const {
  const auto own = api::terms_of(tenant); // was checked when it was written
  const auto defaults = policy()->guards;
  return {parts_.authorities ? *parts_.authorities() : parts_.pki.server_ca_pem(),
          own ? api::merged(defaults, own->guards) : defaults};
}

Result<void> Controller::open_namespace(ControlApi& api, const api::Tenant& tenant,
                                        const std::string& upstream_name) {
  ZOO_TRY_VOID(make_namespace(api, tenant, upstream_name));
  const auto binding = api.get(binding_path(upstream_name));
  if (!binding && binding.error().code() != Code::not_found) return fail(binding.error());
  // The binding is written last: where it stands, the rest does, and is kept by repair_room().
  if (binding && binding_is_ours(*binding, tenant.id)) return {};
  ZOO_TRY_VOID(make_kept(api, tenant.id, upstream_name, kept_terms(tenant)));
  ZOO_TRY_VOID(ensure(api, namespaced("", upstream_name, "serviceaccounts"),
                      service_account_manifest(upstream_name)));
  ZOO_TRY_VOID(write_binding(api, tenant.id, upstream_name));
  return wait_until_bound(api, tenant.id, upstream_name);
}

/// Everything by one create each; what is there already is repaired.
Result<void> Controller::make_room(ControlApi& api, const api::Tenant& tenant) {
  if (tenant.of_cluster) return {}; // its namespaces come with what is in them
  std::string last;
  for (const std::string_view name : k_first_namespaces) {
    const auto space = fmt::format("{}-{}", tenant.id, name);
    step("create-namespace");
    ZOO_TRY_VOID(make_namespace(api, tenant, space));
    step("furnish");
    ZOO_TRY_VOID(furnish(api, tenant, space));
    step("create-binding");
    ZOO_TRY_VOID(write_binding(api, tenant.id, space));
    ZOO_TRY_VOID(make_kept(api, tenant.id, space, kept_terms(tenant)));
    ZOO_TRY_VOID(
        ensure(api, namespaced("", space, "serviceaccounts"), service_account_manifest(space)));
    last = space;
  }
  // Bindings are seen in the order in which they were written: the last one stands for all.
  return wait_until_bound(api, tenant.id, last);
}

Result<void> Controller::repair_room(ControlApi& api, const api::Tenant& tenant) {
  const auto prefix = tenant.id + "-";
  ZOO_TRY(const auto spaces, range(api, "/api/v1/namespaces", prefix));
  std::vector<std::string> mine;
  for (const auto& space : spaces) {
    if (space.labelled && space.label == tenant.id && !space.terminating) {
      mine.push_back(space.name);
      if (space.inside != inside_label(tenant.inside))
        ZOO_TRY_VOID(label_inside(api, tenant, space.name));
    }
  }
  for (const std::string_view name : k_first_namespaces) {
    if (tenant.of_cluster) break;
    const auto space = prefix + std::string(name);
    if (std::find(mine.begin(), mine.end(), space) != mine.end()) continue;
    ZOO_TRY_VOID(make_namespace(api, tenant, space));
    mine.push_back(space);
  }
  std::vector<std::string> bound;
  ZOO_TRY_VOID(range_objects(
      api, "/apis/rbac.authorization.k8s.io/v1/rolebindings", prefix, mine.size() + 1, 0, false,
      {{"fieldSelector", fmt::format("metadata.name={}", upstream::k_tenant_binding)}},
      [&](const json& item) {
        if (binding_is_ours(item, tenant.id)) {
          bound.push_back(found_of(item).name_space);
        }
      }));
  const bool keeps = parts_.keep_furnished && !tenant.of_cluster;
  if (keeps) ZOO_TRY_VOID(known_here(parts_.directory, tenant));
  Result<void> furnished; // what cannot be made in one namespace holds up none of the others
  for (const auto& space : mine) {
    const bool stands = std::find(bound.begin(), bound.end(), space) != bound.end();
    auto done = !stands ? furnish(api, tenant, space)
                : keeps ? parts_.keep_furnished(api, tenant.id, space)
                        : Result<void>();
    if (!done && furnished) furnished = fail(done.error());
    if (stands || !done) continue;
    log::warning("tenants", "tenant {}: restoring role binding {} in namespace {}", tenant.id,
                 upstream::k_tenant_binding, space);
    ZOO_TRY_VOID(write_binding(api, tenant.id, space));
  }
  // One that cannot be written, for a quota of the tenant's, holds up none of the others.
  const auto kept = repair_kept(api, tenant.id, mine, kept_terms(tenant));
  if (tenant.of_cluster) return kept;
  ZOO_TRY_VOID(make_authentication(api, tenant, false));
  ZOO_TRY_VOID(make_service(api, prefix + "default", false));
  return kept ? furnished : kept;
}

Result<bool> Controller::populated(ControlApi& api, const api::Tenant& tenant) {
  if (tenant.of_cluster) return true;
  const auto& id = tenant.id;
  for (const std::string_view name : k_first_namespaces) {
    const auto space = fmt::format("{}-{}", id, name);
    const auto map = api.get(namespaced("", space, "configmaps") + "/kube-root-ca.crt");
    if (map) continue;
    if (map.error().code() == Code::not_found) return false;
    return fail(map.error());
  }
  return true;
}

Result<void> Controller::tell_expiry(const api::Tenant& tenant, const std::string& expiry) {
  ZOO_TRY(const auto certificates, recorded_certificates(led_, tenant));
  const auto written = change_tenant(led_, tenant.id, tenant.uid, [&](api::Tenant& now) -> bool {
    const auto before = api::to_json(now);
    now.certificate_expiry = expiry;
    judge_expiry(now, certificates, policy()->certificate_warning, now_text());
    return now.deletion_timestamp.empty() && api::to_json(now) != before;
  });
  if (!written) return fail(written.error());
  return {};
}

InClusterAccess Controller::in_cluster_access(const api::Tenant& tenant) const {
  if (const auto why_not = why_not_an_endpoint(settings_.advertise_host); !why_not.empty())
    return {false, "NotReachable", why_not + "; Service default/kubernetes has no endpoints"};
  if (!tenant.inside.api) {
    return {false, "SwitchedOff",
            "spec.inside.api is false: pods are given the platform's own address and token"};
  }
  if (parts_.in_cluster) return parts_.in_cluster();
  return {true, "Published", "Service default/kubernetes leads to " + settings_.server_url()};
}

Result<Controller::Next> Controller::sync(ControlApi& api, const api::Tenant& tenant,
                                          unsigned attempts) {
  const auto* ready = tenant.condition("Ready");
  const bool fresh = ready == nullptr || ready->status != "True";
  const auto* filled = tenant.condition("Populated");
  const bool was_populated = filled != nullptr && filled->status == "True";
  // What nobody needs to be let in is made after that, when others have had their turn.
  const bool furnished = tenant.condition(k_in_cluster) != nullptr;
  const bool only_waiting = !fresh && furnished && !was_populated && attempts > 0 &&
                            tenant.observed_generation == tenant.generation;

  std::string expiry = tenant.certificate_expiry;
  Result<void> room;
  if (!only_waiting) {
    if (fresh) {
      ZOO_TRY_VOID(make_room(api, tenant));
    } else if (furnished) {
      // Its certificate is renewed, be there something upstream that cannot be repaired.
      room = repair_room(api, tenant);
    } else if (!tenant.of_cluster) {
      step("create-service");
      ZOO_TRY_VOID(make_service(api, fmt::format("{}-default", tenant.id), true));
      ZOO_TRY_VOID(make_authentication(api, tenant, true));
    }
    if (!tenant.of_cluster) {
      ZOO_TRY(expiry, ensure_credential(tenant));
    }
    // What was approved while nobody looked.
    if (room && !fresh && furnished && !tenant.of_cluster) {
      if (const auto done = sign_requests(api, tenant); !done) {
        log::warning("tenants", "tenant {}: {}", tenant.id, done.error().text());
        sign_soon(tenant.id);
      }
    }
  }
  if (!room) {
    ZOO_TRY_VOID(tell_expiry(tenant, expiry));
    return fail(std::move(room).error());
  }
  bool is_populated = was_populated;
  // What upstream's controllers add is not asked for in the pass that makes the namespaces.
  if (!is_populated && !fresh) {
    ZOO_TRY(is_populated, populated(api, tenant));
  }

  ZOO_TRY(const auto certificates, recorded_certificates(led_, tenant));
  step("ready");
  const auto access = in_cluster_access(tenant);
  const auto furnished_now = parts_.furnished ? parts_.furnished(tenant) : std::nullopt;
  auto written = change_tenant(led_, tenant.id, tenant.uid, [&](api::Tenant& now) -> bool {
    if (!now.deletion_timestamp.empty()) return false;
    const auto before = api::to_json(now);
    const auto time = now_text();
    now.phase = now.suspended ? api::Phase::suspended : api::Phase::ready;
    now.certificate_expiry = expiry;
    judge_expiry(now, certificates, policy()->certificate_warning, time);
    now.observed_generation = tenant.generation;
    now.set_condition("Ready", "True", now.suspended ? "Suspended" : "Ready",
                      now.suspended ? "requests are refused: spec.suspended is set"
                                    : "namespaces, fences and certificate are there",
                      time);
    now.set_condition("Synced", "True", "Synced", "", time);
    if (is_populated) {
      now.set_condition("Populated", "True", "Populated",
                        "the upstream's controllers have filled the first namespaces", time);
      now.waiting_for.clear();
    } else {
      now.set_condition("Populated", "False", "Waiting",
                        "waiting for the upstream to write ConfigMap kube-root-ca.crt", time);
      now.waiting_for = "the upstream's controllers to fill the namespaces";
    }
    if (furnished_now) {
      now.set_condition(k_furnished, furnished_now->status, furnished_now->reason,
                        furnished_now->message, time);
    } else {
      std::erase_if(now.conditions, [](const auto& each) { return each.type == k_furnished; });
    }
    if (!fresh)
      now.set_condition(k_in_cluster, access.given ? "True" : "False", access.reason,
                        access.message, time);
    return api::to_json(now) != before;
  });
  if (!written) return fail(std::move(written).error());
  look_at_hooks(*written);
  if (fresh) log::info("tenants", "tenant {} is Ready", tenant.id);
  if (!written->deletion_timestamp.empty() || written->generation != tenant.generation) {
    return Next{milliseconds(0)};
  }
  if (is_populated) { // its room is looked at once more after all of it was made
    return Next{furnished && !only_waiting ? settings_.resync : k_first_look};
  }
  if (fresh) return Next{k_furnish_after};
  return Next{std::min(milliseconds(250) * (1L << std::min(attempts, 8U)), milliseconds(60'000))};
}

} // namespace zoo::tenants
