// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/accounts/bindings.hpp"
#include "daemon/accounts/space_rules.hpp"
#include "daemon/accounts/state.hpp"
#include "daemon/accounts/tenant_source.hpp"
#include "daemon/upstream/connections.hpp"

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace zoo::templates {
struct ChartWish;
}

namespace zoo::accounts {

/// What writes of accounts and spaces are made with; all of it outlives them. The functions may be
/// called from any thread.
struct WriteParts {
  /// A connection to the upstream as zood.
  upstream::Connections::Connect connect;
  /// The same, but that a write is sent once, though a kept connection turns out to be dead: for
  /// what nobody compares with upstream before the user has the answer.
  upstream::Connections::Connect connect_once;
  std::function<Result<StatePtr>()> state;
  /// Views::wait().
  std::function<bool(const std::function<bool(const State&)>&, std::chrono::milliseconds)> wait;
  TenantOf tenant_of;
  const TenantSource* tenants = nullptr; ///< null: there are none
  std::function<std::int64_t()> now;     ///< Unix seconds
  /// Puts into a new space what has to be there before anybody has access. `patience`: how long it
  /// may wait for what is long in coming; Code::timeout if it is not there by then. Null: nothing.
  std::function<Result<void>(upstream::ControlApi&, const std::string& space, const Account&,
                             std::chrono::milliseconds patience)>
      furnish;
  /// Puts the TemplateInstances right that a space has by its account (null: nobody owns it). Null:
  /// nothing.
  std::function<Result<void>(upstream::ControlApi&, const std::string& space, const Account*)>
      keep_templates;
  /// A connection to the upstream that acts for somebody else.
  std::function<std::unique_ptr<upstream::ActingApi>()> connect_as;
  /// Renders a chart: DeployerParts::render. Null: there are none.
  std::function<Result<std::string>(upstream::ControlApi&, const templates::ChartWish&,
                                    std::chrono::milliseconds wait)>
      render;

  std::string default_cluster_role = "admin"; ///< accounts.default_cluster_role
  /// Before a namespace that there is becomes an account's: has the account room in its quotas for
  /// what is in it? Code::forbidden says what is full. Null: nothing is asked.
  std::function<Result<void>(const std::string& account, const std::string& space)> room;
  bool single_account_default = true; ///< accounts.single_account_default
  /// A space that is not ready so long after it was asked for is taken back.
  std::chrono::seconds deadline{600};
  /// What another zood, or a request, may have in hand, is left alone for so long.
  std::chrono::seconds grace{10};
  /// A creation asks upstream for nothing more behind this; the controller goes on with it. So the
  /// answer comes within this, one request's timeout and `seen_within`: kube-apiserver and its
  /// aggregator wait for 60 seconds.
  std::chrono::milliseconds answer_within{20'000};
  /// How long a creation waits for a chart; the controller goes on with it.
  std::chrono::milliseconds chart_within{15'000};
  /// How long a creation waits until the space is seen by its maker.
  std::chrono::milliseconds seen_within{5'000};
  std::function<void(std::string_view step)> on_step; ///< for tests: before each step
  /// By which `answer_within` is measured; other than this for tests alone.
  std::function<std::chrono::steady_clock::time_point()> clock = std::chrono::steady_clock::now;

  void step(std::string_view name) const {
    if (on_step) on_step(name);
  }
};

/// A connection that asks for nothing more when `answer_within` is over: Code::timeout, and nothing
/// was sent. `api` and `parts` outlive it; one thread at a time.
class Timed final : public upstream::ControlApi {
public:
  Timed(upstream::ControlApi& api, const WriteParts& parts)
      : api_(api), parts_(parts), until_(parts.clock() + parts.answer_within) {}
  bool over() const { return parts_.clock() >= until_; }
  Result<http_client::Response> request(std::string_view method, std::string_view path,
                                        std::string_view content_type, std::string body,
                                        std::string_view accept) override;

private:
  upstream::ControlApi& api_;
  const WriteParts& parts_;
  const std::chrono::steady_clock::time_point until_;
};

/// Who asked for a space: the annotation k_space_request of its namespace.
struct SpaceRequest {
  std::string requester, account, id; ///< `id`: of this creation, as in status.pending
  std::int64_t started = 0;           ///< Unix seconds
  std::string text() const;           ///< JSON
  static std::optional<SpaceRequest> read(std::string_view text);
};

/// How a space comes to be, step by step (docs/decisions/176). All that it knows stands in the
/// namespace and in the Account, and each step may be done twice, so a zood that ends in between is
/// followed by one that goes on from there; members have no access before the last but one. Any
/// thread; calls block.
class Saga {
public:
  explicit Saga(const WriteParts& parts) : parts_(parts) {}

  /// Makes the namespace, which is reserved already. `query`: behind the path.
  /// Code::already_exists, or what upstream refuses it with; the reservation goes then.
  Result<nlohmann::json> begin(upstream::ControlApi& api, nlohmann::json namespace_object,
                               const SpaceRequest& request, std::string_view query);

  /// Goes on with a namespace that begin() made until it is ready; it is a space then. A failure
  /// for which may_pass() is true leaves it as it is. Behind any other, and when the deadline is
  /// over, it is taken back: nothing is left, and the error says why; unless another zood has made
  /// it ready meanwhile, which counts.
  Result<nlohmann::json> finish(upstream::ControlApi& api, const nlohmann::json& namespace_object,
                                bool answered);

  /// Nobody else goes on with a space while a request of this zood has it in hand.
  class Hold {
  public:
    Hold(Saga& saga, std::string space);
    Hold(const Hold&) = delete;
    ~Hold();

  private:
    Saga& saga_;
    std::string space_;
  };
  bool held(std::string_view space) const;

  /// Writers of one account's status follow one another here, since each of their
  /// compare-and-swaps would make the others' fail. Nothing rests on it: who waits too long for his
  /// turn goes on without it.
  std::unique_lock<std::timed_mutex> turn(std::string_view account);

private:
  Result<nlohmann::json> forward(upstream::ControlApi& api, const nlohmann::json& namespace_object,
                                 const SpaceRequest& request, bool answered);
  /// Answers the namespace if another zood has made it ready meanwhile, else null: it is gone.
  Result<nlohmann::json> back(upstream::ControlApi& api, const nlohmann::json& namespace_object,
                              const SpaceRequest& request, const Error& why, bool answered);
  Result<nlohmann::json> remove_half_made(upstream::ControlApi& api,
                                          nlohmann::json namespace_object,
                                          const SpaceRequest& request);

  const WriteParts& parts_;
  mutable std::mutex mutex_;
  std::multiset<std::string, std::less<>> held_;
  std::array<std::timed_mutex, 16> turns_;
};

} // namespace zoo::accounts
