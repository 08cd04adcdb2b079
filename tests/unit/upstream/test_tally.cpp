// SPDX-License-Identifier: Apache-2.0
#include "common/base/metric_text.hpp"
#include "daemon/upstream/tally.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

using namespace zoo;
using upstream::ControlTally;
using upstream::Tally;

namespace {

bool tells(const Tally& tally, const std::string& line, const ControlTally& control = {}) {
  MetricText out;
  tally.write(out, control);
  return ("\n" + out.text()).find("\n" + line + "\n") != std::string::npos;
}

} // namespace

TEST_CASE("what upstream says of bearer tokens is counted") {
  Tally tally;
  tally.reviewed({});
  tally.reviewed(fail(Code::unauthorized, "nobody's"));
  tally.reviewed(fail(Code::unauthorized, "nobody's"));
  tally.reviewed(fail(Code::unavailable, "away"));
  CHECK(tells(tally, R"(zood_token_reviews_total{result="authenticated"} 1)"));
  CHECK(tells(tally, R"(zood_token_reviews_total{result="refused"} 2)"));
  CHECK(tells(tally, R"(zood_token_reviews_total{result="unavailable"} 1)"));
}

TEST_CASE("what zood asks for itself is a class of its own, and its errors count with the others") {
  using std::chrono::milliseconds;
  Tally tally;
  ControlTally control;
  CHECK_FALSE(
      tells(tally, R"(zood_upstream_request_duration_seconds_count{class="control"} 0)", control));
  tally.answered(Tally::Asks::read, 503, milliseconds(1));
  tally.failed(Code::unavailable);
  control.answered(200, milliseconds(2));
  control.answered(429, milliseconds(2));
  control.answered(503, milliseconds(700));
  control.failed(Code::timeout);
  control.failed(Code::unavailable);
  control.failed(Code::cancelled); // zood ends
  CHECK(tells(tally, R"(zood_upstream_request_duration_seconds_count{class="read"} 1)", control));
  CHECK(
      tells(tally, R"(zood_upstream_request_duration_seconds_count{class="control"} 3)", control));
  CHECK(tells(tally,
              R"(zood_upstream_request_duration_seconds_bucket{class="control",le="0.25"} 2)",
              control));
  CHECK(tells(tally, R"(zood_upstream_errors_total{reason="unavailable"} 2)", control));
  CHECK(tells(tally, R"(zood_upstream_errors_total{reason="timeout"} 1)", control));
  CHECK(tells(tally, R"(zood_upstream_errors_total{reason="throttled"} 1)", control));
  CHECK(tells(tally, R"(zood_upstream_errors_total{reason="server_error"} 2)", control));
}
