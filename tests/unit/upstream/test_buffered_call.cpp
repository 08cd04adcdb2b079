// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/buffered_call.hpp"
#include "tests/unit/upstream/list_bench.hpp"

using namespace zoo;
using namespace zoo::upstream;

namespace {

/// One request, its answer, and what `read` was given of it.
struct Asked {
  list_test::ScriptedCaller caller;
  std::string read;
  std::optional<Result<Answer>> answer;
  std::size_t refuse_behind = std::string::npos;
  std::unique_ptr<BufferedCall> call;

  explicit Asked(std::size_t limit, bool reads) {
    BufferedCall::Read reader;
    if (reads) {
      reader = [this](std::string_view bytes) -> Result<void> {
        read += bytes;
        if (read.size() > refuse_behind) return fail(Code::internal, "not what it should be");
        return {};
      };
    }
    call = std::make_unique<BufferedCall>(
        caller, get_head("/x", "application/json"), CallOptions{}, limit,
        [this](Result<Answer> result) { answer = std::move(result); }, nullptr, reader);
  }
};

} // namespace

TEST_CASE("an answer is kept up to its limit") {
  Asked whole(5, false);
  whole.caller.answer(200, "abcde", 2);
  REQUIRE(whole.answer);
  REQUIRE(*whole.answer);
  CHECK((**whole.answer).body == "abcde");
  Asked longer(4, false);
  longer.caller.answer(200, "abcde", 2);
  REQUIRE(longer.answer);
  REQUIRE_FALSE(*longer.answer);
  CHECK(longer.answer->error().code() == Code::too_large);
  CHECK(longer.caller.alive.empty());
}

TEST_CASE("an answer that is read as it comes is not kept") {
  Asked asked(4, true);
  asked.caller.answer(200, "abcdefgh", 3);
  REQUIRE(asked.answer);
  REQUIRE(*asked.answer);
  CHECK((**asked.answer).ok());
  CHECK((**asked.answer).body.empty());
  CHECK(asked.read == "abcdefgh");
}

TEST_CASE("of another answer than 200 its body is kept, not read") {
  Asked asked(4, true);
  asked.caller.answer(503, "busy", 3);
  REQUIRE(asked.answer);
  REQUIRE(*asked.answer);
  CHECK((**asked.answer).body == "busy");
  CHECK(asked.read.empty());
}

TEST_CASE("who cannot read an answer ends the call") {
  Asked asked(4, true);
  asked.refuse_behind = 3;
  asked.caller.answer(200, "abcdefghi", 3);
  REQUIRE(asked.answer);
  REQUIRE_FALSE(*asked.answer);
  CHECK(asked.answer->error().code() == Code::internal);
  CHECK(asked.read == "abcdef");
  CHECK(asked.caller.alive.empty());
}
