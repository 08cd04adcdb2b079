// SPDX-License-Identifier: Apache-2.0
// Random objects in namespaces of a real upstream whose ResourceQuotas count everything: what the
// upstream charges for each of them must be what zood's usage_of says of the object as it was
// stored. For tests/functional/quota_usage.sh.
//
//   quota_usage OBJECTS [SEED]
//
// Environment: ZOO_E2E_KUBECONFIG, an administrator's. Its namespaces are called
// usage-<seed>-*, and go at the end.
#include "common/kube/client.hpp"
#include "common/kube/kubeconfig.hpp"
#include "daemon/quota/scopes.hpp"
#include "daemon/quota/usage.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>
#include <stdexcept>
#include <thread>

using namespace zoo;
using nlohmann::json;
using Words = std::vector<std::string>;

namespace {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// Where one of these is counted, each container must say how much it wants.
const Words k_computed{"cpu",        "memory",        "requests.cpu",
                       "limits.cpu", "limits.memory", "requests.memory"};
const Words k_counted{"pods",
                      "count/pods",
                      "ephemeral-storage",
                      "requests.ephemeral-storage",
                      "limits.ephemeral-storage",
                      "hugepages-2Mi",
                      "requests.hugepages-2Mi",
                      "requests.example.com/gpu",
                      "services",
                      "count/services",
                      "services.nodeports",
                      "services.loadbalancers",
                      "persistentvolumeclaims",
                      "count/persistentvolumeclaims",
                      "requests.storage",
                      "gold.storageclass.storage.k8s.io/requests.storage",
                      "gold.storageclass.storage.k8s.io/persistentvolumeclaims",
                      "silver.storageclass.storage.k8s.io/requests.storage",
                      "configmaps",
                      "count/configmaps",
                      "secrets",
                      "count/secrets",
                      "count/serviceaccounts",
                      "count/deployments.apps",
                      "count/jobs.batch",
                      "count/resourceclaims.resource.k8s.io",
                      "gpu.deviceclass.resource.k8s.io/devices",
                      "nic.deviceclass.resource.k8s.io/devices",
                      "requests.deviceclass.resource.kubernetes.io/gpu"};

/// A quota that counts pods of one kind alone, for scopes.
struct Scoped {
  std::string name;
  json spec;
};
const std::vector<Scoped> k_scoped{{"best-effort", {{"scopes", {"BestEffort"}}}},
                                   {"not-best-effort", {{"scopes", {"NotBestEffort"}}}},
                                   {"terminating", {{"scopes", {"Terminating"}}}},
                                   {"not-terminating", {{"scopes", {"NotTerminating"}}}},
                                   {"across", {{"scopes", {"CrossNamespacePodAffinity"}}}},
                                   {"critical",
                                    {{"scopeSelector",
                                      {{"matchExpressions",
                                        {{{"scopeName", "PriorityClass"},
                                          {"operator", "In"},
                                          {"values", {"system-cluster-critical"}}}}}}}}}};

struct Made {
  quota::Counted kind;
  std::string path; ///< of the collection
  json object;
};

class Random {
public:
  /// `computes`: each container says how much CPU and memory it wants.
  Random(std::string space, bool computes, unsigned seed)
      : space_(std::move(space)), computes_(computes), engine_(seed) {}

  Made object(int number) {
    name_ = fmt::format("o-{}", number);
    switch (below(12)) {
    case 0:
      return core("configmaps", "ConfigMap", {});
    case 1:
      return core("secrets", "Secret", {});
    case 2:
      return core("services", "Service", {{"spec", service()}});
    case 3:
      return core("persistentvolumeclaims", "PersistentVolumeClaim", claim());
    case 4:
      return {{"resource.k8s.io", "resourceclaims"},
              fmt::format("/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims", space_),
              whole("resource.k8s.io/v1", "ResourceClaim", {{"spec", devices()}})};
    case 5:
      return core("serviceaccounts", "ServiceAccount", {});
    default:
      return core("pods", "Pod", {{"spec", pod()}});
    }
  }

private:
  std::size_t below(std::size_t bound) { return engine_() % bound; }
  bool once_in(std::size_t turns) { return below(turns) == 0; }
  std::string one_of(const Words& words) { return words[below(words.size())]; }

  json whole(const std::string& version, const std::string& kind, json more) {
    more["apiVersion"] = version;
    more["kind"] = kind;
    more["metadata"]["name"] = name_;
    return more;
  }
  Made core(const char* resource, const std::string& kind, json more) {
    return {{"", resource},
            fmt::format("/api/v1/namespaces/{}/{}", space_, resource),
            whole("v1", kind, std::move(more))};
  }

  json service() {
    json out = {{"type", one_of({"ClusterIP", "NodePort", "LoadBalancer"})}};
    out["ports"] = json::array();
    for (std::size_t i = 0; i <= below(3); ++i)
      out["ports"].push_back({{"name", fmt::format("p{}", i)}, {"port", 80 + i}});
    if (out["type"] == std::string("LoadBalancer") && once_in(2))
      out["allocateLoadBalancerNodePorts"] = once_in(2);
    return out;
  }
  json claim() {
    json out = {{"spec",
                 {{"accessModes", {"ReadWriteOnce"}},
                  {"resources",
                   {{"requests", {{"storage", one_of({"1Gi", "1.5", "500M", "1e3", "100m"})}}}}}}}};
    if (once_in(2)) {
      out["spec"]["storageClassName"] = one_of({"gold", "silver", ""});
    } else if (once_in(2)) {
      out["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"] =
          one_of({"gold", "silver"});
    }
    return out;
  }
  json device_request(bool named) {
    json out = {{"deviceClassName", one_of({"gpu", "nic"})}};
    if (named) out["name"] = fmt::format("r{}", engine_());
    if (once_in(3)) {
      out["allocationMode"] = "All";
    } else if (once_in(2)) {
      out["allocationMode"] = "ExactCount";
      out["count"] = 1 + below(4);
    }
    return out;
  }
  json devices() {
    auto requests = json::array();
    for (std::size_t i = 0; i <= below(3); ++i) {
      json request = {{"name", fmt::format("d{}", i)}};
      if (once_in(2)) {
        request["exactly"] = device_request(false);
      } else {
        for (std::size_t k = 0; k <= below(3); ++k)
          request["firstAvailable"].push_back(device_request(true));
      }
      requests.push_back(request);
    }
    return {{"devices", {{"requests", requests}}}};
  }
  json resources(bool whole_pod) {
    json out = json::object();
    const auto put = [&](const char* name, const Words& requests, const Words& limits) {
      const bool must = computes_ && !whole_pod && std::string_view(name) != "ephemeral-storage";
      if (!must && once_in(3)) return;
      const bool asks = must || !once_in(3), ends = must || once_in(2);
      if (asks) out["requests"][name] = one_of(requests);
      if (ends) out["limits"][name] = one_of(limits);
    };
    if (whole_pod) { // at least what its containers have together
      put("cpu", {"20", "21500m"}, {"30"});
      put("memory", {"50Gi"}, {"60Gi", "7e10"});
      return out;
    }
    put("cpu", {"100m", "0.25", "1", "0"}, {"1", "2500m", "3"});
    put("memory", {"64Mi", "1G", "128974848", "0.1Gi"}, {"1Gi", "2e9", "4G"});
    put("ephemeral-storage", {"1Gi", "100k"}, {"1Gi", "2Gi"});
    // What cannot be overcommitted has one amount, and huge pages come with CPU or memory.
    if (once_in(5)) {
      const auto amount = one_of({"1", "2"});
      out["requests"]["example.com/gpu"] = out["limits"]["example.com/gpu"] = amount;
    }
    if (once_in(5) && out.contains("requests") && out["requests"].contains("cpu"))
      out["requests"]["hugepages-2Mi"] = out["limits"]["hugepages-2Mi"] = "4Mi";
    return out;
  }
  json containers(const char* name, std::size_t most, bool sidecars) {
    auto out = json::array();
    for (std::size_t i = 0; i < most; ++i) {
      json one = {{"name", fmt::format("{}{}", name, i)},
                  {"image", "registry.test/nothing"},
                  {"resources", resources(false)}};
      if (sidecars && once_in(2)) one["restartPolicy"] = "Always";
      out.push_back(one);
    }
    return out;
  }
  json pod() {
    // Nobody schedules it, so that its status stays empty.
    json out = {{"schedulerName", "nobody"}, {"containers", containers("c", 1 + below(3), false)}};
    if (once_in(4)) out["resources"] = resources(true);
    if (once_in(2)) out["initContainers"] = containers("i", 1 + below(3), true);
    if (once_in(5)) out["activeDeadlineSeconds"] = 3600;
    if (once_in(5)) out["priorityClassName"] = "system-cluster-critical";
    if (once_in(6)) {
      json term = {{"topologyKey", "kubernetes.io/hostname"}, {"labelSelector", json::object()}};
      if (once_in(2)) {
        term["namespaces"] = {"default"};
      } else if (once_in(2)) {
        term["namespaceSelector"] = json::object();
      }
      out["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = {term};
    }
    return out;
  }

  const std::string space_;
  const bool computes_;
  std::mt19937 engine_;
  std::string name_;
};

quota::ResourceList parsed(const json& list) {
  const auto text = list.dump();
  const auto tree = must(translate::JsonTree::parse(text));
  return must(quota::read_resources(tree.root()));
}

std::string text_of(const quota::ResourceList& list) {
  std::string out;
  for (const auto& [name, amount] : list)
    out += fmt::format(" {}={}", name, amount.text());
  return out.empty() ? " nothing" : out;
}

class Upstream {
public:
  Upstream(kube::KubeClient& client, std::string space, Words counted, std::vector<Scoped> scoped)
      : client_(client), space_(std::move(space)), counted_(std::move(counted)),
        scoped_(std::move(scoped)),
        quotas_(fmt::format("/api/v1/namespaces/{}/resourcequotas", space_)) {}

  void build() {
    must(client_.create("/api/v1/namespaces", {{"metadata", {{"name", space_}}}}));
    // What controllers make while a quota comes into force may never be charged.
    wait("its ConfigMap and ServiceAccount are there", [&] {
      const auto in = fmt::format("/api/v1/namespaces/{}", space_);
      return client_.get(in + "/configmaps/kube-root-ca.crt") &&
             client_.get(in + "/serviceaccounts/default");
    });
    json hard;
    for (const auto& name : counted_)
      hard[name] = "1e15";
    make("all", {{"hard", hard}});
    for (const auto& [name, spec] : scoped_) {
      auto one = spec;
      one["hard"]["pods"] = "1e6";
      make(name, one);
    }
    // What every namespace has is counted before the first object comes.
    wait("its ConfigMap and ServiceAccount are counted", [&] {
      const auto used = this->used("all");
      return used.contains("configmaps") && !used.at("configmaps").zero() &&
             !used.at("count/serviceaccounts").zero();
    });
  }
  quota::ResourceList used(const std::string& quota) {
    const auto object = must(client_.get(quotas_ + "/" + quota));
    return parsed(object.value("/status/used"_json_pointer, json::object()));
  }
  json make(const Made& made) { return must(client_.create(made.path, made.object)); }
  void clean() { must(client_.remove("/api/v1/namespaces/" + space_)); }

private:
  void make(const std::string& name, const json& spec) {
    must(client_.create(quotas_, {{"metadata", {{"name", name}}}, {"spec", spec}}));
    wait("quota " + name + " is in force", [&] { return !used(name).empty(); });
  }
  static void wait(const std::string& what, const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end)
        throw std::runtime_error(fmt::format("not after a minute: {}", what));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  kube::KubeClient& client_;
  const std::string space_;
  const Words counted_;
  const std::vector<Scoped> scoped_;
  const std::string quotas_;
};

/// Makes objects in one namespace, and compares. How many were charged differently.
int compare(Upstream& upstream, Random random, const Words& counted,
            const std::vector<Scoped>& scoped, int objects) {
  int wrong = 0;
  for (int i = 0; i < objects; ++i) {
    const auto made = random.object(i);
    const auto judge = [&](const std::string& quota, const quota::ResourceList& ours,
                           const quota::ResourceList& before) {
      const auto theirs = quota::beyond(upstream.used(quota), before);
      if (ours == theirs) return;
      ++wrong;
      std::cout << made.object.dump() << "\n  " << quota << ": upstream charged" << text_of(theirs)
                << "\n  zood says" << text_of(ours) << "\n";
    };
    std::vector<quota::ResourceList> before{upstream.used("all")};
    for (const auto& each : scoped)
      before.push_back(upstream.used(each.name));
    const auto stored = upstream.make(made).dump();
    const auto tree = must(translate::JsonTree::parse(stored));
    const auto now = std::chrono::system_clock::now();
    const auto usage = must(quota::usage_of(made.kind, tree.root(), now));
    quota::ResourceList ours;
    for (const auto& name : counted) {
      const auto found = usage.find(name);
      if (found == usage.end() || found->second.zero()) continue;
      ours.insert(*found);
      if (!quota::charges(made.kind, name))
        throw std::runtime_error(
            fmt::format("{} is charged for, and not named by charges()", name));
    }
    judge("all", ours, before[0]);
    for (std::size_t k = 0; k < scoped.size(); ++k) {
      const auto spec = scoped[k].spec.dump();
      const auto quota_tree = must(translate::JsonTree::parse(spec));
      const bool counts =
          made.kind.resource == "pods" &&
          quota::in_scope(quota::scopes_of(quota_tree.root()), made.kind, tree.root());
      quota::ResourceList one;
      if (counts) one["pods"] = kube::Quantity::of(1);
      judge(scoped[k].name, one, before[k + 1]);
    }
  }
  return wrong;
}

int run(int objects, unsigned seed) {
  std::cout << "seed " << seed << "\n";
  const char* file = std::getenv("ZOO_E2E_KUBECONFIG");
  if (file == nullptr)
    throw std::runtime_error("ZOO_E2E_KUBECONFIG is not set: an administrator's kubeconfig");
  kube::KubeClient client(must(kube::load_kubeconfig(file)));
  auto computed = k_counted;
  computed.insert(computed.end(), k_computed.begin(), k_computed.end());
  int wrong = 0;
  const struct {
    const char* name;
    const Words& counted;
    const std::vector<Scoped>& scoped;
    int objects;
  } spaces[] = {{"computed", computed, {}, objects / 2},
                {"scoped", k_counted, k_scoped, objects - objects / 2}};
  for (const auto& each : spaces) {
    const auto name = fmt::format("usage-{}-{}", seed, each.name);
    Upstream upstream(client, name, each.counted, each.scoped);
    upstream.build();
    wrong += compare(upstream, Random(name, each.scoped.empty(), seed), each.counted, each.scoped,
                     each.objects);
    upstream.clean();
  }
  std::cout << objects << " objects, " << wrong << " charged differently\n";
  return wrong == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  try {
    const int objects = argc > 1 ? std::atoi(argv[1]) : 500;
    const auto seed = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : std::random_device{}();
    return run(objects, seed % 1'000'000);
  } catch (const std::exception& e) {
    std::cerr << "quota_usage: " << e.what() << "\n";
    return 1;
  }
}
