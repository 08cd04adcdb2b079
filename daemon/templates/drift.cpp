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

std::string place_of(std::string_view path, std::string_view name_space, std::string_view name) {
  return fmt::format("{} {}/{}", path, name_space, name);
}

std::string instance_of(std::string_view name_space, std::string_view mark) {
  return fmt::format("{}/{}", name_space, mark);
}

} // namespace

Drift::Drift(upstream::Upstream& upstream, net::Loop& loop, Hears hears)
    : upstream_(upstream), loop_(loop), hears_(std::move(hears)) {}

Drift::~Drift() = default;

void Drift::applied(const std::string& name_space, const std::string& mark,
                    const std::vector<Applied>& objects) {
  std::vector<std::string> begin;
  {
    const std::lock_guard lock(mutex_);
    const auto instance = instance_of(name_space, mark);
    forget_locked(instance, mark);
    for (const auto& each : objects) {
      const auto path = each.kind.collection();
      const auto key = place_of(path, name_space, each.ref.name);
      objects_.insert_or_assign(key, Object{each.digest, mark});
      of_instance_[instance].push_back(key);
      if (followers_.contains(path)) continue;
      if (followers_.size() >= k_most_kinds) {
        unheard_.insert(path);
        continue;
      }
      followers_.emplace(path, nullptr);
      begin.push_back(path);
    }
  }
  for (const auto& path : begin)
    loop_.post([this, path] { follow(path); });
}

void Drift::forget(const std::string& name_space, const std::string& mark) {
  const std::lock_guard lock(mutex_);
  forget_locked(instance_of(name_space, mark), mark);
}

void Drift::forget_locked(const std::string& instance, const std::string& mark) {
  const auto found = of_instance_.find(instance);
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
  hears.began = [this, path] { began(path); };
  hears.changed = [this, path](translate::EventType type, const translate::ObjectKey& key,
                               std::string_view object) {
    heard(path, key, type == translate::EventType::deleted, object);
  };
  auto follower = std::make_unique<upstream::ChangeFollower>(
      upstream_, loop_, upstream_.caller(loop_), path,
      upstream::Selection::by_labels(std::string(k_instance_label)), std::move(hears));
  follower->start();
  const std::lock_guard lock(mutex_);
  followers_.insert_or_assign(path, std::move(follower));
}

void Drift::began(const std::string& path) {
  std::set<std::pair<std::string, std::string>> instances;
  {
    const std::lock_guard lock(mutex_);
    const auto begin = path + ' ';
    for (auto each = objects_.lower_bound(begin);
         each != objects_.end() && each->first.starts_with(begin); ++each) {
      const auto name = std::string_view(each->first).substr(begin.size());
      instances.emplace(name.substr(0, name.find('/')), each->second.mark);
    }
  }
  hears_.missed(instances);
}

void Drift::heard(const std::string& path, const translate::ObjectKey& key, bool deleted,
                  std::string_view text) {
  const auto name = place_of(path, key.name_space, key.name);
  Object known;
  {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(name);
    if (found == objects_.end()) return; // an instance that does not follow, or has gone
    known = found->second;
  }
  auto object = json::parse(text, nullptr, false);
  if (!object.is_object()) return;
  const auto annotations = kube::texts_at(object, "/metadata/annotations");
  if (const auto drift = annotations.find(k_drift);
      drift != annotations.end() && drift->second == "ignore")
    return;
  if (!deleted && known.digest == digest_of(std::move(object))) return;
  hears_.drifted(key.name_space, known.mark);
}

std::size_t Drift::kinds() const {
  const std::lock_guard lock(mutex_);
  return followers_.size();
}

std::size_t Drift::unheard() const {
  const std::lock_guard lock(mutex_);
  return unheard_.size();
}

} // namespace zoo::templates
