// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/front_proxy.hpp"
#include "tests/unit/accounts/front_proxies.hpp"

using namespace zoo;
using namespace zoo::accounts;
using namespace zoo::accounts::test;
using Strings = std::vector<std::string>;
using Extra = std::vector<std::pair<std::string, Strings>>;

namespace {

const auto k_now = std::chrono::system_clock::now();

Code refusal(const FrontProxyTerms& terms, const http::ConnectionInfo& peer,
             std::chrono::system_clock::time_point now = k_now) {
  const auto believed = believe_front_proxy(terms, peer, now);
  REQUIRE_FALSE(believed.has_value());
  return believed.error().code();
}

resources::Who who_of(const http::Headers& headers, const FrontProxyTerms& terms) {
  return must(front_proxy_user(terms, headers));
}

} // namespace

TEST_CASE("a front proxy is believed by its certificate alone") {
  const Authority authority("front-proxy-ca"), other("front-proxy-ca");
  const auto terms = terms_of(config_map(authority.certificate.to_pem()));

  CHECK(believe_front_proxy(terms, shows(authority.issue("front-proxy")), k_now));

  SUBCASE("none is shown") { CHECK(refusal(terms, {}) == Code::unauthorized); }
  SUBCASE("the listener has not verified it") {
    CHECK(refusal(terms, shows(authority.issue("front-proxy"), false)) == Code::unauthorized);
  }
  SUBCASE("another authority of the same name has issued it, and it was trusted before") {
    CHECK(refusal(terms, shows(other.issue("front-proxy"))) == Code::unauthorized);
  }
  SUBCASE("its name is not allowed") {
    CHECK(refusal(terms, shows(authority.issue("front-proxy-2"))) == Code::unauthorized);
    CHECK(refusal(terms, shows(authority.issue("Front-Proxy"))) == Code::unauthorized);
  }
  SUBCASE("it has ended while the connection went on, or has not begun") {
    const auto certificate = authority.issue("front-proxy");
    CHECK(refusal(terms, shows(certificate), k_now + std::chrono::hours(1)) == Code::unauthorized);
    CHECK(refusal(terms, shows(certificate), k_now - std::chrono::hours(1)) == Code::unauthorized);
  }
  SUBCASE("what is shown is no certificate") {
    auto peer = shows(authority.issue("front-proxy"));
    peer.peer_certificate_der = "no certificate";
    CHECK(refusal(terms, peer) == Code::unauthorized);
  }
}

TEST_CASE("a certificate of an intermediate counts by the authority that it was verified by") {
  const Authority root("root"), intermediate("intermediate"), other("other");
  const auto terms = terms_of(config_map(root.certificate.to_pem()));
  auto peer = shows(intermediate.issue("front-proxy"));
  const auto believed = [&] {
    return believe_front_proxy(terms, peer, std::chrono::system_clock::now()).has_value();
  };
  CHECK_FALSE(believed());
  peer.peer_authority = crypto::view(root.certificate.sha256());
  CHECK(believed());
  peer.peer_authority = crypto::view(other.certificate.sha256());
  CHECK_FALSE(believed());
  peer.peer_authority = crypto::view(root.certificate.sha256());
  peer.peer_certificate_verified = false;
  CHECK_FALSE(believed());
}

TEST_CASE("an empty list of names allows any name, two authorities are as good as one") {
  const Authority old("old"), young("young");
  const auto both = old.certificate.to_pem() + young.certificate.to_pem();
  for (const auto* allowed : {"[]", "", "null"}) {
    CAPTURE(allowed);
    const auto terms = terms_of(config_map(both, allowed));
    CHECK(believe_front_proxy(terms, shows(old.issue("anybody")), k_now));
    CHECK(believe_front_proxy(terms, shows(young.issue("somebody")), k_now));
  }
}

TEST_CASE("where the upstream names no authority of front proxies nobody is believed") {
  const Authority authority("ca");
  for (const auto* text : {"{}", R"({"data":null})", R"({"data":{}})",
                           R"({"data":{"requestheader-client-ca-file":""}})",
                           R"({"data":{"client-ca-file":"-----BEGIN CERTIFICATE-----"}})"}) {
    CAPTURE(text);
    const auto terms = must(read_front_proxy_terms(text));
    CHECK(refusal(terms, shows(authority.issue("front-proxy"))) == Code::unauthorized);
  }
}

TEST_CASE("a ConfigMap that cannot be read is an error that names the key") {
  const Authority authority("ca");
  const auto broken = [&](const std::string& key, const nlohmann::json& value) {
    auto map = config_map(authority.certificate.to_pem());
    map["data"][key] = value;
    const auto read = read_front_proxy_terms(map.dump());
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().code() == Code::invalid);
    return read.error().text();
  };
  CHECK(read_front_proxy_terms("[").error().code() == Code::invalid);
  for (const auto* key : {"requestheader-allowed-names", "requestheader-username-headers",
                          "requestheader-uid-headers", "requestheader-group-headers",
                          "requestheader-extra-headers-prefix"}) {
    CAPTURE(key);
    CHECK(broken(key, "front-proxy").find(key) != std::string::npos);
    CHECK(broken(key, R"({"a":1})").find(key) != std::string::npos);
    CHECK(broken(key, "[1]").find(key) != std::string::npos);
    CHECK(broken(key, 7).find(key) != std::string::npos);
  }
  CHECK(broken("requestheader-username-headers", R"([" "])").find("empty header") !=
        std::string::npos);
  CHECK(broken("requestheader-client-ca-file", "no PEM").find("requestheader-client-ca-file") !=
        std::string::npos);
}

TEST_CASE("the headers that the ConfigMap names say who asks") {
  const Authority authority("ca");
  const auto terms = terms_of(config_map(authority.certificate.to_pem()));

  const auto john = who_of({{"x-remote-user", "john"},
                            {"X-REMOTE-GROUP", "devs"},
                            {"X-Remote-Group", ""},
                            {"X-Remote-Group", "system:authenticated"},
                            {"X-Remote-Uid", "7"},
                            {"X-Remote-Extra-Scopes", "a"},
                            {"x-remote-extra-scopes", "b"},
                            {"X-Remote-Extra-Example.com%2fPlace%20of", "c%20"}},
                           terms);
  CHECK(john.name == "john");
  CHECK(john.uid == "7");
  CHECK(john.groups == Strings{"devs", "system:authenticated"});
  CHECK(john.extra == Extra{{"scopes", {"a", "b"}}, {"example.com/place of", {"c%20"}}});

  SUBCASE("others say nothing") {
    const auto who = who_of({{"X-Remote-User", "john"},
                             {"X_Remote_Group", "system:masters"},
                             {"X-Remote-Groups", "system:masters"},
                             {"Impersonate-User", "root"},
                             {"Impersonate-Group", "system:masters"},
                             {"Remote-User", "root"},
                             {"Authorization", "Bearer x"}},
                            terms);
    CHECK(who.name == "john");
    CHECK(who.groups == Strings{"system:authenticated"});
    CHECK(who.uid.empty());
    CHECK(who.extra.empty());
  }
  SUBCASE("commas and spaces are part of a group's name") {
    CHECK(who_of({{"X-Remote-User", "john"}, {"X-Remote-Group", "a, b"}}, terms).groups ==
          Strings{"a, b", "system:authenticated"});
  }
  SUBCASE("a key that is not well encoded stays as it is") {
    const auto who = who_of({{"X-Remote-User", "john"},
                             {"X-Remote-Extra-a%2", "1"},
                             {"X-Remote-Extra-b%zz", "2"},
                             {"X-Remote-Extra-%", "3"}},
                            terms);
    CHECK(who.extra == Extra{{"a%2", {"1"}}, {"b%zz", {"2"}}, {"%", {"3"}}});
  }
  SUBCASE("who is not named is nobody") {
    for (const auto& headers : {http::Headers{}, http::Headers{{"X-Remote-User", ""}},
                                http::Headers{{"X-Remote-Group", "system:masters"}}}) {
      const auto who = front_proxy_user(terms, headers);
      REQUIRE_FALSE(who.has_value());
      CHECK(who.error().code() == Code::unauthorized);
    }
  }
  SUBCASE("who is anonymous is not authenticated") {
    CHECK(who_of({{"X-Remote-User", "system:anonymous"}}, terms).groups.empty());
    CHECK(who_of({{"X-Remote-User", "x"}, {"X-Remote-Group", "system:unauthenticated"}}, terms)
              .groups == Strings{"system:unauthenticated"});
  }
}

TEST_CASE("of several headers for the name the first with a value counts, of groups all") {
  const Authority authority("ca");
  auto map = config_map(authority.certificate.to_pem());
  map["data"]["requestheader-username-headers"] = R"(["X-First"," X-Second "])";
  map["data"]["requestheader-group-headers"] = R"(["G-One","G-Two"])";
  map["data"]["requestheader-extra-headers-prefix"] = R"(["E-","F-"])";
  map["data"].erase("requestheader-uid-headers");
  const auto terms = terms_of(map);
  const auto who = who_of({{"X-First", ""},
                           {"X-Second", "jane"},
                           {"X-Remote-User", "root"},
                           {"X-Remote-Uid", "1"},
                           {"G-Two", "b"},
                           {"G-One", "a"},
                           {"F-k", "2"},
                           {"E-k", "1"}},
                          terms);
  CHECK(who.name == "jane");
  CHECK(who.uid.empty());
  CHECK(who.groups == Strings{"a", "b", "system:authenticated"});
  CHECK(who.extra == Extra{{"k", {"1", "2"}}});
}
