// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/structure.hpp"
#include "tests/fuzz/by_bytes.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <random>
#include <string>

using namespace zoo::translate;

namespace {

std::string noise(std::mt19937& random, std::string_view letters, std::size_t size) {
  std::string out;
  for (std::size_t i = 0; i < size; ++i)
    out += letters[random() % letters.size()];
  return out;
}

Words naive(std::string_view text, std::string_view prefix) {
  return text.find("\\u") != std::string_view::npos ? k_all_words : words_by_bytes(text, prefix);
}

/// Runs the rest of the case with the code for each sort of processor that this one can run.
void on_each_processor(const std::function<void()>& check) {
  std::size_t ran = 0;
  for (const auto each : {Processor::any, Processor::avx2, Processor::avx512}) {
    if (!use_processor(each)) continue; // the last one is the best
    CAPTURE(static_cast<int>(each));
    check();
    ++ran;
  }
  CHECK(ran > 0);
}

} // namespace

TEST_CASE("a nested value ends where counting byte by byte says, in pieces of any size") {
  on_each_processor([] {
    std::mt19937 random(7);
    for (int turn = 0; turn < 4000; ++turn) {
      const auto letters = turn % 2 == 0 ? std::string_view(R"({}[]"\\"a, )")
                                         : std::string_view(R"({}"\abcdefghijklmnopqrstuvw:,)");
      const auto text = noise(random, letters, random() % 300);
      const auto wanted = end_by_bytes(text);
      for (const std::size_t piece : {1U, 2U, 63U, 64U, 65U, 127U, 1000U}) {
        CAPTURE(text);
        CAPTURE(piece);
        CHECK(end_by_blocks(text, piece) == wanted);
      }
    }
  });
}

TEST_CASE("a nested value of many levels and long runs of backslashes") {
  on_each_processor([] {
    const std::string deep = std::string(5000, '[') + std::string(5001, ']') + "rest";
    CHECK(end_by_blocks(deep, 4096) == 10001);
    for (std::size_t count = 60; count < 70; ++count) {
      const auto text = "\"" + std::string(count, '\\') + "\"}\"}";
      CAPTURE(count);
      CHECK(end_by_blocks(text, 1000) == end_by_bytes(text));
      CHECK(end_by_blocks(text, 7) == end_by_bytes(text));
    }
  });
}

TEST_CASE("a nested value is passed over, and the words in it are known") {
  on_each_processor([] {
    std::mt19937 random(13);
    const std::array words = {"abc123-",       "kubezoo.io",    "deviceclass.", "\"affinity\"",
                              "\"storageos\"", "\"ephemeral\"", "\\u0041",      "plain"};
    for (int turn = 0; turn < 20'000; ++turn) {
      const std::string word = words[random() % words.size()];
      // The value's end is in front of the word, behind it, or nowhere.
      auto text = noise(random, "{}[]\"a,:", random() % 12) +
                  std::string(random() % 140, "a{\\"[random() % 3]) + word +
                  noise(random, "}]\"a\\", random() % 80);
      CAPTURE(text);
      const auto end = end_by_bytes(text);
      const auto passed = pass_nested(text, "abc123-");
      CHECK(passed.size == end);
      if (end != std::string_view::npos)
        CHECK(passed.words == naive(std::string_view(text).substr(0, end), "abc123-"));
    }
    CHECK(pass_nested("", "abc123-").size == std::string_view::npos);
    CHECK(pass_nested("}", "").words == k_all_words); // nothing to look for: all may be there
    CHECK(pass_nested("}", "").size == 1);
  });
}

TEST_CASE("words are found wherever they stand, and nothing else is") {
  on_each_processor([] {
    const std::vector<std::string> words = {"abc123-",
                                            "kubezoo.io",
                                            "'zoo-tenants-",
                                            "zoo-pods-inside",
                                            "zoo-root-ca.crt",
                                            "deviceclass.",
                                            "\"affinity\"",
                                            "\"priorityClassName\"",
                                            "\"runtimeClassName\"",
                                            "\"ephemeral\"",
                                            "\"clusterTrustBundle\"",
                                            "\"podCertificate\"",
                                            "\"storageos\"",
                                            "\\u0041",
                                            "abc124-",
                                            "\"f:affinity\"",
                                            "kubezoo.i",
                                            "deviceclass",
                                            "\\\\"};
    std::mt19937 random(11);
    for (const auto& word : words) {
      for (std::size_t before = 0; before < 100; ++before) {
        const auto text = noise(random, "abc123-\"{}:,.xyzCTd", before) + word +
                          noise(random, "abc123-\"{}:,.xyzCTd", random() % 80);
        CAPTURE(text);
        CHECK(words_in(text, "abc123-") == naive(text, "abc123-"));
        // Cut in the middle of the word: nothing behind the end is looked at.
        const auto cut = std::string_view(text).substr(0, before + word.size() - 1);
        CHECK(words_in(cut, "abc123-") == naive(cut, "abc123-"));
      }
    }
    CHECK(words_in("", "abc123-") == 0);
  });
}
