// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zoo::test {

/// The other side of an HTTP/2 connection, without a socket.
class H2Client {
public:
  struct Answer {
    int status = 0;
    std::map<std::string, std::string> headers;
    std::string body;
    bool ended = false;
    bool closed = false;
    std::uint32_t error = 0;
    std::size_t unconsumed = 0;
  };
  std::map<std::int32_t, Answer> answers;
  std::map<std::int32_t, std::size_t> sent; ///< bytes of bodies
  bool goaway = false;
  bool consume = true;

  H2Client() {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_option* option = nullptr;
    nghttp2_option_new(&option);
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_session_client_new2(&session_, callbacks, this, option);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
  }
  ~H2Client() { nghttp2_session_del(session_); }
  H2Client(const H2Client&) = delete;
  H2Client& operator=(const H2Client&) = delete;

  std::int32_t request(const std::string& method, const std::string& path, std::string body = "",
                       const std::vector<std::pair<std::string, std::string>>& extra = {}) {
    return submit(method, path, std::move(body), false, extra);
  }
  /// A request whose body does not come.
  std::int32_t begin_request(const std::string& method, const std::string& path) {
    return submit(method, path, {}, true, {});
  }
  std::int32_t submit(const std::string& method, const std::string& path, std::string body,
                      bool open, const std::vector<std::pair<std::string, std::string>>& extra) {
    std::vector<std::pair<std::string, std::string>> fields = {
        {":method", method}, {":scheme", "https"}, {":path", path}, {":authority", "host"}};
    fields.insert(fields.end(), extra.begin(), extra.end());
    std::vector<nghttp2_nv> list;
    for (auto& [name, value] : fields)
      list.push_back({reinterpret_cast<std::uint8_t*>(name.data()),
                      reinterpret_cast<std::uint8_t*>(value.data()), name.size(), value.size(),
                      NGHTTP2_NV_FLAG_NONE});
    nghttp2_data_provider provider{};
    provider.read_callback = open ? read_nothing : read_body;
    const auto id = nghttp2_submit_request(session_, nullptr, list.data(), list.size(),
                                           body.empty() && !open ? nullptr : &provider, nullptr);
    bodies_[id] = std::move(body);
    return id;
  }
  void reset(std::int32_t id) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  }
  void consume_all(std::int32_t id) {
    nghttp2_session_consume(session_, id, std::exchange(answers[id].unconsumed, 0));
  }
  std::string take() {
    std::string out;
    for (;;) {
      const std::uint8_t* bytes = nullptr;
      const auto count = nghttp2_session_mem_send(session_, &bytes);
      if (count <= 0) return out;
      out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
    }
  }
  void give(std::string_view bytes) {
    nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(bytes.data()),
                             bytes.size());
  }

private:
  static H2Client& self(void* user) { return *static_cast<H2Client*>(user); }
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                       std::uint8_t, void* user) {
    auto& answer = self(user).answers[frame->hd.stream_id];
    const std::string key(reinterpret_cast<const char*>(name), name_size);
    const std::string text(reinterpret_cast<const char*>(value), value_size);
    if (key == ":status") {
      answer.status = std::stoi(text);
    } else {
      answer.headers[key] = text;
    }
    return 0;
  }
  static int on_data(nghttp2_session* session, std::uint8_t, std::int32_t id,
                     const std::uint8_t* bytes, std::size_t size, void* user) {
    auto& answer = self(user).answers[id];
    answer.body.append(reinterpret_cast<const char*>(bytes), size);
    if (self(user).consume) {
      nghttp2_session_consume(session, id, size);
    } else {
      answer.unconsumed += size;
    }
    return 0;
  }
  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_GOAWAY) self(user).goaway = true;
    if ((frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS) &&
        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
      self(user).answers[frame->hd.stream_id].ended = true;
    return 0;
  }
  static int on_close(nghttp2_session*, std::int32_t id, std::uint32_t error, void* user) {
    self(user).answers[id].closed = true;
    self(user).answers[id].error = error;
    return 0;
  }
  static ssize_t read_body(nghttp2_session*, std::int32_t id, std::uint8_t* buffer,
                           std::size_t size, std::uint32_t* flags, nghttp2_data_source*,
                           void* user) {
    auto& left = self(user).bodies_[id];
    const auto count = std::min(size, left.size());
    std::memcpy(buffer, left.data(), count);
    left.erase(0, count);
    self(user).sent[id] += count;
    if (left.empty()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(count);
  }

  static ssize_t read_nothing(nghttp2_session*, std::int32_t, std::uint8_t*, std::size_t,
                              std::uint32_t*, nghttp2_data_source*, void*) {
    return NGHTTP2_ERR_DEFERRED;
  }

  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, std::string> bodies_;
};

} // namespace zoo::test
