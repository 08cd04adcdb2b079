// SPDX-License-Identifier: Apache-2.0
#include "account_world.hpp"

#include "common/base/published.hpp"
#include "daemon/accounts/account_api.hpp"
#include "daemon/resources/workers.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace zoo::test {
namespace {

using nlohmann::json;
using resources::Verb;

/// One thing that somebody may do; "*" as its namespace: everywhere.
struct Right {
  std::string user, verbs, group, resource, name;
  std::vector<std::string> spaces;
};

std::vector<Right> rights_of_all(const RightsOfJohn& johns) {
  std::vector<std::string> team{"team-b", "team-a", "team-a-x"}, many;
  if (!johns.more.empty()) team.push_back(johns.more);
  std::erase(team, johns.less);
  for (int i = 10; i < 80; ++i)
    many.push_back(fmt::format("many-{}", i));
  std::vector<Right> out{
      {"john", "get,list,watch", "", "pods", "", team},
      {"john", "get", "", "namespaces", "", {"team-a", "team-b"}},
      {"john", "create", "tenancy.kiosk.sh", "spaces", "", {"*"}},
      {"many", "list,watch", "", "pods", "", many},
      {"auditor", "get,list,watch", "", "pods", "", {"*"}},
      {"auditor", "get,list,watch,create", "", "namespaces", "", {"*"}},
      {"boss", "impersonate", "", "users", "john", {"*"}},
      {"boss", "impersonate", "", "groups", "devs", {"*"}},
  };
  if (johns.everywhere) out.push_back({"john", "get,list,watch", "", "namespaces", "", {"*"}});
  return out;
}

class TableOfRights final : public authz::Rights {
public:
  explicit TableOfRights(std::vector<Right> rights) : rights_(std::move(rights)) {}

  authz::Decision decide(const authz::User& user, const authz::Attributes& asked) const override {
    const auto reach = namespaces_of(user, asked);
    const auto& spaces = reach.namespaces;
    const bool there = std::find(spaces.begin(), spaces.end(), asked.name_space) != spaces.end();
    return {reach.everywhere || there, ""};
  }
  Reach namespaces_of(const authz::User& user, authz::Attributes wanted) const override {
    Reach out;
    for (const auto& right : rights_) {
      const bool same = right.user == user.name && right.group == wanted.group &&
                        right.resource == wanted.resource &&
                        (right.name.empty() || right.name == wanted.name) &&
                        right.verbs.find(wanted.verb) != std::string::npos;
      if (!same) continue;
      out.everywhere = out.everywhere || right.spaces.front() == "*";
      out.namespaces.insert(out.namespaces.end(), right.spaces.begin(), right.spaces.end());
    }
    std::sort(out.namespaces.begin(), out.namespaces.end());
    if (out.everywhere) out.namespaces.clear();
    return out;
  }
  authz::Policy::Rules rules_for(const authz::User&, std::string_view) const override { return {}; }

private:
  const std::vector<Right> rights_;
};

class KnownRights final : public access::UpstreamRights {
public:
  Result<authz::RightsPtr> rights() const override { return authz::RightsPtr(current.load()); }
  Published<const TableOfRights> current{std::make_shared<const TableOfRights>(rights_of_all({}))};
};

class NoSubscription final : public resources::Subscription {};

/// Two objects, of which john alone sees any.
class Objects final : public resources::Backing {
public:
  explicit Objects(bool spaces) : spaces_(spaces) {}

  Result<resources::ObjectPtr> get(const resources::Who& caller,
                                   const resources::Key& key) override {
    for (const auto& each : all(caller))
      if (resources::key_of(*each).name == key.name) return each;
    return fail(Code::not_found, "{} \"{}\" not found",
                spaces_ ? "spaces.tenancy.kiosk.sh" : "namespaces", key.name);
  }
  Result<resources::Page> list(const resources::Who& caller, std::string_view,
                               const resources::Key&, std::size_t) override {
    return resources::Page{all(caller), 1000, std::nullopt};
  }
  Result<std::unique_ptr<resources::Subscription>>
  watch(const resources::Who& caller, std::int64_t revision,
        std::function<void(const resources::Change&)> on_change) override {
    if (revision < 900) return fail(Code::expired, "too old resource version: {}", revision);
    if (caller.name == "john")
      on_change({resources::Change::Type::deleted, all(caller).front(), revision + 1});
    return std::make_unique<NoSubscription>();
  }
  Result<resources::Written> create(const resources::Who& caller, json object,
                                    const resources::WriteOptions&) override {
    if (caller.name != "john")
      return fail(Code::forbidden,
                  "namespaces is forbidden: user \"{}\" is no member of an account", caller.name);
    object["metadata"]["resourceVersion"] = "1001";
    return resources::Written{resources::make_object(std::move(object)), {"account \"a\" owns it"}};
  }

  Result<resources::Written> apply(const resources::Who& caller, const resources::Key&, json config,
                                   const resources::WriteOptions& options) override {
    auto out = create(caller, std::move(config), options);
    if (out) out->created = true;
    return out;
  }

private:
  std::vector<resources::ObjectPtr> all(const resources::Who& caller) const {
    std::vector<resources::ObjectPtr> out;
    if (caller.name != "john") return out;
    for (const char* name : {"team-a", "team-b"})
      out.push_back(
          resources::make_object({{"apiVersion", spaces_ ? "tenancy.kiosk.sh/v1alpha1" : "v1"},
                                  {"kind", spaces_ ? "Space" : "Namespace"},
                                  {"metadata", {{"name", name}, {"resourceVersion", "900"}}}}));
    return out;
  }
  const bool spaces_;
};

resources::KindPtr kind_of(bool spaces) {
  resources::Kind out;
  out.group = spaces ? "tenancy.kiosk.sh" : "";
  out.version = spaces ? "v1alpha1" : "v1";
  out.resource = spaces ? "spaces" : "namespaces";
  out.kind = spaces ? "Space" : "Namespace";
  out.singular = spaces ? "space" : "namespace";
  out.description = "What a member of an account sees.";
  out.verbs = {Verb::get, Verb::list, Verb::watch, Verb::create, Verb::patch};
  out.applies = true;
  out.metadata = resources::standard_metadata();
  out.columns = {{"Name", "name", 0, "Of it.", resources::cell_of("metadata.name")}};
  out.backing = std::make_shared<Objects>(spaces);
  return std::make_shared<const resources::Kind>(std::move(out));
}

} // namespace

struct AccountWorld::Impl {
  std::shared_ptr<KnownRights> rights = std::make_shared<KnownRights>();
  resources::Workers workers{"accounts", 4};
  std::shared_ptr<const accounts::AccountApi> api = std::make_shared<const accounts::AccountApi>(
      resources::Api::Parts{.kinds = {kind_of(true), kind_of(false)},
                            .name = "zood's account API",
                            .title = "accounts",
                            .later = [](const std::function<void()>& job) { job(); },
                            .now = [] { return std::int64_t{1'767'225'600}; }},
      workers, rights);
};

AccountWorld::AccountWorld() : impl_(std::make_unique<Impl>()) {}
AccountWorld::~AccountWorld() = default;
std::shared_ptr<const access::UpstreamRights> AccountWorld::rights() const { return impl_->rights; }
std::shared_ptr<const access::LocalApi> AccountWorld::api() const { return impl_->api; }
void AccountWorld::stop() { impl_->workers.stop(); }
void AccountWorld::change_rights(const RightsOfJohn& rights) {
  impl_->rights->current.store(std::make_shared<const TableOfRights>(rights_of_all(rights)));
}

} // namespace zoo::test
