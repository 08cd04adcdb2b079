// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/backup.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using namespace zoo;
using app::backup_finding;

TEST_CASE("a backup that is old is spoken of, and one that was never made") {
  constexpr std::int64_t k_day = 86'400, k_now = 1'800'000'000;
  CHECK_FALSE(backup_finding(k_now - k_day, k_now - 100 * k_day, k_now));
  const auto old = backup_finding(k_now - 5 * k_day, k_now - 100 * k_day, k_now);
  REQUIRE(old);
  CHECK(old->level == tenants::Finding::Level::warning);
  CHECK(old->message == "the last one was made 5d ago");
  // A state that has just begun has time.
  CHECK_FALSE(backup_finding(-1, k_now - k_day, k_now));
  const auto none = backup_finding(-1, k_now - 3 * k_day, k_now);
  REQUIRE(none);
  CHECK(none->message.starts_with("zood knows of none"));
}
