// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/names.hpp"

#include "daemon/tenants/footprint.hpp"

#include <algorithm>
#include <chrono>

namespace zoo::app {
namespace {

struct OverlayKey {
  translate::Overlay overlay;
  std::string_view key, group, resource;
};
constexpr std::array k_keys{
    OverlayKey{translate::Overlay::storage_class, "shared.storage_classes", "storage.k8s.io",
               "storageclasses"},
    OverlayKey{translate::Overlay::ingress_class, "shared.ingress_classes", "networking.k8s.io",
               "ingressclasses"},
    OverlayKey{translate::Overlay::runtime_class, "shared.runtime_classes", "node.k8s.io",
               "runtimeclasses"},
    OverlayKey{translate::Overlay::priority_class, "shared.priority_classes", "scheduling.k8s.io",
               "priorityclasses"},
    OverlayKey{translate::Overlay::volume_attributes_class, "shared.volume_attributes_classes",
               "storage.k8s.io", "volumeattributesclasses"},
    OverlayKey{translate::Overlay::device_class, "shared.device_classes", "resource.k8s.io",
               "deviceclasses"},
};
constexpr std::chrono::milliseconds k_refresh{500}, k_first_refresh{10}, k_first_look{500};
constexpr std::chrono::seconds k_look_again{10};

/// The path of its list in the first version that upstream serves; "" where it serves none: some
/// kinds are younger than the oldest upstream.
std::string path_in(const translate::Catalog& catalog, const OverlayKey& each) {
  const auto* group = catalog.find_group(each.group);
  if (group == nullptr) return "";
  for (const auto& version : group->versions) {
    if (catalog.find(each.group, version.version, each.resource) != nullptr) {
      return "/apis/" + std::string(each.group) + "/" + version.version + "/" +
             std::string(each.resource);
    }
  }
  return "";
}

} // namespace

SharedClasses::SharedClasses(
    const config::Values& values, upstream::Upstream& upstream, net::Loop& loop,
    std::function<std::shared_ptr<const tenants::TenantSnapshot>()> tenants)
    : upstream_(upstream), loop_(loop), tenants_(std::move(tenants)), timer_(loop),
      look_timer_(loop) {
  for (std::size_t key = 0; key < k_keys.size(); ++key) {
    const auto& each = k_keys[key];
    const auto index = static_cast<std::size_t>(each.overlay);
    const auto& names = values.list(each.key);
    if (names.size() == 1 && names.front() == "*") {
      awaited_.push_back(key);
    } else {
      listed_.classes[index].insert(names.begin(), names.end());
    }
  }
  const auto& groups = values.list("shared.groups");
  listed_.groups.insert(groups.begin(), groups.end());
  listed_.domain = values.string("inside.domain");
  upstream_.set_shared_names(std::make_shared<const translate::SharedNames>(listed_));
  known_ = awaited_.empty();
  if (known_) told_.set_value();
}

Result<void> SharedClasses::wait(std::chrono::milliseconds most) {
  if (told_.get_future().wait_for(most) == std::future_status::ready) return {};
  return fail(Code::timeout,
              "which classes the upstream has, for shared.*_classes: [\"*\"], is not known after "
              "{} s: the log says what it answers",
              std::chrono::duration_cast<std::chrono::seconds>(most).count());
}

void SharedClasses::start() {
  if (awaited_.empty()) return;
  loop_.post([this] {
    look();
    publish();
  });
}

void SharedClasses::look() {
  upstream_.catalog(loop_, upstream::Freshness::any, [this](Result<upstream::CatalogPtr> known) {
    const auto follow = [&](std::size_t key) {
      const auto& each = k_keys[key];
      auto path = known ? path_in(**known, each) : "";
      if (path.empty()) return false;
      followed_.push_back({std::make_unique<upstream::NameFollower>(
                               upstream_, loop_, upstream_.caller(loop_), std::move(path), ""),
                           static_cast<std::size_t>(each.overlay)});
      followed_.back().follower->start();
      return true;
    };
    awaited_.erase(std::remove_if(awaited_.begin(), awaited_.end(), follow), awaited_.end());
    looked_ = looked_ || known;
    if (!awaited_.empty())
      look_timer_.start(looked_ ? k_look_again : k_first_look, [this] { look(); });
  });
}

void SharedClasses::publish() {
  auto tenants = tenants_();
  bool same = tenants == seen_tenants_, all = looked_;
  seen_tenants_ = std::move(tenants);
  for (auto& each : followed_) {
    auto known = each.follower->names();
    same = same && known == each.seen;
    all = all && known;
    each.seen = std::move(known);
  }
  if (!same) take();
  if (all && !std::exchange(known_, true)) told_.set_value();
  timer_.start(known_ ? k_refresh : k_first_refresh, [this] { publish(); });
}

void SharedClasses::take() {
  auto names = listed_;
  for (const auto& each : followed_) {
    if (!each.seen) continue;
    each.seen->visit("", [&](const std::string& name) {
      const auto id = tenants::id_of_name(name);
      const bool private_one = !id.empty() && seen_tenants_->find(id) != nullptr;
      const bool system =
          each.overlay == static_cast<std::size_t>(translate::Overlay::priority_class) &&
          name.starts_with("system-");
      if (!private_one && !system) names.classes[each.overlay].insert(name);
      return true;
    });
  }
  if (names.classes != upstream_.shared_names()->classes) {
    upstream_.set_shared_names(std::make_shared<const translate::SharedNames>(std::move(names)));
  }
}

} // namespace zoo::app
