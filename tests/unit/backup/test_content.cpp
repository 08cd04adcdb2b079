// SPDX-License-Identifier: Apache-2.0
#include "common/api/sealed.hpp"
#include "common/backup/content.hpp"
#include "common/backup/verify.hpp"
#include "common/crypto/aead.hpp"
#include "common/crypto/digest.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace zoo;

namespace {

Secret key_of(char byte) { return Secret(std::string(crypto::Sealer::k_key_size, byte)); }

std::string sealed_by(char key, std::string_view text, const std::string& associated) {
  return crypto::base64_encode(crypto::Sealer(key_of(key)).seal(text, associated));
}

/// A tenant with a kept credential, as zood stores it.
backup::Content small() {
  namespace sealed = api::sealed;
  backup::Content out;
  out.header.version = "1";
  out.header.created = "2026-11-27T18:00:00Z";
  out.header.revision = 3;
  out.files.push_back({"master.key", Secret(crypto::base64_encode(key_of('m').view()) + "\n")});
  out.records.push_back(
      {"keyring", std::string(sealed::k_credentials),
       Secret(sealed_by('m', key_of('c').view(), sealed::keyring(sealed::k_credentials))), 1, 1});
  out.records.push_back(
      {"credential", "foofoo",
       Secret(R"({"key":")" + sealed_by('c', "a key", sealed::credential("foofoo")) + "\"}"), 2,
       2});
  out.records.push_back({"tenant", "foofoo", Secret(std::string(R"({"id":"foofoo"})")), 3, 3});
  return out;
}

std::string text() { return std::string(backup::text_of(small())->view()); }

} // namespace

TEST_CASE("what is written is read again") {
  const auto read = backup::read_content(text()).value();
  CHECK(read.header.revision == 3);
  CHECK(read.header.records.at("tenant") == 1);
  REQUIRE(read.files.size() == 1);
  CHECK(read.files[0].name == "master.key");
  REQUIRE(read.records.size() == 3);
  CHECK(read.records[2].kind == "tenant");
  CHECK(read.records[2].value.view() == R"({"id":"foofoo"})");
  CHECK(read.records[2].created_revision == 3);
  CHECK(backup::problems_of(read).empty());
}

TEST_CASE("lines that are missing or strange are refused, with their number") {
  const auto whole = text();
  const auto second = whole.find('\n') + 1, third = whole.find('\n', second) + 1;
  CHECK(backup::read_content("").error().code() == Code::invalid);
  CHECK(backup::read_content(whole.substr(0, whole.size() - 1)).error().code() == Code::invalid);
  CHECK(backup::read_content(whole.substr(0, second) + whole.substr(third)).error().code() ==
        Code::invalid);
  CHECK(backup::read_content(whole + "{}\n").error().code() == Code::invalid);
  const auto strange = backup::read_content(whole.substr(0, second) + "strange\n").error();
  CHECK(strange.message().find("line 2") != std::string::npos);
}

TEST_CASE("no file is named that is not zood's") {
  for (const char* good : {"master.key", "pki/ca.key", "upstream.kubeconfig"})
    CHECK(backup::is_file_name(good));
  for (const char* bad : {"", "/etc/passwd", "../x", "pki/../../x", "a/b/c", "pki/", "a b", "a\n"})
    CHECK_FALSE(backup::is_file_name(bad));
}

TEST_CASE("what would not work is told before it is restored") {
  auto content = small();
  content.files.clear();
  CHECK(backup::problems_of(content).at(0).find("master.key") != std::string::npos);

  content = small();
  content.files[0].bytes = Secret(crypto::base64_encode(key_of('x').view()));
  CHECK(backup::problems_of(content).at(0).find("does not open") != std::string::npos);

  content = small();
  content.records[1].key = "barbar"; // a credential in another one's place
  CHECK(backup::problems_of(content).at(0).find("barbar") != std::string::npos);

  content = small();
  content.records[2].value = Secret(std::string("{"));
  CHECK(backup::problems_of(content).at(0).find("no JSON") != std::string::npos);

  content = small();
  content.files.push_back({"pki/ca.crt", Secret(std::string("x"))});
  CHECK(backup::problems_of(content).at(0).find("pki/ca") != std::string::npos);
}
