// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flows/steps.hpp"

#include "daemon/upstream/upstream.hpp"

namespace zoo::gateway {

void Asking::ask(const Outgoing& request, std::function<void(upstream::Answer)> next,
                 std::string_view accept, upstream::BufferedCall::Read read) {
  upstream::CallOptions options;
  options.body = request.body;
  // Until something was written one may be told to ask again.
  wrote_ |= request.method != "GET";
  upstream::BufferedCall::Room room;
  if (!wrote_) {
    room = [this, held = std::size_t{0}](std::size_t bytes) mutable -> Result<void> {
      if (buffer_whole(exchange_, bytes, held)) return {};
      return fail(held_too_much());
    };
  }
  retired_ = std::move(call_); // it may be the one that is calling
  call_ = std::make_unique<upstream::BufferedCall>(
      exchange_.upstream().caller(exchange_.gateway().loop()), head_of(exchange_, request, accept),
      std::move(options), exchange_.gateway().limits().object,
      [this, next = std::move(next)](Result<upstream::Answer> answer) {
        if (exchange_.done()) return;
        if (!answer) return exchange_.fail(answer.error());
        next(*std::move(answer));
      },
      std::move(room), std::move(read));
}

void Asking::refuse(const upstream::Answer& answer) {
  exchange_.heard(answer.head);
  exchange_.send_refusal(answer.head.status, answer.body);
}

void Asking::may(const Attributes& attributes, std::function<void(const Decision&)> next) {
  exchange_.view().authorizer->authorize(
      exchange_.route().principal(), attributes,
      while_open(exchange_, [this, next = std::move(next)](const Result<Decision>& decision) {
        if (!decision) return exchange_.fail(decision.error());
        next(*decision);
      }));
}

} // namespace zoo::gateway
