// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/compressed_answer.hpp"

#include <charconv>
#include <utility>

namespace zoo::gateway {

bool worth_compressing(const http::ResponseHead& head) {
  if (head.status != 200 && head.status != 201) return false;
  if (head.headers.has("content-encoding")) return false;
  const auto length = head.headers.find("content-length");
  if (!length) return true;
  std::size_t bytes = 0;
  std::from_chars(length->data(), length->data() + length->size(), bytes);
  return bytes > CompressedAnswer::k_threshold;
}

CompressedAnswer::CompressedAnswer(std::size_t& running, http::ResponseHead head)
    : running_(running), head_(std::move(head)) {}

CompressedAnswer::~CompressedAnswer() {
  if (stream_) --running_;
}

CompressedAnswer::Ready CompressedAnswer::add(std::string_view bytes) {
  Ready out;
  if (head_) {
    if (held_.size() + bytes.size() <= k_threshold) {
      held_ += bytes;
      return out;
    }
    decide(true, out);
  }
  if (stream_) {
    stream_->add(bytes, out.bytes);
  } else {
    out.bytes += bytes;
  }
  return out;
}

CompressedAnswer::Ready CompressedAnswer::end() {
  Ready out;
  if (head_) decide(false, out);
  if (stream_) stream_->end(out.bytes);
  return out;
}

void CompressedAnswer::decide(bool long_enough, Ready& out) {
  out.head = std::exchange(head_, std::nullopt);
  const auto held = std::exchange(held_, {});
  if (!long_enough || running_ >= k_running) {
    out.bytes = held;
    return;
  }
  ++running_;
  stream_ = std::make_unique<gzip::Stream>();
  auto& headers = out.head->headers;
  headers.remove("content-length");
  headers.set("content-encoding", "gzip");
  headers.add("vary", "Accept-Encoding");
  stream_->add(held, out.bytes);
}

} // namespace zoo::gateway
