// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/encoded_answer.hpp"

#include "daemon/translate/headers.hpp"
#include "daemon/translate/json_protobuf.hpp"
#include "daemon/translate/json_yaml.hpp"

namespace zoo::gateway {
namespace {

constexpr std::size_t k_room = 16 * 1024; ///< that a watch keeps from one event to the next
constexpr const char* k_stream_type = "application/vnd.kubernetes.protobuf;stream=watch";

} // namespace

bool EncodedAnswer::begin(http::ResponseHead& head) {
  if (encoding_ == Encoding::protobuf_events) {
    head.headers.set("content-type", k_stream_type);
    return true;
  }
  head_ = head;
  return false;
}

Result<std::string> EncodedAnswer::add(std::string_view json) {
  if (held_.size() + json.size() > limit_) {
    return fail(
        Code::too_large,
        "the answer has more than {} bytes, and {} cannot be streamed: ask with a limit, or "
        "with application/json first in Accept",
        limit_, encoding_ == Encoding::yaml ? "YAML" : "protobuf");
  }
  held_ += json;
  std::string out;
  if (encoding_ != Encoding::protobuf_events) return out;
  std::size_t begin = 0;
  for (auto end = held_.find('\n'); end != std::string::npos; end = held_.find('\n', begin)) {
    ZOO_TRY(const auto frame,
            translate::event_to_protobuf(std::string_view(held_).substr(begin, end - begin)));
    out += frame;
    begin = end + 1;
  }
  held_.erase(0, begin);
  if (held_.empty() && held_.capacity() > k_room) std::string().swap(held_);
  return out;
}

Result<std::string> EncodedAnswer::end() {
  if (encoding_ == Encoding::protobuf_events || held_.empty()) return std::string();
  const bool yaml = encoding_ == Encoding::yaml;
  ZOO_TRY(auto out, yaml ? translate::json_to_yaml(held_) : translate::json_to_protobuf(held_));
  head_.headers.set("content-type", yaml ? translate::k_yaml : translate::k_protobuf);
  head_.headers.set("content-length", std::to_string(out.size()));
  return out;
}

} // namespace zoo::gateway
