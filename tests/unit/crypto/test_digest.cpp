// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/digest.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace zoo;
using namespace zoo::crypto;

TEST_CASE("sha256 and hex agree with FIPS 180-4's example") {
  CHECK(hex_encode(view(sha256("abc"))) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hex_encode(view(sha256(""))).starts_with("e3b0c442"));
  CHECK(short_digest("") == "e3b0c442");
}

TEST_CASE("hex decodes either case and nothing else") {
  CHECK(hex_decode("00fFAb").value() == std::string("\x00\xff\xab", 3));
  CHECK(hex_decode("").value().empty());
  for (const auto* bad : {"0", "0g", "0x00", " 00"})
    CHECK(hex_decode(bad).error().code() == Code::invalid);
}

TEST_CASE("base64 agrees with RFC 4648 10") {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, encoded] : vectors) {
    CHECK(base64_encode(plain) == encoded);
    CHECK(base64_decode(encoded).value() == plain);
  }
}

TEST_CASE("base64url has its own alphabet and no padding") {
  CHECK(base64url_encode("\xfb\xff\xfe") == "-__-");
  CHECK(base64_encode("\xfb\xff\xfe") == "+//+");
  CHECK(base64url_decode("-__-").value() == "\xfb\xff\xfe");
  CHECK(base64url_encode("f") == "Zg");
  CHECK(base64url_decode("Zg").value() == "f");
}

TEST_CASE("every byte survives both encodings") {
  std::string all;
  for (int i = 0; i < 256; ++i)
    all += static_cast<char>(i);
  for (std::size_t cut = 0; cut < 3; ++cut) {
    const auto bytes = all.substr(cut);
    CHECK(base64_decode(base64_encode(bytes)).value() == bytes);
    CHECK(base64url_decode(base64url_encode(bytes)).value() == bytes);
  }
}

TEST_CASE("base64 refuses padding, blanks, foreign characters and stray bits") {
  for (const auto* bad : {"Zg", "Zg=", "Zg===", "====", "A===", "Z g=", "Zm9v\n",
                          "Zh==", "Zm9=", "-__-", "Zg==Zg==", "\xc3\xa4g="}) {
    CAPTURE(bad);
    CHECK(base64_decode(bad).error().code() == Code::invalid);
  }
  for (const auto* bad : {"Zg==", "Z", "+//+", "Zh", "Zg "}) {
    CAPTURE(bad);
    CHECK(base64url_decode(bad).error().code() == Code::invalid);
  }
}

TEST_CASE("random bytes and UUIDs do not repeat") {
  CHECK(random_bytes(0).value().empty());
  CHECK(random_bytes(16).value().size() == 16);
  CHECK(random_bytes(16).value() != random_bytes(16).value());
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const auto uuid = uuid_v4();
    CHECK(uuid.size() == 36);
    CHECK(uuid[14] == '4');
    CHECK(std::string_view("89ab").find(uuid[19]) != std::string_view::npos);
    CHECK(uuid.find_first_not_of("0123456789abcdef-") == std::string::npos);
    CHECK(seen.insert(uuid).second);
  }
}

TEST_CASE("uuid_v8 is made of its seed alone") {
  // The first 16 bytes of SHA-256("abc") (FIPS 180-2 B.1), with version and variant of RFC 9562.
  CHECK(uuid_v8("abc") == "ba7816bf-8f01-8fea-8141-40de5dae2223");
  CHECK(uuid_v8("abd") != uuid_v8("abc"));
}

TEST_CASE("constant-time comparison compares") {
  CHECK(equal_constant_time("", ""));
  CHECK(equal_constant_time("abc", "abc"));
  CHECK_FALSE(equal_constant_time("abc", "abd"));
  CHECK_FALSE(equal_constant_time("abc", "ab"));
}
