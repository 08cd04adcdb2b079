// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flows/ceilings.hpp"
#include "daemon/gateway/flows/definition_update.hpp"
#include "daemon/gateway/flows/further_rights.hpp"
#include "daemon/gateway/flows/steps.hpp"
#include "daemon/gateway/grants.hpp"
#include "daemon/gateway/guards.hpp"
#include "daemon/gateway/notes.hpp"
#include "daemon/gateway/scope.hpp"
#include "daemon/translate/conflicts.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/patch.hpp"
#include "daemon/translate/rewrite.hpp"
#include "daemon/translate/rules.hpp"
#include "daemon/translate/status_text.hpp"
#include "daemon/translate/validity.hpp"
#include "daemon/translate/watch_event.hpp"

namespace zoo::gateway {
namespace {

constexpr int k_tries = 5; ///< as apiserver's MaxRetryWhenPatchConflicts

/// Why what comes of a patch is not the tenant's own, and what to do instead.
std::string denial(const Error& why) {
  if (why.message().find("(rule ") != std::string::npos) return why.message();
  return why.message() + " (rule patch-results): a patch is judged by what comes of it; leave that "
                         "member as it is";
}

/// A patch is not proven, its result is (DESIGN 5): `copy`, `null`, `$patch` and their kin can undo
/// a fence in ways that no look at the patch shows.
class GuardedPatch final : public Steps {
public:
  GuardedPatch(Exchange& exchange, Outgoing request, translate::BodyFormat format,
               Rendering rendering)
      : Steps(exchange), request_(std::move(request)), format_(format),
        rendering_(std::move(rendering)) {}

  void start() override {
    for (const auto& param : request_.params) {
      if (param.key != "dryRun") continue;
      dry_ = true;
      if (param.value != "All") return nonsense();
    }
    dry_run();
  }

private:
  /// No server takes such a dryRun, and upstream says so best. Should one take it all the same, it
  /// finds a revision in the patch that no object has.
  void nonsense() {
    auto request = request_;
    auto body = translate::with_resource_version(format_, request_.body, "1");
    if (!body) return exchange_.fail(body.error());
    request.body = *std::move(body);
    ask(request, [this](const upstream::Answer& answer) {
      if (!answer.ok()) return refused(answer);
      exchange_.fail(Error(Code::internal, "the upstream takes a dryRun that there is not"));
    });
  }

  void dry_run() {
    auto request = taking();
    translate::set_param(request.params, "dryRun", "All");
    ask(request, [this](const upstream::Answer& answer) {
      if (applies() && answer.head.status == 409 && translate::is_apply_conflict(answer.body))
        return conflict(answer);
      if (!answer.ok()) {
        if (request_.again && may_have_changed(answer))
          return exchange_.run(request_.again(answer));
        if (!fence_refuses(answer)) return refused(answer);
        if (fuller()) return dry_run();
        const auto allowed = check_applied();
        return allowed ? refused(answer) : exchange_.fail(allowed.error());
      }
      const bool creates = answer.head.status == 201;
      const auto* relay = exchange_.view().relay.get();
      auto settled = translate::settle(root_of(exchange_), exchange_.mapping(), answer.body, relay,
                                       request_.stored);
      if (!settled) return exchange_.fail(settled.error());
      settled_ = creates ? std::nullopt : *std::move(settled);
      if (refuse_invalid(answer.body)) return;
      translate::RewriteContext context{exchange_.mapping(), translate::Direction::prove,
                                        exchange_.target().name_space};
      context.relay = relay;
      std::string none;
      if (auto proven = translate::rewrite(root_of(exchange_), context,
                                           settled_ ? *settled_ : answer.body, none);
          !proven) {
        if (fuller()) return dry_run();
        return exchange_.send_status(
            403, translate::forbidden_status(exchange_.target().group, exchange_.target().resource,
                                             exchange_.target().name, denial(proven.error())));
      }
      if (auto judged = check_guards(exchange_.view().guards, exchange_.mapping(),
                                     exchange_.target(), answer.body, creates);
          !judged) {
        return exchange_.fail(judged.error());
      }
      if (auto granted = check_stored_grant(exchange_, answer.body); !granted) {
        return exchange_.fail(granted.error());
      }
      if (is_definition(exchange_.target()) && !creates) return hold_definition(answer);
      const bool all = exchange_.view().authorizer->super_user(exchange_.route().principal());
      if (all || !object_needs_rights(exchange_.target())) return proven(answer);
      translate::RewriteContext outward{exchange_.mapping(), translate::Direction::outward, {}};
      std::string own;
      if (auto shown = translate::rewrite(root_of(exchange_), outward, answer.body, own); !shown)
        return exchange_.fail(shown.error());
      parameters_ = std::make_unique<ParameterRights>(exchange_, std::move(own), [this, answer] {
        exchange_.later([this, answer] { proven(answer); });
      });
      parameters_->start();
    });
  }

  void hold_definition(const upstream::Answer& trial) {
    auto path = request_.path;
    if (!exchange_.target().subresource.empty()) path.resize(path.rfind('/'));
    definition_ = std::make_unique<DefinitionFence>(
        exchange_, std::move(path), settled_ ? *settled_ : trial.body, dry_,
        [this, trial = trial](DefinitionFence::Verdict verdict) mutable {
          actor_ = verdict.actor;
          if (!verdict.body.empty()) {
            trial.body = verdict.body;
            settled_ = std::move(verdict.body);
          }
          exchange_.later([this, trial = std::move(trial)] { proven(trial); });
        },
        [this] {
          takes_ = false;
          if (++tried_ < k_tries) return exchange_.later([this] { dry_run(); });
          exchange_.fail(Error(Code::conflict, "the definition is changed by others all the "
                                               "while; try again"));
        });
    definition_->start();
  }

  bool applies() const { return format_ == translate::BodyFormat::apply_patch; }

  /// Conflicts over what zood has added are none: nobody has set it, so it is taken. This is still
  /// the dry run: if the object changes before the real request, it is tried again, without force.
  void conflict(const upstream::Answer& answer) {
    auto look = Outgoing::get(Reason::look, request_.path);
    // Read as zood: the tenant's user may not read cluster-scoped objects. Nothing of the answer is
    // told beyond the conflict.
    if (exchange_.resource().namespaced) look.actor = request_.actor;
    ask(look, [this, refusal = upstream::Answer(answer)](const upstream::Answer& stored) mutable {
      if (!stored.ok()) return refused(refusal);
      auto judged = translate::judge_conflicts(exchange_.mapping(), root_of(exchange_),
                                               refusal.body, exchange_.body(), stored.body);
      if (!judged && !takes_) {
        takes_ = true;
        return dry_run();
      }
      if (judged) refusal.body = *std::move(judged);
      refused(refusal);
    });
  }

  /// `request_`, which may take fields that other managers own upstream only.
  Outgoing taking() const {
    auto request = request_;
    if (takes_) translate::set_param(request.params, "force", "true");
    return request;
  }

  bool refuse_invalid(std::string_view stored) {
    if (!translate::has_validity(exchange_.target().group, exchange_.target().resource))
      return false;
    translate::RewriteContext outward{exchange_.mapping(), translate::Direction::outward, {}};
    std::string own;
    if (!translate::rewrite(root_of(exchange_), outward, stored, own)) return false;
    const auto status = invalidity(exchange_, own);
    if (status) exchange_.send_status(422, *status);
    return status.has_value();
  }

  bool may_have_changed(const upstream::Answer& answer) const {
    return answer.head.status == 409 ||
           (answer.head.status == 422 && format_ == translate::BodyFormat::json_patch);
  }

  /// A conflict is the client's own, and whom upstream does not know may be known in a moment.
  bool fence_refuses(const upstream::Answer& answer) const {
    return (answer.head.status == 403 || answer.head.status == 422) &&
           !refuses_our_user(exchange_, answer.head.status, answer.body);
  }

  /// Upstream's admission has refused what is applied, and zood would have refused to create it:
  /// the same is told of both. Only then, since what is there may come back as it was read.
  Result<void> check_applied() const {
    if (!applies()) return {};
    return check_guards(exchange_.view().guards, exchange_.mapping(), exchange_.target(),
                        exchange_.body(), true);
  }

  /// The lean body was not enough: is there another one?
  bool fuller() {
    if (request_.lean_body.empty()) return false;
    request_.body = std::exchange(request_.lean_body, {});
    return true;
  }

  void proven(const upstream::Answer& answer) {
    warn(answer);
    if (dry_) return answer_trial(answer);
    const auto key = translate::object_key(answer.body);
    if (!key) return exchange_.fail(key.error());
    // A dry run that would create answers 201 and has no version to hold the real one to.
    version_ = answer.head.status == 201 ? std::string() : key->resource_version;
    if (applies()) {
      const auto tree = translate::JsonTree::parse(answer.body);
      if (!tree) return exchange_.fail(tree.error());
      uid_ = tree->root()["metadata"]["uid"].string();
    }
    auto charges = service_charges(exchange_, answer.body);
    if (charges.empty()) return real(version_);
    room_ = std::make_unique<RoomFinder>(exchange_, std::move(charges),
                                         [this] { exchange_.later([this] { real(version_); }); });
    room_->start();
  }

  /// The client asked for a trial: it was one. Proven is the object; another representation of it
  /// is asked for anew.
  void answer_trial(const upstream::Answer& answer) {
    if (rendering_.wanted.representation == translate::Representation::object) return reply(answer);
    ask(
        taking(),
        [this](const upstream::Answer& rendered) {
          if (!rendered.ok()) return refused(rendered);
          reply(rendered);
        },
        rendering_.wanted.upstream_accept);
  }

  void warn(const upstream::Answer& answer) {
    if (warned_ || !has_notes(exchange_.target())) return;
    translate::RewriteContext outward{exchange_.mapping(), translate::Direction::outward, {}};
    std::string shown;
    if (!translate::rewrite(root_of(exchange_), outward, answer.body, shown)) return;
    warned_ = true;
    exchange_.warn(
        note_of(exchange_.target(), exchange_.mapping(), shown, exchange_.view().relay != nullptr));
  }

  void real(const std::string& version) {
    auto request = taking();
    if (actor_) request.actor = *actor_;
    if (settled_) { // the dry run's resourceVersion is in it
      request.method = "PUT";
      request.body = *settled_;
      request.content_type = "application/json";
    } else if (!version.empty()) {
      auto body = translate::with_resource_version(format_, request_.body, version);
      if (body && applies()) body = translate::with_uid(format_, *body, uid_);
      if (!body) return exchange_.fail(body.error());
      request.body = *std::move(body);
    }
    ask(
        request,
        [this](const upstream::Answer& answer) {
          const bool moved = may_have_changed(answer);
          // Somebody wrote in between; a conflict that is the client's own comes back in the dry
          // run.
          if (moved && ++tried_ < k_tries) {
            takes_ = false;
            return exchange_.later([this] { dry_run(); });
          }
          if (!answer.ok()) return refused(answer);
          if (definition_) note_definition(exchange_, answer.body);
          reply(answer);
        },
        rendering_.wanted.upstream_accept);
  }

  void reply(const upstream::Answer& answer) {
    std::string out;
    if (auto written = write_object(exchange_, rendering_, answer.body, out); !written) {
      return exchange_.fail(written.error());
    }
    auto head = exchange_.head_out(answer.head, translate::AnswerKind::api);
    head.headers.set("content-type", "application/json");
    head.headers.set("content-length", std::to_string(out.size()));
    exchange_.send_head(std::move(head));
    exchange_.send(out);
    exchange_.finish();
  }

  void refused(const upstream::Answer& answer) {
    const auto name = exchange_.target().name_space.empty()
                          ? std::string()
                          : exchange_.mapping().name_in(exchange_.target().name_space);
    if (request_.actor.is_client() && !name.empty() &&
        refuses_our_user(exchange_, answer.head.status, answer.body) && exchange_.first_recheck()) {
      auto again = [exchange = &exchange_, request = request_, format = format_,
                    rendering = rendering_](Actor actor) -> std::unique_ptr<Flow> {
        auto repeated = request;
        // A second refusal is told: zood is never refused this way.
        repeated.actor = actor;
        return std::make_unique<GuardedPatch>(*exchange, std::move(repeated), format, rendering);
      };
      return exchange_.run(recheck_namespace(exchange_, name, answer.body, std::move(again)));
    }
    refuse(answer);
  }

  Outgoing request_;
  translate::BodyFormat format_;
  Rendering rendering_;
  std::string version_, uid_;          ///< of what the dry run found
  bool dry_ = false;                   ///< the client wants no more than a trial
  std::optional<std::string> settled_; ///< what is stored instead of the patch's result
  std::optional<Actor> actor_;         ///< of the real request, where it is another one
  std::unique_ptr<DefinitionFence> definition_;
  std::unique_ptr<ParameterRights> parameters_;
  std::unique_ptr<RoomFinder> room_;
  int tried_ = 0;
  bool takes_ = false; ///< fields that zood had added (conflict())
  bool warned_ = false;
};

} // namespace

std::unique_ptr<Flow> guarded_patch(Exchange& exchange, Outgoing request,
                                    translate::BodyFormat format, Rendering rendering) {
  if (!request.lean_body.empty()) std::swap(request.body, request.lean_body);
  return std::make_unique<GuardedPatch>(exchange, std::move(request), format, std::move(rendering));
}

} // namespace zoo::gateway
