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
    Reason::own_keys,      Reason::own_group,       Reason::cluster_read,
    Reason::inert,         Reason::stored_versions, Reason::signing,
    Reason::room,          Reason::documents,       Reason::look,
    Reason::namespace_gone};

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
    CHECK(text_of(view, Actor::zood(reason)) == "zood");
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
  answers.as_zood = SetOf<Reason>::all(Reason::namespace_gone);
  const auto view = view_of(answers, "");
  for (const auto reason : k_reasons) {
    const bool as_zood = text_of(view, Actor::zood(reason)) == "zood";
    CHECK(as_zood == !rests_on_prefix(reason));
  }
  CHECK(rests_on_prefix(Reason::own_keys));
  CHECK_FALSE(rests_on_prefix(Reason::documents));
}
