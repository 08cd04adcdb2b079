// SPDX-License-Identifier: Apache-2.0
#include "common/base/text.hpp"

#include <doctest/doctest.h>

using namespace zoo;

TEST_CASE("edit distance counts an adjacent swap once") {
  CHECK(text::edit_distance("", "") == 0);
  CHECK(text::edit_distance("abc", "") == 3);
  CHECK(text::edit_distance("listen", "lisetn") == 1);
  CHECK(text::edit_distance("listen", "listn") == 1);
  CHECK(text::edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("the nearest candidate is near enough or none") {
  const std::string_view words[] = {"listen", "advertise", "workers"};
  CHECK(text::nearest("listn", words) == "listen");
  CHECK(text::nearest("adverties", words) == "advertise");
  CHECK_FALSE(text::nearest("zebra", words).has_value());
  CHECK_FALSE(text::nearest("", words).has_value());
  CHECK_FALSE(text::nearest("listen", {}).has_value());
}

TEST_CASE("split keeps empty parts") {
  CHECK(text::split("", ',') == std::vector<std::string_view>{""});
  CHECK(text::split("a,,b,", ',') == std::vector<std::string_view>{"a", "", "b", ""});
}

TEST_CASE("trim takes blanks from both ends only") {
  CHECK(text::trim(" \t a b\r\n") == "a b");
  CHECK(text::trim("   ") == "");
  CHECK(text::trim("") == "");
}

TEST_CASE("iequals folds ASCII letters only") {
  CHECK(text::iequals("Content-Type", "content-TYPE"));
  CHECK_FALSE(text::iequals("a", "ab"));
  CHECK_FALSE(text::iequals("@", "`"));
}

TEST_CASE("a control character is found at each place of texts of each length") {
  for (std::size_t length = 0; length < 40; ++length) {
    std::string text(length, 'a');
    CHECK_FALSE(text::has_control(text));
    for (std::size_t at = 0; at < length; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        text[at] = static_cast<char>(byte);
        const bool wanted = (byte < 0x20 && byte != '\t') || byte == 0x7f;
        if (text::has_control(text) != wanted)
          FAIL("byte " << byte << " at " << at << " of " << length);
      }
      text[at] = at % 2 == 0 ? ' ' : '\xff';
    }
  }
}
