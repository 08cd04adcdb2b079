// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/json_value.hpp"
#include "daemon/translate/mapping.hpp"
#include "daemon/translate/rules.hpp"
#include "daemon/translate/webhook_relay.hpp"

#include <cstddef>
#include <string>
#include <string_view>

/// What reviews of admission and of conversion have in common. For the .cpp files of this room;
/// pure, any thread.
namespace zoo::translate {

/// A webhook's answer, as long as upstream's request may be.
inline constexpr std::size_t k_longest_review_answer = std::size_t{3} << 20;
inline constexpr std::size_t k_longest_review_text = std::size_t{32} << 10; ///< of its message

/// The bytes of `text` up to a length, cut before a character that does not fit.
std::string cut_text(std::string text, std::size_t bytes);

/// A review that upstream sent. Code::bad_request: it is none of this kind.
Result<JsonValue> parse_asked(std::string_view body, std::string_view kind);
/// The tenant's answer. Code::invalid: too long, no JSON, or not what `asked` must be answered by.
/// Its `response` is an object; its uid is right where upstream looks at it (v1).
Result<JsonValue> parse_answered(std::string_view answer, std::string_view kind,
                                 const JsonValue& asked);
/// What upstream is answered: `response`, with the uid of what it asked.
std::string review_answer(std::string_view kind, const JsonValue& asked, JsonValue response);

/// One object of a review, outward and inward.
Result<JsonValue> object_out(const Root& root, const Mapping& mapping, std::string_view own_space,
                             const JsonValue& object);
Result<JsonValue> object_in(const Root& root, const Mapping& mapping, std::string_view own_space,
                            const JsonValue& object);
Result<void> prove_object(const Root& root, const Mapping& mapping, std::string_view own_space,
                          const JsonValue& object);

const JsonValue* within(const JsonValue& object, std::string_view member, std::string_view next);
std::string text_of(const JsonValue* value); ///< "" for null

/// `userInfo` in the tenant's words: of its own users what they are there, of its ServiceAccounts
/// their own names, of others no more than their names and Kubernetes' groups. Code::forbidden:
/// another tenant's.
Result<JsonValue> review_user_out(const Mapping& mapping, const JsonValue& user);
// What of an answer is handed on: the members that upstream shows, as long as they may be.
JsonValue review_status_in(const Mapping& mapping, const JsonValue& status);
JsonValue review_warnings_in(const JsonValue& list);
JsonValue review_annotations_in(const JsonValue& map);

/// The two kinds of reviews (relay_review.cpp, relay_conversion.cpp).
Result<OutwardReview> conversion_out(const Mapping& mapping, const HookName& name,
                                     std::string_view body);
Result<std::string> conversion_in(const Mapping& mapping, const HookName& name,
                                  std::string_view asked, std::string_view answer);

} // namespace zoo::translate
