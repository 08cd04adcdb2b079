// SPDX-License-Identifier: Apache-2.0
#include "daemon/access/passage.hpp"
#include "daemon/http/field_lines.hpp"
#include "tests/unit/access/views.hpp"

#include <doctest/doctest.h>

using namespace zoo::access;
using zoo::access::test::k_callers;
using zoo::access::test::view_of;

namespace {

Principal jane() {
  Principal out;
  out.user = "jane";
  out.groups = {"dev", "system:authenticated"};
  out.uid = "u-7";
  out.extra = {{"example.com/scopes", {"a", "b"}}};
  return out;
}

std::string text_of(const View& view, Actor actor) {
  const auto lines = passage_of(view, jane(), actor);
  return lines ? std::string(lines->text()) : "zood";
}

constexpr std::string_view k_as_jane = "Impersonate-User: jane\r\n"
                                       "Impersonate-Uid: u-7\r\n"
                                       "Impersonate-Group: dev\r\n"
                                       "Impersonate-Group: system:authenticated\r\n"
                                       "Impersonate-Extra-example.com%2Fscopes: a\r\n"
                                       "Impersonate-Extra-example.com%2Fscopes: b\r\n";

constexpr Reason k_reasons[] = {
    Reason::own_keys,       Reason::own_group,       Reason::cluster_read,
    Reason::inert,          Reason::stored_versions, Reason::signing,
    Reason::room,           Reason::documents,       Reason::look,
    Reason::namespace_gone, Reason::own_rights};

} // namespace

TEST_CASE("upstream hears the tenant's user, and who that is inside in characters of its own") {
  Principal identity;
  identity.user = "jane\r\nImpersonate-User: admin";
  identity.groups = {"dev", "system:masters", ""};
  CHECK(as_tenant_user("zoo:foofoo", identity)->text() ==
        "Impersonate-User: zoo:foofoo\r\n"
        "Impersonate-Group: zoo:tenants\r\n"
        "Impersonate-Extra-Zoo-User: jane%0D%0AImpersonate-User%3A%20admin\r\n"
        "Impersonate-Extra-Zoo-Group: dev\r\n"
        "Impersonate-Extra-Zoo-Group: system%3Amasters\r\n"
        "Impersonate-Extra-Zoo-Group: \r\n");
}

TEST_CASE("a tenant's client goes as the tenant's user, and as zood for a reason") {
  const auto view = view_of(k_tenant_answers, "foofoo");
  CHECK(text_of(view, Actor::client())
            .starts_with("Impersonate-User: zoo:foofoo\r\n"
                         "Impersonate-Group: zoo:tenants\r\n"
                         "Impersonate-Extra-"));
  CHECK(text_of(view, Actor::client_anywhere())
            .starts_with("Impersonate-User: zoo:foofoo\r\n"
                         "Impersonate-Group: zoo:tenants\r\n"
                         "Impersonate-Group: zoo:tenants-anywhere\r\n"));
  for (const auto reason : k_reasons)
    if (reason != Reason::own_rights) CHECK(text_of(view, Actor::zood(reason)) == "zood");
  // Upstream's RBAC says nothing of who somebody is inside of a tenant.
  CHECK(text_of(view, Actor::zood(Reason::own_rights)) == text_of(view, Actor::client()));
}

TEST_CASE("through a view without a prefix its caller goes as himself, whatever a flow asks for") {
  const auto view = view_of(k_callers, "");
  CHECK(text_of(view, Actor::client()) == k_as_jane);
  CHECK(text_of(view, Actor::client_anywhere()) == k_as_jane);
  for (const auto reason : k_reasons)
    CHECK(text_of(view, Actor::zood(reason)) == k_as_jane);
}

TEST_CASE("no prefix is no proof: a reason that rests on one sends nothing as zood without it") {
  // Even where somebody has given such a view every reason there is.
  auto answers = k_callers;
  answers.as_zood = SetOf<Reason>::all(Reason::own_rights);
  const auto view = view_of(answers, "");
  for (const auto reason : k_reasons) {
    const bool as_zood = text_of(view, Actor::zood(reason)) == "zood";
    CHECK(as_zood == !rests_on_prefix(reason));
  }
  CHECK(rests_on_prefix(Reason::own_keys));
  CHECK_FALSE(rests_on_prefix(Reason::documents));
}

TEST_CASE(
    "an account's user goes as himself, but for documents and what his rights have filtered") {
  const auto view = view_of(k_account_answers, "");
  CHECK(text_of(view, Actor::client()) == k_as_jane);
  for (const auto reason : k_reasons) {
    const bool as_zood = text_of(view, Actor::zood(reason)) == "zood";
    CHECK(as_zood == (reason == Reason::documents || reason == Reason::own_rights));
  }
}

TEST_CASE("whoever impersonates somebody is told to upstream beside him") {
  auto who = jane();
  who.impersonator = "root";
  who.extra = {{"Example/Key", {"a"}}};
  CHECK(as_caller(who)->text().ends_with("Impersonate-Extra-%45xample%2F%4Bey: a\r\n"
                                         "Impersonate-Extra-zoo-impersonator: root\r\n"));
}

TEST_CASE("whoever cannot be told to upstream as he is, is not let in") {
  CHECK(check_caller(jane()).has_value());
  const auto refused = [](auto change) {
    auto who = jane();
    change(who);
    const auto checked = check_caller(who);
    return !checked && checked.error().code() == zoo::Code::unauthorized;
  };
  CHECK(refused([](auto& who) { who.user = ""; }));
  CHECK(refused([](auto& who) { who.user = "admin "; })); // upstream would read "admin"
  CHECK(refused([](auto& who) { who.user = "jane\r\nImpersonate-User: admin"; }));
  CHECK(refused([](auto& who) { who.groups.emplace_back(""); }));
  CHECK(refused([](auto& who) { who.groups.emplace_back(" system:masters"); }));
  CHECK(refused([](auto& who) { who.uid = "7\x7f"; }));
  CHECK(refused([](auto& who) { who.extra.push_back({"", {"x"}}); }));
  CHECK(refused([](auto& who) { who.extra.push_back({"key", {"\xff"}}); }));
  CHECK(refused([](auto& who) { who.impersonator = "\tx"; }));
}

TEST_CASE("the relay of webhooks goes as the tenant's user, and is none of its tenants") {
  CHECK(as_relay("zoo:foofoo")->text() == "Impersonate-User: zoo:foofoo\r\n"
                                          "Impersonate-Group: zoo:relay\r\n");
}
