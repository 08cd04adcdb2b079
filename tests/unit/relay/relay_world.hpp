// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/net/tls.hpp"
#include "daemon/net/workers.hpp"
#include "daemon/relay/service.hpp"
#include "daemon/upstream/call.hpp"
#include "test_pki.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace zoo::test {

/// What a pod does with a request: the bytes of its answer, or nothing for now.
struct PodSays {
  std::string bytes;
  bool hangs_up = false; ///< the port-forward ends after them
};
using Pod = std::function<PodSays(const std::string& request)>;

/// An upstream on one loop: objects by path, and pods that port-forwards lead to, each with TLS as
/// `identity`. Everything but the constructor on that loop.
class RelayUpstream final : public upstream::Caller {
public:
  RelayUpstream(net::Loop& loop, const Identity& identity);

  std::unique_ptr<upstream::Call> start(http::RequestHead head, upstream::CallOptions options,
                                        upstream::CallHandler& handler) override;

  std::map<std::string, std::string> objects; ///< by path without query; else 404
  std::map<std::string, Pod> pods;            ///< by name; else the port-forward is 404
  std::map<std::string, int> asked;           ///< how often, by path or name of the pod
  std::vector<std::string> users;             ///< whom port-forwards were asked for
  int open = 0;                               ///< port-forwards

private:
  class Forward;
  class Plain;
  net::Loop& loop_;
  std::shared_ptr<net::TlsServerContext> tls_;
};

/// A relay in front of it, with reviews that are taken as they are, on a loop of its own.
class RelayWorld {
public:
  struct Said {
    int status = 0;
    std::string body;
  };

  explicit RelayWorld(relay::Limits limits = {});
  ~RelayWorld();

  /// A call of this webhook of tenant foofoo (or another's), from its thread.
  std::string path(const std::string& webhook, const std::string& id = "foofoo") const;
  /// Sends it; take() waits for what is said.
  class Sent;
  std::shared_ptr<Sent> send(const std::string& method, const std::string& path,
                             const std::string& body = "{}");
  Said ask(const std::string& path, const std::string& body = "{}");
  void drop(const std::shared_ptr<Sent>& sent); ///< upstream goes away
  void on_loop(const std::function<void()>& what) const;
  /// Until it is so, asked on the loop; it fails the test else.
  void until(const std::function<bool()>& so) const;
  void serve(const std::string& pod, Pod how, const std::string& id = "foofoo");

  const Pki pki{"the tenant's"};
  std::string ca = pki.ca(); ///< that the webhooks' caBundle has
  std::uint32_t seconds = 10;
  Result<std::string> (*inward)(std::string_view answer) = nullptr; ///< null: as it is
  std::unique_ptr<net::Workers> loop = std::make_unique<net::Workers>(1, "test");
  relay::Tally tally;
  std::unique_ptr<RelayUpstream> upstream;

private:
  std::shared_ptr<const translate::Relay> relay_;
  std::unique_ptr<relay::RelayService> service_;
  std::map<std::string, std::vector<std::string>> ready_; ///< pods, by namespace

public:
  relay::RelayService& service() { return *service_; }
};

/// 200 with this body.
std::string http_answer(const std::string& body, const std::string& status = "200 OK");

class RelayWorld::Sent final : public http::ServerStream {
public:
  RelayWorld::Said take(std::chrono::seconds most = std::chrono::seconds(30));
  bool said();

  void send_head(const http::ResponseHead& head, bool end) override;
  void send_data(std::string_view bytes, bool end) override;
  bool writable() const override { return true; }
  std::size_t pending() const override { return 0; }
  void set_high_watermark(std::size_t) override {}
  void reset(http::ResetReason) override {}
  void consume(std::size_t) override {}
  const http::ConnectionInfo& connection() const override { return info_; }

  std::unique_ptr<http::StreamHandler> handler;

private:
  http::ConnectionInfo info_;
  std::mutex mutex_;
  std::condition_variable changed_;
  RelayWorld::Said said_;
  bool over_ = false;
};

} // namespace zoo::test
