// SPDX-License-Identifier: Apache-2.0
#include "daemon/authz/policy_source.hpp"

#include "common/base/log.hpp"
#include "daemon/translate/hidden_names.hpp"
#include "daemon/translate/rewrite.hpp"
#include "daemon/translate/rules.hpp"
#include "daemon/translate/target.hpp"
#include "daemon/translate/watch_event.hpp"
#include "daemon/upstream/list_source.hpp"
#include "daemon/upstream/upstream.hpp"
#include "daemon/upstream/watch_source.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

namespace zoo::authz {
namespace {

using translate::k_rbac_group;

constexpr std::chrono::milliseconds k_first_pause{100};
constexpr std::chrono::milliseconds k_longest_pause{5'000};
constexpr std::chrono::milliseconds k_longest_gather{500};
constexpr std::chrono::milliseconds k_gather{5};        ///< changes that come together
constexpr std::chrono::milliseconds k_silence{150'000}; ///< upstream sends a bookmark a minute

/// The object outward, parsed; `text` keeps it alive.
std::optional<translate::JsonTree> outward(const translate::Mapping& mapping, std::string_view kind,
                                           std::string_view object, std::string& text) {
  translate::RewriteContext context{mapping, translate::Direction::outward, ""};
  const auto& root = translate::root_of(k_rbac_group, kind);
  if (!translate::rewrite(root, context, object, text)) return std::nullopt;
  auto tree = translate::JsonTree::parse(text);
  if (!tree) return std::nullopt;
  return *std::move(tree);
}

} // namespace

DecodedObject decode_role(const translate::Mapping& mapping, std::string_view kind,
                          std::string_view object) {
  std::string text;
  const auto own = outward(mapping, kind, object, text);
  const auto stored = translate::JsonTree::parse(object);
  if (!own || !stored) return {};
  auto role = read_role(own->root());
  if (role.name.empty()) return {};
  const auto raw = read_rules(stored->root()["rules"]);
  if (raw.size() != role.rules.size()) return {};
  // A group that is not the tenant's has become "", which would be the core group.
  std::vector<Rule> rules;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    auto& groups = role.rules[i].groups;
    const bool foreign = groups.size() != raw[i].groups.size() ||
                         !std::equal(groups.begin(), groups.end(), raw[i].groups.begin(),
                                     [](const auto& mine, const auto& theirs) {
                                       return !mine.empty() || theirs.empty();
                                     });
    if (!foreign) rules.push_back(std::move(role.rules[i]));
  }
  role.rules = std::move(rules);
  return {std::make_shared<const Role>(std::move(role)), nullptr};
}

DecodedObject decode_binding(const translate::Mapping& mapping, std::string_view object) {
  const auto key = translate::object_key(object);
  if (!key) return {};
  const bool cluster = !mapping.identity() && key->name.starts_with(translate::k_binding_prefix);
  if (cluster && key->name_space != mapping.name_in("kube-system")) return {};
  if (!cluster && translate::hidden_object(k_rbac_group, "rolebindings", key->name)) return {};
  std::string text;
  const auto own = outward(mapping, cluster ? "ClusterRoleBinding" : "RoleBinding", object, text);
  if (!own) return {};
  auto binding = read_binding(own->root());
  if (cluster) {
    binding.name_space.clear();
  } else if (binding.name_space.empty()) {
    return {}; // it would count in the whole cluster
  }
  if (binding.name.empty()) return {};
  // Stored ones have their namespace written out; an empty one was a stranger's.
  std::erase_if(binding.subjects, [](const Subject& subject) {
    return subject.kind == "ServiceAccount" && subject.name_space.empty();
  });
  return {nullptr, std::make_shared<const Binding>(std::move(binding))};
}

/// One kind of them.
class PolicySource::Kind final : private upstream::ListHandler, private upstream::WatchHandler {
public:
  Kind(PolicySource& owner, std::string kind, std::string resource, bool all_namespaces)
      : owner_(owner), kind_(std::move(kind)),
        path_("/apis/rbac.authorization.k8s.io/v1/" + std::move(resource)),
        all_namespaces_(all_namespaces), retry_(owner.loop_), silence_(owner.loop_),
        stale_(owner.loop_) {}

  void begin() {
    reading_.clear();
    reading_bytes_ = 0;
    reading_truncated_ = false;
    silence_.cancel();
    watch_.reset(); // never called from inside one of them
    list_.reset();
    upstream::ListRequest request;
    request.head = head();
    request.range = {owner_.mapping_.prefix(), "", false};
    request.all_namespaces = all_namespaces_;
    list_ = upstream::list_range(owner_.upstream_, owner_.caller_, std::move(request),
                                 owner_.mapping_.id() + path_ + "#authz", *this);
  }

  bool ready() const { return ready_; } ///< `objects` is what upstream has
  bool truncated() const { return truncated_; }
  /// Now all of them can be kept.
  void reread() {
    if (std::exchange(rereading_, true)) return;
    believe_for_a_while(
        Error(Code::unavailable, fmt::format("this tenant's {}s are read again", kind_)));
    retry_.start(k_gather, [this] { begin(); });
  }
  std::size_t bytes() const { return bytes_; }
  struct Kept {
    DecodedObject object;
    std::size_t bytes = 0;
  };
  const std::unordered_map<std::string, Kept>& objects() const { return objects_; }

private:
  http::RequestHead head() const {
    http::RequestHead out;
    out.method = "GET";
    out.target = path_;
    out.headers.add("Accept", "application/json");
    return out;
  }

  /// Where all of the tenant's, with `bytes` of this kind, are beyond the limit it is counted
  /// alone.
  Kept keep(std::string_view object, std::size_t bytes, bool& truncated) {
    if (bytes + owner_.bytes() - bytes_ > owner_.limits_.bytes) {
      truncated = true;
      return {{}, object.size()};
    }
    return {kind_ == "RoleBinding" ? decode_binding(owner_.mapping_, object)
                                   : decode_role(owner_.mapping_, kind_, object),
            object.size()};
  }

  // upstream::ListHandler
  void on_list_begin(std::string_view) override {}
  void on_list_item(std::string_view key, std::string_view item) override {
    reading_bytes_ += item.size();
    reading_.insert_or_assign(std::string(key), keep(item, reading_bytes_, reading_truncated_));
  }
  void on_list_end(const upstream::ListEnd& end) override {
    objects_ = std::exchange(reading_, {});
    bytes_ = reading_bytes_;
    truncated_ = reading_truncated_;
    rereading_ = false;
    ready_ = true;
    losing_ = false;
    stale_.cancel();
    upstream::WatchRequest request;
    request.head = head();
    request.resource_version = end.resource_version;
    request.bookmarks = true;
    request.ranges = {{owner_.mapping_.prefix(), "", false}};
    request.all_namespaces = all_namespaces_;
    request.kind = kind_;
    request.api_version = "rbac.authorization.k8s.io/v1";
    request.owner = owner_.mapping_.id();
    request.trusted_version = true;
    watch_ = upstream::subscribe(owner_.upstream_, owner_.loop_, std::move(request), *this);
    listen();
    owner_.changed();
  }
  void on_list_error(const Error& error, int http_status, std::string_view) override {
    again(Error(Code::unavailable,
                fmt::format("this tenant's {}s cannot be read from upstream{}: {}", kind_,
                            http_status == 0 ? "" : fmt::format(" ({})", http_status),
                            error.text())));
  }

  // upstream::WatchHandler
  void on_watch_begin() override { pause_ = k_first_pause; }
  void on_watch_event(std::string_view text) override {
    listen();
    const auto event = translate::parse_event(text);
    if (!event || event->type == translate::EventType::bookmark ||
        event->type == translate::EventType::error) {
      return; // after an ERROR upstream ends the stream
    }
    const auto key = translate::object_key(event->object);
    if (!key) return;
    const auto name = key->text();
    if (const auto old = objects_.find(name); old != objects_.end()) {
      bytes_ -= old->second.bytes;
      objects_.erase(old);
    }
    if (event->type != translate::EventType::deleted) {
      bytes_ += event->object.size();
      objects_.emplace(name, keep(event->object, bytes_, truncated_));
    }
    owner_.changed();
  }
  void on_watch_bookmark(std::string_view) override { listen(); }
  /// Objects may change unseen while upstream is out of reach.
  void on_watch_stalled(bool stalled) override {
    if (!stalled) return stale_.cancel();
    stale_.start(owner_.limits_.stale, [this] {
      ready_ = false;
      owner_.lost(Error(Code::unavailable,
                        fmt::format("the watch of this tenant's {}s has no upstream", kind_)));
      begin();
    });
  }
  void on_watch_end(const upstream::WatchEnd&) override {
    again(Error(Code::unavailable, fmt::format("the watch of this tenant's {}s has ended", kind_)));
  }

  void listen() {
    silence_.start(k_silence, [this] {
      again(
          Error(Code::unavailable, fmt::format("the watch of this tenant's {}s is silent", kind_)));
    });
  }

  /// Objects may change unseen from here on.
  void believe_for_a_while(const Error& why) {
    if (std::exchange(losing_, true)) return;
    stale_.start(owner_.limits_.stale, [this, why] {
      ready_ = false;
      owner_.lost(why);
    });
  }

  void again(const Error& why) {
    silence_.cancel();
    if (ready_) {
      believe_for_a_while(why);
    } else {
      owner_.lost(why);
    }
    retry_.start(pause_, [this] { begin(); });
    pause_ = std::min(pause_ * 2, k_longest_pause);
  }

  PolicySource& owner_;
  std::string kind_, path_;
  bool all_namespaces_;
  bool ready_ = false;
  bool losing_ = false;    ///< still believed, but not followed
  bool truncated_ = false; ///< some of `objects_` are counted only
  bool reading_truncated_ = false, rereading_ = false;
  std::size_t bytes_ = 0, reading_bytes_ = 0;
  std::unordered_map<std::string, Kept> objects_, reading_;
  std::chrono::milliseconds pause_ = k_first_pause;
  net::Timer retry_, silence_, stale_;
  std::unique_ptr<upstream::List> list_;
  std::unique_ptr<upstream::WatchSubscription> watch_;
};

struct PolicySource::Parts {
  explicit Parts(PolicySource& owner)
      : roles(owner, "Role", "roles", true), bindings(owner, "RoleBinding", "rolebindings", true),
        cluster_roles(owner, "ClusterRole", "clusterroles", false), gather(owner.loop_) {}
  Kind roles, bindings, cluster_roles;
  net::Timer gather;
  std::chrono::milliseconds wait = k_gather;
  bool gathering = false;

  std::array<Kind*, 3> all() { return {&roles, &bindings, &cluster_roles}; }
};

PolicySource::PolicySource(upstream::Upstream& upstream, upstream::Caller& caller, net::Loop& loop,
                           translate::Mapping mapping, PolicyLimits limits, Publish publish)
    : upstream_(upstream), caller_(caller), loop_(loop), mapping_(std::move(mapping)),
      limits_(limits), publish_(std::move(publish)), parts_(std::make_unique<Parts>(*this)) {}

PolicySource::~PolicySource() = default;

void PolicySource::start() {
  for (auto* kind : parts_->all())
    kind->begin();
}

void PolicySource::remap(const translate::Mapping& mapping) {
  const bool same = mapping.shared().groups == mapping_.shared().groups;
  mapping_ = mapping;
  if (!same) start();
}

bool PolicySource::complete() const {
  const auto all = parts_->all();
  return std::all_of(all.begin(), all.end(), [](const Kind* kind) { return kind->ready(); });
}

std::size_t PolicySource::bytes() const {
  std::size_t out = 0;
  for (const auto* kind : parts_->all())
    out += kind->bytes();
  return out;
}

void PolicySource::changed() {
  if (!complete() || parts_->gathering) return;
  if (bytes() <= limits_.bytes) {
    bool reread = false;
    for (auto* kind : parts_->all()) {
      if (!kind->truncated()) continue;
      kind->reread();
      reread = true;
    }
    if (reread) return;
  }
  parts_->gathering = true;
  parts_->gather.start(parts_->wait, [this] {
    parts_->gathering = false;
    publish();
  });
}

void PolicySource::lost(const Error& why) {
  log::warning("authz", "tenant {}: {}", mapping_.id(), why.text());
  publish_(fail(why));
}

void PolicySource::publish() {
  if (!complete()) return;
  if (bytes() > limits_.bytes) {
    return publish_(fail(Code::unavailable,
                         "this tenant's roles and bindings have {} bytes, and zood evaluates at "
                         "most {}; delete some as the tenant's administrator",
                         bytes(), limits_.bytes));
  }
  Policy::Objects objects;
  for (const auto* kind : parts_->all()) {
    if (kind->truncated()) return changed(); // it is being read
    for (const auto& [key, kept] : kind->objects()) {
      if (kept.object.role) objects.roles.push_back(kept.object.role);
      if (kept.object.binding) objects.bindings.push_back(kept.object.binding);
    }
  }
  const auto begun = std::chrono::steady_clock::now();
  auto policy = Policy::build(objects);
  // A tenant that changes many objects all the time gets a tenth of the loop for it.
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - begun);
  parts_->wait = std::clamp(took * 10, k_gather, k_longest_gather);
  publish_(std::move(policy));
}

} // namespace zoo::authz
