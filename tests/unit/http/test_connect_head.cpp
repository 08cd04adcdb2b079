// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/connect_head.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace zoo::http;
using State = ConnectHead::State;
using namespace std::string_literals;

TEST_CASE("what kube-apiserver sends is understood") {
  // k8s.io/apiserver/pkg/server/egressselector/egress_selector.go, tunnelHTTPConnect.
  const auto head = read_connect_head("CONNECT 10.9.8.7:10250 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  CHECK(head.state == State::whole);
  CHECK(head.host == "10.9.8.7");
  CHECK(head.port == 10250);
  CHECK(head.size == 52);
  CHECK(head.authority() == "10.9.8.7:10250");
  CHECK(read_connect_head("CONNECT ZooD.Internal:443 HTTP/1.1\r\n\r\n").host == "zood.internal");
  CHECK(read_connect_head("CONNECT [2001:DB8::1]:443 HTTP/1.1\r\n\r\n").authority() ==
        "[2001:db8::1]:443");
}

TEST_CASE("it is awaited in any pieces, and what follows is left") {
  const auto whole = "CONNECT a.b:1 HTTP/1.1\r\nHost: a.b:1\r\nUser-Agent: x\r\n\r\n"s;
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK(read_connect_head(std::string_view(whole).substr(0, size)).state == State::need_more);
  const auto more = read_connect_head(whole + "GET / HTTP/1.1\r\n\r\n\0"s);
  CHECK(more.state == State::whole);
  CHECK(more.size == whole.size());
}

TEST_CASE("what could be understood in two ways is refused, with the reason") {
  struct Row {
    std::string bytes;
    int status;
    std::string_view says;
  };
  const std::vector<Row> rows = {
      {"GET http://10.0.0.1/ HTTP/1.1\r\n\r\n", 405, "only CONNECT"},
      {"connect 10.0.0.1:443 HTTP/1.1\r\n\r\n", 405, "only CONNECT"},
      {"\r\nCONNECT 10.0.0.1:443 HTTP/1.1\r\n\r\n", 0, ""}, // an empty line first
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 405, "only CONNECT"},
      {"CONNECT  10.0.0.1:443 HTTP/1.1\r\n\r\n", 505, "HTTP/1.1"},
      {"CONNECT 10.0.0.1:443\r\n\r\n", 400, "not whole"},
      {"CONNECT 10.0.0.1:443 HTTP/1.0\r\n\r\n", 505, "HTTP/1.1"},
      {"CONNECT 10.0.0.1:443 HTTP/1.1 \r\n\r\n", 505, "HTTP/1.1"},
      {"CONNECT http://10.0.0.1:443 HTTP/1.1\r\n\r\n", 400, "host and port"},
      {"CONNECT 10.0.0.1 HTTP/1.1\r\n\r\n", 400, "host and port"},
      {"CONNECT :443 HTTP/1.1\r\n\r\n", 400, "host and port"},
      {"CONNECT 10.0.0.1:0 HTTP/1.1\r\n\r\n", 400, "host and port"},
      {"CONNECT 10.0.0.1:0443 HTTP/1.1\r\n\r\n", 400, "host and port"},
      {"CONNECT 10.0.0.1:65536 HTTP/1.1\r\n\r\n", 400, "host and port"},
      {"CONNECT 10.0.0.1:443/ HTTP/1.1\r\n\r\n", 400, "host and port"},
      {"CONNECT u@10.0.0.1:443 HTTP/1.1\r\n\r\n", 400, "host and port"},
      {"CONNECT fe80::1:443 HTTP/1.1\r\n\r\n", 400, "host and port"},
      {"CONNECT [fe80::1%25lo]:443 HTTP/1.1\r\n\r\n", 400, "host and port"},
      {"CONNECT [10.0.0.1]:443 HTTP/1.1\r\n\r\n", 400, "host and port"},
      {"CONNECT " + std::string(254, 'a') + ":443 HTTP/1.1\r\n\r\n", 400, "host and port"},
      {"CONNECT 10.0.0.1:443 HTTP/1.1\n\n", 400, "a byte"},
      {"CONNECT 10.0.0.1:443 HTTP/1.1\r\r\n\r\n", 400, "a byte"},
      {"CONNECT 10.0.0.1\0:443 HTTP/1.1\r\n\r\n"s, 400, "a byte"},
      {"CONNECT \xc3\xa4:443 HTTP/1.1\r\n\r\n", 400, "a byte"},
      {"CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "several Host"},
      {"CONNECT 10.0.0.1:443 HTTP/1.1\r\nContent-Length: 4\r\n\r\n", 400, "no body"},
      {"CONNECT 10.0.0.1:443 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 400, "no body"},
      {"CONNECT 10.0.0.1:443 HTTP/1.1\r\nX : y\r\n\r\n", 400, "header field"},
      {"CONNECT 10.0.0.1:443 HTTP/1.1\r\nX: y\r\n folded\r\n\r\n", 400, "header field"},
      {"CONNECT 10.0.0.1:443 HTTP/1.1\r\nX\r\n\r\n", 400, "header field"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.bytes);
    const auto head = read_connect_head(row.bytes);
    CHECK(head.state == State::refused);
    CHECK(head.status == (row.status == 0 ? 405 : row.status));
    CHECK(head.trouble.find(row.says) != std::string::npos);
  }
}

TEST_CASE("a head is bounded") {
  std::string fields;
  for (std::size_t i = 0; i <= k_most_connect_fields; ++i)
    fields += "X: y\r\n";
  const auto many = read_connect_head("CONNECT a:1 HTTP/1.1\r\n" + fields + "\r\n");
  CHECK(many.state == State::refused);
  CHECK(many.status == 431);
  const auto endless = "CONNECT a:1 HTTP/1.1\r\nX: " + std::string(k_most_connect_head, 'y');
  CHECK(read_connect_head(std::string_view(endless).substr(0, k_most_connect_head - 1)).state ==
        State::need_more);
  CHECK(read_connect_head(endless).status == 431);
}
