// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/names.hpp"

#include <chrono>

namespace zoo::app {
namespace {

struct OverlayKey {
  translate::Overlay overlay;
  std::string_view key, path;
};
constexpr std::array k_keys{
    OverlayKey{translate::Overlay::storage_class, "shared.storage_classes",
               "/apis/storage.k8s.io/v1/storageclasses"},
    OverlayKey{translate::Overlay::ingress_class, "shared.ingress_classes",
               "/apis/networking.k8s.io/v1/ingressclasses"},
    OverlayKey{translate::Overlay::runtime_class, "shared.runtime_classes",
               "/apis/node.k8s.io/v1/runtimeclasses"},
    OverlayKey{translate::Overlay::priority_class, "shared.priority_classes",
               "/apis/scheduling.k8s.io/v1/priorityclasses"},
    OverlayKey{translate::Overlay::volume_attributes_class, "shared.volume_attributes_classes",
               "/apis/storage.k8s.io/v1/volumeattributesclasses"},
    OverlayKey{translate::Overlay::device_class, "shared.device_classes",
               "/apis/resource.k8s.io/v1/deviceclasses"},
};
constexpr std::chrono::milliseconds k_refresh{500};
constexpr std::size_t k_prefix = 7; ///< six characters and the dash

} // namespace

SharedClasses::SharedClasses(const config::Values& values, upstream::Upstream& upstream,
                             net::Loop& loop, std::function<bool(std::string_view)> is_tenant)
    : upstream_(upstream), is_tenant_(std::move(is_tenant)), timer_(loop) {
  for (const auto& each : k_keys) {
    const auto index = static_cast<std::size_t>(each.overlay);
    const auto& names = values.list(each.key);
    if (names.size() == 1 && names.front() == "*") {
      followed_.push_back({std::make_unique<upstream::NameFollower>(
                               upstream, loop, upstream.caller(loop), std::string(each.path), ""),
                           index});
    } else {
      listed_.classes[index].insert(names.begin(), names.end());
    }
  }
  upstream_.set_shared_names(std::make_shared<const translate::SharedNames>(listed_));
}

void SharedClasses::start() {
  for (auto& each : followed_)
    each.follower->start();
  if (!followed_.empty()) publish();
}

void SharedClasses::publish() {
  auto names = listed_;
  for (const auto& each : followed_) {
    const auto known = each.follower->names();
    if (!known) continue;
    for (const auto& name : *known) {
      const bool tenants = name.size() > k_prefix && name[k_prefix - 1] == '-' &&
                           is_tenant_(std::string_view(name).substr(0, k_prefix - 1));
      const bool system =
          each.overlay == static_cast<std::size_t>(translate::Overlay::priority_class) &&
          name.starts_with("system-");
      if (!tenants && !system) names.classes[each.overlay].insert(name);
    }
  }
  if (names.classes != upstream_.shared_names()->classes) {
    upstream_.set_shared_names(std::make_shared<const translate::SharedNames>(std::move(names)));
  }
  timer_.start(k_refresh, [this] { publish(); });
}

} // namespace zoo::app
