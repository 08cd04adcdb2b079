// SPDX-License-Identifier: Apache-2.0
// What etcd's driver does beyond what every store promises: faults on the way, compaction, TLS,
// users.
#include "common/crypto/digest.hpp"
#include "tests/unit/store/store_fixture.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <cstdlib>
#include <map>
#include <set>
#include <thread>

using namespace zoo;
using namespace zoo::store;
using nlohmann::json;
using test::Changes;
using test::Cutter;
using test::EtcdServer;

namespace {

std::string b64(std::string_view text) { return crypto::base64_encode(text); }

void compact(const Store& store, std::int64_t base = 0) {
  const auto revision = const_cast<Store&>(store).revision().value() - base;
  EtcdServer::one().ask("/v3/kv/compaction",
                        {{"revision", std::to_string(revision)}, {"physical", true}});
}

std::unique_ptr<Store> open_through(const Cutter& cutter, const std::string& prefix) {
  auto options = EtcdServer::one().options(prefix);
  options.endpoints = {cutter.endpoint()};
  return open_etcd(std::move(options)).value();
}

template <class Condition>
bool eventually(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(40);
  while (std::chrono::steady_clock::now() < end) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

} // namespace

TEST_CASE("no write is done twice or lost where answers are, and each knows its outcome") {
  Cutter cutter(EtcdServer::one().endpoint());
  const auto prefix = EtcdServer::new_prefix();
  const auto store = open_through(cutter, prefix);
  const auto straight = EtcdServer::one().open(prefix);
  const auto begun = straight->put("k", "counter", "0").value().revision;
  Changes changes;
  const auto watch =
      straight->watch("k", begun, [&](const Change& change) { changes.add(change); }).value();
  cutter.lose_answers(7);
  const int each = std::getenv("ZOO_LONG") != nullptr ? 2'500 : 100;
  constexpr int k_threads = 4;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < k_threads; ++t) {
    threads.emplace_back([&, t] {
      for (int done = 0; done < each;) {
        const auto now = store->get("k", "counter");
        if (!now) continue;
        const auto next = std::to_string(std::stoi(now->value) + 1);
        const auto put = store->put("k", "counter", next, now->revision);
        if (put) {
          ++done;
          if (put->value != next || put->created_revision != begun) ++wrong;
        } else if (put.error().code() != Code::conflict) {
          ++wrong;
        }
        // One that makes and one that removes: each succeeds every time.
        const auto own = fmt::format("own-{}", t);
        if (done % 10 == 0 && (!store->put("own", own, next, 0) || !store->remove("own", own)))
          ++wrong;
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  cutter.lose_answers(0);
  CHECK(wrong == 0);
  CHECK(cutter.lost() > each / 10);
  CHECK(store->get("k", "counter")->value == std::to_string(k_threads * each));
  CHECK(store->list("own")->records.empty());
  const auto seen = changes.wait_for(static_cast<std::size_t>(k_threads * each));
  REQUIRE(seen.size() == static_cast<std::size_t>(k_threads * each));
  for (std::size_t i = 0; i < seen.size(); ++i)
    CHECK(seen[i].record.value == std::to_string(i + 1));
}

TEST_CASE("a watch may begin before the store was opened, and goes on") {
  const auto prefix = EtcdServer::new_prefix();
  std::int64_t first = 0;
  {
    const auto store = EtcdServer::one().open(prefix);
    first = store->put("k", "a", "1").value().revision;
    REQUIRE(store->put("k", "b", "2"));
    REQUIRE(store->put("k-", "b", "x"));
    REQUIRE(store->remove("k", "b"));
  }
  const auto store = EtcdServer::one().open(prefix);
  Changes changes;
  auto watch = store->watch("k", first, [&](const Change& change) { changes.add(change); }).value();
  REQUIRE(changes.wait_for(2).size() == 2);
  REQUIRE(store->put("k", "c", "3"));
  const auto seen = changes.wait_for(3);
  REQUIRE(seen.size() == 3);
  CHECK(seen[0].created);
  CHECK(seen[1].type == Change::Type::removed);
  CHECK(seen[1].record.value == "2");
  CHECK(seen[2].record.key == "c");
  watch.reset();
  REQUIRE(store->put("k", "d", "4"));
  CHECK(changes.wait_for(0).size() == 3);
}

TEST_CASE("to watch from what etcd has compacted, or has not reached, is Expired") {
  const auto prefix = EtcdServer::new_prefix();
  std::int64_t first = 0, last = 0;
  {
    const auto store = EtcdServer::one().open(prefix);
    first = store->put("k", "a", "1").value().revision;
    last = store->put("k", "a", "2").value().revision;
    compact(*store);
  }
  const auto store = EtcdServer::one().open(prefix);
  const auto from = [&](std::int64_t revision) {
    return store->watch("k", revision, [](const Change&) {});
  };
  CHECK(from(first).error().code() == Code::expired);
  CHECK(from(first).error().message().find("list again") != std::string::npos);
  CHECK(from(last));
  CHECK(from(last + 1'000'000).error().code() == Code::expired);
  CHECK(from(-1).error().code() == Code::expired);
}

TEST_CASE("what a stream misses while it is cut and etcd compacts is found out by comparing") {
  Cutter cutter(EtcdServer::one().endpoint());
  const auto prefix = EtcdServer::new_prefix();
  const auto store = open_through(cutter, prefix);
  const auto straight = EtcdServer::one().open(prefix);
  for (const auto* key : {"changed", "gone", "kept"})
    REQUIRE(store->put("k", key, "1"));
  Changes changes, others;
  const auto begun = store->put("other", "a", "1").value().revision;
  const auto watch =
      store->watch("k", begun, [&](const Change& change) { changes.add(change); }).value();
  const auto other =
      store->watch("other", begun, [&](const Change& change) { others.add(change); }).value();
  REQUIRE(store->put("k", "before", "1"));
  REQUIRE(changes.wait_for(1).size() == 1);
  cutter.close_all();
  REQUIRE(straight->remove("k", "gone"));
  REQUIRE(straight->put("k", "new", "1"));
  REQUIRE(straight->put("k", "changed", "2"));
  const auto changed = straight->put("k", "changed", "3").value().revision;
  REQUIRE(straight->put("k", "fleeting", "1"));
  REQUIRE(straight->remove("k", "fleeting"));
  REQUIRE(straight->put("other", "a", "2"));
  compact(*straight);
  cutter.open_again();
  const auto seen = changes.wait_for(4);
  REQUIRE(seen.size() == 4);
  CHECK(seen[1].record.key == "new");
  CHECK(seen[1].created);
  CHECK(seen[2].record.key == "changed");
  CHECK(seen[2].record.value == "3");
  CHECK(seen[2].record.revision == changed);
  CHECK_FALSE(seen[2].created);
  CHECK(seen[3].record.key == "gone");
  CHECK(seen[3].type == Change::Type::removed);
  CHECK(seen[3].record.revision >= changed);
  CHECK(others.wait_for(1).size() == 1);
  // And it goes on from there.
  REQUIRE(straight->put("k", "after", "1"));
  CHECK(changes.wait_for(5).back().record.key == "after");
}

TEST_CASE("a stream that is silent is left, and what it missed is told") {
  Cutter silent(EtcdServer::one().endpoint());
  const auto prefix = EtcdServer::new_prefix();
  auto options = EtcdServer::one().options(prefix);
  options.endpoints = {silent.endpoint(), EtcdServer::one().endpoint()};
  const auto store = open_etcd(std::move(options)).value();
  const auto begun = store->put("k", "a", "1").value().revision;
  Changes changes;
  const auto watch =
      store->watch("k", begun, [&](const Change& change) { changes.add(change); }).value();
  REQUIRE(store->put("k", "a", "2"));
  REQUIRE(changes.wait_for(1).size() == 1); // by the member that is silent from now on
  silent.hold(true);                        // as if it were stopped, or its cable out
  CHECK(store->put("k", "a", "3"));
  CHECK(changes.wait_for(2).size() == 2);
  silent.hold(false);
}

TEST_CASE("while etcd is away reads and writes are Unavailable, and the store says for how long") {
  Cutter cutter(EtcdServer::one().endpoint());
  const auto store = open_through(cutter, EtcdServer::new_prefix());
  const auto begun = store->put("k", "a", "1").value().revision;
  Changes changes;
  const auto watch =
      store->watch("k", begun, [&](const Change& change) { changes.add(change); }).value();
  cutter.close_all();
  const auto put = store->put("k", "a", "2");
  CHECK(put.error().code() == Code::unavailable);
  CHECK(put.error().message().find("cannot be reached") != std::string::npos);
  CHECK(put.error().message().find("may have been") != std::string::npos);
  CHECK(store->get("k", "a").error().code() == Code::unavailable);
  CHECK(store->list("k").error().code() == Code::unavailable);
  CHECK(store->stale() > std::chrono::seconds(4));
  cutter.open_again();
  CHECK(eventually([&] { return store->put("k", "a", "3").has_value(); }));
  CHECK(changes.wait_for(1).back().record.value == "3");
  CHECK(eventually([&] { return store->stale() < std::chrono::seconds(4); }));
}

TEST_CASE("a fence that does not stand lets nothing be written") {
  const auto prefix = EtcdServer::new_prefix();
  const auto store = EtcdServer::one().open(prefix);
  const auto key = prefix + "s/leader/test";
  const auto put = [&] {
    EtcdServer::one().ask("/v3/kv/put", {{"key", b64(key)}, {"value", ""}});
    const auto found = EtcdServer::one().ask("/v3/kv/range", {{"key", b64(key)}});
    return std::stoll(found["kvs"][0]["create_revision"].get<std::string>());
  };
  const auto first = put();
  const std::vector<Op> ops{{"k", "a", "1"}};
  CHECK(store->write(ops, {}, Fence{key, first}));
  EtcdServer::one().ask("/v3/kv/deleterange", {{"key", b64(key)}});
  CHECK(store->write(ops, {}, Fence{key, first}).error().code() == Code::conflict);
  const auto second = put();
  CHECK(store->write(ops, {}, Fence{key, first}).error().code() == Code::conflict);
  CHECK(store->write(ops, {}, Fence{key, second}));
}

TEST_CASE("a prefix that was half filled is refused until it is cleared") {
  const auto prefix = EtcdServer::new_prefix();
  EtcdServer::one().ask("/v3/kv/put", {{"key", b64(prefix + "m/loading")}, {"value", b64("1")}});
  EtcdServer::one().ask("/v3/kv/put", {{"key", b64(prefix + "r/k/a")}, {"value", b64("1")}});
  const auto refused = open_etcd(EtcdServer::one().options(prefix));
  REQUIRE(!refused);
  CHECK(refused.error().code() == Code::conflict);
  CHECK(refused.error().message().find("--clear-target") != std::string::npos);
  REQUIRE(clear_etcd(EtcdServer::one().options(prefix)));
  const auto store = EtcdServer::one().open(prefix);
  CHECK(store->list("k")->records.empty());
}

TEST_CASE("a thousand records of a hundred kilobytes are loaded, listed and watched") {
  const auto prefix = EtcdServer::new_prefix();
  Snapshot all;
  all.revision = 2'000'000'000;
  for (int i = 0; i < 1'000; ++i)
    all.records.push_back(
        {"k", fmt::format("{:04}", i), std::string(i % 10 == 0 ? 100'000 : 10, 'v'), i + 1, i + 1});
  {
    const auto store = EtcdServer::one().open(prefix);
    REQUIRE(store->load(all));
  }
  const auto store = EtcdServer::one().open(prefix);
  CHECK(store->list("k")->records.size() == 1'000);
  CHECK(store->list("k", {}, "0100", 300)->records.size() == 300);
  CHECK(store->list("k", {}, "0100", 300)->more);
  const auto taken = store->snapshot().value();
  CHECK(taken.records.size() == 1'000);
  CHECK(taken.revision > all.revision);
  Changes changes;
  const auto watch =
      store->watch("k", all.revision, [&](const Change& change) { changes.add(change); }).value();
  const auto seen = changes.wait_for(1'000);
  REQUIRE(seen.size() == 1'000);
  CHECK(seen.back().record.key == "0999");
}

TEST_CASE("members are spoken to by TLS, and a certificate with a CN is explained") {
  const EtcdServer server("--tls --no-fsync");
  auto options = [&](const std::string& client) {
    auto out = server.options("/tls/");
    out.ca_pem = server.file("pki/ca.crt");
    out.certificate_pem = server.file("pki/" + client + ".crt");
    out.key_pem = Secret(server.file("pki/" + client + ".key"));
    return out;
  };
  {
    const auto store = open_etcd(options("client")).value();
    CHECK(store->put("k", "a", "1"));
    CHECK(store->get("k", "a")->value == "1");
  }
  auto other = options("client");
  other.server_name = "etcd.example";
  CHECK(open_etcd(std::move(other)));
  auto wrong = options("client");
  wrong.server_name = "other.example";
  CHECK(open_etcd(std::move(wrong)).error().code() == Code::unavailable);
  auto anonymous = options("client");
  anonymous.certificate_pem.clear();
  anonymous.key_pem = {};
  CHECK(!open_etcd(std::move(anonymous)));

  // With users, too.
  const auto ask = [&](const char* path, const json& body) { server.ask(path, body); };
  ask("/v3/auth/user/add", {{"name", "root"}, {"password", "r"}});
  ask("/v3/auth/role/add", {{"name", "root"}});
  ask("/v3/auth/user/grant", {{"user", "root"}, {"role", "root"}});
  ask("/v3/auth/user/add", {{"name", "zood"}, {"password", "p w"}});
  ask("/v3/auth/role/add", {{"name", "zood"}});
  ask("/v3/auth/role/grant",
      {{"name", "zood"},
       {"perm", {{"permType", "READWRITE"}, {"key", b64("/tls/")}, {"range_end", b64("/tls0")}}}});
  ask("/v3/auth/user/grant", {{"user", "zood"}, {"role", "zood"}});
  ask("/v3/auth/enable", json::object());
  const auto with_user = [&](const std::string& client, const char* password,
                             const char* prefix = "/tls/") {
    auto out = options(client);
    out.prefix = prefix;
    out.username = "zood";
    out.password = Secret(std::string(password));
    return open_etcd(std::move(out));
  };
  const auto nobody = open_etcd(options("client"));
  REQUIRE(!nobody);
  CHECK(nobody.error().message().find("store.etcd.username") != std::string::npos);
  CHECK(with_user("client", "wrong").error().code() == Code::forbidden);
  CHECK(with_user("client", "p w", "/else/").error().code() == Code::forbidden);
  const auto named = with_user("named", "p w");
  REQUIRE(!named);
  CHECK(named.error().message().find("without a CN") != std::string::npos);
  const auto store = with_user("client", "p w").value();
  Changes changes;
  const auto watch = store
                         ->watch("k", store->revision().value(),
                                 [&](const Change& change) { changes.add(change); })
                         .value();
  CHECK(store->put("k", "a", "2"));
  CHECK(changes.wait_for(1).size() == 1);
  // Who is an administrator changes users: tokens of before are not taken any more.
  server.ask("/v3/auth/authenticate", {{"name", "root"}, {"password", "r"}});
}

TEST_CASE("options that cannot be used are refused with what to write") {
  const auto refused = [](EtcdOptions options) {
    const auto opened = open_etcd(std::move(options));
    REQUIRE(!opened);
    CHECK(opened.error().code() == Code::invalid);
    return opened.error().message();
  };
  const auto with = [](const std::string& endpoint) {
    EtcdOptions out;
    out.endpoints = {endpoint};
    return out;
  };
  CHECK(refused({}).find("store.etcd.endpoints") != std::string::npos);
  CHECK(refused(with("etcd:2379")).find("https://") != std::string::npos);
  CHECK(refused(with("http://192.0.2.1:2379")).find("not encrypted") != std::string::npos);
  auto no_key = with("https://192.0.2.1:2379");
  no_key.certificate_pem = "x";
  CHECK(refused(std::move(no_key)).find("store.etcd.key") != std::string::npos);
  auto no_slash = with("http://127.0.0.1:2379");
  no_slash.prefix = "zood";
  CHECK(refused(std::move(no_slash)).find("slash") != std::string::npos);
}

namespace {

/// What one thread has written, one key at a time, and how sure it is of it.
struct Writer {
  std::map<std::int64_t, std::string> acknowledged; ///< revision -> value
  std::set<std::string> unknown;                    ///< values that may have been written
  int refused = 0;

  void run(Store& store, const std::string& key, const std::atomic<bool>& stop) {
    std::int64_t last = 0;
    for (int i = 1; !stop; ++i) {
      const auto value = fmt::format("{}:{}", key, i);
      const auto put = store.put("k", key, value, last);
      if (put) {
        last = put->revision;
        acknowledged.emplace(last, value);
        continue;
      }
      if (put.error().code() != Code::unavailable) ++refused;
      unknown.insert(value);
      // It reads what became of it before it goes on.
      for (;;) {
        const auto there = store.get("k", key);
        if (there) last = there->revision;
        if (there || there.error().code() == Code::not_found) break;
        if (stop) return;
      }
    }
  }
};

} // namespace

TEST_CASE(
    "members are killed one after the other: no acknowledged write is lost, no watch has a gap") {
  EtcdServer server("--members 3");
  const auto store = open_etcd(server.options("/killed/")).value();
  const auto watching = open_etcd(server.options("/killed/")).value();
  Changes changes;
  const auto watch = watching
                         ->watch("k", watching->revision().value(),
                                 [&](const Change& change) { changes.add(change); })
                         .value();
  constexpr int k_writers = 8;
  const int kills = std::getenv("ZOO_LONG") != nullptr ? 60 : 5;
  std::vector<Writer> writers(k_writers);
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < k_writers; ++t)
    threads.emplace_back([&, t] { writers[t].run(*store, fmt::format("w{}", t), stop); });
  std::string trouble; // a test that throws would leave its threads behind
  try {
    for (int i = 0; i < kills; ++i) {
      std::this_thread::sleep_for(std::chrono::seconds(2));
      server.kill_and_start_again(i % 3 + 1);
    }
    std::this_thread::sleep_for(std::chrono::seconds(2));
  } catch (const std::exception& error) {
    trouble = error.what();
  }
  stop = true;
  for (auto& thread : threads)
    thread.join();
  REQUIRE(trouble == "");
  // The last write of all, of which every watch hears behind the others.
  Result<Record> last = fail(Code::internal, "not yet");
  REQUIRE(eventually([&] { return (last = store->put("k", "last", "last")).has_value(); }));
  REQUIRE(eventually([&] {
    const auto seen = changes.wait_for(0);
    return !seen.empty() && seen.back().record.key == "last";
  }));
  std::map<std::int64_t, std::string> seen;
  std::map<std::string, std::string> now;
  std::int64_t before = 0;
  for (const auto& change : changes.wait_for(0)) {
    CHECK(change.record.revision > before); // each once, and none backwards
    before = change.record.revision;
    seen.emplace(before, change.record.value);
    now[change.record.key] = change.record.value;
  }
  std::size_t acknowledged = 0, unknown = 0;
  for (const auto& writer : writers) {
    CHECK(writer.refused == 0);
    acknowledged += writer.acknowledged.size();
    unknown += writer.unknown.size();
    for (const auto& [revision, value] : writer.acknowledged)
      CHECK(seen[revision] == value);
  }
  for (const auto& [key, value] : now)
    CHECK(store->get("k", key)->value == value);
  MESSAGE(acknowledged, " writes were acknowledged, ", unknown, " had an unknown outcome");
  CHECK(acknowledged > 100);
}
