// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/continue_token.hpp"

#include "common/base/json_text.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/gateway/exchange.hpp"

namespace zoo::gateway {
namespace {

constexpr std::string_view k_associated = "zood continue token";

std::string digest(std::string_view bytes) {
  const auto sum = crypto::sha256(bytes);
  return std::string(reinterpret_cast<const char*>(sum.data()), sum.size());
}

translate::ContinueRecord record_of(const Exchange& exchange) {
  const auto& target = exchange.target();
  translate::ContinueRecord record;
  record.tenant = exchange.mapping().id();
  record.uid = exchange.view().answers.passage == access::Passage::caller
                   ? "u:" + exchange.route().principal().user
                   : exchange.view().uid;
  record.path_hash = digest(target.path);
  // A separator that neither selector can contain.
  record.selector_hash = digest(target.list.label_selector + '\0' + target.list.field_selector);
  return record;
}

} // namespace

namespace {

/// Of no list: what is sealed is a token of upstream's.
constexpr std::int64_t k_upstreams = 0;

Result<translate::ContinueRecord> open_record(const Exchange& exchange, std::string_view token);

} // namespace

std::string seal_continue(const Exchange& exchange, std::int64_t revision, std::string_view start) {
  auto record = record_of(exchange);
  record.revision = revision;
  record.start = start;
  return crypto::base64url_encode(exchange.gateway().shared().continue_sealer->seal(
      translate::format_record(record), k_associated));
}

std::string seal_upstream_token(const Exchange& exchange, std::string_view upstream_token) {
  return seal_continue(exchange, k_upstreams, upstream_token);
}

Result<std::string> open_upstream_token(const Exchange& exchange, std::string_view token) {
  ZOO_TRY(const auto record, open_record(exchange, token));
  if (record.revision == k_upstreams) return record.start;
  return translate::upstream_token({record.revision, record.start});
}

Result<translate::UpstreamPosition> open_continue(const Exchange& exchange,
                                                  std::string_view token) {
  ZOO_TRY(const auto record, open_record(exchange, token));
  if (record.revision == k_upstreams) return translate::parse_upstream_token(record.start);
  return translate::UpstreamPosition{record.revision, record.start};
}

namespace {

Result<translate::ContinueRecord> open_record(const Exchange& exchange, std::string_view token) {
  const auto refuse = [] {
    return fail(Code::bad_request, "continue key is not valid: it is not of this list");
  };
  const auto sealed = crypto::base64url_decode(token);
  if (!sealed) return refuse();
  const auto plain = exchange.gateway().shared().continue_sealer->open(*sealed, k_associated);
  if (!plain) return refuse();
  const auto record = translate::parse_record(plain->view());
  if (!record) return refuse();
  auto expected = record_of(exchange);
  expected.revision = record->revision;
  expected.start = record->start;
  if (!(expected == *record)) return refuse();
  return *record;
}

} // namespace

std::string expired_with_token(std::string_view token) {
  return R"({"kind":"Status","apiVersion":"v1","metadata":{"continue":)" + json_quote(token) +
         R"(},"status":"Failure","message":"this page was asked for too late: the upstream no longer )"
         R"(remembers the list's revision. Start again without continue, or go on with the token in )"
         R"(this answer; what changed since the first page may then be missing or shown anew.",)"
         R"("reason":"Expired","code":410})";
}

} // namespace zoo::gateway
