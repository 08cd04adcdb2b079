// SPDX-License-Identifier: Apache-2.0
#include "common/base/json_text.hpp"
#include "daemon/access/local_api.hpp"
#include "daemon/gateway/flows/steps.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/reviews.hpp"

#include <algorithm>

namespace zoo::gateway {
namespace {

using translate::ReviewKind;

/// Answered by the evaluator that admits requests, in the tenant's names; upstream is asked about
/// tokens only.
class ReviewFlow final : public Flow {
public:
  ReviewFlow(Exchange& exchange, ReviewKind kind) : exchange_(exchange), kind_(kind) {}

  void start() override {
    auto review = translate::parse_review(kind_, exchange_.body(), exchange_.target().name_space);
    if (!review) return exchange_.fail(review.error());
    switch (kind_) {
    case ReviewKind::self_subject:
      return reply(translate::render_self(exchange_.body(), user(principal())));
    case ReviewKind::token:
      return token(*review);
    case ReviewKind::self_subject_rules:
      return rules(review->name_space);
    default:
      return access(*review);
    }
  }

private:
  const Principal& principal() const { return exchange_.route().principal(); }

  static translate::ReviewUser user(const Principal& of) {
    return {of.user, of.uid, of.groups, of.extra};
  }

  void access(const translate::Review& review) {
    Principal subject = principal();
    if (kind_ != ReviewKind::self_subject_access) {
      // As it was asked: nobody is a member of a group that the question does not name.
      subject = {};
      subject.user = review.user;
      subject.groups = review.groups;
      subject.uid = review.uid;
      subject.extra = review.extra;
    }
    const auto& asked = *review.attributes;
    exchange_.view().authorizer->authorize(
        subject,
        {asked.verb, asked.resource_request, asked.group, asked.version, asked.resource,
         asked.subresource, asked.name_space, asked.name, asked.path},
        while_open(exchange_, [this](const Result<Decision>& decision) {
          if (!decision) return exchange_.fail(decision.error());
          reply(translate::render_decision(kind_, exchange_.body(),
                                           {decision->allowed, false, decision->reason, ""}));
        }));
  }

  void rules(const std::string& name_space) {
    exchange_.view().authorizer->rules(
        principal(), name_space,
        while_open(exchange_, [this](const Result<authz::Policy::Rules>& held) {
          if (!held) return exchange_.fail(held.error());
          std::vector<translate::ReviewRule> rules;
          for (const auto& rule : held->rules)
            rules.push_back({rule.verbs, rule.groups, rule.resources, rule.names, rule.paths});
          std::string errors;
          for (const auto& error : held->errors)
            errors += (errors.empty() ? "" : ", ") + error;
          reply(translate::render_rules(exchange_.body(), rules, held->truncated, errors));
        }));
  }

  void token(const translate::Review& review) {
    const auto& audiences = review.audiences;
    if (!audiences.empty() &&
        std::find(audiences.begin(), audiences.end(), access::k_audience) == audiences.end()) {
      return reply(translate::render_no_token(exchange_.body(),
                                              "[invalid bearer token, token audiences [\"" +
                                                  std::string(access::k_audience) +
                                                  "\"] is invalid for the target audiences]"));
    }
    exchange_.gateway().source().by_token(
        exchange_.connection(), review.token,
        while_open(exchange_, [this](const Result<Route>& found) {
          const bool unknown = !found && found.error().code() == Code::unauthorized;
          if (!found && !unknown) return exchange_.fail(found.error());
          // Of another tenant's token nothing is told, not even that it is one.
          if (unknown || found->principal().id != exchange_.route().principal().id) {
            return reply(translate::render_no_token(exchange_.body(), "invalid bearer token"));
          }
          reply(translate::render_token(exchange_.body(), user(found->principal()),
                                        access::k_audience));
        }));
  }

  void reply(const Result<std::string>& body) {
    if (!body) return exchange_.fail(body.error());
    exchange_.send_json(201, *body);
  }

  Exchange& exchange_;
  ReviewKind kind_;
};

/// A SelfSubjectAccessReview of which the answer is known.
class Decided final : public Flow {
public:
  Decided(Exchange& exchange, Decision decision)
      : exchange_(exchange), decision_(std::move(decision)) {}

  void start() override {
    const auto body = translate::render_decision(ReviewKind::self_subject_access, exchange_.body(),
                                                 {decision_.allowed, false, decision_.reason, ""});
    if (!body) return exchange_.fail(body.error());
    exchange_.send_json(201, *body);
  }

private:
  Exchange& exchange_;
  const Decision decision_;
};

/// Does any version of it have namespaces?
bool namespaced(const Exchange& exchange, std::string_view group, std::string_view resource) {
  const auto* found = exchange.resource().catalog->find_group(group);
  if (found == nullptr) return false;
  for (const auto& version : found->versions)
    for (const auto& each : version.resources)
      if (each.name == resource) return each.namespaced;
  return false;
}

/// Would zood answer, filtered by his rights, what upstream would refuse him?
std::optional<Decision> filtered(const Exchange& exchange, const Attributes& asked) {
  const auto& view = exchange.view();
  const auto& who = exchange.route().principal();
  if (view.local_api != nullptr) {
    if (auto decided = view.local_api->decides(who, asked)) return decided;
  }
  const bool reads = asked.verb == "list" || asked.verb == "watch";
  if (!reads || !asked.name_space.empty() || !asked.subresource.empty() ||
      !namespaced(exchange, asked.group, asked.resource))
    return std::nullopt;
  const auto rights = view.rights->rights();
  if (!rights) return std::nullopt;
  const auto reach = (*rights)->namespaces_of(user_of(who), asked);
  if (reach.everywhere || reach.namespaces.empty()) return std::nullopt;
  return Decision{true, fmt::format("zood shows what stands in the {} namespaces where you may",
                                    reach.namespaces.size())};
}

/// The rules that upstream tells of, and what zood answers beside them.
class AddedRules final : public Steps {
public:
  AddedRules(Exchange& exchange, std::string rules) : Steps(exchange), rules_(std::move(rules)) {}

  void start() override {
    Outgoing request(Actor::client(), "POST", exchange_.target().path, exchange_.target().params);
    request.body = exchange_.body();
    request.content_type = "application/json";
    ask(request, [this](upstream::Answer answer) {
      if (!answer.ok()) return refuse(answer);
      const auto tree = translate::JsonTree::parse(answer.body);
      if (!tree) return exchange_.fail(tree.error());
      auto rules = tree->root()["status"]["resourceRules"];
      if (rules.is(translate::JsonType::array)) {
        const auto* const comma = rules.first() ? "," : "";
        answer.body.insert(rules.begin() + 1, rules_ + comma);
      }
      exchange_.send_json(answer.head.status, answer.body);
    });
  }

private:
  const std::string rules_;
};

/// What zood answers about namespaces that upstream would refuse, as rules; "": nothing.
std::string namespace_rules(const Exchange& exchange) {
  const auto& local = exchange.view().local_api;
  if (local == nullptr) return {};
  const auto& who = exchange.route().principal();
  const auto answered = [&](const char* verb) {
    const auto decided = local->decides(who, {verb, true, "", "v1", "namespaces", "", "", "", ""});
    return decided && decided->allowed;
  };
  std::string verbs;
  for (const auto* verb : {"list", "watch", "create"})
    if (answered(verb)) verbs += (verbs.empty() ? "" : ",") + json_quote(verb);
  if (verbs.empty()) return {};
  return R"({"verbs":[)" + verbs + R"(],"apiGroups":[""],"resources":["namespaces"]})";
}

/// At a door that filters lists: yes where the filter answers; null: upstream's own answer.
std::unique_ptr<Flow> filtered_review(Exchange& exchange) {
  const auto& target = exchange.target();
  const auto kind = translate::review_kind(target.group, target.resource);
  if (target.verb != "create") return nullptr;
  if (kind == ReviewKind::self_subject_rules) {
    auto rules = namespace_rules(exchange);
    if (rules.empty()) return nullptr;
    return std::make_unique<AddedRules>(exchange, std::move(rules));
  }
  if (kind != ReviewKind::self_subject_access) return nullptr;
  const auto review = translate::parse_review(*kind, exchange.body(), target.name_space);
  if (!review || !review->attributes || !review->attributes->resource_request) return nullptr;
  const auto& asked = *review->attributes;
  const auto decision =
      filtered(exchange, {asked.verb, true, asked.group, asked.version, asked.resource,
                          asked.subresource, asked.name_space, asked.name, ""});
  if (!decision) return nullptr;
  return std::make_unique<Decided>(exchange, *decision);
}

} // namespace

std::unique_ptr<Flow> review(Exchange& exchange) {
  if (exchange.view().rights != nullptr) return filtered_review(exchange);
  if (!exchange.view().serves(Local::reviews)) return nullptr;
  const auto kind = translate::review_kind(exchange.target().group, exchange.target().resource);
  if (!kind) return nullptr;
  return std::make_unique<ReviewFlow>(exchange, *kind);
}

} // namespace zoo::gateway
