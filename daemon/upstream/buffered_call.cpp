// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/buffered_call.hpp"

#include <utility>

namespace zoo::upstream {

BufferedCall::BufferedCall(Caller& caller, http::RequestHead head, CallOptions options,
                           std::size_t limit, std::function<void(Result<Answer>)> done, Room room,
                           Read read)
    : limit_(limit), done_(std::move(done)), room_(std::move(room)), read_(std::move(read)) {
  call_ = caller.start(std::move(head), std::move(options), *this);
}

BufferedCall::~BufferedCall() = default;

void BufferedCall::on_head(http::ResponseHead head) { answer_.head = std::move(head); }

void BufferedCall::on_data(std::string_view bytes) {
  if (read_ && answer_.head.status == 200) {
    if (auto read = read_(bytes); !read) finish(fail(std::move(read).error()));
    return;
  }
  if (answer_.body.size() + bytes.size() > limit_) {
    finish(fail(Code::too_large, "the upstream's answer is larger than {} bytes", limit_));
    return;
  }
  if (room_) {
    if (auto room = room_(answer_.body.size() + bytes.size()); !room)
      return finish(fail(std::move(room).error()));
  }
  answer_.body.append(bytes);
}

void BufferedCall::on_end() { finish(std::move(answer_)); }

void BufferedCall::on_error(Error error) { finish(fail(std::move(error))); }

void BufferedCall::finish(Result<Answer> result) {
  // `done` may destroy this object: nothing of it is touched afterwards.
  const auto call = std::move(call_);
  const auto done = std::move(done_);
  if (done) done(std::move(result));
}

} // namespace zoo::upstream
