// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/relay_reach.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace zoo;
using nlohmann::json;
using namespace std::chrono_literals;

namespace {

/// An upstream that keeps one webhook, and does with it what `creates` says when a ConfigMap is
/// tried.
struct ReachUpstream {
  std::mutex mutex;
  std::optional<json> webhook;
  std::vector<std::string> requests;
  std::function<int(const json& webhook)> creates; ///< its status

  std::unique_ptr<upstream::ControlApi> connect();
};

class ReachConnection final : public upstream::ControlApi {
public:
  explicit ReachConnection(ReachUpstream& of) : of_(of) {}
  Result<http_client::Response> request(std::string_view method, std::string_view path,
                                        std::string_view, std::string body,
                                        std::string_view) override {
    std::optional<json> webhook;
    {
      const std::scoped_lock lock(of_.mutex);
      of_.requests.push_back(std::string(method) + " " + std::string(path));
      if (method == "PATCH") of_.webhook = json::parse(body);
      if (method == "DELETE") of_.webhook.reset();
      webhook = of_.webhook;
    }
    http_client::Response out;
    out.status = method == "POST" && webhook ? of_.creates(*webhook) : 200;
    out.body =
        out.status < 300 ? "{}"
        : out.status == 503
            ? R"({"kind":"Status","status":"Failure","message":"etcdserver: no leader","code":503})"
            : R"({"kind":"Status","status":"Failure","message":"failed calling webhook \"x\": dial tcp: refused","code":500})";
    return out;
  }

private:
  ReachUpstream& of_;
};

std::unique_ptr<upstream::ControlApi> ReachUpstream::connect() {
  return std::make_unique<ReachConnection>(*this);
}

std::string path_of(const json& webhook) {
  return webhook.at("/webhooks/0/clientConfig/url"_json_pointer)
      .get<std::string>()
      .substr(std::string("https://192.0.2.1:7444").size());
}

app::RelayReach::Parts parts(ReachUpstream& upstream) {
  app::RelayReach::Parts out;
  out.word = "relay";
  out.api = [&upstream] { return upstream.connect(); };
  out.base = "https://192.0.2.1:7444";
  out.ca_pem = "an authority";
  out.told = [](const Result<void>&) {};
  out.patience = 300ms;
  return out;
}

} // namespace

TEST_CASE("the relay is reached when upstream has called it, and nothing is left there") {
  ReachUpstream upstream;
  app::RelayReach reach(parts(upstream));
  int tries = 0;
  upstream.creates = [&](const json& webhook) {
    CHECK_FALSE(reach.hears("/reach/other"));
    if (++tries == 3) CHECK(reach.hears(path_of(webhook))); // it has heard of the webhook by then
    return 201;
  };
  const auto api = upstream.connect();
  CHECK(reach.prove(*api));
  CHECK(tries == 3);
  CHECK_FALSE(upstream.webhook);
  CHECK(upstream.requests.back().starts_with("DELETE "));
  CHECK_FALSE(reach.hears(""));
}

TEST_CASE("the webhook of a proof is called for one name alone") {
  ReachUpstream upstream;
  app::RelayReach reach(parts(upstream));
  std::string secret;
  upstream.creates = [&](const json& webhook) {
    const auto& hook = webhook.at("webhooks").at(0);
    const auto name = webhook.at("/metadata/name"_json_pointer).get<std::string>();
    CHECK(name.starts_with("zoo-relay-reach-"));
    CHECK(hook.at("/namespaceSelector/matchLabels"_json_pointer) ==
          json({{"kubernetes.io/metadata.name", "zoo-system"}}));
    CHECK(hook.at("/objectSelector/matchLabels"_json_pointer) ==
          json({{"zoo.kubezoo.io/relay-reach", name}}));
    CHECK(hook.at("/matchConditions/0/expression"_json_pointer) ==
          json("request.name == '" + name + "'"));
    CHECK(hook.at("/clientConfig/caBundle"_json_pointer) == json(std::string("YW4gYXV0aG9yaXR5")));
    CHECK(path_of(webhook) != secret); // another one each time
    secret = path_of(webhook);
    reach.hears(secret);
    return 201;
  };
  for (int i = 0; i < 2; ++i)
    CHECK(reach.prove(*upstream.connect()));
  CHECK_FALSE(reach.hears(secret)); // the proof is over
}

TEST_CASE("why upstream does not reach the relay is told in its words") {
  ReachUpstream upstream;
  app::RelayReach reach(parts(upstream));
  upstream.creates = [](const json&) { return 500; };
  auto proof = reach.prove(*upstream.connect());
  REQUIRE_FALSE(proof);
  CHECK(proof.error().code() == Code::invalid);
  CHECK(proof.error().message() ==
        "the upstream cannot call https://192.0.2.1:7444: failed calling "
        "webhook \"x\": dial tcp: refused");
  upstream.creates = [](const json&) { return 503; };
  proof = reach.prove(*upstream.connect());
  REQUIRE_FALSE(proof);
  CHECK(proof.error().code() != Code::invalid);
  upstream.creates = [](const json&) { return 201; };
  proof = reach.prove(*upstream.connect());
  REQUIRE_FALSE(proof);
  CHECK(proof.error().message().find("and nothing came") != std::string::npos);
  CHECK_FALSE(upstream.webhook);
}

TEST_CASE("a proof that failed is repeated") {
  ReachUpstream upstream;
  std::atomic<int> proofs{0}, good{0};
  auto made = parts(upstream);
  made.again = 1ms;
  made.usual = 1ms;
  made.told = [&](const Result<void>& proof) {
    ++proofs;
    if (proof) ++good;
  };
  app::RelayReach reach(std::move(made));
  upstream.creates = [&](const json& webhook) {
    if (proofs < 2) return 500;
    reach.hears(path_of(webhook));
    return 201;
  };
  reach.start();
  while (good == 0)
    std::this_thread::yield();
  reach.stop();
  CHECK(proofs >= 3);
}
