// SPDX-License-Identifier: Apache-2.0
#include "common/base/metric_text.hpp"
#include "daemon/upstream/tally.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace zoo;
using upstream::Tally;

namespace {

bool tells(const Tally& tally, const std::string& line) {
  MetricText out;
  tally.write(out);
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
