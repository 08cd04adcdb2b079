// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/service_judge.hpp"

#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/client.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/sync/pod_dress.hpp"
#include "daemon/clusters/sync/words.hpp"
#include "daemon/clusters/tenant_room.hpp"

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;

constexpr const char* k_away =
    "the upstream was not asked: the Service has an address of the virtual cluster's choice, which "
    "upstream is asked for later";

/// For the first look at both sides, without which it is not known what the cluster has: the hook
/// waits for ten seconds.
constexpr std::chrono::seconds k_judge_wait{5};
constexpr std::chrono::milliseconds k_judge_pause{100};

/// Letters of kube-apiserver's made-up names, which spell no words.
std::string random_letters(std::size_t count) {
  constexpr std::string_view k_letters = "bcdfghjklmnpqrstvwxz2456789";
  std::string out;
  const auto bytes = crypto::random_bytes(count);
  if (!bytes) return std::string(count, 'x');
  for (const char byte : *bytes)
    out += k_letters[static_cast<unsigned char>(byte) % k_letters.size()];
  return out;
}

const MirrorKind& services() {
  return mirror_kinds()[static_cast<std::size_t>(mirror_kind_of("services"))];
}

/// With nothing of the upstream's but a name that zood has made up.
std::string passed(const ServiceReview& review) {
  return review_passed(review.uid, allocation_patch(review, json::object()), "");
}

std::string with_dry_run(std::string path, bool dry_run) {
  return dry_run ? path + "?dryRun=All" : path;
}

} // namespace

ServiceJudge::ServiceJudge(const SyncRoom& room, Mirror& mirror)
    : room_(room), mirror_(mirror), kind_(static_cast<std::size_t>(mirror_kind_of("services"))) {}

bool ServiceJudge::ask(std::string body, Done done) {
  std::uint64_t number = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (waiting_.size() >= k_most) return false;
    number = ++next_;
    waiting_.emplace(number,
                     Question{std::move(body), std::move(done), std::chrono::steady_clock::now()});
  }
  room_.queue.add(room_.id, fmt::format("h/{}", number), Lane::first);
  return true;
}

WorkNext ServiceJudge::work(const std::string& number) {
  Question question;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = waiting_.find(std::stoull(number));
    if (found == waiting_.end()) return {};
    if (!mirror_.known(kind_) &&
        std::chrono::steady_clock::now() - found->second.asked < k_judge_wait)
      return {k_judge_pause};
    question = std::move(found->second);
    waiting_.erase(found);
  }
  question.done(judge(question.body));
  return {};
}

std::string ServiceJudge::judge(std::string_view body) {
  auto review = read_review(body, random_letters);
  if (!review) {
    // The answer to a question needs its number, whatever else is wrong with it.
    const auto asked = kube::parse_foreign(body);
    return review_refused(kube::text_at(asked, "/request/uid"), review.error());
  }
  if (review->passes) return review_passed(review->uid, json::array(), "");
  const auto answered = judge(*review);
  if (answered) return *answered;
  const auto& error = answered.error();
  const auto name = kube::text_at(review->object, "/metadata/name");
  if (is_refusal(error)) {
    log::info("clusters", "{}: service {}/{} is refused: {}", room_.id,
              kube::text_at(review->object, "/metadata/namespace"), name, error.message());
    return review_refused(review->uid,
                          Error(error.code(), words_out(room_.mapping(), error.message())));
  }
  log::info("clusters", "{}: service {}: {}", room_.id, name, error.text());
  return review_passed(review->uid, json::array(), k_away);
}

Result<std::string> ServiceJudge::judge(const ServiceReview& review) {
  const auto& row = services();
  const auto space = kube::text_at(review.object, "/metadata/namespace");
  const auto name = kube::text_at(review.object, "/metadata/name");
  ZOO_TRY(const auto wish, dress_object(row, review.object, room_.terms()));
  if (!review.dry_run) {
    ZOO_TRY_VOID(room_.known(Store::cluster));
    ZOO_TRY_VOID(room_.open_namespace(space));
  }
  const auto upstreams = upstream_namespace(room_.id, space);
  const auto path = row.path(upstreams, name);
  // As zood, since the cluster's user may read nothing in a namespace that is not there yet.
  const auto read = [&](const std::string& what) {
    const auto lease = room_.upstream.take();
    return (*lease).get(what);
  };
  if (review.dry_run) {
    const auto known = read(kube::path({"api", "v1", "namespaces", upstreams}));
    if (!known && known.error().code() == Code::not_found) return passed(review);
  }
  auto there = read(path);
  const bool none = !there && there.error().code() == Code::not_found;
  if (!there && !none) return fail(std::move(there).error());
  const auto own = [&] { return mirror_there(*there); };
  if (there && own().owner.empty())
    return fail(Code::invalid,
                "services \"{}\": upstream has one of this name that is not the "
                "cluster's",
                name);
  if (there && review.creates && own().owner != k_unborn) {
    ZOO_TRY(const bool known, is_in_cluster(review));
    // Its API server says itself that it is there already.
    if (known || review.dry_run) return passed(review);
    const auto lease = room_.as_tenant.take();
    ZOO_TRY_VOID(remove_of(*lease, path, own().uid)); // of an earlier Service of this name
    there = fail(Code::not_found, "removed");
  }
  if (there && !review.creates && own().owner != kube::text_at(review.object, "/metadata/uid") &&
      own().owner != k_unborn)
    return fail(Code::unavailable, "upstream's is of an earlier Service of this name");
  if (!review.dry_run)
    if (const auto pause = room_.pace.wait(); pause.count() != 0)
      return fail(Code::forbidden,
                  "the virtual cluster has written too much at once: try again in {} s",
                  std::chrono::ceil<std::chrono::seconds>(pause).count());
  const auto key = space + "/" + name;
  ZOO_TRY(auto place, mirror_.claim(kind_, key, review.object, review.dry_run));
  ZOO_TRY(const auto made, there ? change(review, wish, *there) : make(review, wish));
  if (!review.dry_run) {
    room_.pace.spend(wish.bytes);
    mirror_.made(kind_, key, made);
    place.done();
  }
  return review_passed(review.uid, allocation_patch(review, made), "");
}

Result<bool> ServiceJudge::is_in_cluster(const ServiceReview& review) {
  const auto lease = room_.own.take();
  const auto there =
      (*lease).get(services().path(kube::text_at(review.object, "/metadata/namespace"),
                                   kube::text_at(review.object, "/metadata/name")));
  if (there) return true;
  if (there.error().code() != Code::not_found) return fail(there.error());
  ZOO_TRY_VOID(room_.known_store(*lease, Store::cluster));
  return false;
}

json ServiceJudge::marked(json body, const MirrorWish& wish) const {
  body["metadata"]["annotations"].update(wish.annotations);
  body["metadata"]["labels"].update(wish.labels);
  return body;
}

Result<json> ServiceJudge::make(const ServiceReview& review, const MirrorWish& wish) {
  const auto& row = services();
  ZOO_TRY_VOID(room_.allowed(row, wish.object));
  ZOO_TRY(auto body, object_in(room_.mapping(), row.group, row.kind, wish.object));
  const auto space = kube::text_at(review.object, "/metadata/namespace");
  const auto lease = room_.as_tenant.take();
  auto made = (*lease).create(
      with_dry_run(row.collection(upstream_namespace(room_.id, space)), review.dry_run),
      marked(std::move(body), wish));
  if (!made && made.error().code() == Code::not_found) room_.lost_namespace(space);
  return made;
}

Result<json> ServiceJudge::change(const ServiceReview& review, const MirrorWish& wish,
                                  const json& raw) {
  const auto& row = services();
  const auto own = room_.mapping();
  ZOO_TRY(auto outward, object_out(own, row.group, row.kind, kube::text_of(raw)));
  const auto known = kube::texts_at(raw, "/metadata/annotations");
  const auto keys = known.find(k_keys_annotation);
  const auto next =
      dressed_anew(row, std::move(outward), wish, keys == known.end() ? "" : keys->second);
  ZOO_TRY_VOID(room_.allowed(row, next));
  ZOO_TRY(auto body, object_in(own, row.group, row.kind, next));
  const auto space = kube::text_at(review.object, "/metadata/namespace");
  const auto name = kube::text_at(review.object, "/metadata/name");
  if (!review.dry_run) mirror_.set_asked(kind_, space + "/" + name);
  const auto lease = room_.as_tenant.take();
  return (*lease).update(
      with_dry_run(row.path(upstream_namespace(room_.id, space), name), review.dry_run),
      marked(std::move(body), wish));
}

} // namespace zoo::clusters::sync
