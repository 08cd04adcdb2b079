// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/discovery.hpp"
#include "daemon/translate/framer.hpp"
#include "daemon/translate/json.hpp"
#include "daemon/translate/json_protobuf.hpp"
#include "daemon/translate/openapi_index.hpp"
#include "daemon/translate/rewrite.hpp"
#include "daemon/translate/watch_event.hpp"
#include "daemon/translate/wire_list.hpp"
#include "tests/bench/micro/allocations.hpp"
#include "tests/bench/micro/samples.hpp"

#include <array>

namespace {

using namespace zoo;
using namespace zoo::translate;

const Mapping& tenant() {
  static const Mapping mapping("abc123", std::make_shared<SharedNames>());
  return mapping;
}

/// Cuts and rewrites, as a list of upstream is sent on: what there is leaves in pieces of 16 KiB.
struct Outward : FrameHandler {
  explicit Outward(std::string& to) : out(to) {}
  void on_frame(std::string_view value) override {
    RewriteContext context{tenant(), Direction::outward, "default"};
    if (!rewrite(root, context, value, out)) std::abort();
    flush();
  }
  std::size_t on_open_frame(std::string_view rest) override {
    if (!leading_key(rest, true, key)) std::abort();
    RewriteContext context{tenant(), Direction::outward, "default"};
    const auto size = rewrite_open(root, context, rest, out);
    flush();
    return size;
  }
  void flush() {
    if (out.size() < k_piece) return;
    benchmark::DoNotOptimize(out.data());
    out.clear();
  }
  static constexpr std::size_t k_piece = 16 * 1024;
  const Root& root = root_of("", "Pod");
  std::string& out;
  std::string key;
};

struct Nothing : FrameHandler {
  void on_frame(std::string_view value) override { benchmark::DoNotOptimize(value.data()); }
};

void feed(benchmark::State& state, FrameHandler& handler, std::string_view text,
          std::size_t chunk) {
  Framer framer(Shape::list, 1U << 20, handler);
  for (std::size_t at = 0; at < text.size(); at += chunk) {
    if (!framer.feed(text.substr(at, chunk))) return state.SkipWithError("not a list");
  }
  if (!framer.finish()) state.SkipWithError("the list does not end");
}

void framer(benchmark::State& state) {
  const auto list = bench::pod_list(500, "abc123-default");
  Nothing nothing;
  const bench::Meter meter(state, list.size());
  for ([[maybe_unused]] auto turn : state)
    feed(state, nothing, list, static_cast<std::size_t>(state.range(0)));
}
BENCHMARK(framer)->Arg(1'400)->Arg(16'384)->Arg(1 << 24);

void list_outward(benchmark::State& state) {
  const auto list = bench::pod_list(500, "abc123-default");
  std::string out;
  Outward outward(out);
  out.reserve(2 * Outward::k_piece);
  const bench::Meter meter(state, list.size());
  for ([[maybe_unused]] auto turn : state) {
    out.clear();
    feed(state, outward, list, static_cast<std::size_t>(state.range(0)));
  }
}
BENCHMARK(list_outward)->Arg(1'400)->Arg(16'384)->Arg(1 << 24);

/// The same by the code for processors without AVX-512.
void list_outward_avx2(benchmark::State& state) {
  if (!use_processor(Processor::avx2)) return state.SkipWithError("no AVX2");
  list_outward(state);
  use_processor(Processor::avx512);
}
BENCHMARK(list_outward_avx2)->Arg(16'384);

/// Outside of a list.
std::string whole_pod(const std::string& name_space) {
  return R"({"kind":"Pod","apiVersion":"v1",)" + bench::pod(7, name_space).substr(1);
}

/// What a list or an object is in protobuf, beside the same in JSON.
void wire(benchmark::State& state, const std::string& json) {
  const auto body = json_to_protobuf(json);
  if (!body) return state.SkipWithError(body.error().text().c_str());
  const WireContext context{tenant(), root_of("", "Pod"), "default", {}};
  const bench::Meter meter(state, body->size());
  for ([[maybe_unused]] auto turn : state) {
    auto out = wire_outward(context, *body);
    if (!out) return state.SkipWithError("refused");
    benchmark::DoNotOptimize(out->data());
  }
}
void list_outward_protobuf(benchmark::State& state) {
  const auto body = json_to_protobuf(bench::pod_list(500, "abc123-default"));
  if (!body) return state.SkipWithError(body.error().text().c_str());
  const std::size_t piece = 16 * 1024;
  const bench::Meter meter(state, body->size());
  std::string out;
  for ([[maybe_unused]] auto turn : state) {
    WireList list({tenant(), root_of("", "Pod"), "default", {}}, std::size_t{1} << 23);
    for (std::size_t at = 0; at < body->size(); at += piece) {
      out.clear();
      if (!list.feed(std::string_view(*body).substr(at, piece), out))
        return state.SkipWithError("refused");
      benchmark::DoNotOptimize(out.data());
    }
  }
}
BENCHMARK(list_outward_protobuf);
void rewrite_pod_protobuf(benchmark::State& state) { wire(state, whole_pod("abc123-default")); }
BENCHMARK(rewrite_pod_protobuf);

/// For a client that takes events in protobuf alone.
void event_to_protobuf(benchmark::State& state) {
  const auto event = make_event(EventType::modified, whole_pod("default"));
  const bench::Meter meter(state, event.size());
  for ([[maybe_unused]] auto turn : state) {
    auto out = translate::event_to_protobuf(event);
    if (!out) return state.SkipWithError("refused");
    benchmark::DoNotOptimize(out->data());
  }
}
BENCHMARK(event_to_protobuf);

void rewrite_pod(benchmark::State& state) {
  const auto direction = static_cast<Direction>(state.range(0));
  const auto text = bench::pod(7, direction == Direction::inward ? "default" : "abc123-default");
  const auto& root = root_of("", "Pod");
  std::string out;
  out.reserve(text.size() + 64);
  const bench::Meter meter(state, text.size());
  for ([[maybe_unused]] auto turn : state) {
    RewriteContext context{tenant(), direction, "default"};
    out.clear();
    if (!rewrite(root, context, text, out)) return state.SkipWithError("refused");
  }
}
BENCHMARK(rewrite_pod)
    ->Arg(static_cast<int>(Direction::inward))
    ->Arg(static_cast<int>(Direction::outward))
    ->Arg(static_cast<int>(Direction::prove));

void rewrite_config_map(benchmark::State& state) {
  const auto text = bench::config_map("abc123-default");
  const auto& root = root_of("", "ConfigMap");
  std::string out;
  out.reserve(text.size() + 64);
  const bench::Meter meter(state, text.size());
  for ([[maybe_unused]] auto turn : state) {
    RewriteContext context{tenant(), Direction::outward, "default"};
    out.clear();
    if (!rewrite(root, context, text, out)) return state.SkipWithError("refused");
  }
}
BENCHMARK(rewrite_config_map);

void check(benchmark::State& state) {
  const auto text = bench::pod(7, "default");
  const bench::Meter meter(state, text.size());
  for ([[maybe_unused]] auto turn : state)
    benchmark::DoNotOptimize(check_json(text));
}
BENCHMARK(check);

void skip(benchmark::State& state) {
  const auto text = bench::pod(7, "default");
  const bench::Meter meter(state, text.size());
  for ([[maybe_unused]] auto turn : state)
    benchmark::DoNotOptimize(skip_value(text.data(), text.data() + text.size()));
}
BENCHMARK(skip);

void key_of_object(benchmark::State& state) {
  const auto text = bench::pod(7, "default");
  const bench::Meter meter(state, text.size());
  for ([[maybe_unused]] auto turn : state)
    benchmark::DoNotOptimize(object_key(text));
}
BENCHMARK(key_of_object);

void event(benchmark::State& state) {
  auto object = bench::config_map("abc123-default");
  const auto text = make_event(EventType::modified, object);
  const auto& root = root_of("", "ConfigMap");
  const StatusContext context;
  std::string out;
  out.reserve(text.size());
  const bench::Meter meter(state, text.size());
  for ([[maybe_unused]] auto turn : state) {
    out.clear();
    if (!event_out(root, tenant(), context, text, out)) return state.SkipWithError("refused");
  }
}
BENCHMARK(event);

const std::string k_core =
    R"({"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[]})";

/// What upstream serves, read for the first time.
void catalog_read(benchmark::State& state) {
  const auto all = bench::groups(static_cast<std::size_t>(state.range(0)), "Current");
  const bench::Meter meter(state, all.size());
  for ([[maybe_unused]] auto turn : state) {
    auto read = Catalog::parse(k_core, all);
    if (!read) return state.SkipWithError("no catalog");
    benchmark::DoNotOptimize(read);
  }
}
BENCHMARK(catalog_read)->Arg(100)->Arg(10'000);

/// The same, when one group of them has changed.
void catalog_renewed(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const std::array<std::string, 2> all{bench::groups(count, "Stale"),
                                       bench::groups(count, "Current")};
  auto known = Catalog::parse(k_core, all[1]);
  if (!known) return state.SkipWithError("no catalog");
  std::size_t at = 0;
  const bench::Meter meter(state, all[0].size());
  for ([[maybe_unused]] auto turn : state) {
    Catalog::Reader reader(*known, Catalog::Reader::Of::apis);
    if (!reader.feed(all[at++ % 2])) return state.SkipWithError("no document");
    known = known->renewed(std::nullopt, reader.finish().value());
  }
}
BENCHMARK(catalog_renewed)->Arg(100)->Arg(10'000);

/// The index of OpenAPI v3, of which a tenant sees its own.
void openapi_index(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const auto known = Catalog::parse(k_core, bench::groups(count, "Current"));
  const auto index = bench::openapi_index(count);
  const Mapping mapping("a00001", std::make_shared<SharedNames>());
  const bench::Meter meter(state, index.size());
  for ([[maybe_unused]] auto turn : state) {
    OpenApiIndex reader(mapping, *known);
    for (std::size_t at = 0; at < index.size(); at += 16'384) {
      if (!reader.feed(std::string_view(index).substr(at, 16'384)))
        return state.SkipWithError("no index");
    }
    const auto out = reader.finish();
    if (!out || out->find("stable.example.com/v1") == std::string::npos)
      return state.SkipWithError("no index");
    benchmark::DoNotOptimize(out->data());
  }
}
BENCHMARK(openapi_index)->Arg(100)->Arg(10'000);

} // namespace
