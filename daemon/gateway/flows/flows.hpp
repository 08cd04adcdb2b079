// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/gateway/answer.hpp"
#include "daemon/gateway/exchange.hpp"
#include "daemon/gateway/system_roles.hpp"
#include "daemon/gateway/upstream_request.hpp"
#include "daemon/upstream/buffered_call.hpp"
#include "daemon/upstream/list_source.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

/// What a request can turn into. dispatch.cpp chooses; each flow lives in a file of its own.
namespace zoo::gateway {

/// One request upstream, ready to be sent.
struct Outgoing {
  Outgoing(Actor as, std::string how, std::string where, translate::Params with = {})
      : actor(as), method(std::move(how)), path(std::move(where)), params(std::move(with)) {}

  Actor actor;
  std::string method;
  std::string path; ///< upstream's, without query
  translate::Params params;
  std::string body;
  std::string content_type; ///< of the body; "" = none
  std::string if_none_match;
  std::string lean_body;       ///< guarded_patch() tries it first; "" = there is none
  std::shared_ptr<void> place; ///< among the watches that are not shared; kept as long as this
  std::string stored;          ///< the object that the body, a patch, was made for; "" = any
  /// guarded_patch() runs it where upstream refuses since that object may have changed; null: it
  /// tells the refusal.
  std::function<std::unique_ptr<Flow>(const upstream::Answer& refusal)> again;

  /// A read as zood, for this reason.
  static Outgoing get(Reason reason, std::string path) {
    return {Actor::zood(reason), "GET", std::move(path)};
  }
};
/// Its head, with Accept.
http::RequestHead head_of(const Exchange& exchange, const Outgoing& request,
                          std::string_view accept, bool upgrade = false);

/// Straight through: one request, its answer translated as it streams.
std::unique_ptr<Flow> forward(Exchange& exchange, Outgoing&& request, AnswerShape shape,
                              Rendering rendering);

/// `next` for an answer that may come when the flow has gone: it is called while `exchange` is
/// alive() and not done(), and else nothing is.
template <typename Next>
auto while_open(Exchange& exchange, Next next) {
  return [alive = exchange.alive(), exchange = &exchange,
          next = std::move(next)](auto&&... answer) mutable {
    if (!alive.expired() && !exchange->done()) next(std::forward<decltype(answer)>(answer)...);
  };
}

// What upstream answers to a request that reaches a tenant's own service may be the service's words
// or the API server's Status.
/// Has the body to be read to know?
bool may_be_status(const http::ResponseHead& head);
/// Exchange::buffer() for an answer that is wanted whole, as it comes: `bytes` of it are here,
/// `held` were counted; below 64 KiB none are.
bool buffer_whole(Exchange& exchange, std::size_t bytes, std::size_t& held);
/// The beginning of an answer that may be a Status, until it is too long for one, or for what its
/// tenant may hold.
class Collected {
public:
  /// False: no more is taken from here on.
  bool add(Exchange& exchange, std::string_view bytes);
  std::string text;

private:
  std::size_t counted_ = 0; ///< bytes of it
  bool full_ = false;
};
/// Upstream does not know the tenant's user in a namespace that may have come or gone just now: the
/// namespace is looked at, and `again` makes the flow that asks once more. False: it is no such
/// refusal, or was looked at before.
bool recheck_refusal(Exchange& exchange, const Outgoing& request, int http_status,
                     const std::string& body, std::function<std::unique_ptr<Flow>(Outgoing)> again);

struct VirtualTarget;

/// A list that is read by key ranges (DESIGN 6): tenant-wide lists, private and overlay kinds.
struct ListPlan {
  explicit ListPlan(Actor as) : actor(as) {}

  std::string path;                        ///< upstream's
  translate::Params params;                ///< selectors, in upstream's names
  std::vector<upstream::KeyRange> ranges;  ///< more than one: merged by the tenant's names
  std::vector<upstream::KeyRange> watched; ///< Reach::watched
  std::int64_t revision = -1;              ///< Reach::revision, of a plan with `beside` only
  upstream::PageSpaces::Spaces spaces;     ///< Reach::spaces
  bool all_namespaces = false;
  Rendering rendering;
  std::vector<OwnObject> own; ///< shown beside what upstream has
  Actor actor; ///< of a watch that is not shared; ranges are read for own_keys or own_rights
  /// Of a mixed kind: what zood keeps of the tenant's own beside it (virtual.hpp); else null.
  std::shared_ptr<const VirtualTarget> beside;
};
std::unique_ptr<Flow> list(Exchange& exchange, ListPlan plan);
/// The same with `plan.beside`: both in the order of their names, at one revision.
std::unique_ptr<Flow> beside_list(Exchange& exchange, ListPlan plan);

// Shared by what reads ranges.
upstream::ListRequest list_request(Exchange& exchange, const ListPlan& plan);
/// `plan.revision` cannot be read, or is older than what the tenant has written beside upstream's:
/// everybody's are read as they are now. False: so it is already.
bool read_whole(ListPlan& plan);
/// Begins to read `request`, made by list_request(). `part` tells apart what one plan reads, for
/// the memory of page sizes.
std::unique_ptr<upstream::List> read_range(const Exchange& exchange, const ListPlan& plan,
                                           upstream::ListRequest request, std::string_view part,
                                           upstream::ListHandler& handler);
http::ResponseHead list_head(const Rendering& rendering);
/// Upstream has refused what was asked of it for a list; the revision of our making is the
/// client's.
void refuse_list(Exchange& exchange, int http_status, std::string_view body);
/// The same of a list that is handed on page by page. `start`: where the client's own page begins;
/// `begun`: something was read for it that the client has not got.
void refuse_page(Exchange& exchange, int http_status, std::string_view body,
                 const std::string& start, bool begun);
/// Does the client ask for a revision that is still to come? What is read at the newest revision
/// is never older than what it can know. True: it was answered 504, as apiserver does where it has
/// waited for such a one. `head`: see ListHandler::on_list_begin().
bool refuse_future(Exchange& exchange, std::string_view head);
bool refuse_future(Exchange& exchange, std::int64_t now);
/// That answer, by which client-go knows to ask for any version.
void refuse_too_large(Exchange& exchange, std::int64_t asked, std::int64_t now);

/// A watch of the plan's ranges, on the kind's shared one where that can be (DESIGN 7). From '' or
/// 0, and with sendInitialEvents, it begins with a list of them.
std::unique_ptr<Flow> watch(Exchange& exchange, ListPlan plan);
bool can_share_watch(const Exchange& exchange, const ListPlan& plan);

/// POST of a Namespace: it is handed out when its fence stands.
std::unique_ptr<Flow> create_namespace(Exchange& exchange, Outgoing request, Rendering rendering);

/// Is this upstream's refusal of zood's user of this tenant? Its RBAC speaks of that user; whatever
/// else says 403 is the tenant's to hear.
bool refuses_our_user(const Exchange& exchange, int http_status, std::string_view body);

/// Upstream refused the tenant's user in a namespace that is the tenant's by name: is the namespace
/// gone, going, or without its fence? Puts the fence back, or asks again as zood. `again` makes the
/// flow for the same request by another actor.
std::unique_ptr<Flow> recheck_namespace(Exchange& exchange, std::string upstream_namespace,
                                        std::string refusal,
                                        std::function<std::unique_ptr<Flow>(Actor)> again);

/// A PATCH of a guarded kind: dry run, proof on its result, the real one with a precondition
/// (DESIGN 5). `request.body` is the translated patch.
std::unique_ptr<Flow> guarded_patch(Exchange& exchange, Outgoing request,
                                    translate::BodyFormat format, Rendering rendering);

/// deletecollection where upstream's would reach beyond the tenant: one delete for each own object.
/// `to_path` gives the path of one object by its upstream key, or none: it stays.
using PathOf = std::function<std::optional<std::string>(std::string_view key)>;
std::unique_ptr<Flow> delete_collection(Exchange& exchange, ListPlan plan, Actor actor,
                                        PathOf to_path);

/// /api, /apis, /version, health, and what begins with /openapi.
Result<std::unique_ptr<Flow>> non_resource(Exchange& exchange);
Result<std::unique_ptr<Flow>> openapi(Exchange& exchange);

/// GET of a system role or binding, which lies nowhere upstream.
std::unique_ptr<Flow> own_object(Exchange& exchange, OwnObject object, Rendering rendering);

/// Access reviews, TokenReview and SelfSubjectReview, answered here.
std::unique_ptr<Flow> review(Exchange& exchange);

/// kubectl saves its annotation where an object changes to server-side apply; then `send`.
std::unique_ptr<Flow> returned_annotation(Exchange& exchange, Outgoing request,
                                          std::function<std::unique_ptr<Flow>(Outgoing)> send);

/// An update or patch of a certificate request's approval or status: the tenant's rights over its
/// signer are asked first.
std::unique_ptr<Flow> approval(Exchange& exchange, Outgoing request, translate::BodyFormat format,
                               Rendering rendering);

/// Finds the names of the tenant's volumes, of the nodes that carry its pods, or of its Services'
/// addresses, for filter_of() and reach_of(); then chooses again. A watch of nodes follows them
/// itself (pod_nodes.hpp).
std::unique_ptr<Flow> own_volumes(Exchange& exchange);
std::unique_ptr<Flow> own_addresses(Exchange& exchange);
std::unique_ptr<Flow> own_nodes(Exchange& exchange);
/// The same of volumes, for attachments: it has to be known whose each is. Code::unavailable.
std::unique_ptr<Flow> attached_volumes(Exchange& exchange);

/// Kinds that zood keeps itself (daemon/virtuals): nothing of them goes upstream but dry runs.
Result<std::unique_ptr<Flow>> virtual_kind(Exchange& exchange);

/// A get of a mixed kind's object that zood keeps; null: it lies upstream, if anywhere.
Result<std::unique_ptr<Flow>> beside_get(Exchange& exchange, const Rendering& rendering);
/// Any write of a mixed kind: what the tenant sees of upstream's is refused, the rest is its own.
std::unique_ptr<Flow> beside_write(Exchange& exchange, Rendering rendering);

/// exec, attach, port-forward, proxy, and logs over an upgraded connection: a byte tunnel.
std::unique_ptr<Flow> tunnel(Exchange& exchange, Outgoing request);

} // namespace zoo::gateway
