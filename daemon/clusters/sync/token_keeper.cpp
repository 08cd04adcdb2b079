// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/token_keeper.hpp"

#include "common/base/log.hpp"
#include "common/kube/age.hpp"
#include "common/kube/client.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/sync/pod_tokens.hpp"
#include "daemon/clusters/sync/words.hpp"
#include "daemon/clusters/tenant_room.hpp"
#include "daemon/tenants/footprint.hpp"

#include <charconv>
#include <unordered_map>

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;

constexpr const char* k_secrets = "/api/v1/secrets";
/// Tokens that were got wait so long for the others of their pod: the shortest last ten minutes.
constexpr std::chrono::minutes k_begun_for{2};

std::int64_t ends_of(const json& secret) {
  const auto annotations = kube::texts_at(secret, "/metadata/annotations");
  const auto found = annotations.find(k_ends_annotation);
  std::int64_t out = 0;
  if (found != annotations.end())
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), out);
  return out;
}

std::string pod_path(const std::string& space, const std::string& name) {
  return kube::path({"api", "v1", "namespaces", space, "pods", name});
}

} // namespace

std::string TokenKeeper::secrets_of(const std::string& space) const {
  return kube::path({"api", "v1", "namespaces", upstream_namespace(room_.id, space), "secrets"});
}

Result<void> TokenKeeper::patrol() {
  std::unordered_map<std::string, std::int64_t> ends; // by the name of the Secret
  {
    const auto lease = room_.upstream.take();
    constexpr std::size_t k_page = 500;
    ZOO_TRY_VOID(tenants::range_objects(*lease, k_secrets, room_.id + "-", k_page, 0, true, {},
                                        [&](const json& item) {
                                          if (const auto when = ends_of(item); when != 0)
                                            ends[kube::text_at(item, "/metadata/name")] = when;
                                        }));
  }
  const auto now = kube::unix_now();
  for (const auto& [key, uid] : pods_.with_tokens()) {
    const auto found = ends.find(token_secret_name(uid));
    const auto due = found == ends.end() ? now : token_renewal(now, found->second);
    room_.queue.add(room_.id, "t/" + key, Lane::first, std::chrono::seconds(due - now));
  }
  return {};
}

/// Of the cluster's API server, bound to the pod: it is worth nothing when that has gone.
Result<std::string> TokenKeeper::ask(const json& pod, std::string_view audience,
                                     std::int64_t seconds, std::int64_t& ends) {
  const auto space = kube::text_at(pod, "/metadata/namespace");
  auto account = kube::text_at(pod, "/spec/serviceAccountName");
  if (account.empty()) account = "default";
  json spec = {{"audiences", json::array()},
               {"expirationSeconds", seconds},
               {"boundObjectRef",
                {{"apiVersion", "v1"},
                 {"kind", "Pod"},
                 {"name", kube::text_at(pod, "/metadata/name")},
                 {"uid", kube::text_at(pod, "/metadata/uid")}}}};
  if (!audience.empty()) spec["audiences"].push_back(audience);
  const auto lease = room_.own.take();
  ZOO_TRY(const auto answer, (*lease).create(kube::path({"api", "v1", "namespaces", space,
                                                         "serviceaccounts", account, "token"}),
                                             {{"apiVersion", "authentication.k8s.io/v1"},
                                              {"kind", "TokenRequest"},
                                              {"spec", std::move(spec)}}));
  auto token = kube::text_at(answer, "/status/token");
  const auto until = kube::unix_seconds(kube::text_at(answer, "/status/expirationTimestamp"));
  if (token.empty() || until <= 0)
    return fail(Code::unavailable, "the API server of the cluster gives no token");
  ends = ends == 0 ? until : std::min(ends, until);
  return token;
}

TokenKeeper::Begun TokenKeeper::take_begun(const std::string& pod, const std::string& uid) {
  const std::scoped_lock lock(mutex_);
  const auto now = WorkTime::Clock::now();
  std::erase_if(begun_, [&](const auto& each) { return now - each.second.since > k_begun_for; });
  auto found = begun_.extract(pod);
  if (!found.empty() && found.mapped().uid == uid) return std::move(found.mapped());
  Begun out;
  out.uid = uid;
  return out;
}

void TokenKeeper::put_begun(const std::string& pod, Begun begun) {
  const std::scoped_lock lock(mutex_);
  if (begun_.size() < k_most_begun) begun_[pod] = std::move(begun);
}

void TokenKeeper::begin(const std::string& key, const json& pod) {
  const auto facts = pods_.look(key);
  if (!facts || !facts->here || !facts->there) return;
  const auto done = put(key, *facts, pod, nullptr);
  if (!done)
    room_.queue.add(room_.id, "t/" + key, Lane::first);
  else if (done->after)
    room_.queue.add(room_.id, "t/" + key, Lane::first, *done->after);
}

Result<WorkNext> TokenKeeper::work(const std::string& key) {
  const auto facts = pods_.look(key);
  if (!facts || !facts->here || facts->here->leaving || facts->here->ended) return WorkNext{};
  if (!facts->there || facts->there->owner != facts->here->uid || facts->there->leaving)
    return WorkNext{}; // begin() is called when the pod is made
  const ObjectName at(key);
  const auto& uid = facts->here->uid;
  auto pod = [&] {
    const auto lease = room_.own.take();
    return (*lease).get(pod_path(at.space, at.name));
  }();
  if (!pod && pod.error().code() == Code::not_found) return WorkNext{};
  if (!pod) return fail(std::move(pod).error());
  if (kube::text_at(*pod, "/metadata/uid") != uid || token_wants(*pod).empty()) return WorkNext{};
  if (const auto pause = room_.pace.wait(); pause.count() != 0) return WorkNext{pause};
  auto there = [&] {
    const auto lease = room_.as_tenant.take();
    return (*lease).get(secrets_of(at.space) + kube::path({token_secret_name(uid)}));
  }();
  if (!there && there.error().code() == Code::not_found) return put(key, *facts, *pod, nullptr);
  if (!there) return fail(std::move(there).error());
  const auto marks = kube::texts_at(*there, "/metadata/annotations");
  const auto mark = marks.find(k_token_annotation);
  if (mark != marks.end() && mark->second == at.name) return put(key, *facts, *pod, *there);
  log::warning("clusters",
               "{}: pod {} gets no token: upstream has a Secret {} that zood has "
               "not made",
               room_.id, key, token_secret_name(uid));
  return WorkNext{std::chrono::minutes(5), true};
}

Result<WorkNext> TokenKeeper::put(const std::string& key, const PodFacts& facts, const json& pod,
                                  const json& there) {
  const ObjectName at(key);
  const WorkTime time;
  const auto now = kube::unix_now();
  const auto& uid = facts.here->uid;
  const auto wants = token_wants(pod);
  auto begun = take_begun(key, uid);
  auto& [whose, tokens, ends, since] = begun;
  while (tokens.size() < wants.size()) {
    const auto& want = wants[tokens.size()];
    auto token = ask(pod, want.audience, want.seconds, ends);
    if (token) tokens.emplace_back(want.key, *std::move(token));
    if (token && (!time.over() || tokens.size() == wants.size())) continue;
    put_begun(key, std::move(begun));
    if (!token) return fail(std::move(token).error());
    return WorkNext{std::chrono::milliseconds(0)};
  }
  if (tokens.empty()) return WorkNext{};
  ZOO_TRY(auto body, object_in(room_.mapping(), "", "Secret",
                               token_secret(at.space, at.name, uid, facts.there->uid, tokens)));
  body["metadata"]["annotations"][k_token_annotation] = at.name;
  body["metadata"]["annotations"][k_ends_annotation] = std::to_string(ends);
  const auto collection = secrets_of(at.space);
  if (!there.is_null())
    body["metadata"]["resourceVersion"] = kube::value_at(there, "/metadata/resourceVersion");
  auto text = kube::text_of(body);
  room_.pace.spend(text.size());
  const auto lease = room_.as_tenant.take();
  if (there.is_null())
    ZOO_TRY_VOID((*lease).create_text(collection, std::move(text)).map([](const auto&) {}));
  else
    ZOO_TRY_VOID(
        (*lease)
            .update_text(collection + kube::path({token_secret_name(uid)}), std::move(text))
            .map([](const auto&) {}));
  return WorkNext{std::chrono::seconds(token_renewal(now, ends) - now)};
}

} // namespace zoo::clusters::sync
