// SPDX-License-Identifier: Apache-2.0
// The life of tenants against a real control plane. Environment: ZOO_E2E_KUBECONFIG (an
// administrator's), TMPDIR. `tenants_lifecycle --until STEP ID create|delete` is the child that
// kills itself at a step.
#define DOCTEST_CONFIG_IMPLEMENT
#include "common/crypto/digest.hpp"
#include "common/kube/client.hpp"
#include "common/kube/kubeconfig.hpp"
#include "daemon/tenants/identity.hpp"
#include "daemon/tenants/survey.hpp"
#include "tests/functional/tenants/room.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <set>

using namespace zoo;
using namespace zoo::tests;
using nlohmann::json;
using std::chrono::seconds;

namespace {

std::string kubeconfig() { return std::getenv("ZOO_E2E_KUBECONFIG"); }

std::filesystem::path fresh_directory() {
  std::string name = (std::filesystem::temp_directory_path() / "zood-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
  return name;
}

struct Directory {
  std::filesystem::path path = fresh_directory();
  Directory() = default;
  Directory(const Directory&) = delete;
  ~Directory() { std::filesystem::remove_all(path); }
};

upstream::KubeApi& admin() {
  static upstream::KubeApi api(*kube::load_kubeconfig(kubeconfig()));
  return api;
}

/// The upstream as a tenant's request reaches it.
upstream::KubeApi as_tenant(const std::string& id) {
  kube::KubeClientOptions options;
  options.headers = {{"Impersonate-User", "zoo:" + id}, {"Impersonate-Group", "zoo:tenants"}};
  return upstream::KubeApi(*kube::load_kubeconfig(kubeconfig()), {}, options);
}

bool there(const std::string& path) { return admin().get(path).has_value(); }

template <class T>
T must(Result<T> result) {
  if (!result) FAIL(result.error().text());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

api::Tenant wanted(const std::string& id) {
  api::Tenant tenant;
  tenant.id = id;
  return tenant;
}

bool is_ready(Zood& zood, const std::string& id) {
  const auto tenant = zood.service().get(id);
  return tenant && tenant->phase == api::Phase::ready;
}

bool is_gone(Zood& zood, const std::string& id) {
  const auto tenant = zood.service().get(id);
  return !tenant && tenant.error().code() == Code::not_found;
}

json namespace_named(const std::string& name) {
  return {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}};
}

json volume_for(const std::string& name, const std::string& claim_space) {
  return {{"apiVersion", "v1"},
          {"kind", "PersistentVolume"},
          {"metadata", {{"name", name}}},
          {"spec",
           {{"capacity", {{"storage", "1Gi"}}},
            {"accessModes", {"ReadWriteOnce"}},
            {"csi", {{"driver", "csi.example.com"}, {"volumeHandle", name}}},
            {"claimRef", {{"namespace", claim_space}, {"name", "data"}}}}}};
}

json attachment_of(const std::string& volume) {
  return {{"apiVersion", "storage.k8s.io/v1"},
          {"kind", "VolumeAttachment"},
          {"metadata", {{"name", volume}}},
          {"spec",
           {{"attacher", "csi.example.com"},
            {"nodeName", "none"},
            {"source", {{"persistentVolumeName", volume}}}}}};
}

json event_about(const std::string& name, const std::string& kind) {
  return {{"apiVersion", "v1"},
          {"kind", "Event"},
          {"metadata", {{"name", name + ".1"}, {"namespace", "default"}}},
          {"involvedObject", {{"apiVersion", "v1"}, {"kind", kind}, {"name", name}}},
          {"reason", "Tested"}};
}

json priority_class(const std::string& name) {
  return {{"apiVersion", "scheduling.k8s.io/v1"},
          {"kind", "PriorityClass"},
          {"metadata", {{"name", name}}},
          {"value", 7}};
}

json definition(const std::string& group) {
  return {
      {"apiVersion", "apiextensions.k8s.io/v1"},
      {"kind", "CustomResourceDefinition"},
      {"metadata", {{"name", "things." + group}}},
      {"spec",
       {{"group", group},
        {"scope", "Namespaced"},
        {"names", {{"plural", "things"}, {"singular", "thing"}, {"kind", "Thing"}}},
        {"versions", json::array({{{"name", "v1"},
                                   {"served", true},
                                   {"storage", true},
                                   {"schema", {{"openAPIV3Schema", {{"type", "object"}}}}}}})}}}};
}

json config_map(const std::string& name, const std::string& finalizer) {
  json out = {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", name}}}};
  if (!finalizer.empty()) out["metadata"]["finalizers"] = {finalizer};
  return out;
}

constexpr auto k_priority = "/apis/scheduling.k8s.io/v1/priorityclasses";
constexpr auto k_crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Things of a tenant of every sort: a namespace of its own, a class, a definition with an object
/// of it, and a config map that only its own controller could free.
void furnish(const std::string& id) {
  auto space = namespace_named(id + "-own");
  space["metadata"]["labels"] = {{"tenant.kubezoo.io/id", id},
                                 {"pod-security.kubernetes.io/enforce", "baseline"}};
  must(admin().create("/api/v1/namespaces", space));
  must(admin().create("/api/v1/namespaces/" + id + "-own/configmaps",
                      config_map("stuck", "example.com/mine")));
  must(admin().create(k_priority, priority_class(id + "-high")));
  must(admin().create(k_crds, definition(id + "-example.com")));
  const auto things = "/apis/" + id + "-example.com/v1/namespaces/" + id + "-own/things";
  const json thing = {{"apiVersion", id + "-example.com/v1"},
                      {"kind", "Thing"},
                      {"metadata", {{"name", "one"}, {"finalizers", {"example.com/thing"}}}}};
  CHECK(eventually([&] { return admin().create(things, thing).has_value(); }));
}

bool nothing_left(const std::string& id) {
  return must(tenants::Survey().occupied(admin(), id)).empty();
}

/// Ready, and with what its pods look for.
bool is_furnished(Zood& zood, const std::string& id) {
  const auto tenant = zood.service().get(id);
  const auto* condition = tenant ? tenant->condition("InClusterAccess") : nullptr;
  return is_ready(zood, id) && condition != nullptr;
}

/// Runs this program up to a step of the tenant's life, where it kills itself; false if it came to
/// the end without meeting the step.
bool run_until(const std::filesystem::path& directory, const std::string& step,
               const std::string& id, const std::string& what) {
  const auto child = ::fork();
  if (child == 0) {
    const std::string place = directory.string();
    ::execl("/proc/self/exe", "tenants_lifecycle", "--until", step.c_str(), id.c_str(),
            what.c_str(), place.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

int child(char** arguments) {
  const std::string step = arguments[2], id = arguments[3], what = arguments[4];
  auto settings = settings_for_tests();
  settings.on_step = [&](std::string_view now) {
    if (now == step) ::kill(::getpid(), SIGKILL);
  };
  Zood zood(arguments[5], kubeconfig(), settings);
  if (what == "create") {
    if (is_gone(zood, id)) (void)zood.service().create(wanted(id), false);
    return eventually([&] { return is_furnished(zood, id); }) ? 0 : 1;
  }
  (void)zood.service().remove(id, {}, false);
  return eventually([&] { return is_gone(zood, id); }) ? 0 : 1;
}

} // namespace

int main(int count, char** arguments) {
  if (count == 6 && std::string_view(arguments[1]) == "--until") return child(arguments);
  if (std::getenv("ZOO_E2E_KUBECONFIG") == nullptr) {
    std::cerr << "ZOO_E2E_KUBECONFIG is not set: run tests/functional/tenants_lifecycle.sh\n";
    return 125;
  }
  doctest::Context context(count, arguments);
  return context.run();
}

TEST_CASE("zood works with a token of its own and never as system:masters") {
  const Directory directory;
  Zood zood(directory.path, kubeconfig(), settings_for_tests());
  auto api = zood.credential().api();
  const auto me = must(upstream::who_am_i(*api));
  CHECK(me.name == "system:serviceaccount:zoo-system:zood");
  CHECK_FALSE(me.in_group("system:masters"));
  for (const auto& state : upstream::examine(*api)) {
    CAPTURE(state.manifest->title());
    CHECK(state.state == upstream::ObjectState::State::equal);
  }
  // Its own right is enough to renew it, and a new one is taken up.
  const auto before = *zood.credential().authorization();
  must(zood.credential().renew());
  CHECK(*zood.credential().authorization() != before);
  CHECK(upstream::who_am_i(*api).has_value());
  using std::filesystem::perms;
  CHECK((std::filesystem::status(directory.path / "upstream.token").permissions() &
         (perms::group_all | perms::others_all)) == perms::none);
  // What cannot be kept is good all the same.
  const auto kept = directory.path / "upstream.token";
  std::filesystem::remove(kept);
  std::filesystem::create_directories(kept / "in-its-way");
  const auto last = *zood.credential().authorization();
  must(zood.credential().renew());
  CHECK(*zood.credential().authorization() != last);
  CHECK(upstream::who_am_i(*api).has_value());
  CHECK(zood.credential().trouble().find("is not kept") != std::string::npos);
  std::filesystem::remove_all(kept);
  must(zood.credential().renew());
  CHECK(zood.credential().trouble().empty());
  CHECK(std::filesystem::is_regular_file(kept));
  zood.credential().stop_requests();
  CHECK(upstream::who_am_i(*api).error().code() == Code::cancelled);
}

TEST_CASE(
    "the kept token is enough where the kubeconfig is refused, and the account's own always") {
  const Directory directory, other;
  const auto obtain = [](const kube::ClusterAccess& access, const std::filesystem::path& place) {
    return upstream::Credential::obtain(access, {place, seconds(3600), seconds(60)});
  };
  auto access = must(kube::load_kubeconfig(kubeconfig()));
  const auto first = must(obtain(access, directory.path));
  const auto token = first->authorization()->substr(std::string_view("Bearer ").size());

  access.credentials.client_cert_pem.clear();
  access.credentials.client_key_pem = Secret();
  access.credentials.bearer_token = Secret(std::string("outdated"));
  const auto second = must(obtain(access, directory.path));
  CHECK(*second->authorization() == *first->authorization());
  const auto refused = obtain(access, other.path);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == Code::unauthorized);

  access.credentials.bearer_token = Secret::copy_of(token);
  const auto third = must(obtain(access, other.path));
  auto api = third->api();
  CHECK(must(upstream::who_am_i(*api)).name == upstream::k_service_account_user);
  CHECK(*third->authorization() != *first->authorization());
}

TEST_CASE("what was taken away of the objects upstream is installed again") {
  must(admin().remove("/apis/rbac.authorization.k8s.io/v1/clusterroles/zoo:tenant"));
  must(admin().merge_patch("/apis/rbac.authorization.k8s.io/v1/clusterroles/zoo:tenants-cluster",
                           {{"rules", json::array()}}));
  for (const auto& state : must(upstream::bootstrap(admin(), false)))
    CHECK(state.state == upstream::ObjectState::State::equal);
  CHECK(there("/apis/rbac.authorization.k8s.io/v1/clusterroles/zoo:tenant"));
}

TEST_CASE("an access without rights gets a sentence with object and right") {
  kube::KubeClientOptions options;
  options.headers = {{"Impersonate-User", "nobody"}};
  must(admin().remove("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/zoo-tenants"));
  upstream::KubeApi nobody(*kube::load_kubeconfig(kubeconfig()), {}, options);
  const auto refused = upstream::bootstrap(nobody, false);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == Code::forbidden);
  CHECK(refused.error().message().find("zoo-system") != std::string::npos);
  CHECK(refused.error().message().find("--print-upstream-rbac") != std::string::npos);
  must(upstream::bootstrap(admin(), false));
}

TEST_CASE("a CA that the upstream trusts is refused") {
  const auto map = must(
      admin().get("/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"));
  const auto pem = map.at("data").at("client-ca-file").get<std::string>();
  const auto ca = must(crypto::Certificate::from_pem(pem));
  const auto key = must(crypto::PrivateKey::generate_p256());
  const auto refused = upstream::refuse_trusted_ca(admin(), ca, key);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == Code::invalid);
}

TEST_CASE("a tenant becomes Ready and Populated, fenced, and goes without a trace") {
  const Directory directory;
  Zood zood(directory.path, kubeconfig(), settings_for_tests());
  const std::string id = "lifea1";
  const auto created = must(zood.service().create(wanted(id), false));
  CHECK(created.phase == api::Phase::pending);
  CHECK(zood.service().create(wanted(id), false).error().code() == Code::already_exists);
  REQUIRE(eventually([&] { return is_ready(zood, id); }));
  REQUIRE(eventually([&] {
    const auto tenant = must(zood.service().get(id));
    const auto* populated = tenant.condition("Populated");
    return populated != nullptr && populated->status == "True";
  }));
  const auto tenant = must(zood.service().get(id));
  CHECK_FALSE(tenant.certificate_expiry.empty());
  REQUIRE(tenant.condition("InClusterAccess") != nullptr);
  CHECK(tenant.condition("InClusterAccess")->status == "False");
  REQUIRE(eventually([&] { return zood.directory().snapshot()->find(id) != nullptr; }));
  CHECK(zood.directory().snapshot()->find(id)->uid == tenant.uid);

  const auto space = must(admin().get("/api/v1/namespaces/" + id + "-default"));
  CHECK(space.at("metadata").at("labels").at("tenant.kubezoo.io/id") == id);
  CHECK(space.at("metadata").at("labels").at("pod-security.kubernetes.io/enforce") == "baseline");
  CHECK(there("/api/v1/namespaces/" + id + "-kube-system/serviceaccounts/default"));
  CHECK(there("/api/v1/namespaces/" + id + "-default/services/kubernetes"));

  // The fences: own namespaces yes, nothing else.
  auto tenants_own = as_tenant(id);
  CHECK(tenants_own.get("/api/v1/namespaces/" + id + "-default/pods").has_value());
  CHECK(tenants_own.get("/api/v1/namespaces/default/pods").error().code() == Code::forbidden);
  CHECK(tenants_own.get("/api/v1/pods").error().code() == Code::forbidden);
  CHECK_FALSE(tenants_own.create(k_priority, priority_class("otherx-high")));
  CHECK_FALSE(tenants_own.create("/api/v1/namespaces", namespace_named(id + "-unlabelled")));
  CHECK_FALSE(tenants_own.create(k_crds, definition("otherx-example.com")));
  CHECK_FALSE(tenants_own.remove("/apis/rbac.authorization.k8s.io/v1/namespaces/" + id +
                                 "-default/rolebindings/zoo-tenant"));

  // The kept kubeconfig is the tenant's administrator's.
  const auto text = must(crypto::base64_decode(must(zood.service().stored_kubeconfig(id))));
  const auto access = must(kube::parse_kubeconfig(text));
  CHECK(access.context == id);
  CHECK(access.server == "https://127.0.0.1:7443");
  const auto who = must(tenants::identity_of(
      must(crypto::Certificate::from_pem(access.credentials.client_cert_pem))));
  CHECK(who.tenant == id);
  CHECK(who.uid == tenant.uid);
  CHECK(who.groups == std::vector<std::string>{std::string(tenants::k_tenant_admin_group)});

  for (const auto& finding : zood.service().doctor()) {
    CAPTURE(finding.subject);
    CAPTURE(finding.message);
    CHECK(finding.level != tenants::Finding::Level::problem);
  }

  furnish(id);
  const auto going = must(zood.service().remove(id, {tenant.uid, {}}, false));
  CHECK(going.phase == api::Phase::deleting);
  CHECK(zood.service().stored_kubeconfig(id).value_or("?").empty());
  CHECK_FALSE(zood.service().kubeconfig(id, {}));
  REQUIRE(eventually([&] { return is_gone(zood, id); }));
  CHECK(nothing_left(id));
  CHECK(eventually([&] { return zood.directory().snapshot()->find(id) == nullptr; }));

  // The same ID again is another tenant.
  const auto again = must(zood.service().create(wanted(id), false));
  CHECK(again.uid != tenant.uid);
  REQUIRE(eventually([&] { return is_ready(zood, id); }));
  must(zood.service().remove(id, {}, false));
  REQUIRE(eventually([&] { return is_gone(zood, id); }));
}

TEST_CASE("neighbours by name survive a tenant's deletion") {
  const Directory directory;
  Zood zood(directory.path, kubeconfig(), settings_for_tests());
  for (const std::string id : {"abcdef", "abcdeg"})
    must(zood.service().create(wanted(id), false));
  for (const std::string id : {"abcdef", "abcdeg"}) {
    REQUIRE(eventually([&] { return is_ready(zood, id); }));
    furnish(id);
  }
  for (const std::string name : {"abcdef", "abcdefx", "abcdef-unlabelled"})
    must(admin().create("/api/v1/namespaces", namespace_named(name)));
  for (const std::string name : {"abcdef", "abcdefx", "xabcdef-high"})
    must(admin().create(k_priority, priority_class(name)));
  must(admin().create(k_crds, definition("abcdefx.example.com")));
  must(admin().create("/api/v1/persistentvolumes",
                      volume_for("zoo-test-unlabelled", "abcdef-unlabelled")));
  must(admin().create("/apis/storage.k8s.io/v1/volumeattachments",
                      attachment_of("zoo-test-unlabelled")));
  must(admin().create("/api/v1/namespaces/default/events", event_about("abcdef-own", "Namespace")));
  must(admin().create("/api/v1/namespaces/default/events", event_about("abcdef-node", "Node")));

  must(zood.service().remove("abcdef", {}, false));
  bool told = false;
  REQUIRE(eventually([&] {
    const auto tenant = zood.service().get("abcdef");
    if (!tenant) return true;
    const auto* condition = tenant->condition("Deleting");
    told = told || (condition != nullptr &&
                    condition->message.find("abcdef-unlabelled") != std::string::npos);
    return false;
  }));
  CHECK(told);
  CHECK(there("/api/v1/namespaces/abcdef"));
  CHECK(there("/api/v1/namespaces/abcdefx"));
  CHECK(there("/api/v1/namespaces/abcdef-unlabelled"));
  CHECK(there("/api/v1/persistentvolumes/zoo-test-unlabelled"));
  CHECK(there("/apis/storage.k8s.io/v1/volumeattachments/zoo-test-unlabelled"));
  CHECK_FALSE(there("/api/v1/namespaces/default/events/abcdef-own.1"));
  CHECK(there("/api/v1/namespaces/default/events/abcdef-node.1"));
  CHECK(there(std::string(k_priority) + "/abcdef"));
  CHECK(there(std::string(k_priority) + "/abcdefx"));
  CHECK(there(std::string(k_priority) + "/xabcdef-high"));
  CHECK(there(std::string(k_crds) + "/things.abcdefx.example.com"));
  CHECK_FALSE(there(std::string(k_priority) + "/abcdef-high"));
  CHECK_FALSE(there(std::string(k_crds) + "/things.abcdef-example.com"));
  CHECK_FALSE(there("/api/v1/namespaces/abcdef-own"));
  CHECK(there("/api/v1/namespaces/abcdeg-own"));
  CHECK(there("/apis/abcdeg-example.com/v1/namespaces/abcdeg-own/things/one"));
  CHECK(there(std::string(k_priority) + "/abcdeg-high"));
  CHECK(is_ready(zood, "abcdeg"));

  // What is not the tenant's but under its prefix stands in the way of the next one.
  const auto refused = zood.service().create(wanted("abcdef"), false);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == Code::conflict);
  CHECK(refused.error().message().find("abcdef-unlabelled") != std::string::npos);

  must(zood.service().remove("abcdeg", {}, false));
  REQUIRE(eventually([&] { return is_gone(zood, "abcdeg"); }));
  for (const std::string name : {"abcdef", "abcdefx", "abcdef-unlabelled"})
    must(admin().remove("/api/v1/namespaces/" + name));
  for (const std::string name : {"abcdef", "abcdefx", "xabcdef-high"})
    must(admin().remove(std::string(k_priority) + "/" + name));
  must(admin().remove(std::string(k_crds) + "/things.abcdefx.example.com"));
  for (const std::string path : {"/apis/storage.k8s.io/v1/volumeattachments/zoo-test-unlabelled",
                                 "/api/v1/persistentvolumes/zoo-test-unlabelled",
                                 "/api/v1/namespaces/default/events/abcdef-node.1"})
    must(admin().remove(path));
}

TEST_CASE("drift is repaired: the binding and the label come back") {
  const Directory directory;
  auto settings = settings_for_tests();
  settings.resync = std::chrono::milliseconds(300);
  Zood zood(directory.path, kubeconfig(), settings);
  const std::string id = "drift1";
  must(zood.service().create(wanted(id), false));
  REQUIRE(eventually([&] { return is_ready(zood, id); }));
  const auto binding =
      "/apis/rbac.authorization.k8s.io/v1/namespaces/" + id + "-default/rolebindings/zoo-tenant";
  must(admin().remove(binding));
  must(admin().merge_patch("/api/v1/namespaces/" + id + "-kube-system",
                           {{"metadata", {{"labels", {{"tenant.kubezoo.io/id", nullptr}}}}}}));
  CHECK(eventually([&] { return there(binding); }));
  CHECK(eventually([&] {
    const auto space = must(admin().get("/api/v1/namespaces/" + id + "-kube-system"));
    return space.at("metadata").at("labels").contains("tenant.kubezoo.io/id");
  }));
  must(zood.service().remove(id, {}, false));
  REQUIRE(eventually([&] { return is_gone(zood, id); }));
}

TEST_CASE("kill -9 at any step of creation and deletion: the next start finishes") {
  const Directory directory;
  constexpr std::array making{"create-namespace", "create-binding", "credential", "ready",
                              "create-service"};
  constexpr std::array taking{"refuse-credentials",
                              "admission",
                              "custom-resources",
                              "namespaces",
                              "cluster-objects",
                              "definitions",
                              "volumes",
                              "events",
                              "proof",
                              "virtual-objects",
                              "record"};
  const std::string id = "killed";
  CHECK(run_until(directory.path, making[0], id, "create"));
  for (const auto* step : making)
    CHECK_MESSAGE(run_until(directory.path, step, id, "create"), step);
  {
    Zood zood(directory.path, kubeconfig(), settings_for_tests());
    REQUIRE(eventually([&] { return is_ready(zood, id); }));
    furnish(id);
  }
  for (const auto* step : taking)
    CHECK_MESSAGE(run_until(directory.path, step, id, "delete"), step);
  Zood zood(directory.path, kubeconfig(), settings_for_tests());
  REQUIRE(eventually([&] { return is_gone(zood, id); }));
  CHECK(nothing_left(id));
}

TEST_CASE("fifty tenants become Ready and go") {
  const Directory directory;
  Zood zood(directory.path, kubeconfig(), settings_for_tests());
  const auto name = [](int number) { return fmt::format("many{:02}", number); };
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < 50; ++number)
    must(zood.service().create(wanted(name(number)), false));
  const auto created = std::chrono::steady_clock::now();
  REQUIRE(eventually([&] {
    const auto page = must(zood.service().list({}, 0));
    return page.items.size() == 50 &&
           std::all_of(page.items.begin(), page.items.end(),
                       [](auto& t) { return t.phase == api::Phase::ready; });
  }));
  const auto ready = std::chrono::steady_clock::now();
  MESSAGE("created in ", std::chrono::duration<double>(created - begin).count(),
          " s, all Ready in ", std::chrono::duration<double>(ready - begin).count(), " s");
  for (int number = 0; number < 50; ++number)
    must(zood.service().remove(name(number), {}, false));
  REQUIRE(eventually([&] { return must(zood.service().list({}, 0)).items.empty(); }, seconds(300)));
}
