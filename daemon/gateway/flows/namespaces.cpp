// SPDX-License-Identifier: Apache-2.0
#include "common/base/json_text.hpp"
#include "common/base/log.hpp"
#include "daemon/gateway/flows/standing.hpp"
#include "daemon/gateway/flows/steps.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/status_text.hpp"
#include "daemon/translate/watch_event.hpp"
#include "daemon/upstream/upstream.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <vector>

namespace zoo::gateway {
namespace {

class Fencing : public Steps {
protected:
  /// `failure`: whether who is told of it may ask again.
  Fencing(Exchange& exchange, Code failure)
      : Steps(exchange), failure_(failure), timer_(exchange.gateway().loop()) {}

  /// Puts into the namespace what has to be there first, then raises the fence.
  void open(const std::string& name, std::function<void()> next) {
    const auto& asks = exchange_.gateway().shared().furnisher;
    const auto furnisher = asks ? asks() : nullptr;
    const auto& id = exchange_.mapping().id();
    if (!furnisher || !furnisher->concerns(id)) return raise_fence(name, std::move(next));
    furnisher->furnish(id, name, exchange_.gateway().loop(),
                       [this, alive = std::weak_ptr<void>(alive_), name,
                        next = std::move(next)](const Result<void>& done) mutable {
                         if (alive.expired() || exchange_.done()) return;
                         if (done) return raise_fence(name, std::move(next));
                         not_furnished(name, done.error());
                       });
  }

  /// `why`: as Furnisher::furnish() says.
  virtual void not_furnished(const std::string& /*name*/, const Error& why) {
    exchange_.fail(Error(
        failure_, fmt::format("the namespace is not ready yet: {}; try again", why.message())));
  }

private:
  /// Writes RoleBinding zoo-tenant, and at the same time what else is kept in a namespace; then
  /// waits until upstream's authorizer knows the binding: its informer is some milliseconds behind
  /// its store.
  void raise_fence(const std::string& name, std::function<void()> next) {
    name_ = name;
    next_ = std::move(next);
    const auto& texts = exchange_.view().texts;
    auto kept = texts.kept_in(exchange_.view(), name);
    writing_ = kept.size() + 1;
    write({"/apis/rbac.authorization.k8s.io/v1/namespaces/" + name + "/rolebindings",
           texts.of_binding(exchange_.mapping().id(), name)},
          true);
    for (auto& each : kept)
      write(std::move(each), false);
  }

  /// `needed`: without it the tenant reaches nothing there. What else is refused, for a quota or an
  /// admission policy say, the controller of tenants tries again and tells of.
  void write(access::NewObject object, bool needed) {
    Outgoing request(Actor::zood(Reason::room), "POST", std::move(object.collection));
    request.content_type = "application/json";
    request.body = std::move(object.json);
    upstream::CallOptions options;
    options.body = request.body;
    writes_.push_back(std::make_unique<upstream::BufferedCall>(
        exchange_.upstream().caller(exchange_.gateway().loop()),
        head_of(exchange_, request, "application/json"), std::move(options),
        exchange_.gateway().limits().object,
        [this, path = request.path, needed](const Result<upstream::Answer>& answer) {
          if (exchange_.done()) return;
          if (!answer) return exchange_.fail(answer.error());
          written(*answer, path, needed);
        }));
  }

  void written(const upstream::Answer& answer, const std::string& path, bool needed) {
    constexpr int k_exists = 409, k_forbidden = 403, k_invalid = 422;
    const auto status = answer.head.status;
    const bool refused = status == k_forbidden || status == k_invalid;
    if (!answer.ok() && status != k_exists) {
      log::warning("gateway", "{} could not be written to: {} {}", path, status, answer.body);
      if (needed || !refused)
        return exchange_.fail(Error(
            failure_, "the namespace is not ready yet: its access could not be set up; try again"));
    }
    if (--writing_ == 0) wait_for_fence(name_, 0, std::move(next_));
  }

  void wait_for_fence(const std::string& name, std::size_t tries, std::function<void()> next) {
    const Outgoing probe(Actor::client(), "GET", "/api/v1/namespaces/" + name + "/configmaps",
                         {{"limit", "1"}});
    ask(probe, [this, name, tries, next = std::move(next)](const upstream::Answer& answer) mutable {
      if (answer.ok()) return next();
      static constexpr std::array k_waits{2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000};
      if (answer.head.status != 403 || tries >= k_waits.size()) {
        return exchange_.fail(Error(
            failure_, "the namespace is not ready yet: upstream does not grant access; try again"));
      }
      timer_.start(std::chrono::milliseconds(k_waits[tries]),
                   [this, name, tries, next = std::move(next)]() mutable {
                     if (!exchange_.done()) wait_for_fence(name, tries + 1, std::move(next));
                   });
    });
  }

  const Code failure_;
  net::Timer timer_;
  std::string name_;           ///< of the namespace, upstream
  std::function<void()> next_; ///< when its fence stands
  std::size_t writing_ = 0;    ///< writes that have no answer
  std::vector<std::unique_ptr<upstream::BufferedCall>> writes_;
  std::shared_ptr<void> alive_ = std::make_shared<int>(0);
};

class CreateNamespace final : public Fencing {
public:
  CreateNamespace(Exchange& exchange, Outgoing request, Rendering rendering)
      : Fencing(exchange, Code::timeout), request_(std::move(request)),
        rendering_(std::move(rendering)) {}

  void start() override {
    ask(request_, [this](upstream::Answer answer) {
      if (!answer.ok()) {
        return refuse(answer);
      }
      answer_ = std::move(answer);
      const auto* dry_run = translate::find_param(request_.params, "dryRun");
      if (dry_run != nullptr) return reply();
      const auto key = translate::object_key(answer_.body);
      if (!key) return exchange_.fail(key.error());
      label(key->name, [this, name = key->name] { open(name, [this] { reply(); }); });
    });
  }

private:
  /// The policy for pods goes by it, and who makes a namespace cannot say it.
  void label(const std::string& name, std::function<void()> next) {
    const auto& texts = exchange_.view().texts;
    if (texts.inside.empty()) return next();
    Outgoing request(Actor::zood(Reason::room), "PATCH", "/api/v1/namespaces/" + name);
    request.content_type = "application/merge-patch+json";
    request.body = texts.of_inside(texts.inside);
    ask(request, [this, name, next = std::move(next)](upstream::Answer answer) {
      if (!answer.ok()) {
        log::warning("gateway", "namespace {} could not be labelled: {} {}", name,
                     answer.head.status, answer.body);
        return exchange_.fail(Error(Code::timeout,
                                    "the namespace is not ready yet: its label could "
                                    "not be written; try again"));
      }
      answer_.body = std::move(answer.body); // of its version by now
      next();
    });
  }

  /// A template that cannot be made: the namespace goes again, and the answer says why.
  void not_furnished(const std::string& name, const Error& why) override {
    if (why.code() != Code::invalid && why.code() != Code::forbidden)
      return Fencing::not_furnished(name, why);
    Outgoing request(Actor::zood(Reason::room), "DELETE", "/api/v1/namespaces/" + name);
    const auto tree = translate::JsonTree::parse(answer_.body);
    const auto uid = tree ? tree->root()["metadata"]["uid"].string() : std::string();
    request.content_type = "application/json";
    request.body = R"({"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":)" +
                   json_quote(uid) + "}}";
    ask(request, [this, name, text = std::string(why.message())](const upstream::Answer& answer) {
      constexpr int k_gone = 404;
      if (!answer.ok() && answer.head.status != k_gone)
        log::warning("gateway", "namespace {} could not be taken away: {} {}", name,
                     answer.head.status, answer.body);
      exchange_.fail(Error(Code::invalid, text + "; the namespace was not created"));
    });
  }

  void reply() {
    std::string out;
    Rendering plain = rendering_;
    if (plain.wanted.representation != translate::Representation::object) {
      plain.wanted.representation = translate::Representation::object;
    }
    if (auto written = write_object(exchange_, plain, answer_.body, out); !written) {
      return exchange_.fail(written.error());
    }
    exchange_.heard(answer_.head);
    exchange_.send_json(answer_.head.status, out);
  }

  Outgoing request_;
  Rendering rendering_;
  upstream::Answer answer_;
};

/// The request for a namespace that appears to exist and does not.
class MakeStanding final : public Fencing {
public:
  MakeStanding(Exchange& exchange, std::string name,
               std::function<Result<std::unique_ptr<Flow>>()> then)
      : Fencing(exchange, Code::unavailable), name_(std::move(name)), then_(std::move(then)) {}

  void start() override {
    Outgoing request(Actor::zood(Reason::room), "POST", "/api/v1/namespaces");
    request.content_type = "application/json";
    const auto& texts = exchange_.view().texts;
    request.body = texts.of_namespace(exchange_.mapping().id(), name_, texts.inside);
    ask(request, [this](const upstream::Answer& answer) {
      // Somebody may have been faster, or it is there all the time: whose it is, is asked later.
      if (answer.head.status == 409) return go_on();
      if (!answer.ok()) return refuse(answer);
      open(name_, [this] { go_on(); });
    });
  }

private:
  void go_on() {
    exchange_.later([this] {
      auto flow = then_();
      if (!flow) return exchange_.fail(flow.error());
      exchange_.run(*std::move(flow));
    });
  }

  std::string name_;
  std::function<Result<std::unique_ptr<Flow>>()> then_;
};

class Recheck final : public Fencing {
public:
  Recheck(Exchange& exchange, std::string name, std::string refusal,
          std::function<std::unique_ptr<Flow>(Actor)> again)
      : Fencing(exchange, Code::unavailable), name_(std::move(name)), refusal_(std::move(refusal)),
        again_(std::move(again)) {}

  void start() override {
    const auto request = Outgoing::get(Reason::look, "/api/v1/namespaces/" + name_);
    ask(request, [this](const upstream::Answer& answer) {
      // The path was proven to be in the tenant's prefix. Where there is no such namespace, or it
      // is going (and its RoleBinding went before it), upstream's own answer to who may is the one
      // that the tenant has to hear.
      if (answer.head.status == 404) {
        const bool appears = is_standing_upstream(exchange_, name_);
        if (!may_repeat()) return not_there();
        if (!appears || !exchange_.target().writes()) return repeat(Actor::client_anywhere());
        return exchange_.later([this] {
          exchange_.run(
              make_standing(exchange_, name_, [again = again_] { return again(Actor::client()); }));
        });
      }
      if (!answer.ok()) return forbidden();
      const auto tree = translate::JsonTree::parse(answer.body);
      if (!tree) return forbidden();
      const auto metadata = tree->root()["metadata"];
      if (metadata["labels"][translate::k_tenant_label].string() != exchange_.mapping().id()) {
        return not_there(); // not the tenant's, whatever its name
      }
      if (metadata["deletionTimestamp"])
        return may_repeat() ? repeat(Actor::client_anywhere()) : forbidden();
      open(name_, [this] { repeat(Actor::client()); });
    });
  }

private:
  void repeat(Actor actor) {
    exchange_.later([this, actor] { exchange_.run(again_(actor)); });
  }

  /// What reads, deletes or opens a tunnel to a node, and writes of whole objects; of a group of
  /// the tenant's own everything is the tenant's. It may be there, or stored, only now: upstream's
  /// policies see it as the tenant's.
  bool may_repeat() const {
    const auto& target = exchange_.target();
    if (target.connect) return target.subresource != "proxy";
    return !target.writes() || target.subresource.empty() || exchange_.resource().own_group;
  }

  void forbidden() { exchange_.send_refusal(403, refusal_); }

  void not_there() {
    const auto tenant_name = exchange_.mapping().name_out(name_).value_or("");
    exchange_.send_status(404, translate::not_found_status("", "namespaces", tenant_name));
  }

  std::string name_;
  std::string refusal_;
  std::function<std::unique_ptr<Flow>(Actor)> again_;
};

} // namespace

std::unique_ptr<Flow> create_namespace(Exchange& exchange, Outgoing request, Rendering rendering) {
  return std::make_unique<CreateNamespace>(exchange, std::move(request), std::move(rendering));
}

std::unique_ptr<Flow> make_standing(Exchange& exchange, std::string upstream_name,
                                    std::function<Result<std::unique_ptr<Flow>>()> then) {
  return std::make_unique<MakeStanding>(exchange, std::move(upstream_name), std::move(then));
}

bool refuses_our_user(const Exchange& exchange, int http_status, std::string_view body) {
  return http_status == 403 &&
         body.find("User \\\"" + exchange.view().upstream_user + "\\\"") != std::string_view::npos;
}

std::unique_ptr<Flow> recheck_namespace(Exchange& exchange, std::string upstream_namespace,
                                        std::string refusal,
                                        std::function<std::unique_ptr<Flow>(Actor)> again) {
  return std::make_unique<Recheck>(exchange, std::move(upstream_namespace), std::move(refusal),
                                   std::move(again));
}

} // namespace zoo::gateway
