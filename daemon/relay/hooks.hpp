// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/http/field_lines.hpp"
#include "daemon/net/tls.hpp"
#include "daemon/relay/limits.hpp"
#include "daemon/translate/webhook_relay.hpp"
#include "daemon/upstream/buffered_call.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace zoo::relay {

/// The pure half of the relay (translate/webhook_relay.hpp), so that tests can have another.
struct Reviews {
  std::function<Result<translate::HookTarget>(const translate::Mapping&, const translate::HookName&,
                                              std::string_view stored)>
      target = translate::hook_target;
  std::function<Result<translate::OutwardReview>(const translate::Mapping&,
                                                 const translate::HookName&, std::string body)>
      out = translate::review_out;
  std::function<Result<std::string>(const translate::Mapping&, const translate::HookName&,
                                    std::string_view asked, std::string_view answer)>
      in = translate::review_in;
};

/// A webhook as it is stored, ready to be called. Immutable.
struct Hook {
  translate::HookTarget target;
  std::shared_ptr<const net::TlsClientContext> tls; ///< verifies target.server by target.ca_pem
  std::shared_ptr<const http::FieldLines> as;       ///< the tenant's user
};
using HookPtr = std::shared_ptr<const Hook>;

/// "validating/foofoo-cfg/hook.example.com": what a webhook is remembered by.
std::string key_of(const translate::HookName& name);
/// Where the object stands that names the webhook, upstream.
std::string path_of(const translate::HookName& name);

/// The webhooks that are called, by what upstream has stored of them. Read as zood itself (a
/// decision rests on it, and nothing of it is shown), once, and remembered until somebody says that
/// the object has changed; while nobody would, for a second. Who asks for the same at the same time
/// shares the answer. On one loop.
class Hooks {
public:
  /// `hears`: is changed() called for whatever changes now?
  Hooks(upstream::Caller& caller, const Reviews& reviews, const Limits& limits,
        std::function<bool()> hears)
      : caller_(caller), reviews_(reviews), limits_(limits), hears_(std::move(hears)) {}

  /// `done` may come from inside the call. Code::not_found: there is no such webhook;
  /// Code::invalid: nobody can verify it; Code::unavailable.
  using Done = std::function<void(Result<HookPtr>)>;
  void find(const translate::Mapping& mapping, const translate::HookName& name, Done done);

  /// An object of that name is another than it was, or gone.
  void changed(std::string_view object);
  void all_changed();
  /// What is known of it may be old: who asks after Limits::doubted reads it again.
  void doubt(const translate::HookName& name);

private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    Entry(translate::Mapping of, translate::HookName which)
        : mapping(std::move(of)), name(std::move(which)) {}
    const translate::Mapping mapping;
    const translate::HookName name;
    HookPtr hook; ///< null: not known
    Clock::time_point since{};
    bool stale = false; ///< it has changed while it was being read
    std::vector<Done> waiting;
    std::unique_ptr<upstream::BufferedCall> call;
  };
  using EntryPtr = std::shared_ptr<Entry>;
  void ask(const EntryPtr& entry);
  void settle(const EntryPtr& entry, Result<HookPtr> hook);
  Result<HookPtr> read(const Entry& entry, std::string_view stored) const;

  upstream::Caller& caller_;
  const Reviews& reviews_;
  const Limits& limits_;
  const std::function<bool()> hears_;
  std::unordered_map<std::string, EntryPtr> known_; ///< by key_of(); Limits::hooks at most
  std::unordered_set<EntryPtr> asking_;             ///< Limits::calls at most
};

} // namespace zoo::relay
