// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/quota_gate.hpp"

#include "daemon/translate/discovery_json.hpp"

#include <atomic>
#include <utility>

namespace zoo::accounts {
namespace {

using Kind = quota::Judge::Verdict::Kind;

class BrokerGate final : public access::QuotaGate {
public:
  BrokerGate(QuotaBroker& broker, std::shared_ptr<const access::UpstreamRights> rights,
             std::function<bool()> upstream_asks)
      : broker_(broker), rights_(std::move(rights)), upstream_asks_(std::move(upstream_asks)) {}

  bool concerns(std::string_view space) const override {
    if (upstream_asks_()) return false; // or another zood is asked
    return broker_.read([&](const quota::Judge& judge) { return !judge.owner_of(space).empty(); });
  }

  std::unique_ptr<Pass> ask(const access::QuotaAsk& ask, net::Loop& loop,
                            std::function<void(const std::string& refusal)> done) const override {
    auto way = std::make_unique<Way>(broker_);
    const auto tree = translate::JsonTree::parse(ask.body);
    const quota::Counted kind{ask.group, ask.resource};
    auto cost = tree ? quota::cost_of(kind, tree->root(), std::chrono::system_clock::now())
                     : fail(Code::invalid, "no JSON");
    // What cannot be read is upstream's to refuse.
    if (!cost || !may_create(ask)) {
      loop.post([done = std::move(done)] { done({}); });
      return way;
    }
    way->made_up = ask.name.empty();
    auto& asked = way->ask;
    asked.space = ask.space;
    asked.key =
        quota::object_key(kind, way->made_up ? "~" + std::to_string(next_.fetch_add(1)) : ask.name);
    asked.cost = *std::move(cost);
    asked.dry_run = ask.dry_run;
    auto answer = broker_.ask(asked, [&loop, done](const QuotaBroker::Verdict& verdict) {
      loop.post([done, verdict] { done(verdict.kind == Kind::deny ? verdict.text : ""); });
    });
    if (answer.verdict)
      loop.post([done = std::move(done), verdict = *answer.verdict] {
        done(verdict.kind == Kind::deny ? verdict.text : "");
      });
    way->waiting = std::move(answer.waiting);
    return way;
  }

private:
  struct Way final : Pass {
    explicit Way(QuotaBroker& broker_of) : broker(broker_of) {}
    /// Under a name that was made up here nobody will see it: the object counts by now, or it is
    /// not there.
    ~Way() override {
      waiting.reset();
      if (made_up) broker.refused(ask);
    }
    QuotaBroker& broker;
    quota::Judge::Ask ask;
    bool made_up = false;
    std::unique_ptr<QuotaBroker::Waiting> waiting;
  };

  bool may_create(const access::QuotaAsk& ask) const {
    if (ask.user == nullptr) return true;
    const auto rights = rights_->rights();
    if (!rights) return false;
    authz::Attributes wanted;
    wanted.verb = "create";
    wanted.group = ask.group;
    wanted.resource = ask.resource;
    wanted.name_space = ask.space;
    return (*rights)->decide(*ask.user, wanted).allowed;
  }

  QuotaBroker& broker_;
  const std::shared_ptr<const access::UpstreamRights> rights_;
  const std::function<bool()> upstream_asks_;
  mutable std::atomic<std::uint64_t> next_ = 1;
};

} // namespace

std::shared_ptr<const access::QuotaGate>
make_quota_gate(QuotaBroker& broker, std::shared_ptr<const access::UpstreamRights> rights,
                std::function<bool()> upstream_asks) {
  return std::make_shared<const BrokerGate>(broker, std::move(rights), std::move(upstream_asks));
}

} // namespace zoo::accounts
