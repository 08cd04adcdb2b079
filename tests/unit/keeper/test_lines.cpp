// SPDX-License-Identifier: Apache-2.0
#include "daemon/keeper/lines.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace zoo;
using namespace zoo::keeper;
using Verb = Request::Verb;

namespace {

Plan some_plan() {
  Plan out{"abc123", "1.36.3", true, {}};
  out.components.push_back({"etcd", {"--data-dir", "a b"}, {"GOGC=50"}, {}, "127.64.0.1", 23790});
  out.components.push_back({"kube-apiserver", {}, {}, {"etcd"}, "127.64.0.1", 26443});
  return out;
}

std::string refusal(std::string_view line) {
  const auto read = request_of(line);
  return read ? "taken" : read.error().message();
}

} // namespace

TEST_CASE("requests and answers are read as they were written") {
  Request put;
  put.verb = Verb::put;
  put.plan = some_plan();
  put.plan.number = 65'535;
  auto line = text_of(put);
  REQUIRE(line.ends_with('\n'));
  line.pop_back();
  const auto read = request_of(line);
  REQUIRE(read);
  CHECK(read->verb == Verb::put);
  CHECK(read->plan == put.plan);

  Request run;
  run.verb = Verb::run;
  run.id = "abc123";
  run.wish = true;
  const auto again = request_of(text_of(run));
  REQUIRE(again);
  CHECK(again->verb == Verb::run);
  CHECK(again->id == "abc123");
  CHECK(again->wish);

  Reply reply;
  reply.states.push_back(
      {"abc123",
       "1.36.3",
       true,
       {{"etcd", ComponentState::Phase::running, 12, 3, 2, 1'700'000'000, "signal 9"}}});
  const auto answered = reply_of(text_of(reply));
  REQUIRE(answered);
  REQUIRE(answered->states.size() == 1);
  CHECK(answered->states[0].components == reply.states[0].components);
  CHECK(answered->states[0].ready());
  CHECK_FALSE(answered->states[0].gone());

  Reply facts;
  facts.available = 1'000;
  facts.unfenced = "no Landlock";
  facts.uid_base = 1'900'000'000;
  facts.users = "one runs as another user";
  const auto told = reply_of(text_of(facts));
  REQUIRE(told);
  CHECK(told->available == 1'000);
  CHECK(told->unfenced == "no Landlock");
  CHECK(told->uid_base == 1'900'000'000);
  CHECK(told->users == "one runs as another user");

  const auto failed = reply_of(text_of(Reply{Error(Code::not_found, "nothing \"there\""), {}}));
  REQUIRE(failed);
  REQUIRE(failed->error);
  CHECK(failed->error->code() == Code::not_found);
  CHECK(failed->error->message() == "nothing \"there\"");
}

TEST_CASE("a line that means nothing is refused with the reason") {
  CHECK(refusal("") == "the line is no JSON object");
  CHECK(refusal("[]") == "the line is no JSON object");
  CHECK(refusal("{}") == "there is no verb");
  CHECK(refusal(R"({"verb":"exec"})") == "there is no such verb");
  CHECK(refusal(R"({"verb":"run","wish":true})") == "there is no id");
  CHECK(refusal(R"({"verb":"run","id":"abc123"})") == "wish is neither true nor false");
  CHECK(refusal(R"({"verb":"remove","id":"../etc"})") == "id is not six characters of a-z and 0-9");
  CHECK(refusal(std::string(100, '[')) == "the line is nested too deeply");
  CHECK(refusal(R"({"verb":"put"})") == "put has no plan");
}

TEST_CASE("a plan names programs and loopback addresses alone") {
  const auto refused = [](auto change) {
    auto plan = some_plan();
    change(plan);
    Request put;
    put.verb = Verb::put;
    put.plan = plan;
    return refusal(text_of(put));
  };
  CHECK(refused([](Plan&) {}) == "taken");
  CHECK(refused([](Plan& plan) { plan.components[0].name = "../../bin/sh"; }) ==
        "'../../bin/sh' is no name of a component");
  CHECK(refused([](Plan& plan) { plan.version = "../.."; }) ==
        "version of abc123 is not one such as 1.36.3");
  CHECK(refused([](Plan& plan) { plan.version = "1..3"; }) ==
        "version of abc123 is not one such as 1.36.3");
  CHECK(refused([](Plan& plan) { plan.id = "ABC123"; }) ==
        "id is not six characters of a-z and 0-9");
  CHECK(refused([](Plan& plan) { plan.components[0].address = "10.0.0.1"; }) ==
        "address of etcd: '10.0.0.1' is not in 127.0.0.0/8");
  CHECK(refused([](Plan& plan) { plan.components[0].address = "127.0.0.256"; }) ==
        "address of etcd: '127.0.0.256' is not in 127.0.0.0/8");
  CHECK(refused([](Plan& plan) { plan.number = 16'777'217; }) == "number is above 16777216");
  CHECK(refused([](Plan& plan) { plan.components[0].port = 0; }) == "etcd has no port");
  CHECK(refused([](Plan& plan) { plan.components[0].environment = {"=x"}; }) ==
        "environment of etcd: '=x' is not NAME=value");
  CHECK(refused([](Plan& plan) { plan.components[0].after = {"kube-apiserver"}; }) ==
        "etcd comes after 'kube-apiserver', which does not stand before it");
  CHECK(refused([](Plan& plan) { plan.components[1].name = "etcd"; }) ==
        "there are two components 'etcd'");
  CHECK(refused([](Plan& plan) { plan.components.clear(); }) ==
        "abc123 has no components, or more than 16");
  CHECK(refused([](Plan& plan) {
          plan.components[0].arguments = {std::string(k_longest_argument + 1, 'x')};
        }) == "arguments has more than 4096 characters");
}

TEST_CASE("lines are cut out of whatever pieces they come in") {
  LineReader lines;
  CHECK(lines.add("one\ntw"));
  CHECK(lines.next() == "one");
  CHECK_FALSE(lines.next());
  CHECK(lines.add("o\n\nthree"));
  CHECK(lines.next() == "two");
  CHECK(lines.next() == "");
  CHECK_FALSE(lines.next());
  CHECK(lines.held() == 5);
  CHECK_FALSE(lines.add(std::string(k_longest_line, 'x')));
}
