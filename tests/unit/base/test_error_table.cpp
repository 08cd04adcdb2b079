// SPDX-License-Identifier: Apache-2.0
#include "common/base/error_table.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace zoo;

TEST_CASE("every code has exactly one row, with its own name") {
  std::set<Code> codes;
  std::set<std::string_view> names;
  for (const auto& row : error_table()) {
    CHECK(codes.insert(row.code).second);
    CHECK(names.insert(row.name).second);
    CHECK(error_row(row.code).name == row.name);
    CHECK(row.exit_status > 0);
    CHECK(row.exit_status < 256);
    CHECK(row.http_status >= 400);
  }
  CHECK(codes.size() == static_cast<std::size_t>(Code::cancelled) + 1);
}

TEST_CASE("a code outside the table is an internal error") {
  CHECK(error_row(static_cast<Code>(1000)).code == Code::internal);
}

TEST_CASE("a Status maps to a code by its reason first") {
  CHECK(code_from_status(409, "AlreadyExists") == Code::already_exists);
  CHECK(code_from_status(409, "Conflict") == Code::conflict);
  CHECK(code_from_status(410, "Expired") == Code::expired);
  CHECK(code_from_status(410, "Gone") == Code::expired);
  CHECK(code_from_status(500, "ServerTimeout") == Code::timeout);
  CHECK(code_from_status(500, error_row(Code::io).reason) == Code::io);
  CHECK(code_from_status(500, "InternalError") == Code::internal);
  CHECK(code_from_status(500, "") == Code::internal);
  CHECK(code_from_status(403, "NotFound") == Code::not_found);
}

TEST_CASE("a Status without a known reason maps by its HTTP status") {
  CHECK(code_from_status(404, "") == Code::not_found);
  CHECK(code_from_status(409, "") == Code::conflict);
  CHECK(code_from_status(422, "SomethingNew") == Code::invalid);
  CHECK(code_from_status(429, "") == Code::too_many_requests);
  CHECK(code_from_status(418, "") == Code::bad_request);
  CHECK(code_from_status(599, "") == Code::internal);
}

TEST_CASE("an error shows its frames, innermost first") {
  auto error = Error(Code::io, "disk full").context("while writing {}", "a").context("in b");
  CHECK(error.text() == "disk full (while writing a) (in b)");
  CHECK(error.message() == "disk full");
}

TEST_CASE("errors are values, and one that was handed on says so") {
  Error one(Code::io, "disk full");
  Error copy = one;
  CHECK(std::move(copy).context("while writing").text() == "disk full (while writing)");
  CHECK(one.text() == "disk full");
  const Error taken = std::move(one);
  CHECK(taken.code() == Code::io);
  CHECK(one.code() == Code::internal); // NOLINT: what it is after that is what is asked here
  CHECK(one.text() == "a failure that was handed on");
  const Error of_none = one;
  CHECK(of_none.code() == Code::internal);
  one = taken;
  one = *&one;
  CHECK(one.message() == "disk full");
  static_assert(sizeof(Error) == sizeof(void*));
}
