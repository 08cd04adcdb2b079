// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/protobuf_answer.hpp"

#include "daemon/translate/json_protobuf.hpp"

namespace zoo::gateway {
namespace {

constexpr const char* k_type = "application/vnd.kubernetes.protobuf";
constexpr const char* k_stream_type = "application/vnd.kubernetes.protobuf;stream=watch";

} // namespace

bool ProtobufAnswer::begin(http::ResponseHead& head) {
  if (events_) {
    head.headers.set("content-type", k_stream_type);
    return true;
  }
  head_ = head;
  return false;
}

Result<std::string> ProtobufAnswer::add(std::string_view json) {
  if (held_.size() + json.size() > limit_) {
    return fail(Code::too_large,
                "the answer has more than {} bytes, and protobuf cannot be streamed: ask with a "
                "limit, or add application/json to Accept",
                limit_);
  }
  held_ += json;
  std::string out;
  if (!events_) return out;
  std::size_t begin = 0;
  for (auto end = held_.find('\n'); end != std::string::npos; end = held_.find('\n', begin)) {
    ZOO_TRY(const auto frame,
            translate::event_to_protobuf(std::string_view(held_).substr(begin, end - begin)));
    out += frame;
    begin = end + 1;
  }
  held_.erase(0, begin);
  return out;
}

Result<std::string> ProtobufAnswer::end() {
  if (events_ || held_.empty()) return std::string();
  ZOO_TRY(auto out, translate::json_to_protobuf(held_));
  head_.headers.set("content-type", k_type);
  head_.headers.set("content-length", std::to_string(out.size()));
  return out;
}

} // namespace zoo::gateway
