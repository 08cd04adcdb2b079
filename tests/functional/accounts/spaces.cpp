// SPDX-License-Identifier: Apache-2.0
// The writing half of accounts against a real upstream, without doors: for
// tests/functional/spaces.sh.
//
//   spaces keep                        the controller, until it is killed
//   spaces create USER SPACE [ACCOUNT]
//   spaces move USER SPACE ACCOUNT
//
// Environment: ZOO_E2E_KUBECONFIG, as zood. ZOO_DIE_AT: the step at which the process kills itself.
// ZOO_DEADLINE: seconds until what is half made is taken back.
#include "common/kube/age.hpp"
#include "common/kube/client.hpp"
#include "common/kube/kubeconfig.hpp"
#include "daemon/accounts/controller.hpp"
#include "daemon/accounts/json_reads.hpp"
#include "daemon/accounts/space_writes.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <thread>

using namespace zoo;
using namespace zoo::accounts;
using nlohmann::json;

namespace {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

template <typename Table>
void add_name(Table& table, const std::string& key, const std::string& name) {
  NameSet set;
  if (const auto known = table.find(key)) set = *known;
  set.name = key;
  set.names.insert(name);
  table.put(std::make_shared<const NameSet>(std::move(set)));
}

/// Reads everything anew each time it is asked, where zood follows it.
class Reader {
public:
  explicit Reader(upstream::Connections& connections) : connections_(connections) {}

  Result<StatePtr> state() {
    const auto api = connections_.take();
    auto out = std::make_shared<State>();
    ZOO_TRY(const auto spaces, (*api).get("/api/v1/namespaces"));
    for (const auto& item : spaces["items"]) {
      const auto space = read_space(text_of(item));
      if (!space) continue;
      out->spaces.put(space);
      if (!space->account.empty()) add_name(out->spaces_of_account, space->account, space->name);
    }
    out->revision = std::stoll(text_at(spaces, "/metadata/resourceVersion"));
    ZOO_TRY(const auto accounts, (*api).get("/apis/config.kiosk.sh/v1alpha1/accounts"));
    for (const auto& item : accounts["items"]) {
      const auto account = read_account(text_of(item));
      if (!account) continue;
      out->accounts.put(account);
      for (const auto& key : account->subject_keys)
        add_name(out->accounts_of_subject, key, account->name);
    }
    authz::RightsTable rights;
    for (const std::string kind :
         {"roles", "clusterroles", "rolebindings", "clusterrolebindings"}) {
      ZOO_TRY(const auto list, (*api).get("/apis/rbac.authorization.k8s.io/v1/" + kind));
      for (const auto& item : list["items"]) {
        const auto text = text_of(item);
        const auto tree = must(translate::JsonTree::parse(text));
        if (kind.find("bindings") == std::string::npos) {
          rights.put(std::make_shared<const authz::Role>(authz::read_role(tree.root())));
        } else {
          rights.put(std::make_shared<const authz::Binding>(authz::read_binding(tree.root())));
        }
      }
      if (kind == "rolebindings") bindings_ = text_of(list["items"]);
    }
    out->rights = rights.publish().rights;
    return out;
  }
  const std::string& bindings() const { return bindings_; }

private:
  upstream::Connections& connections_;
  std::string bindings_;
};

void die_at(std::string_view step) {
  if (environment("ZOO_DIE_AT") == step) std::raise(SIGKILL);
}

WriteParts parts_of(upstream::Connections& connections) {
  WriteParts parts;
  parts.state = [&connections] { return Reader(connections).state(); };
  parts.wait = [&connections](const auto& holds, std::chrono::milliseconds most) {
    const auto end = std::chrono::steady_clock::now() + most;
    for (;;) {
      const auto state = Reader(connections).state();
      if (state && holds(**state)) return true;
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  };
  parts.tenant_of = [](std::string_view) { return std::string(); };
  parts.now = kube::unix_now;
  parts.on_step = die_at;
  parts.grace = std::chrono::seconds(2);
  if (const auto seconds = environment("ZOO_DEADLINE"); !seconds.empty())
    parts.deadline = std::chrono::seconds(std::stoi(seconds));
  return parts;
}

Touched difference(const State& before, const State& now, bool bindings) {
  Touched out;
  const auto names = [](const auto& was, const auto& is, std::vector<std::string>& into) {
    for (const auto* table : {&was, &is}) {
      table->visit("", [&](const auto& one) {
        const auto old = was.find(one->name), young = is.find(one->name);
        if (!old || !young || old->object != young->object) into.push_back(one->name);
        return true;
      });
    }
  };
  names(before.spaces, now.spaces, out.spaces);
  names(before.accounts, now.accounts, out.accounts);
  if (bindings) {
    now.spaces.visit("", [&](const auto& one) {
      out.rights.namespaces.push_back(one->name);
      return true;
    });
  }
  return out;
}

[[noreturn]] void keep(const WriteParts& parts, upstream::Connections& connections) {
  Saga saga(parts);
  Controller controller(parts, saga, connections);
  Reader reader(connections);
  controller.start();
  StatePtr before = std::make_shared<const State>();
  std::string bindings;
  for (;;) {
    if (const auto now = reader.state()) {
      controller.touched(before, *now, difference(*before, **now, bindings != reader.bindings()));
      before = *now;
      bindings = reader.bindings();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

int told(const Result<resources::Written>& written) {
  if (!written) {
    std::cout << written.error().message() << "\n";
    return 1;
  }
  for (const auto& warning : written->warnings)
    std::cout << "Warning: " << warning << "\n";
  std::cout << text_at(*written->object, "/status/phase") << "\n";
  return 0;
}

int run(const std::vector<std::string>& words) {
  const auto access = must(kube::load_kubeconfig(environment("ZOO_E2E_KUBECONFIG")));
  upstream::Connections connections([&] {
    kube::KubeClientOptions options;
    options.timeout = std::chrono::milliseconds(10'000);
    return std::make_unique<upstream::KubeApi>(access.clone(), upstream::KubeApi::Authorization(),
                                               options);
  });
  const auto parts = parts_of(connections);
  if (words.size() == 1 && words[0] == "keep") keep(parts, connections);
  Saga saga(parts);
  SpaceWrites writes(parts, saga, connections, connections);
  if (words.size() < 3)
    throw std::runtime_error("spaces keep | create USER SPACE [ACCOUNT] | move USER SPACE ACCOUNT");
  const resources::Who who{words[1], {"system:authenticated"}, {}, {}};
  const resources::WriteOptions options{false, "spaces"};
  json space = {{"apiVersion", "tenancy.kiosk.sh/v1alpha1"},
                {"kind", "Space"},
                {"metadata", {{"name", words[2]}}}};
  if (words.size() > 3) space["spec"]["account"] = words[3];
  if (words[0] == "create") return told(writes.create(who, space, options));
  return told(writes.update(who, space, options));
}

} // namespace

int main(int count, char** words) {
  try {
    return run({words + 1, words + count});
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
