// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/token_keys.hpp"

#include "common/base/log.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/upstream/upstream.hpp"

#include <cstddef>
#include <utility>

namespace zoo::upstream {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t k_max_set = 64 * 1024;

} // namespace

Signature TokenKeys::check(std::string_view token) {
  const auto found = check_signature(keys_, token);
  const auto age = Clock::now() - asked_;
  if (!call_ && age >= k_between && (found != Signature::good || age >= k_last)) read_again();
  return found;
}

void TokenKeys::read_again() {
  asked_ = Clock::now();
  auto head = get_head("/openid/v1/jwks", "application/jwk-set+json, application/json");
  call_ = std::make_unique<BufferedCall>(
      upstream_.caller(loop_), std::move(head), CallOptions{}, k_max_set,
      [this](const Result<Answer>& answer) {
        const auto call = std::move(call_);
        // Those that are known stay as long as upstream is only out of reach.
        if (!answer && answer.error().code() != Code::too_large) return;
        auto keys = answer && answer->ok() ? read_key_set(answer->body)
                                           : fail(Code::not_found, "it publishes none");
        if (!keys) {
          log::debug("gateway", "upstream does not tell the keys of its tokens: {}",
                     keys.error().message());
          const auto status = answer ? answer->head.status : 0;
          if (passing(status) || status == 401) return;
          keys_.clear();
          return;
        }
        keys_ = *std::move(keys);
      });
}

} // namespace zoo::upstream
