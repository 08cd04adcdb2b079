// SPDX-License-Identifier: Apache-2.0
// Random RBAC in a real upstream, and random questions about it: zood's evaluator, which follows
// the upstream by watches, must answer as the upstream's own access reviews do. For
// tests/functional/account_rights.sh.
//
//   account_rights QUESTIONS [SEED]
//
// Environment: ZOO_E2E_KUBECONFIG, an administrator's. What it makes is called rights-<seed>-*, and
// goes at the end.
#include "common/kube/client.hpp"
#include "common/kube/kubeconfig.hpp"
#include "daemon/authz/rights_source.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/upstream/connections.hpp"
#include "daemon/upstream/upstream.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <iostream>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>

using namespace zoo;
using nlohmann::json;
using Words = std::vector<std::string>;

namespace {

constexpr int k_rounds = 5, k_threads = 8;
constexpr std::string_view k_rbac = "/apis/rbac.authorization.k8s.io/v1";
const Words k_verbs{"get", "list", "create", "delete", "*"};
const Words k_groups{"", "apps", "tenancy.kiosk.sh", "*"};
const Words k_resources{"namespaces",  "pods",   "pods/log",        "*/log",
                        "deployments", "spaces", "deployments/log", "*"};
const Words k_names{"one", "two", ""};
const Words k_paths{"/healthz", "/rights/*", "/rights/x", "*"};

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

struct Random {
  std::mt19937 engine;
  std::size_t below(std::size_t bound) { return engine() % bound; }
  bool once_in(std::size_t turns) { return below(turns) == 0; }
  std::string one_of(const Words& words) { return words[below(words.size())]; }
  Words some_of(const Words& words) {
    Words out;
    for (auto count = 1 + below(2); count > 0; --count)
      out.push_back(one_of(words));
    return out;
  }
};

Words numbered(const std::string& word, int count) {
  Words out;
  for (int i = 0; i < count; ++i)
    out.push_back(fmt::format("{}-{}", word, i));
  return out;
}

// ---- the upstream
// ---------------------------------------------------------------------------------------------------

/// Does each of them, on as many threads as are good for one kube-apiserver.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& each) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::future<void>> threads;
  for (int i = 0; i < k_threads; ++i) {
    threads.push_back(std::async(std::launch::async, [&] {
      for (auto n = next++; n < count; n = next++)
        each(n);
    }));
  }
  for (auto& thread : threads)
    thread.get();
}

/// The evaluator as zood has it, on a loop of its own.
class Evaluator {
public:
  explicit Evaluator(const kube::ClusterAccess& access)
      : upstream_(endpoint_of(access), {&loop_}, {}) {
    thread_ = std::jthread([this] { loop_.run(); });
    upstream_.start();
    on_loop([this] {
      source_.emplace(upstream_, upstream_.caller(loop_), loop_,
                      authz::RightsLimits{std::size_t{256} << 20, std::size_t{256} << 20}, [] {});
      source_->start();
    });
  }
  ~Evaluator() {
    on_loop([this] { source_.reset(); });
    loop_.stop();
  }
  /// Null: not known now.
  authz::RightsPtr rights() {
    authz::RightsPtr out;
    on_loop([&] {
      if (!source_->trouble()) out = source_->take().rights;
    });
    return out;
  }

private:
  static std::shared_ptr<const upstream::UpstreamEndpoint>
  endpoint_of(const kube::ClusterAccess& access) {
    auto out = std::make_shared<upstream::UpstreamEndpoint>();
    const auto begin = access.server.find("//") + 2, colon = access.server.rfind(':');
    out->host = access.server.substr(begin, colon - begin);
    out->port = static_cast<std::uint16_t>(std::stoi(access.server.substr(colon + 1)));
    out->ca_pem = access.credentials.ca_pem;
    out->client_certificate_pem = access.credentials.client_cert_pem;
    out->client_key_pem = access.credentials.client_key_pem.clone();
    return out;
  }
  void on_loop(const std::function<void()>& what) {
    std::promise<void> done;
    loop_.post([&] {
      what();
      done.set_value();
    });
    done.get_future().wait();
  }

  net::Loop loop_;
  upstream::Upstream upstream_;
  std::optional<authz::RightsSource> source_;
  std::jthread thread_;
};

// ---- questions
// ------------------------------------------------------------------------------------------------------

struct Question {
  authz::User user;
  authz::Attributes wanted;
};

json review_of(const Question& question) {
  const auto& [user, wanted] = question;
  json spec = {{"user", user.name}, {"groups", user.groups}};
  if (wanted.resource_request) {
    spec["resourceAttributes"] = {{"verb", wanted.verb},
                                  {"group", wanted.group},
                                  {"version", "v1"},
                                  {"resource", wanted.resource},
                                  {"subresource", wanted.subresource},
                                  {"namespace", wanted.name_space},
                                  {"name", wanted.name}};
  } else {
    spec["nonResourceAttributes"] = {{"verb", wanted.verb}, {"path", wanted.path}};
  }
  return {
      {"apiVersion", "authorization.k8s.io/v1"}, {"kind", "SubjectAccessReview"}, {"spec", spec}};
}

bool upstream_says(upstream::Connections& connections, const Question& question) {
  const auto api = connections.take();
  return must((*api).create("/apis/authorization.k8s.io/v1/subjectaccessreviews",
                            review_of(question)))["status"]
      .value("allowed", false);
}

// ---- random RBAC
// ----------------------------------------------------------------------------------------------------

class World {
public:
  World(upstream::Connections& connections, unsigned seed)
      : connections_(connections), random_{std::mt19937(seed)},
        prefix_(fmt::format("rights-{}", seed)), spaces_(numbered(prefix_ + "-s", 6)),
        roles_(numbered(prefix_ + "-r", 8)), people_(numbered(prefix_ + "-user", 3)),
        teams_(numbered(prefix_ + "-team", 3)) {}

  /// Namespaces, then what `change` would make.
  void build() {
    in_parallel(spaces_.size(), [&](std::size_t i) {
      put("/api/v1/namespaces", {{"metadata", {{"name", spaces_[i]}}}});
    });
    change(1);
  }
  /// Replaces, or takes away, one in so many roles and bindings.
  void change(std::size_t one_in) {
    std::vector<std::pair<std::string, json>> objects;
    for (const auto& role : roles_) {
      if (random_.once_in(one_in)) objects.emplace_back("/clusterroles", cluster_role(role));
      for (const auto& space : spaces_) {
        if (random_.once_in(one_in))
          objects.emplace_back(in(space, "/roles"), named(role, {{"rules", rules(false)}}));
        for (int i = 0; i < 2; ++i) {
          if (random_.once_in(one_in))
            objects.emplace_back(in(space, "/rolebindings"),
                                 binding(fmt::format("{}-{}", role, i), false));
        }
      }
      if (random_.once_in(one_in) && random_.once_in(2))
        objects.emplace_back("/clusterrolebindings", binding(role, true));
    }
    std::vector<bool> away;
    for (std::size_t i = 0; i < objects.size(); ++i)
      away.push_back(random_.once_in(4));
    in_parallel(objects.size(), [&](std::size_t i) {
      const auto& [where, object] = objects[i];
      const auto path = fmt::format("{}{}", k_rbac, where);
      remove(path + "/" + object["metadata"]["name"].get<std::string>());
      if (!away[i]) put(path, object);
    });
    mark();
  }
  Question question() {
    Question out{person(), {}};
    auto& wanted = out.wanted;
    wanted.verb = random_.one_of({"get", "list", "create", "delete", "watch"});
    if (random_.once_in(12)) {
      wanted.resource_request = false;
      wanted.verb = random_.one_of({"get", "post"});
      wanted.path = random_.one_of({"/healthz", "/rights", "/rights/", "/rights/x", "/rights/x/y"});
      return out;
    }
    wanted.group = random_.one_of({"", "", "apps", "tenancy.kiosk.sh", "nobody.test"});
    wanted.version = "v1";
    wanted.resource = random_.one_of({"namespaces", "pods", "deployments", "spaces", "secrets"});
    if (random_.once_in(4)) wanted.subresource = random_.one_of({"log", "status"});
    if (!random_.once_in(6)) wanted.name_space = random_.one_of(spaces_);
    if (random_.once_in(2)) wanted.name = random_.one_of({"one", "two", "three", spaces_[0]});
    return out;
  }
  /// What holds once the objects of this round are known, of each of the four kinds and of the
  /// roles that the upstream puts together.
  std::vector<Question> marks() const {
    std::vector<Question> out;
    for (const auto* kind : {"role", "cluster", "sum"})
      out.push_back({{mark_name(kind), "", {}, {}},
                     {"mark", true, "rights.test", "v1", "marks", "", spaces_[0], "", ""}});
    return out;
  }
  void clean() {
    in_parallel(spaces_.size(), [&](std::size_t i) { remove("/api/v1/namespaces/" + spaces_[i]); });
    const auto api = connections_.take();
    for (const std::string kind : {"/clusterrolebindings", "/clusterroles"}) {
      const auto path = fmt::format("{}{}", k_rbac, kind);
      for (const auto& item : must((*api).get(path))["items"]) {
        const auto name = item["metadata"]["name"].get<std::string>();
        if (name.starts_with(prefix_ + "-")) remove(path + "/" + name);
      }
    }
  }

private:
  static std::string in(const std::string& space, std::string_view kind) {
    return fmt::format("/namespaces/{}{}", space, kind);
  }
  static json named(const std::string& name, json more) {
    more["metadata"]["name"] = name;
    return more;
  }
  void put(const std::string& path, const json& object) {
    must((*connections_.take()).create(path, object));
  }
  void remove(const std::string& path) { must((*connections_.take()).remove(path)); }

  json rules(bool cluster) {
    auto out = json::array();
    for (auto count = 1 + random_.below(3); count > 0; --count) {
      if (cluster && random_.once_in(5)) {
        out.push_back({{"verbs", Words{random_.one_of({"get", "post", "*"})}},
                       {"nonResourceURLs", random_.some_of(k_paths)}});
        continue;
      }
      json rule = {{"verbs", random_.some_of(k_verbs)},
                   {"apiGroups", random_.some_of(k_groups)},
                   {"resources", random_.some_of(k_resources)}};
      if (random_.once_in(3)) rule["resourceNames"] = random_.some_of(k_names);
      out.push_back(rule);
    }
    return out;
  }
  json cluster_role(const std::string& name) { return named(name, {{"rules", rules(true)}}); }
  json subject() {
    switch (random_.below(4)) {
    case 0:
      return {
          {"kind", "ServiceAccount"}, {"name", "robot"}, {"namespace", random_.one_of(spaces_)}};
    case 1:
      return {{"kind", "Group"},
              {"apiGroup", "rbac.authorization.k8s.io"},
              {"name", random_.once_in(4) ? "system:serviceaccounts:" + random_.one_of(spaces_)
                                          : random_.one_of(teams_)}};
    default:
      // A ServiceAccount may be called by the name of its user, too.
      return {
          {"kind", "User"},
          {"apiGroup", "rbac.authorization.k8s.io"},
          {"name", random_.once_in(8) ? robot(random_.one_of(spaces_)) : random_.one_of(people_)}};
    }
  }
  json binding(const std::string& name, bool cluster) {
    // One in twelve of the names is of no role.
    const auto role = random_.once_in(12) ? prefix_ + "-nothing" : random_.one_of(roles_);
    auto subjects = json::array();
    for (auto count = random_.below(5); count > 0; --count)
      subjects.push_back(subject());
    return named(name, {{"subjects", subjects},
                        {"roleRef",
                         {{"apiGroup", "rbac.authorization.k8s.io"},
                          {"kind", cluster || random_.once_in(2) ? "ClusterRole" : "Role"},
                          {"name", role}}}});
  }
  static std::string robot(const std::string& space) {
    return fmt::format("system:serviceaccount:{}:robot", space);
  }
  authz::User person() {
    authz::User out{random_.one_of(people_), "", {}, {}};
    if (random_.once_in(4)) {
      const auto space = random_.one_of(spaces_);
      out.name = robot(space);
      out.groups = {"system:serviceaccounts", "system:serviceaccounts:" + space};
    }
    for (const auto& team : teams_) {
      if (random_.once_in(3)) out.groups.push_back(team);
    }
    if (!random_.once_in(5)) out.groups.emplace_back("system:authenticated");
    if (random_.once_in(100)) out.groups.emplace_back("system:masters");
    return out;
  }

  std::string mark_name(std::string_view kind) const {
    return fmt::format("{}-mark-{}-{}", prefix_, kind, round_);
  }
  /// One object of each kind, after all others.
  void mark() {
    ++round_;
    const json rule = json::array(
        {{{"verbs", {"mark"}}, {"apiGroups", {"rights.test"}}, {"resources", {"marks"}}}});
    const auto bind = [&](const std::string& name, std::string_view kind, const std::string& user) {
      return named(
          name,
          {{"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", kind}, {"name", name}}},
           {"subjects",
            {{{"kind", "User"}, {"apiGroup", "rbac.authorization.k8s.io"}, {"name", user}}}}});
    };
    const auto path = [](const std::string& where) { return fmt::format("{}{}", k_rbac, where); };
    const auto role = mark_name("role"), cluster = mark_name("cluster"), sum = mark_name("sum");
    put(path(in(spaces_[0], "/roles")), named(role, {{"rules", rule}}));
    put(path(in(spaces_[0], "/rolebindings")), bind(role, "Role", role));
    auto part = named(cluster, {{"rules", rule}});
    part["metadata"]["labels"]["rights.test/part-of"] = sum;
    put(path("/clusterroles"), part);
    put(path("/clusterroles"),
        named(sum,
              {{"aggregationRule",
                {{"clusterRoleSelectors", {{{"matchLabels", {{"rights.test/part-of", sum}}}}}}}}}));
    put(path("/clusterrolebindings"), bind(cluster, "ClusterRole", cluster));
    put(path("/clusterrolebindings"), bind(sum, "ClusterRole", sum));
  }

  upstream::Connections& connections_;
  Random random_;
  const std::string prefix_;
  const Words spaces_, roles_, people_, teams_;
  int round_ = 0;
};

// ---- the comparison
// -------------------------------------------------------------------------------------------------

authz::RightsPtr when_known(Evaluator& evaluator, upstream::Connections& connections,
                            const std::vector<Question>& marks) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (;;) {
    const auto rights = evaluator.rights();
    bool here = rights != nullptr, there = true;
    for (const auto& mark : marks) {
      here = here && rights->decide(mark.user, mark.wanted).allowed;
      there = there && upstream_says(connections, mark);
    }
    if (here && there) return rights;
    if (std::chrono::steady_clock::now() > end)
      throw std::runtime_error(fmt::format("what was written is not known after a minute: to {}",
                                           here ? "the upstream itself" : "the evaluator"));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

int run(std::size_t questions, unsigned seed) {
  std::cout << "seed " << seed << "\n";
  const char* file = std::getenv("ZOO_E2E_KUBECONFIG");
  if (!file)
    throw std::runtime_error("ZOO_E2E_KUBECONFIG is not set: an administrator's kubeconfig");
  const auto access = must(kube::load_kubeconfig(file));
  upstream::Connections connections([&] {
    kube::KubeClientOptions options;
    options.timeout = std::chrono::milliseconds(20'000);
    return std::make_unique<upstream::KubeApi>(access.clone(), upstream::KubeApi::Authorization(),
                                               options);
  });
  World world(connections, seed);
  Evaluator evaluator(access);
  std::atomic<std::size_t> allowed = 0, differ = 0;
  std::mutex told;
  try {
    for (int round = 0; round < k_rounds; ++round) {
      if (round == 0) {
        world.build();
      } else {
        world.change(2);
      }
      const auto rights = when_known(evaluator, connections, world.marks());
      std::vector<Question> asked;
      for (std::size_t i = 0; i < questions / k_rounds; ++i)
        asked.push_back(world.question());
      in_parallel(asked.size(), [&](std::size_t i) {
        const auto& [user, wanted] = asked[i];
        const auto here = rights->decide(user, wanted);
        const bool there = upstream_says(connections, asked[i]);
        allowed += there;
        if (here.allowed == there) return;
        ++differ;
        const std::lock_guard lock(told);
        std::cout << "the upstream says " << (there ? "yes" : "no") << ", the evaluator "
                  << (here.allowed ? "yes: " : "no: ") << here.reason << " to "
                  << review_of(asked[i])["spec"].dump() << "\n";
      });
    }
  } catch (...) {
    world.clean();
    throw;
  }
  world.clean();
  const auto all = questions / k_rounds * k_rounds;
  std::cout << all << " questions, " << allowed << " allowed, " << differ
            << " answered differently\n";
  // Where nearly all is allowed, or nothing, little is compared.
  const bool telling = allowed > all / 10 && allowed < all - all / 10;
  if (!telling) std::cout << "too few of one answer: the random RBAC is none to compare by\n";
  return differ == 0 && telling ? 0 : 1;
}

} // namespace

int main(int count, char** words) {
  try {
    if (count < 2) throw std::runtime_error("account_rights QUESTIONS [SEED]");
    return run(std::stoul(words[1]),
               count > 2 ? static_cast<unsigned>(std::stoul(words[2])) : std::random_device()());
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
