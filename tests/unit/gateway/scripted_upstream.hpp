// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/http/stream.hpp"
#include "daemon/net/listener.hpp"
#include "daemon/net/loop.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace zoo::test {

/// A request that has come upstream, whole.
struct Asked {
  http::RequestHead head;
  std::string body;
};

/// What a test says to one request.
struct Said {
  enum class Then : std::uint8_t {
    end,  ///< the answer is complete
    open, ///< more may come: a watch, a tunnel
    reset ///< the connection is closed in the middle of it
  };
  int status = 0; ///< 0: no head any more, or none at all
  http::Headers headers;
  std::string body;
  Then then = Then::end;
};

/// An upstream in plain HTTP/1.1 on a real socket of loopback, served by the loop under test.
///
/// Discovery and what zood follows of its own accord are answered from files: what is in
/// `standing`, an object of path -> {"kind", "apiVersion", "items"}, and watches of it that stay
/// silent. After listen_for_rows() only discovery still is; every other request waits for the test,
/// in the order in which it came. All functions are called on the loop's thread.
class ScriptedUpstream {
public:
  ScriptedUpstream(net::Loop& loop, nlohmann::json standing);
  ~ScriptedUpstream();

  std::uint16_t port() const { return port_; }
  std::size_t requests() const { return requests_; } ///< that have come at all
  void listen_for_rows() { rows_ = true; }

  /// The next request that nobody has seen; it waits for say() from then on.
  std::optional<Asked> next();
  bool waiting() const { return !unseen_.empty(); }
  bool unanswered() const { return !unanswered_.empty(); }
  /// To the oldest one that next() has given and that was not answered. False: there is none, or
  /// zood has given it up.
  bool say(const Said& said);
  bool say_more(const Said& said); ///< to the one that was left open last
  std::string take_heard();        ///< what has come through the tunnel that was left open last
  bool given_up() const;           ///< zood has closed the one that was left open last
  void go_away();                  ///< from now on connections are refused

private:
  class Handler;
  class Front;
  struct Exchange;
  using ExchangePtr = std::shared_ptr<Exchange>;

  void came(const ExchangePtr& exchange);
  bool stands(Exchange& exchange);
  static bool put(Exchange& exchange, const Said& said);

  net::Loop& loop_;
  nlohmann::json standing_;
  std::unique_ptr<net::Listener> listener_;
  std::uint16_t port_ = 0;
  bool rows_ = false;
  std::size_t requests_ = 0;
  std::deque<ExchangePtr> unseen_, unanswered_;
  ExchangePtr open_;
};

} // namespace zoo::test
