// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flows/flows.hpp"
#include "daemon/translate/reviews.hpp"

namespace zoo::gateway {
namespace {

/// Answered by the evaluator that admits requests, in the tenant's names; upstream is not asked.
class ReviewFlow final : public Flow {
public:
  ReviewFlow(Exchange& exchange, translate::ReviewKind kind) : exchange_(exchange), kind_(kind) {}

  void start() override {
    auto review = translate::parse_review(kind_, exchange_.body(), exchange_.target().name_space);
    if (!review) return exchange_.fail(review.error());
    const auto& identity = exchange_.route().identity;

    if (kind_ == translate::ReviewKind::self_subject) {
      translate::ReviewUser user{identity.user, {}, identity.groups, {}};
      user.groups.emplace_back("system:authenticated");
      return reply(translate::render_self(exchange_.body(), user));
    }
    const bool self = review->user.empty() && review->groups.empty();
    Identity subject = self ? identity : Identity{review->user, review->groups, {}};
    Attributes attributes;
    if (review->attributes) {
      const auto& asked = *review->attributes;
      attributes = {asked.verb,     asked.resource_request, asked.group,      asked.version,
                    asked.resource, asked.subresource,      asked.name_space, asked.name,
                    asked.path};
    } else {
      attributes.verb = "*";
      attributes.name_space = review->name_space;
    }
    exchange_.view().authorizer->authorize(
        subject, attributes, [this, alive = exchange_.alive()](const Decision& decision) {
          if (!alive.expired() && !exchange_.done()) answer(decision);
        });
  }

private:
  void answer(const Decision& decision) {
    if (kind_ == translate::ReviewKind::self_subject_rules) {
      std::vector<translate::ReviewRule> rules;
      if (decision.allowed) {
        rules.push_back({{"*"}, {"*"}, {"*"}, {}, {}});
        rules.push_back({{"*"}, {}, {}, {}, {"*"}});
      }
      return reply(translate::render_rules(exchange_.body(), rules, false, ""));
    }
    reply(translate::render_decision(kind_, exchange_.body(),
                                     {decision.allowed, false, decision.reason, ""}));
  }

  void reply(const Result<std::string>& body) {
    if (!body) return exchange_.fail(body.error());
    exchange_.send_json(201, *body);
  }

  Exchange& exchange_;
  translate::ReviewKind kind_;
};

} // namespace

std::unique_ptr<Flow> review(Exchange& exchange) {
  const auto kind = translate::review_kind(exchange.target().group, exchange.target().resource);
  if (!kind) return nullptr;
  return std::make_unique<ReviewFlow>(exchange, *kind);
}

} // namespace zoo::gateway
