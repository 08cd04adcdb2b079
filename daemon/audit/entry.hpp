// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/tenant.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace zoo::audit {

enum class Decision {
  none,            ///< it ended before anybody decided: unreadable, over a limit, cut off
  allow,           ///< and whatever happened afterwards
  forbid,          ///< by rights
  unauthenticated, ///< nobody knows who it was
};

/// What a request goes through, and what of it is slow: who is it; it is received, and waits for a
/// place; may he; until the answer begins (upstream, mostly); until all of that was told.
inline constexpr std::array<std::string_view, 5> k_stages = {"authn", "queue", "authz",
                                                             "upstream_first_byte", "write"};
enum class Stage : std::uint8_t { authn, queue, authz, first_byte, write };

/// Why a watch is over whose answer had begun.
enum class Ending : std::uint8_t {
  none,      ///< it was no watch, or one that was refused
  done,      ///< in order: its time was over, or upstream ended it
  leaving,   ///< in order: zood ends
  expired,   ///< its client has to list again
  withdrawn, ///< the credential or the right that opened it is not good any more
  unread,    ///< its client, or others of its tenant, do not read
  client,    ///< it went away
  broken,    ///< upstream, or something that could not be translated
};

/// What a body was in, as the client had it.
enum class Encoding : std::uint8_t { json, protobuf, yaml };

/// One request that is over: who, what, and what became of it. Never a body, a query (it carries
/// commands and tokens), a header's value beside User-Agent, or an answer. Views into the exchange.
struct Entry {
  std::chrono::system_clock::time_point time; ///< when it was over
  std::chrono::microseconds took{};
  std::string_view door; ///< "tenants", "admin", "accounts", "aggregated"
  std::string_view tenant, user, impersonator, credential, peer, user_agent;
  std::span<const std::string> groups;
  std::string_view verb, group, version, resource, subresource, name_space, name;
  std::string_view path; ///< of what is no resource; a query is cut off here
  int code = 0;          ///< 499: the client went away
  std::size_t bytes_in = 0, bytes_out = 0;
  Decision decision = Decision::none;
  std::string_view reason;
  std::string_view trace_id; ///< of the client's traceparent
  Ending ending = Ending::none;
  /// Of bodies whose objects were translated; nullopt: none was, as of logs and tunnels.
  std::optional<Encoding> read_as, told_as;
  /// How long each Stage took; all 0 where nobody looked, as of what is long-running.
  std::array<std::chrono::microseconds, k_stages.size()> stages{};
};

/// Appends it as one line of JSON without its end. What is long is cut; empty members are left out.
/// `replica`: the zood that writes it, where several have one store; else "". Bounded: k_most_line
/// bytes. Pure.
void append_line(std::string& out, const Entry& entry, std::string_view replica);
inline constexpr std::size_t k_most_line = 32 * 1024;

/// Answered 401 or 403, whoever said so: zood, or upstream of what zood allowed (its admission, a
/// right that cannot be handed on). Also what was cut off after zood had refused it. As
/// api::AuditQuery::denied asks it of a line.
bool denied(const Entry& entry);

/// Does a policy of this level want it?
bool wants(api::AuditLevel level, const Entry& entry);

} // namespace zoo::audit
