// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/reply.hpp"

#include <string>
#include <utility>

namespace zoo::resources {

Reply::Reply(const http::RequestHead& head, http::ServerStream& stream, Scheduler& scheduler,
             WatchStream::Clock now)
    : stream_(stream), scheduler_(scheduler), now_(std::move(now)),
      head_only_(head.method == "HEAD") {
  if (http::asks_for_websocket(head))
    socket_ = http::EventSocket::open(head, head.headers.get("sec-websocket-protocol"));
}

void Reply::settle(Answer& answer) const {
  if (!answer.watch || !socket_) return;
  if (*socket_) {
    answer.status = 101;
  } else {
    answer = failure(socket_->error());
  }
}

void Reply::send(Answer answer) {
  http::ResponseHead head;
  head.status = answer.status;
  head.headers = std::move(answer.headers);
  if (answer.status != 304) head.headers.add("Content-Type", answer.content_type);
  if (!head.headers.has("Cache-Control")) head.headers.add("Cache-Control", "no-cache, private");
  head.headers.add("X-Content-Type-Options", "nosniff");
  for (const auto& text : answer.warnings)
    head.headers.add("Warning", warning_value(text));
  if (answer.watch) {
    if (socket_) (*socket_)->shake_hands(head);
    stream_.send_head(head, false);
    watch_ =
        std::make_unique<WatchStream>(std::move(answer.watch), stream_, scheduler_, now_,
                                      socket_ ? std::optional(**std::move(socket_)) : std::nullopt);
    watch_->start();
    return leaving_ ? watch_->leave() : void();
  }
  if (head_only_ || answer.status == 304) return stream_.send_head(head, true);
  head.headers.add("Content-Length", std::to_string(answer.body.size()));
  stream_.send_head(head, answer.body.empty());
  if (!answer.body.empty()) stream_.send_data(answer.body, true);
}

} // namespace zoo::resources
