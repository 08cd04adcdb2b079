// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/kubelet_request.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace zoo;
using namespace zoo::clusters;
using What = KubeletRequest::What;

TEST_CASE("what kube-apiserver asks a kubelet becomes a question to the upstream's") {
  struct Row {
    std::string_view method, target, becomes;
    std::string_view uid = {};
  };
  const std::vector<Row> rows = {
      {"GET", "/containerLogs/default/p/c", "/api/v1/namespaces/default/pods/p/log?container=c"},
      {"GET", "/containerLogs/default/p/c?follow=true&tailLines=10",
       "/api/v1/namespaces/default/pods/p/log?follow=true&tailLines=10&container=c"},
      {"GET", "/containerLogs/a/p.q-1/c?insecureSkipTLSVerifyBackend=true&container=other",
       "/api/v1/namespaces/a/pods/p.q-1/log?container=c"},
      {"POST", "/exec/default/p/c?command=sh&command=-c&command=a+b&input=1&output=1&error=1&tty=1",
       "/api/v1/namespaces/default/pods/p/"
       "exec?command=sh&command=-c&command=a+b&stdin=true&stdout=true&stderr=true&tty=true&"
       "container=c"},
      {"GET", "/exec/default/p/0f-1E/c?output=1",
       "/api/v1/namespaces/default/pods/p/exec?stdout=true&container=c", "0f-1E"},
      {"POST", "/attach/default/p/c?input=1&tty=0",
       "/api/v1/namespaces/default/pods/p/attach?stdin=true&tty=0&container=c"},
      {"POST", "/portForward/default/p", "/api/v1/namespaces/default/pods/p/portforward"},
      {"GET", "/portForward/default/p/u-1?port=80&port=81",
       "/api/v1/namespaces/default/pods/p/portforward?ports=80&ports=81", "u-1"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.target);
    const auto request = parse_kubelet_request(row.method, row.target);
    REQUIRE(request);
    CHECK(request->of_pod());
    CHECK(api_target(*request) == row.becomes);
    CHECK(request->uid == row.uid);
  }
}

TEST_CASE("what a kubelet says of itself") {
  for (const auto& [target, what] :
       std::vector<std::pair<std::string_view, What>>{{"/pods", What::pods},
                                                      {"/pods/", What::pods},
                                                      {"/pods?x=y", What::pods},
                                                      {"/runningpods/", What::running_pods},
                                                      {"/healthz", What::health}}) {
    CAPTURE(target);
    const auto request = parse_kubelet_request("GET", target);
    REQUIRE(request);
    CHECK(request->what == what);
    CHECK(!request->of_pod());
  }
}

TEST_CASE("nothing else is asked") {
  for (const auto* target :
       {"/", "/run/default/p/c", "/cri/exec/x", "/logs/", "/configz", "/debug/pprof/", "/metrics",
        "/metrics/cadvisor", "/metrics/resource", "/stats/summary", "/checkpoint/default/p/c",
        "/containerlogs/default/p/c", "//exec/default/p/c", "*", "/api/v1/secrets", "/flagz",
        "/pods/x"}) {
    CAPTURE(target);
    const auto request = parse_kubelet_request("GET", target);
    REQUIRE(!request);
    CHECK(request.error().code() == Code::not_found);
  }
  for (const auto* target : {"/exec",
                             "/exec/default",
                             "/exec/default/p",
                             "/exec/default/p/u/c/x",
                             "/containerLogs/default/p/u/c",
                             "/portForward/default",
                             "/portForward/default/p/u/x",
                             "/exec/../p/c",
                             "/exec/default/../c",
                             "/exec/default/p%2f..%2fq/c",
                             "/exec/Default/p/c",
                             "/exec/default//c",
                             "/exec/default/p/c/",
                             "/exec/a.b/p/c",
                             "/exec/default/p/c.d",
                             "/exec/default/p./c",
                             "/exec/default/.p/c",
                             "/exec/default/p..q/c",
                             "/exec/-default/p/c",
                             "/exec/default/p/u%00/c",
                             "/exec/default/p/c?command=%zz"}) {
    CAPTURE(target);
    const auto request = parse_kubelet_request("GET", target);
    REQUIRE(!request);
    CHECK(request.error().code() == Code::bad_request);
  }
  for (const auto& [method, target] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"POST", "/containerLogs/default/p/c"},
           {"DELETE", "/exec/default/p/c"},
           {"PUT", "/exec/default/p/c"},
           {"POST", "/pods"}}) {
    CAPTURE(target);
    CHECK(!parse_kubelet_request(method, target));
  }
}
