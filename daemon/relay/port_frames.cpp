// SPDX-License-Identifier: Apache-2.0
#include "daemon/relay/port_frames.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace zoo::relay {
namespace {

constexpr unsigned k_last = 0x80, k_reserved = 0x70, k_masked = 0x80, k_length = 0x7f;
constexpr std::size_t k_control = 125; ///< the most that a control frame carries
constexpr std::size_t k_words = 512;   ///< that are kept of what went wrong
constexpr unsigned k_continuation = 0, k_binary = 2, k_close = 8, k_ping = 9, k_pong = 10;

void add_frame(unsigned opcode, std::string_view channel, std::string_view bytes,
               std::uint32_t mask, std::string& out) {
  const auto size = channel.size() + bytes.size();
  const auto put = [&out](std::uint64_t byte) { out += static_cast<char>(byte & 0xff); };
  out.reserve(out.size() + size + 14);
  put(k_last | opcode);
  if (size <= k_control) {
    put(k_masked | size);
  } else if (size <= 0xffff) {
    put(k_masked | 126);
    put(size >> 8);
    put(size);
  } else {
    put(k_masked | 127);
    for (int shift = 56; shift >= 0; shift -= 8)
      put(static_cast<std::uint64_t>(size) >> shift);
  }
  std::array<char, 4> key{};
  std::memcpy(key.data(), &mask, key.size());
  out.append(key.data(), key.size());
  std::size_t at = 0;
  for (const auto part : {channel, bytes}) {
    for (const char c : part)
      out += static_cast<char>(c ^ key[at++ % key.size()]);
  }
}

} // namespace

void PortFrames::add(std::string_view bytes, std::uint32_t (*mask)(), std::string& out) {
  while (!bytes.empty()) {
    const auto piece = bytes.substr(0, k_frame);
    add_frame(k_binary, std::string_view("\0", 1), piece, mask(), out);
    bytes.remove_prefix(piece.size());
  }
}

void PortFrames::add_pong(std::uint32_t (*mask)(), std::string& out) {
  if (!std::exchange(ping_due_, false)) return;
  add_frame(k_pong, {}, ping_, mask(), out);
}

PortFrames::Event PortFrames::end(Event how) {
  state_ = State::over;
  return how;
}

PortFrames::Event PortFrames::next(std::string_view& input) {
  while (!input.empty() && state_ != State::over) {
    if (state_ == State::head) {
      head_[head_size_++] = static_cast<std::uint8_t>(input.front());
      input.remove_prefix(1);
      if (const auto event = end_head(); event != Event::need_more) return event;
    } else if (const auto event = take_payload(input); event != Event::need_more) {
      return event;
    }
  }
  return Event::need_more;
}

/// Is the frame's head there, and is it one?
PortFrames::Event PortFrames::end_head() {
  const unsigned opcode = head_[0] & 0xfU;
  const bool control = opcode >= k_close;
  if (head_size_ == 1) {
    const bool known = opcode <= k_binary || (opcode >= k_close && opcode <= k_pong);
    const bool last = (head_[0] & k_last) != 0;
    const bool in_place = control ? last : (opcode == k_continuation) == inside_;
    return (head_[0] & k_reserved) == 0 && known && in_place ? Event::need_more
                                                             : end(Event::broken);
  }
  const std::size_t length = head_[1] & k_length;
  // What a server sends is never masked (RFC 6455 5.1).
  if ((head_[1] & k_masked) != 0 || (control && length > k_control)) return end(Event::broken);
  const std::size_t more = length == 127 ? 8 : length == 126 ? 2 : 0;
  if (head_size_ < 2 + more) return Event::need_more;
  left_ = more == 0 ? length : 0;
  for (std::size_t i = 0; i < more; ++i)
    left_ = left_ << 8 | head_[2 + i];
  if ((left_ >> 63) != 0) return end(Event::broken);
  if (opcode == k_ping) ping_.clear();
  if (!control) {
    names_channel_ = names_channel_ || opcode != k_continuation;
    inside_ = (head_[0] & k_last) == 0;
  }
  state_ = State::payload;
  return left_ == 0 ? end_frame() : Event::need_more;
}

PortFrames::Event PortFrames::take_payload(std::string_view& input) {
  auto piece =
      input.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size())));
  input.remove_prefix(piece.size());
  left_ -= piece.size();
  const unsigned opcode = head_[0] & 0xfU;
  data_ = {};
  if (opcode == k_ping) {
    ping_ += piece;
  } else if (opcode < k_close) {
    if (std::exchange(names_channel_, false)) {
      channel_ = static_cast<std::uint8_t>(piece.front());
      piece.remove_prefix(1);
      if (channel_ >= ports_.size()) return end(Event::broken);
    }
    while (!piece.empty() && ports_[channel_] < 2) {
      ++ports_[channel_];
      piece.remove_prefix(1);
    }
    if (channel_ == 0) {
      data_ = piece;
    } else {
      words_ += piece.substr(0, k_words - std::min(k_words, words_.size()));
    }
  }
  const auto ended = left_ == 0 ? end_frame() : Event::need_more;
  if (ended != Event::need_more) return ended;
  return data_.empty() ? Event::need_more : Event::data;
}

PortFrames::Event PortFrames::end_frame() {
  const unsigned opcode = head_[0] & 0xfU;
  head_size_ = 0;
  state_ = State::head;
  if (opcode == k_ping) ping_due_ = true;
  if (opcode == k_close) return end(Event::ended);
  return opcode < k_close && !inside_ && !words_.empty() ? end(Event::refused) : Event::need_more;
}

} // namespace zoo::relay
