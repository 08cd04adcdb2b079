// SPDX-License-Identifier: Apache-2.0
#include "common/backup/archive.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace zoo;

namespace {

/// A state of several pieces, the last one of which is not full.
std::string long_text() {
  backup::Content content;
  content.header.version = "1.2.3";
  content.header.created = "2026-11-27T18:00:00Z";
  content.header.upstream = "11111111-2222-4333-8444-555555555555";
  content.header.revision = 4711;
  for (int i = 0; i < 60; ++i)
    content.records.push_back({"tenant", fmt::format("t{:05}", i),
                               Secret(std::string(4000, static_cast<char>('a' + i % 26))), i + 1,
                               i + 1});
  return std::string(backup::text_of(content)->view());
}

} // namespace

TEST_CASE("what was sealed with a passphrase opens with it alone") {
  const auto text = long_text();
  const auto passphrase = Secret::copy_of("correct horse");
  const auto sealed = backup::seal(text, &passphrase).value();
  CHECK(sealed.find("aaaaaaaa") == std::string::npos);
  CHECK(backup::open(sealed, &passphrase)->view() == text);

  const auto label = backup::read_label(sealed).value();
  CHECK(label.encrypted);
  CHECK(label.header.revision == 4711);
  CHECK(label.header.records.at("tenant") == 60);

  const auto wrong = Secret::copy_of("wrong horse");
  CHECK(backup::open(sealed, &wrong).error().code() == Code::forbidden);
  CHECK(backup::open(sealed, nullptr).error().code() == Code::forbidden);
}

TEST_CASE("without a passphrase it opens for anybody") {
  const auto text = long_text();
  const auto sealed = backup::seal(text, nullptr).value();
  CHECK_FALSE(backup::read_label(sealed)->encrypted);
  CHECK(backup::open(sealed, nullptr)->view() == text);
  const auto needless = Secret::copy_of("correct horse");
  CHECK(backup::open(sealed, &needless)->view() == text);
}

TEST_CASE("a flipped byte is refused wherever it is, with its place") {
  const auto sealed = backup::seal(long_text(), nullptr).value();
  const auto body = backup::read_label(sealed).value().body;
  std::set<std::string> places;
  for (std::size_t i = 0; i < 100; ++i) {
    const auto at = i * (sealed.size() - 1) / 99;
    auto bad = sealed;
    bad[at] = static_cast<char>(bad[at] ^ 0x20);
    CAPTURE(at);
    const auto opened = backup::open(bad, nullptr);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code() == Code::invalid);
    const auto& said = opened.error().message();
    if (at < body) {
      CHECK(said.find("backup") != std::string::npos);
    } else {
      CHECK(said.find("at byte ") != std::string::npos);
      places.insert(said.substr(0, said.find(',')));
    }
  }
  CHECK(places.size() > 3); // each of the pieces
}

TEST_CASE("each of the first bytes is looked at, too") {
  const auto sealed = backup::seal(long_text(), nullptr).value();
  const auto body = backup::read_label(sealed).value().body;
  for (std::size_t at = 0; at < body; ++at) {
    auto bad = sealed;
    bad[at] = static_cast<char>(bad[at] ^ 0x01);
    CAPTURE(at);
    CHECK(backup::open(bad, nullptr).error().code() == Code::invalid);
  }
}

TEST_CASE("a piece that is missing, repeated or of another place is found") {
  const auto sealed = backup::seal(long_text(), nullptr).value();
  const auto body = backup::read_label(sealed).value().body;
  constexpr std::size_t k_whole = 4 + 28 + (64u << 10); // of all pieces but the last one
  REQUIRE(sealed.size() > body + 2 * k_whole);
  const auto first = sealed.substr(body, k_whole), second = sealed.substr(body + k_whole, k_whole),
             head = sealed.substr(0, body), rest = sealed.substr(body + 2 * k_whole);
  const auto refused = [](const std::string& file) {
    const auto opened = backup::open(file, nullptr);
    return !opened && opened.error().code() == Code::invalid;
  };
  REQUIRE_FALSE(refused(head + first + second + rest));
  CHECK(refused(head + second + rest));
  CHECK(refused(head + first + first + second + rest));
  CHECK(refused(head + second + first + rest));
  CHECK(refused(head + first + second));
  CHECK(refused(head + first + second + rest + "x"));
  CHECK(refused(head));
  for (std::size_t less = 1; less < sealed.size(); less += sealed.size() / 50)
    CHECK(refused(sealed.substr(0, sealed.size() - less)));
}

TEST_CASE("what is no backup is called so") {
  CHECK(backup::open("", nullptr).error().message().find("no backup") != std::string::npos);
  CHECK(backup::open("zood-backup 2\n{}\n", nullptr).error().code() == Code::invalid);
}
