// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/encoded_answer.hpp"

#include "daemon/translate/headers.hpp"
#include "daemon/translate/json_protobuf.hpp"
#include "daemon/translate/json_yaml.hpp"

#include <algorithm>

namespace zoo::gateway {
namespace {

constexpr std::size_t k_room = 16 * 1024; ///< that a watch keeps from one event to the next
constexpr const char* k_stream_type = "application/vnd.kubernetes.protobuf;stream=watch";

} // namespace

bool EncodedAnswer::begin(http::ResponseHead& head) {
  if (turns_events()) {
    if (socket_) {
      socket_->shake_hands(head);
    } else {
      head.headers.set("content-type", k_stream_type);
    }
    return true;
  }
  head_ = head;
  return false;
}

Result<std::string> EncodedAnswer::add(std::string_view json) {
  if (turns_events()) return add_events(json);
  if (held_.size() + json.size() > limit_) {
    return fail(
        Code::too_large,
        "the answer has more than {} bytes, and {} cannot be streamed: ask with a limit, or "
        "with application/json first in Accept",
        limit_, encoding_ == Encoding::yaml ? "YAML" : "protobuf");
  }
  held_ += json;
  return std::string();
}

Result<std::string> EncodedAnswer::add_events(std::string_view json) {
  std::string out;
  if (encoding_ == Encoding::json_events) out.reserve(json.size() + growth(json));
  for (auto end = json.find('\n'); end != std::string_view::npos; end = json.find('\n')) {
    auto line = json.substr(0, end + 1);
    json.remove_prefix(end + 1);
    if (!held_.empty()) line = held_ += line;
    ZOO_TRY_VOID(add_event(line, out));
    held_.clear();
  }
  if (held_.size() + json.size() > limit_)
    return fail(Code::too_large, "an event has more than {} bytes", limit_);
  held_ += json;
  if (held_.empty() && held_.capacity() > k_room) std::string().swap(held_);
  return out;
}

/// `line`: an event with the line's end, which upstream sends too, in a message as elsewhere.
Result<void> EncodedAnswer::add_event(std::string_view line, std::string& out) const {
  using Kind = http::EventSocket::Kind;
  if (encoding_ == Encoding::json_events) {
    http::EventSocket::add_message(Kind::text, line, out);
    return {};
  }
  constexpr std::size_t k_length = 4; // in front of an event, where nothing else tells its end
  ZOO_TRY(const auto frame, translate::event_to_protobuf(line.substr(0, line.size() - 1)));
  if (socket_) {
    http::EventSocket::add_message(Kind::binary, std::string_view(frame).substr(k_length), out);
  } else {
    out += frame;
  }
  return {};
}

std::size_t EncodedAnswer::growth(std::string_view events) const {
  if (!socket_) return 0; // protobuf is shorter than JSON
  const auto count = static_cast<std::size_t>(std::count(events.begin(), events.end(), '\n'));
  return count * http::EventSocket::k_most_around;
}

Result<std::string> EncodedAnswer::end() {
  std::string out;
  if (turns_events()) {
    if (socket_) socket_->add_close(out);
    return out;
  }
  if (held_.empty()) return out;
  const bool yaml = encoding_ == Encoding::yaml;
  ZOO_TRY(out, yaml ? translate::json_to_yaml(held_) : translate::json_to_protobuf(held_));
  head_.headers.set("content-type", yaml ? translate::k_yaml : translate::k_protobuf);
  head_.headers.set("content-length", std::to_string(out.size()));
  return out;
}

} // namespace zoo::gateway
