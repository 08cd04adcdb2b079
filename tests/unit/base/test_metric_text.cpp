// SPDX-License-Identifier: Apache-2.0
#include "common/base/metric_text.hpp"

#include <doctest/doctest.h>

using zoo::MetricText;

TEST_CASE("samples follow their family; whatever a label holds stays one line") {
  MetricText text;
  text.family("zood_x", MetricText::Type::gauge, "What\nit is: \"a\\b\"");
  text.sample(3);
  text.sample(0.25, {{"a", "b"}, {"c", "line\nend \"quoted\" \\"}});
  text.family("zood_t_seconds", MetricText::Type::histogram, "Times");
  text.sample(7, {{"le", "+Inf"}}, "_bucket");
  text.sample(1e12, {}, "_sum");
  CHECK(text.text() == "# HELP zood_x What\\nit is: \"a\\\\b\"\n"
                       "# TYPE zood_x gauge\n"
                       "zood_x 3\n"
                       "zood_x{a=\"b\",c=\"line\\nend \\\"quoted\\\" \\\\\"} 0.25\n"
                       "# HELP zood_t_seconds Times\n"
                       "# TYPE zood_t_seconds histogram\n"
                       "zood_t_seconds_bucket{le=\"+Inf\"} 7\n"
                       "zood_t_seconds_sum 1000000000000\n");
}
