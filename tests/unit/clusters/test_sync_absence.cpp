// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/absence.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <vector>

using namespace zoo;
using std::chrono::milliseconds;
using zoo::clusters::sync::Absence;

namespace {

/// Runs a loop, on which `begin` gets an Absence of that patience, until somebody stops it, or for
/// so long. What was told meanwhile.
struct AbsenceWorld {
  net::Loop loop;
  std::unique_ptr<Absence> absence;
  std::vector<bool> told;
  std::function<void(bool)> on_told = [](bool) {};

  std::vector<bool> run(milliseconds patience, milliseconds at_most,
                        const std::function<void()>& begin) {
    std::optional<net::Timer> end;
    loop.post([&] {
      absence = std::make_unique<Absence>(loop, patience, [this](bool away) {
        told.push_back(away);
        on_told(away);
      });
      end.emplace(loop);
      end->start(at_most, [this] { loop.stop(); });
      begin();
    });
    loop.run();
    absence.reset();
    end.reset();
    return told;
  }
};

constexpr milliseconds k_long{30'000}, k_short{5};

} // namespace

TEST_CASE_FIXTURE(AbsenceWorld, "what is not heard for long is told once, and that it is again") {
  on_told = [this](bool away) {
    if (!away) return loop.stop();
    absence->heard(false); // it is still not
    absence->heard(true);
  };
  CHECK(run(k_short, k_long, [this] { absence->heard(false); }) == std::vector<bool>{true, false});
}

TEST_CASE_FIXTURE(AbsenceWorld, "what was never heard is told, too") {
  on_told = [this](bool) { loop.stop(); };
  CHECK(run(k_short, k_long, [] {}) == std::vector<bool>{true});
}

TEST_CASE_FIXTURE(AbsenceWorld, "a moment is not worth a word") {
  const auto moments = [this] {
    for (int i = 0; i < 3; ++i) {
      absence->heard(true);
      absence->heard(false);
    }
  };
  CHECK(run(k_long, milliseconds(50), moments).empty());
}

TEST_CASE_FIXTURE(AbsenceWorld, "what is heard is not told to be away") {
  CHECK(run(k_short, milliseconds(50), [this] { absence->heard(true); }).empty());
}
