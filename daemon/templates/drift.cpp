// SPDX-License-Identifier: Apache-2.0
#include "daemon/templates/drift.hpp"

#include "common/base/log.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/upstream/change_follower.hpp"
#include "daemon/upstream/upstream.hpp"

#include <utility>

namespace zoo::templates {
namespace {

using nlohmann::json;

std::string key_of(std::string_view path, std::string_view name_space, std::string_view name) {
  return fmt::format("{} {}/{}", path, name_space, name);
}

} // namespace

Drift::Drift(upstream::Upstream& upstream, net::Loop& loop, Hears hears)
    : upstream_(upstream), loop_(loop), hears_(std::move(hears)) {}

Drift::~Drift() = default;

void Drift::applied(const std::string& name_space, const std::string& mark,
                    const std::vector<Applied>& objects) {
  forget(name_space, mark);
  for (const auto& each : objects) {
    const auto path = each.kind.collection();
    bool begins = false;
    {
      const std::lock_guard lock(mutex_);
      const auto key = key_of(path, name_space, each.ref.name);
      objects_.insert_or_assign(key, Object{each.digest, mark});
      of_instance_[fmt::format("{}/{}", name_space, mark)].push_back(key);
      if (!followers_.contains(path)) {
        begins = followers_.size() < k_most_kinds;
        if (begins) {
          followers_.emplace(path, nullptr);
        } else {
          ++unheard_;
        }
      }
    }
    if (!begins) continue;
    loop_.post([this, path] { follow(path); });
  }
}

void Drift::forget(const std::string& name_space, const std::string& mark) {
  const std::lock_guard lock(mutex_);
  const auto found = of_instance_.find(fmt::format("{}/{}", name_space, mark));
  if (found == of_instance_.end()) return;
  for (const auto& key : found->second) {
    const auto object = objects_.find(key);
    if (object != objects_.end() && object->second.mark == mark) objects_.erase(object);
  }
  of_instance_.erase(found);
}

void Drift::follow(const std::string& path) {
  upstream::ChangeFollower::Hears hears;
  hears.whole = true;
  hears.began = [this] { hears_.missed(); };
  hears.changed = [this, path](translate::EventType type, const translate::ObjectKey&,
                               std::string_view object) {
    heard(path, type == translate::EventType::deleted, object);
  };
  auto follower = std::make_unique<upstream::ChangeFollower>(
      upstream_, loop_, upstream_.caller(loop_), path,
      upstream::Selection::by_labels(std::string(k_instance_label)), std::move(hears));
  follower->start();
  const std::lock_guard lock(mutex_);
  followers_.insert_or_assign(path, std::move(follower));
}

void Drift::heard(const std::string& path, bool deleted, std::string_view text_of_object) {
  auto object = json::parse(text_of_object, nullptr, false);
  if (!object.is_object()) return;
  const auto name_space = kube::text_at(object, "/metadata/namespace");
  const auto key = key_of(path, name_space, kube::text_at(object, "/metadata/name"));
  std::string mark; // which the object may not carry any more
  {
    const std::lock_guard lock(mutex_);
    const auto known = objects_.find(key);
    if (known == objects_.end()) return; // an instance that does not follow, or has gone
    if (object.value("/metadata/annotations"_json_pointer, json::object())
            .value(std::string(k_drift), "") == "ignore")
      return;
    if (!deleted && known->second.digest == digest_of(std::move(object))) return;
    mark = known->second.mark;
  }
  hears_.drifted(name_space, mark);
}

std::size_t Drift::kinds() const {
  const std::lock_guard lock(mutex_);
  return followers_.size();
}

std::size_t Drift::unheard() const {
  const std::lock_guard lock(mutex_);
  return unheard_;
}

} // namespace zoo::templates
