// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/http/message.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// HTTP/1.1 messages off the wire (RFC 9112), a piece at a time, the same for any split of the
/// input. Strict: bare CR or LF, folded lines, space before a colon, two ways to tell a body's
/// length, and anything else that two parsers could read differently is a failure. No I/O.
namespace zoo::http {

struct ReaderLimits {
  std::size_t head_bytes = 64 * 1024;
  std::size_t target_bytes = 16 * 1024; ///< requests only
  std::size_t fields = 256;
};

struct ReadFailure {
  int status = 400; ///< how a server answers it
  std::string message;
};

enum class ReadEvent {
  need_more, ///< the input is used up
  head,      ///< take_head()
  data,      ///< data(), valid as long as the input
  end,       ///< the message is complete; what is left of the input belongs to the next one
  failed,    ///< failure(); nothing more can be read
};

/// What both directions share: finding the end of the head, its fields, the body's framing.
class MessageReader {
public:
  std::string_view data() const { return data_; }
  const ReadFailure& failure() const { return failure_; }
  /// A head has begun and is not complete.
  bool inside_head() const { return state_ == State::head && !head_.empty(); }
  bool between_messages() const { return state_ == State::head && head_.empty(); }

protected:
  enum class State {
    head,
    length,
    until_close,
    size_line,
    chunk,
    chunk_end,
    trailer,
    done,
    failed
  };
  MessageReader(ReaderLimits limits, std::size_t first_line)
      : limits_(limits), first_line_limit_(first_line) {}

  /// Moves bytes of `input` to head_ until the empty line. need_more, head or failed.
  ReadEvent collect_head(std::string_view& input);
  ReadEvent read_body(std::string_view& input);
  bool parse_fields(std::string_view lines, Headers& headers);
  /// Content-Length and Transfer-Encoding; the values of parse_fields() are already trimmed.
  bool parse_framing(const Headers& headers, int version);
  ReadEvent fail(int status, std::string message);
  void restart();

  ReaderLimits limits_;
  State state_ = State::head;
  std::string head_; ///< also the current line of a chunk's size or of the trailer
  std::string_view data_;
  ReadFailure failure_;
  std::optional<std::uint64_t> length_; ///< Content-Length
  bool chunked_ = false;
  std::uint64_t remaining_ = 0;

private:
  ReadEvent read_line(std::string_view& input, std::size_t limit, bool& complete);
  ReadEvent read_size_line(std::string_view& input);
  ReadEvent read_trailer(std::string_view& input);
  const std::size_t first_line_limit_;
  bool first_line_ = true; ///< not all of it was seen
  bool skipped_empty_line_ = false;
  std::size_t trailer_bytes_ = 0;
};

/// Requests as a server reads them.
class RequestReader : public MessageReader {
public:
  struct Extra {
    bool keep_alive = true;
    bool expects_continue = false;
    bool has_body = false;
  };
  explicit RequestReader(ReaderLimits limits)
      : MessageReader(limits, limits.target_bytes + 256) {} // a method, a version
  ReadEvent next(std::string_view& input);
  /// Without hop-by-hop fields and Host (see RequestHead), version 10 or 11.
  RequestHead take_head() { return std::move(request_); }
  const Extra& extra() const { return extra_; }
  void start_next() { restart(); } ///< after `end`

private:
  ReadEvent parse_head();
  bool parse_request_line(std::string_view line);
  bool parse_target(std::string_view target);
  RequestHead request_;
  Extra extra_;
};

/// Answers as a client reads them. 1xx answers other than 101 are skipped.
class ResponseReader : public MessageReader {
public:
  explicit ResponseReader(ReaderLimits limits) : MessageReader(limits, limits.head_bytes) {}
  ReadEvent next(std::string_view& input);
  /// Without hop-by-hop fields, except Upgrade and Connection of a 101.
  ResponseHead take_head() { return std::move(response_); }
  bool keep_alive() const { return keep_alive_; } ///< after `end`: the connection can be used again
  void start_next(bool head_request);             ///< before each answer
  /// The peer closed in order: true if that completes the message (no length was given).
  bool complete_at_close() const { return state_ == State::until_close; }

private:
  ReadEvent parse_head();
  ResponseHead response_;
  bool head_request_ = false;
  bool keep_alive_ = true;
  int interim_ = 0;
};

} // namespace zoo::http
