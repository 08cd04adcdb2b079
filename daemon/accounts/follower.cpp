// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/follower.hpp"

#include "common/base/published.hpp"
#include "daemon/authz/rights_source.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/upstream/change_follower.hpp"
#include "daemon/upstream/list_source.hpp"
#include "daemon/upstream/upstream.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

namespace zoo::accounts {
namespace {

constexpr std::chrono::milliseconds k_gather{5};   ///< changes that come together
constexpr std::chrono::milliseconds k_look{1'000}; ///< whether all streams are still heard
constexpr std::chrono::milliseconds k_believed{5'000};

/// How much of accounts.rbac_limit the roles and bindings of one namespace may take: a sixteenth,
/// but at least a MiB, and never more than all of it.
std::size_t most_of_namespace(std::size_t most) {
  constexpr std::size_t k_share = 16, k_least = 1u << 20;
  return std::min(most, std::max(most / k_share, k_least));
}

/// By which a table of the State has the object.
std::string known_as(const translate::ObjectKey& key) {
  return key.name_space.empty() ? key.name : instance_key(key.name_space, key.name);
}

void add_to(OrderedTable<NameSet>& table, const std::string& key, const std::string& name) {
  auto entry = std::make_shared<NameSet>();
  if (const auto old = table.find(key)) {
    *entry = *old;
  } else {
    entry->name = key;
  }
  entry->names.insert(name);
  table.put(std::move(entry));
}

void take_from(OrderedTable<NameSet>& table, const std::string& key, const std::string& name) {
  const auto old = table.find(key);
  if (!old) return;
  auto entry = std::make_shared<NameSet>(*old);
  entry->names.erase(name);
  if (entry->names.empty()) {
    table.remove(key);
  } else {
    table.put(std::move(entry));
  }
}

} // namespace

struct Follower::Impl {
  /// One stream of objects, and when it was last known to be heard.
  struct Stream {
    std::string what; ///< for people: "namespaces"
    std::unique_ptr<upstream::ChangeFollower> follower;
    std::set<std::string, std::less<>> found; ///< while it is read anew: what was there
    bool read = false;                        ///< once as a whole
    std::chrono::steady_clock::time_point heard;
  };

  Impl(upstream::Upstream& upstream, net::Loop& on, std::size_t most_rbac_bytes, Publish publish)
      : loop(on), tell(std::move(publish)),
        rights(upstream, upstream.caller(on), on,
               {most_rbac_bytes, most_of_namespace(most_rbac_bytes)}, [this] { changed(); }),
        gather(on), look(on) {
    working.trouble = Error(Code::unavailable, "namespaces, accounts and rights are being read "
                                               "from upstream; try again in a moment");
    published.store(std::make_shared<const State>(working));
    follow(
        upstream, spaces, "namespaces", "/api/v1/namespaces",
        [this](std::string_view object) { put_space(object); },
        [this](const std::string& name) { remove_space(name); },
        [this](std::string_view after, const auto& each) {
          working.spaces.visit(after, [&](const SpacePtr& one) { return each(one->name); });
          working.tenant_spaces.visit(after,
                                      [&](const TenantSpacePtr& one) { return each(one->name); });
        });
    follow(
        upstream, accounts, "accounts", "/apis/config.kiosk.sh/v1alpha1/accounts",
        [this](std::string_view object) { put_account(object); },
        [this](const std::string& name) { remove_account(name); },
        [this](std::string_view after, const auto& each) {
          working.accounts.visit(after, [&](const AccountPtr& one) { return each(one->name); });
        });
    follow(
        upstream, quotas, "quotas", "/apis/config.kiosk.sh/v1alpha1/accountquotas",
        [this](std::string_view object) { put_quota(object); },
        [this](const std::string& name) { remove_quota(name); },
        [this](std::string_view after, const auto& each) {
          working.quotas.visit(after, [&](const QuotaPtr& one) { return each(one->name); });
        });
    follow(
        upstream, instances, "template instances",
        "/apis/config.kiosk.sh/v1alpha1/templateinstances",
        [this](std::string_view object) { put_instance(object); },
        [this](const std::string& name) { remove_instance(name); },
        [this](std::string_view after, const auto& each) {
          working.instances.visit(after,
                                  [&](const SpaceInstancePtr& one) { return each(one->name); });
        });
  }

  using Put = std::function<void(std::string_view object)>;
  using Remove = std::function<void(const std::string& name)>;
  using Names =
      std::function<void(std::string_view after, const std::function<bool(const std::string&)>&)>;
  void follow(upstream::Upstream& upstream, Stream& stream, std::string what, std::string path,
              Put put, Remove remove, Names names);

  void put_space(std::string_view object);
  void remove_space(const std::string& name);
  void drop_space(const std::string& name);
  void put_tenant_space(TenantSpacePtr space);
  void drop_tenant_space(const std::string& name);
  void put_account(std::string_view object);
  void remove_account(const std::string& name);
  void put_quota(std::string_view object);
  void remove_quota(const std::string& name);
  void put_instance(std::string_view object);
  void remove_instance(const std::string& name);

  void seen(std::string_view version);
  void changed();
  void publish();
  void look_at_streams();
  std::optional<Error> trouble() const;

  net::Loop& loop;
  Publish tell;
  Stream spaces, accounts, quotas, instances;
  authz::RightsSource rights;
  net::Timer gather, look;
  bool gathering = false;
  State working;
  std::set<std::string, std::less<>> touched_spaces, touched_accounts, touched_quotas,
      touched_instances, touched_tenants;
  Published<const State> published;
};

void Follower::Impl::follow(upstream::Upstream& upstream, Stream& stream, std::string what,
                            std::string path, Put put, Remove remove, Names names) {
  stream.what = std::move(what);
  upstream::ChangeFollower::Hears hears;
  hears.whole = true;
  hears.looks = [&stream] { stream.found.clear(); };
  hears.found = [&stream, put](std::string_view, std::string_view object) {
    if (const auto key = translate::object_key(object)) stream.found.insert(known_as(*key));
    put(object);
  };
  hears.began = [this, &stream, remove, names] {
    std::vector<std::string> gone;
    names("", [&](const std::string& name) {
      if (!stream.found.contains(name)) gone.push_back(name);
      return true;
    });
    for (const auto& name : gone)
      remove(name);
    stream.found.clear();
    stream.read = true;
    stream.heard = std::chrono::steady_clock::now();
    changed();
  };
  hears.changed = [this, put, remove](translate::EventType type, const translate::ObjectKey& key,
                                      std::string_view object) {
    if (type == translate::EventType::deleted) {
      remove(known_as(key));
    } else {
      put(object);
    }
    seen(key.resource_version);
    changed();
  };
  hears.passed = [this](std::string_view version) {
    seen(version);
    changed();
  };
  stream.follower = std::make_unique<upstream::ChangeFollower>(
      upstream, loop, upstream.caller(loop), std::move(path), "", std::move(hears));
}

void Follower::Impl::put_space(std::string_view object) {
  auto space = read_space(object);
  if (space == nullptr) { // a tenant's: perhaps it was none before
    auto of_tenant = read_tenant_space(object);
    if (const auto key = translate::object_key(object)) {
      drop_space(key->name);
      if (of_tenant == nullptr) drop_tenant_space(key->name);
    }
    if (of_tenant != nullptr) put_tenant_space(std::move(of_tenant));
    return;
  }
  drop_tenant_space(space->name);
  const auto old = working.spaces.find(space->name);
  if (old && old->revision == space->revision && old->uid == space->uid) return;
  if (old && old->account != space->account && !old->account.empty())
    take_from(working.spaces_of_account, old->account, old->name);
  if (!space->account.empty() && (!old || old->account != space->account))
    add_to(working.spaces_of_account, space->account, space->name);
  touched_spaces.insert(space->name);
  working.spaces.put(std::move(space));
}

void Follower::Impl::put_tenant_space(TenantSpacePtr space) {
  const auto old = working.tenant_spaces.find(space->name);
  if (old && old->uid == space->uid && old->tenant == space->tenant && old->goes == space->goes)
    return;
  if (old && old->tenant != space->tenant) drop_tenant_space(space->name);
  add_to(working.spaces_of_tenant, space->tenant, space->name);
  touched_tenants.insert(space->tenant);
  working.tenant_spaces.put(std::move(space));
}

void Follower::Impl::drop_tenant_space(const std::string& name) {
  const auto old = working.tenant_spaces.find(name);
  if (!old) return;
  take_from(working.spaces_of_tenant, old->tenant, name);
  touched_tenants.insert(old->tenant);
  working.tenant_spaces.remove(name);
}

void Follower::Impl::remove_space(const std::string& name) {
  drop_space(name);
  drop_tenant_space(name);
}

void Follower::Impl::drop_space(const std::string& name) {
  const auto old = working.spaces.find(name);
  if (!old) return;
  if (!old->account.empty()) take_from(working.spaces_of_account, old->account, name);
  working.spaces.remove(name);
  touched_spaces.insert(name);
}

void Follower::Impl::put_account(std::string_view object) {
  auto account = read_account(object);
  if (account == nullptr) return;
  const auto old = working.accounts.find(account->name);
  if (old && old->resource_version == account->resource_version && old->uid == account->uid) return;
  for (const auto& key : old ? old->subject_keys : std::vector<std::string>())
    take_from(working.accounts_of_subject, key, account->name);
  for (const auto& key : account->subject_keys)
    add_to(working.accounts_of_subject, key, account->name);
  touched_accounts.insert(account->name);
  working.accounts.put(std::move(account));
}

void Follower::Impl::remove_account(const std::string& name) {
  const auto old = working.accounts.find(name);
  if (!old) return;
  for (const auto& key : old->subject_keys)
    take_from(working.accounts_of_subject, key, name);
  working.accounts.remove(name);
  touched_accounts.insert(name);
}

void Follower::Impl::put_quota(std::string_view object) {
  auto quota = read_quota(object);
  if (quota == nullptr) return;
  const auto old = working.quotas.find(quota->name);
  if (old && old->revision == quota->revision && old->uid == quota->uid) return;
  if (old) take_from(working.quotas_of_account, old->account, old->name);
  add_to(working.quotas_of_account, quota->account, quota->name);
  touched_quotas.insert(quota->name);
  working.quotas.put(std::move(quota));
}

void Follower::Impl::remove_quota(const std::string& name) {
  const auto old = working.quotas.find(name);
  if (!old) return;
  take_from(working.quotas_of_account, old->account, name);
  working.quotas.remove(name);
  touched_quotas.insert(name);
}

void Follower::Impl::put_instance(std::string_view object) {
  auto instance = read_space_instance(object);
  if (instance == nullptr) return;
  const auto old = working.instances.find(instance->name);
  if (old && old->revision == instance->revision && old->uid == instance->uid) return;
  touched_instances.insert(instance->name);
  working.instances.put(std::move(instance));
}

void Follower::Impl::remove_instance(const std::string& name) {
  if (working.instances.remove(name)) touched_instances.insert(name);
}

void Follower::Impl::seen(std::string_view version) {
  if (const auto revision = upstream::revision_of(version))
    working.revision = std::max(working.revision, *revision);
}

void Follower::Impl::changed() {
  if (std::exchange(gathering, true)) return;
  gather.start(k_gather, [this] {
    gathering = false;
    publish();
  });
}

std::optional<Error> Follower::Impl::trouble() const {
  const auto now = std::chrono::steady_clock::now();
  for (const auto* stream : {&spaces, &accounts}) {
    if (!stream->read) {
      return Error(Code::unavailable,
                   fmt::format("the {} have not been read from upstream yet; try again in a moment",
                               stream->what));
    }
  }
  // Accounts may have no definition any more, and then nobody has one: what was read stays.
  if (now - spaces.heard > k_believed) {
    return Error(Code::unavailable,
                 "upstream has not told of its namespaces for longer than 5 s; try again when it "
                 "answers");
  }
  return rights.trouble();
}

/// Streams that are heard are believed, and so are those that were heard a moment ago.
void Follower::Impl::look_at_streams() {
  for (auto* stream : {&spaces, &accounts, &quotas, &instances}) {
    if (stream->follower->hears()) stream->heard = std::chrono::steady_clock::now();
  }
  if (trouble().has_value() != working.trouble.has_value()) changed();
  look.start(k_look, [this] { look_at_streams(); });
}

void Follower::Impl::publish() {
  auto taken = rights.take();
  Touched touched;
  touched.spaces.assign(touched_spaces.begin(), touched_spaces.end());
  touched.accounts.assign(touched_accounts.begin(), touched_accounts.end());
  touched.quotas.assign(touched_quotas.begin(), touched_quotas.end());
  touched.tenants.assign(touched_tenants.begin(), touched_tenants.end());
  touched.instances.assign(touched_instances.begin(), touched_instances.end());
  touched_instances.clear();
  touched_tenants.clear();
  touched_quotas.clear();
  touched_spaces.clear();
  touched_accounts.clear();
  touched.rights = std::move(taken.touched);
  working.rights = std::move(taken.rights);
  working.quotas_read = quotas.read;
  working.instances_read = instances.read;
  working.crowded = rights.crowded();
  working.restless = rights.restless();
  working.revision = std::max(working.revision, rights.revision());
  const bool believed_before = !working.trouble.has_value();
  working.trouble = trouble();
  touched.everything = !believed_before && !working.trouble.has_value();
  ++working.sequence;
  auto now = std::make_shared<const State>(working);
  const auto before = published.load();
  published.store(now);
  tell(before, now, touched);
}

Follower::Follower(upstream::Upstream& upstream, net::Loop& loop, std::size_t most_rbac_bytes,
                   Publish publish)
    : impl_(std::make_unique<Impl>(upstream, loop, most_rbac_bytes, std::move(publish))) {}

Follower::~Follower() = default;

void Follower::start() {
  impl_->loop.post([impl = impl_.get()] {
    impl->rights.start();
    impl->spaces.follower->start();
    impl->accounts.follower->start();
    impl->quotas.follower->start();
    impl->instances.follower->start();
    impl->look_at_streams();
  });
}

StatePtr Follower::state() const { return impl_->published.load(); }

} // namespace zoo::accounts
