// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/exchange.hpp"

#include "common/base/json_text.hpp"
#include "common/base/log.hpp"
#include "common/kube/age.hpp"
#include "common/kube/yaml.hpp"
#include "daemon/access/local_api.hpp"
#include "daemon/access/passage.hpp"
#include "daemon/audit/log.hpp"
#include "daemon/gateway/flows/served.hpp"
#include "daemon/gateway/render.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/translate/json.hpp"
#include "daemon/translate/json_yaml.hpp"
#include "daemon/translate/protobuf_json.hpp"
#include "daemon/translate/status_text.hpp"
#include "daemon/upstream/upstream.hpp"

#include <algorithm>
#include <charconv>

namespace zoo::gateway {
Exchange::Exchange(Gateway& gateway, http::RequestHead head, http::ServerStream& stream)
    : gateway_(gateway), head_(std::move(head)), stream_(stream), alive_(std::make_shared<int>(0)),
      begun_(std::chrono::steady_clock::now()) {}

Exchange::~Exchange() {
  if (!done_) {
    outcome_.status = 499;
    tell_audit();
  }
}

void Exchange::begin() {
  if (auto* log = gateway_.shared().audit; log != nullptr && log->refuses()) {
    return fail(Error(Code::unavailable, "the audit log has no room for another request; try "
                                         "again"));
  }
  ended_ = foretold_ = stream_.request_complete();
  if (auto known = gateway_.by_certificate(stream_.connection(), head_))
    return authenticated(*std::move(known));
  gateway_.by_token(stream_.connection(), head_, [this, alive = alive()](Result<Route> route) {
    if (!alive.expired() && !done_) authenticated(std::move(route));
  });
}

void Exchange::authenticated(Result<Route> route) {
  left_.left(audit::Stage::authn);
  if (!route) return fail(route.error());
  route_.emplace(*std::move(route));
  gateway_.enter(*this);

  auto target = translate::parse_target(head_.method, head_.target);
  if (!target) return fail(target.error());
  target_ = *std::move(target);

  auto asked = read_impersonation(head_.headers);
  if (!asked) return fail(asked.error());
  impersonation_ = *std::move(asked);
  admit();
}

void Exchange::impersonate(std::size_t at) {
  if (at == impersonation_->required.size()) {
    const auto& client = route_->principal();
    auto as = std::move(impersonation_->as);
    impersonation_.reset();
    as.id = client.id;
    as.credential = client.credential;
    as.issued = client.issued;
    as.expires = client.expires;
    as.impersonator = client.user;
    if (view().answers.passage == access::Passage::caller) {
      if (auto good = access::check_caller(as); !good)
        return fail(Error(Code::bad_request, good.error().message()));
    }
    route_->who = std::make_shared<const Principal>(std::move(as));
    return resolve();
  }
  view().authorizer->authorize(route_->principal(), impersonation_->required[at],
                               [this, at, alive = alive()](const Result<Decision>& decision) {
                                 if (alive.expired() || done_) return;
                                 if (!decision) return fail(decision.error());
                                 if (!decision->allowed)
                                   return refuse(impersonation_->required[at], *decision);
                                 impersonate(at + 1);
                               });
}

void Exchange::admit() {
  if (target_.long_running) stream_.set_high_watermark(k_most_unread);
  const auto work = target_.long_running ? Work::long_running
                    : target_.writes()   ? Work::mutation
                                         : Work::read;
  receiving_ = !ended_ && work != Work::long_running;
  auto entered =
      gateway_.shared().flow_control.enter(*view().share, view().flow, route_->principal().user,
                                           work, receiving_, [this] { return told_of_place(); });
  if (entered.place) place_.emplace(*std::move(entered.place));
  if (entered.verdict == FlowControl::Verdict::admitted) return admitted();
  if (entered.verdict != FlowControl::Verdict::queued) return refuse_place(entered.verdict);
  wait_for_place();
}

void Exchange::take_place() {
  receiving_ = false;
  const auto verdict =
      place_->received(route_->principal().user, [this] { return told_of_place(); });
  if (verdict == FlowControl::Verdict::queued) return wait_for_place();
  if (verdict != FlowControl::Verdict::admitted) return refuse_place(verdict);
  dispatch();
}

std::function<void(bool)> Exchange::told_of_place() {
  return [this, loop = &gateway_.loop(), alive = alive()](bool granted) {
    loop->post([this, granted, alive] {
      if (alive.expired() || done_) return;
      queue_timer_.reset();
      if (!granted) return refuse_place(FlowControl::Verdict::full_queue);
      if (admitted_) return dispatch();
      admitted();
    });
  };
}

void Exchange::wait_for_place() {
  queue_timer_ = std::make_unique<net::Timer>(gateway_.loop());
  queue_timer_->start(gateway_.limits().queue_wait, [this] {
    if (done_) return;
    fail(Error(
        Code::too_many_requests,
        fmt::format("no place became free within {} ms: all tenants and users together ask too "
                    "much",
                    gateway_.limits().queue_wait.count())));
  });
}

void Exchange::refuse_place(FlowControl::Verdict verdict) {
  const auto& flow = view().flow;
  const std::string_view who = view().shows_own_keys() ? "tenant" : "user";
  std::string why;
  switch (verdict) {
  case FlowControl::Verdict::full_mutations:
    why = fmt::format("this {} has {} writes in flight, its limit", who, flow.mutations);
    break;
  case FlowControl::Verdict::full_long_running:
    why = fmt::format("this {} has {} watches, logs and tunnels open, its limit", who,
                      flow.long_running);
    break;
  case FlowControl::Verdict::full_bytes:
    return refuse_bytes();
  case FlowControl::Verdict::full_queue:
    why = fmt::format("all tenants and users together ask too much, and enough of this {}'s "
                      "requests wait already",
                      who);
    break;
  default:
    why = fmt::format("this {} has {} requests in flight, its limit", who, flow.requests);
  }
  fail(Error(Code::too_many_requests, why + "; try again"));
}

void Exchange::admitted() {
  const auto length = head_.headers.get("content-length");
  std::size_t announced = 0;
  std::from_chars(length.data(), length.data() + length.size(), announced);
  if (announced > gateway_.limits().request_body) {
    return fail(
        Error(Code::too_large, fmt::format("the request body has {} bytes; at most {} are taken",
                                           announced, gateway_.limits().request_body)));
  }
  admitted_ = true;
  if (!body_.empty() && !place_->buffer(body_.size())) return refuse_bytes();
  if (held_ > 0) stream_.consume(std::exchange(held_, 0));
  if (ended_ && !done_) dispatch();
}

void Exchange::refuse_bytes() {
  fail(Error(Code::too_many_requests,
             fmt::format("the bodies of this {}'s requests, and answers that its clients have not "
                         "read, have {} bytes together, its limit; try again",
                         view().shows_own_keys() ? "tenant" : "user", view().flow.buffered)));
}

void Exchange::on_data(std::string_view bytes) {
  outcome_.bytes_in += bytes.size();
  if (dispatched_ && flow_ && !done_) {
    if (encoded_ && encoded_->socket() != nullptr) return on_frames(bytes);
    return flow_->on_tunnel_data(bytes); // which consumes them
  }
  if (done_ || dispatched_) return stream_.consume(bytes.size());
  // Until it is known who sends it, no more is taken than the stream's window holds.
  if (admitted_) {
    stream_.consume(bytes.size());
  } else {
    held_ += bytes.size();
  }
  if (body_.size() + bytes.size() > gateway_.limits().request_body) {
    return fail(Error(Code::too_large, fmt::format("the request body is larger than {} bytes",
                                                   gateway_.limits().request_body)));
  }
  if (admitted_ && !place_->buffer(bytes.size())) return refuse_bytes();
  body_.append(bytes);
}

void Exchange::consume(std::size_t bytes) {
  if (!done_) stream_.consume(bytes);
}

void Exchange::on_end() {
  if (done_ || std::exchange(foretold_, false)) return;
  if (dispatched_) {
    if (encoded_ && encoded_->socket() != nullptr) return finish(); // it went without a close
    if (flow_) flow_->on_tunnel_end();
    return;
  }
  ended_ = true;
  if (!admitted_) return;
  if (receiving_) return take_place();
  dispatch();
}

void Exchange::on_reset() {
  if (done_) return;
  done_ = true;
  outcome_.status = 499; // nginx's number for "client closed request"
  retired_ = std::move(flow_);
  place_.reset();
  alive_.reset();
  tell_audit();
}

void Exchange::on_drained() {
  count_unread();
  if (encoded_ && encoded_->socket() != nullptr && !done_) on_frames({}); // a pong may wait
  if (flow_ && writable()) flow_->on_drained();                           // else it comes once more
}

void Exchange::on_leaving() {
  leaving_ = true;
  if (flow_ && !done_) flow_->leave();
}

bool Exchange::become(Result<std::string> json) {
  if (!json) {
    fail(json.error());
  } else if (json->size() > gateway_.limits().request_body) {
    fail(Error(Code::too_large, fmt::format("the request body has {} bytes as JSON; at most {} are "
                                            "taken",
                                            json->size(), gateway_.limits().request_body)));
  } else if (json->size() > body_.size() && !place_->buffer(json->size() - body_.size())) {
    refuse_bytes();
  } else {
    body_ = *std::move(json);
  }
  return !done_;
}

void Exchange::dispatch() {
  left_.left(audit::Stage::queue);
  dispatched_ = true;
  if (impersonation_) return impersonate(0);
  resolve();
}

void Exchange::resolve() {
  if (!target_.resource_request) {
    // A definition that was just established must be there: clients ask once, and then remember.
    // Nor is an API ready whose upstream does not answer.
    const auto& path = target_.path;
    const bool serves = path.starts_with("/api") || path.starts_with("/openapi") ||
                        path == "/readyz" || path == "/healthz";
    upstream().catalog(gateway_.loop(),
                       serves ? upstream::Freshness::now : upstream::Freshness::any,
                       [this, alive = alive()](Result<upstream::CatalogPtr> catalog) {
                         if (alive.expired() || done_) return;
                         if (!catalog) return fail(catalog.error());
                         resource_.catalog = *std::move(catalog);
                         Attributes attributes;
                         attributes.resource_request = false;
                         attributes.verb = target_.verb;
                         attributes.path = target_.path;
                         authorize(std::move(attributes));
                       });
    return;
  }
  if (target_.writes() && !target_.connect &&
      head_.headers.get("content-type").starts_with(translate::k_protobuf)) {
    // One rewriter, one set of rules: what follows reads JSON (docs/decisions/006).
    if (!become(translate::protobuf_to_json(body_))) return;
    outcome_.read_as = audit::Encoding::protobuf;
    head_.headers.set("content-type", "application/json");
  }
  const bool deletes = target_.verb == "delete" || target_.verb == "deletecollection";
  if (deletes && head_.headers.get("content-type").starts_with(translate::k_yaml)) { // its options
    if (!become(kube::yaml_to_json(body_.empty() ? "{}" : body_))) return;
    outcome_.read_as = audit::Encoding::yaml;
    head_.headers.set("content-type", "application/json");
  }
  if (target_.writes() && !deletes && !target_.connect) {
    // YAML is parsed once, here, and goes upstream as JSON (DESIGN 5).
    const auto format = translate::choose_body(target_.verb, head_.headers.get("content-type"));
    if (!format) return fail(format.error());
    const bool yaml =
        *format == translate::BodyFormat::yaml ||
        (*format == translate::BodyFormat::apply_patch && !translate::check_json(body_));
    if (yaml) {
      // Otherwise upstream warns of a repeated key, or ignores it, as it was told to.
      const auto* validation = translate::find_param(target_.params, "fieldValidation");
      kube::YamlLimits limits;
      limits.keep_repeated_keys = validation == nullptr || *validation != "Strict";
      if (!become(kube::yaml_to_json(body_, limits))) return;
      outcome_.read_as = audit::Encoding::yaml;
    }
  }
  if (begin_served()) return;
  with_resource(upstream::Freshness::any);
}

bool Exchange::begin_served() {
  auto side = side_of(*this);
  if (!side) {
    fail(side.error());
    return true;
  }
  side_ = *std::move(side);
  const auto& local = view().local_api;
  if (local == nullptr ||
      !local->serves(route_->principal(), target_, head_.headers.get("content-type")))
    return false;
  judged(audit::Decision::allow, "zood answers it by the caller's own rights");
  auto flow = served(*this);
  if (flow) {
    run(*std::move(flow));
  } else {
    fail(flow.error());
  }
  return true;
}

void Exchange::with_resource(upstream::Freshness freshness) {
  if (freshness == upstream::Freshness::any) {
    if (auto known = upstream().known_catalog()) return in_catalog(std::move(known), freshness);
  }
  upstream().catalog(gateway_.loop(), freshness,
                     [this, freshness, alive = alive()](Result<upstream::CatalogPtr> catalog) {
                       if (alive.expired() || done_) return;
                       if (!catalog) return fail(catalog.error());
                       in_catalog(*std::move(catalog), freshness);
                     });
}

void Exchange::in_catalog(upstream::CatalogPtr catalog, upstream::Freshness freshness) {
  if (!find_resource(std::move(catalog))) {
    // A definition may be a moment old: upstream is asked once more before the 404.
    if (freshness == upstream::Freshness::any && mapping().custom_group(target_.group)) {
      return with_resource(upstream::Freshness::now);
    }
    return send_status(404, not_served());
  }
  authorize({target_.verb, true, target_.group, target_.version, target_.resource,
             target_.subresource, target_.name_space, target_.authorization_name(), ""});
}

std::string Exchange::not_served() const {
  // A custom resource without this subresource: upstream answers as if the object were not there.
  if (resource_.own_group && !target_.subresource.empty() && !target_.name.empty())
    return translate::not_found_status(target_.group, target_.resource, target_.name);
  return translate::make_status(Code::not_found, translate::no_resource().value().message());
}

bool Exchange::find_resource(upstream::CatalogPtr catalog) {
  const auto* found =
      catalog->find_visible(view().viewer(), target_.group, target_.version, target_.resource);
  if (found == nullptr || !target_.in_place(found->namespaced)) return false;
  resource_.namespaced = found->namespaced;
  resource_.own_group = mapping().custom_group(target_.group);
  resource_.facts =
      resource_.own_group ? nullptr : translate::find_facts(target_.group, target_.resource);
  resource_.kind = found->kind;
  resource_.kind_group = target_.group;
  if (!target_.subresource.empty()) {
    const auto sub =
        std::find_if(found->subresources.begin(), found->subresources.end(),
                     [this](const auto& each) { return each.name == target_.subresource; });
    if (sub == found->subresources.end()) return false;
    resource_.kind = sub->kind;
    // Upstream leaves the group and version of a kind out where they are the resource's own.
    if (!sub->version.empty()) {
      resource_.kind_group = mapping().group_out(sub->group).value_or("");
    }
  }
  resource_.catalog = std::move(catalog);
  return true;
}

void Exchange::authorize(Attributes attributes) {
  asked_ = std::move(attributes);
  if (const auto known = view().authorizer->decide_now(route_->principal(), asked_))
    return authorized(*known);
  view().authorizer->authorize(route_->principal(), asked_,
                               [this, alive = alive()](const Result<Decision>& decision) {
                                 if (alive.expired() || done_) return;
                                 if (!decision) return fail(decision.error());
                                 authorized(*decision);
                               });
}

void Exchange::recheck_rights() {
  if (done_ || !flow_ || !target_.long_running) return;
  flow_->recheck();
  if (done_) return;
  if (policy_) { // no older one is kept for it
    if (auto now = view().authorizer->known()) policy_ = std::move(now);
  }
  if (const auto expires = route_->principal().expires; expires != 0 && expires <= kube::unix_now())
    return withdraw("the certificate that opened this stream has expired");
  if (route_->principal().credential != access::k_token_credential) {
    const auto route = gateway_.by_certificate(stream_.connection(), {});
    if (route && !*route)
      return withdraw("the certificate that opened this stream is not good any more");
  }
  if (side_changed(*this)) {
    if (!head_sent_) return fail(Error(Code::expired, std::string(k_spaces_changed)));
    return withdraw(k_spaces_changed);
  }
  if (lost_right()) return withdraw("the right that opened this stream was taken away");
  // One question of each sort at a time: while upstream hangs they would pile up.
  if (route_->principal().credential == access::k_token_credential &&
      !std::exchange(asks_token_, true)) {
    gateway_.by_token(stream_.connection(), head_,
                      [this, alive = alive()](const Result<Route>& route) {
                        if (alive.expired()) return;
                        asks_token_ = false;
                        if (done_ || route) return;
                        if (route.error().code() == Code::unauthorized)
                          withdraw("the bearer token is not valid any more");
                      });
    if (done_) return;
  }
  if (view().authorizer->super_user(route_->principal()) || std::exchange(asks_policy_, true))
    return;
  view().authorizer->policy([this, alive = alive()](const Result<authz::PolicyPtr>& policy) {
    if (alive.expired()) return;
    asks_policy_ = false;
    // While nothing is known, what was allowed goes on.
    if (done_ || !policy || *policy == judged_) return;
    judged_ = *policy;
    if (!judged_->decide(user_of(route_->principal()), asked_).allowed)
      withdraw("the right that opened this stream was taken away");
  });
}

/// Where upstream judges, it may have allowed what its RBAC does not: only who had it by that can
/// lose it.
bool Exchange::lost_right() {
  const auto& known = view().rights;
  if (known == nullptr || own_spaces_ || asked_.verb.empty()) return false;
  auto rights = known->rights();
  if (!rights || *rights == judged_rights_) return false;
  judged_rights_ = *std::move(rights);
  const bool had = std::exchange(
      had_right_, judged_rights_->decide(user_of(route_->principal()), asked_).allowed);
  return had && !had_right_;
}

void Exchange::withdraw(std::string_view why) {
  log::info("gateway", "{} {} of {} ends: {}", head_.method, http::logged(head_.target),
            access::owner_of(route_->principal()), why);
  outcome_.reason = why;
  ends(audit::Ending::withdrawn);
  // A watch may end at any time, and its client comes back to hear why.
  if (target_.verb == "watch" && head_sent_) return finish();
  abort(Error(Code::forbidden, std::string(why)));
}

void Exchange::authorized(const Decision& decision) {
  if (!decision.allowed) return refuse(asked_, decision);
  if (target_.long_running) (void)lost_right(); // from now on
  judged(audit::Decision::allow, decision.reason);
  // Aggregated roles are filled in, and what a write grants is compared with what the writer has.
  const bool super_user = view().authorizer->super_user(route_->principal());
  const bool asks = target_.resource_request && target_.group == translate::k_rbac_group &&
                    view().holds(Fence::objects) &&
                    (!super_user || target_.resource == "clusterroles");
  if (!asks) return begin_flow();
  view().authorizer->policy(
      [this, super_user, alive = alive()](const Result<authz::PolicyPtr>& policy) {
        if (alive.expired() || done_) return;
        // Where the tenant's RBAC cannot be evaluated, its administrator is the one to mend it.
        if (!policy && !super_user) return fail(policy.error());
        if (policy) policy_ = *policy;
        begin_flow();
      });
}

void Exchange::refuse(const Attributes& attributes, const Decision& decision) {
  judged(audit::Decision::forbid, decision.reason.empty()
                                      ? std::string_view("no rule of the tenant's RBAC allows it")
                                      : std::string_view(decision.reason));
  const auto& user = route_->principal().user;
  if (!attributes.resource_request) {
    auto status = translate::forbidden_path_status(user, attributes.verb, attributes.path);
    if (!decision.reason.empty()) {
      status = translate::make_status(Code::forbidden,
                                      fmt::format("forbidden: User {} cannot {} path {}: {}",
                                                  json_quote(user), attributes.verb,
                                                  json_quote(attributes.path), decision.reason));
    }
    return send_status(403, status);
  }
  auto reason =
      translate::denied_reason(user, attributes.verb, attributes.group, attributes.resource,
                               attributes.subresource, attributes.name_space);
  if (!decision.reason.empty()) reason += ": " + decision.reason;
  send_status(403, translate::forbidden_status(attributes.group, attributes.resource,
                                               attributes.name, reason));
}

void Exchange::begin_flow() {
  auto flow = choose_flow(*this);
  if (!flow) return fail(flow.error());
  run(*std::move(flow));
  // It may be open for days, and upstream's discovery is another one by then.
  if (target_.long_running) resource_.catalog.reset();
}

void Exchange::run(std::unique_ptr<Flow> flow) {
  left_.left(audit::Stage::authz);
  retired_ = std::move(flow_);
  flow_ = std::move(flow);
  flow_->start();
  if (leaving_ && flow_ && !done_) flow_->leave();
}

void Exchange::later(std::function<void()> next) {
  gateway_.loop().post([next = std::move(next), alive = alive(), this] {
    if (!alive.expired() && !done_) next();
  });
}

Error held_too_much() {
  return Error(Code::too_many_requests,
               "the requests of this tenant hold as many bytes as they may together; try again");
}

} // namespace zoo::gateway
