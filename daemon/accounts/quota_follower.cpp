// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/quota_follower.hpp"

#include "common/base/text.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/upstream/upstream.hpp"

#include <utility>

namespace zoo::accounts {
namespace {

constexpr std::string_view k_exceeded = "exceeded quota: ", k_requested = ", requested: ",
                           k_used = ", used: ";
/// Names of one refusal: no ResourceQuota of zood's has more. Anybody may write an event.
constexpr std::size_t k_most_refused = 256;

} // namespace

quota::ResourceList refused_for(std::string_view message) {
  quota::ResourceList out;
  const auto begin = message.find(k_exceeded);
  if (begin == std::string_view::npos) return out;
  message.remove_prefix(begin + k_exceeded.size());
  const auto requested = message.find(k_requested), used = message.find(k_used);
  if (!message.starts_with(quota::k_slice) || requested == std::string_view::npos ||
      used == std::string_view::npos || used < requested)
    return out;
  const auto list =
      message.substr(requested + k_requested.size(), used - requested - k_requested.size());
  for (const auto part : text::split(list, ',')) {
    if (out.size() == k_most_refused) break;
    const auto equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    if (const auto amount = kube::Quantity::parse(part.substr(equals + 1)))
      out.insert_or_assign(std::string(part.substr(0, equals)), *amount);
  }
  return out;
}

QuotaFollower::QuotaFollower(upstream::Upstream& upstream, net::Loop& loop, QuotaTable& table,
                             std::function<void(std::string_view)> touched, QuotaBroker* broker,
                             std::function<void(bool)> hears_slices)
    : loop_(loop), table_(table), touched_(std::move(touched)), broker_(broker) {
  const auto all = [this](const std::vector<std::string>& accounts) {
    for (const auto& account : accounts)
      touched_(account);
  };
  const auto follow = [&](std::string path, std::string fields,
                          upstream::ChangeFollower::Hears hears) {
    hears.whole = true;
    return std::make_unique<upstream::ChangeFollower>(upstream, loop, upstream.caller(loop),
                                                      std::move(path), std::move(fields),
                                                      std::move(hears));
  };
  using translate::EventType;
  upstream::ChangeFollower::Hears quotas;
  quotas.looks = [this] { quotas_found_.clear(); };
  quotas.found = [this, all](std::string_view name, std::string_view object) {
    quotas_found_.emplace(name);
    all(table_.put_quota(object));
  };
  quotas.began = [this, all] { all(table_.keep_quotas(std::exchange(quotas_found_, {}))); };
  quotas.changed = [this, all](EventType type, const translate::ObjectKey& key,
                               std::string_view object) {
    all(type == EventType::deleted ? table_.remove_quota(key.name) : table_.put_quota(object));
  };
  quotas_ = follow("/apis/config.kiosk.sh/v1alpha1/accountquotas", "", std::move(quotas));

  upstream::ChangeFollower::Hears slices;
  slices.looks = [this] { slices_found_.clear(); };
  slices.found = [this](std::string_view, std::string_view object) {
    if (const auto key = translate::object_key(object))
      slices_found_.insert(key->name_space + '/' + key->name);
    heard_slice(object);
  };
  slices.began = [this] {
    for (const auto& gone : table_.keep_slices(std::exchange(slices_found_, {})))
      tell_lost(gone.owner, gone.space, gone.name);
  };
  slices.changed = [this](EventType type, const translate::ObjectKey& key,
                          std::string_view object) {
    if (type != EventType::deleted) return heard_slice(object);
    table_.put_other(key.name_space, key.name, false);
    tell_lost(table_.remove_slice(key.name_space, key.name), key.name_space, key.name);
  };
  slices.hearing = std::move(hears_slices);
  slices_ = follow("/api/v1/resourcequotas", "", std::move(slices));

  upstream::ChangeFollower::Hears events;
  events.began = [] {}; // what was refused before is refused again, if it is still wanted
  events.changed = [this](EventType type, const translate::ObjectKey&, std::string_view object) {
    if (type != EventType::deleted) heard_event(object);
  };
  events_ = follow("/api/v1/events", "reason=FailedCreate", std::move(events));
}

void QuotaFollower::start() {
  loop_.post([this] {
    quotas_->start();
    slices_->start();
    events_->start();
  });
}

void QuotaFollower::heard_slice(std::string_view object) {
  const auto slice = read_known_slice(object);
  if (!slice) {
    if (const auto key = translate::object_key(object))
      table_.put_other(key->name_space, key->name, true);
    return;
  }
  const auto owner = table_.put_slice(*slice);
  if (broker_ != nullptr)
    broker_->with([&](quota::Judge& judge) {
      judge.slice_seen(0, slice->space, slice->name, slice->revision, slice->slice,
                       std::chrono::steady_clock::now());
    });
  touched_(owner);
}

void QuotaFollower::tell_lost(const std::string& owner, const std::string& space,
                              const std::string& name) {
  touched_(owner);
  if (broker_ != nullptr)
    broker_->with([&](quota::Judge& judge) { judge.slice_gone(space, name); });
}

void QuotaFollower::heard_event(std::string_view object) {
  if (object.find(k_exceeded) == std::string_view::npos) return;
  const auto tree = translate::JsonTree::parse(object);
  if (!tree) return;
  const auto more = refused_for(tree->root()["message"].string());
  if (more.empty()) return;
  const auto space = tree->root()["metadata"]["namespace"].string();
  const auto owners = table_.owners_in(space);
  if (owners.empty()) return;
  if (!table_.want(space, more)) return;
  for (const auto& owner : owners)
    touched_(owner);
}

} // namespace zoo::accounts
