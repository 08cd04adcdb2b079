// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/h2_stream.hpp"

#include "common/base/text.hpp"
#include "daemon/http/answer.hpp"
#include "daemon/http/syntax.hpp"

#include <algorithm>
#include <charconv>

namespace zoo::http {

void H2Stream::send_head(const ResponseHead& head, bool end) {
  if (detached || head_sent) return;
  if (head.status < 200 || head.status > 999) return reset(ResetReason::aborted);
  head_sent = true;
  if (is_refusal(head.status)) ++session.refusals;
  const auto status = std::to_string(head.status);
  auto& names = session.head_names;
  names.clear();
  std::size_t size = 0;
  for (const auto& field : head.headers)
    size += field.name.size();
  names.reserve(size); // `fields` points into it: it does not grow below
  auto& fields = session.head_fields;
  fields.clear();
  fields.push_back({":status", status});
  if (status_forbids_body(head.status)) bodyless = true;
  for (const auto& [name, value] : head.headers) {
    if (is_hop_by_hop(name) || !is_token(name) || !is_field_value(value)) continue;
    if (text::iequals(name, "content-length")) {
      std::uint64_t length = 0;
      const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), length);
      if (error != std::errc() || stop != value.data() + value.size() || head.status == 204 ||
          length_left)
        continue;
      length_left = length;
    }
    fields.push_back({std::string_view(names.data() + names.size(), name.size()), value});
    names.append(name);
  }
  for (char& c : names)
    c = static_cast<char>(c + (c >= 'A' && c <= 'Z' ? 'a' - 'A' : 0));
  if (end && !bodyless && length_left.value_or(0) > 0) return reset(ResetReason::aborted);
  ended = end;
  const bool submitted = session.submit_head(id, fields, !end);
  constexpr std::size_t k_kept = 64; // fields, of an idle connection
  if (fields.capacity() > k_kept) {
    std::vector<H2Session::Field>().swap(fields);
    std::string().swap(names);
  }
  if (!submitted) return reset(ResetReason::aborted);
  session.wakeup();
}

template <class Bytes>
void H2Stream::send(Bytes&& bytes, bool end) {
  if (detached || ended) return;
  if (!head_sent) return reset(ResetReason::aborted);
  if (!bodyless) {
    const auto size = bytes.size();
    if (length_left) {
      if (size > *length_left || (end && size < *length_left)) return reset(ResetReason::aborted);
      *length_left -= size;
    }
    out.push(std::forward<Bytes>(bytes));
    session.buffered += size;
    if (out.size() >= high_watermark) blocked = true;
  }
  ended = end;
  if (deferred && (ended || !out.empty())) {
    deferred = false;
    session.resume(id);
  }
  session.wakeup();
}

void H2Stream::send_data(std::string_view bytes, bool end) { send(bytes, end); }
void H2Stream::give_data(std::string&& bytes, bool end) { send(std::move(bytes), end); }

bool H2Stream::writable() const {
  if (session.buffered >= session.limits.connection_pending) blocked = true;
  return !blocked;
}

bool H2Stream::drained() {
  if (!blocked || out.size() >= session.limits.low_for(high_watermark)) return false;
  blocked = false;
  return handler && !detached && !ended;
}

void H2Stream::reset(ResetReason reason) {
  if (detached) return;
  detached = true;
  reset_by_us = true;
  ended = false; // what was dropped is missing: the end must not leave
  drop_buffer();
  session.submit_reset(id, reason);
  session.wakeup();
}

void H2Stream::consume(std::size_t bytes) {
  const auto count = std::min(bytes, unconsumed);
  if (count == 0) return;
  unconsumed -= count;
  session.open_window(id, count);
  session.wakeup();
}

void H2Stream::take(std::string& to, std::size_t bytes) {
  out.take(to, bytes);
  session.buffered -= bytes;
  looks = 0;
}

bool H2Stream::stalled() {
  if (out.empty()) looks = 0;
  return !out.empty() && ++looks > 2;
}

void H2Stream::drop_buffer() {
  session.buffered -= out.size();
  out.clear();
}

void H2Stream::destroy_handler() {
  detached = true; // a handler's destructor may still hold the stream
  const auto gone = std::move(handler);
}

} // namespace zoo::http
