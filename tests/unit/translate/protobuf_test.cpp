// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/json_protobuf.hpp"
#include "daemon/translate/protobuf_json.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace zoo;
using nlohmann::json;
using translate::protobuf_to_json;
namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// What Go's decoder cannot tell from an absent member: null and, in ours, an object in which
// nothing is left where theirs has none (non-pointer structs are always written in protobuf). An
// object that theirs has, such as `emptyDir: {}`, must stand in ours.
json normal(const json& value, const json& other, bool ours) {
  if (value.is_object()) {
    json out = json::object();
    for (const auto& [name, inner] : value.items()) {
      const bool there = other.is_object() && other.contains(name);
      const auto kept = normal(inner, there ? other[name] : json(), ours);
      if (kept.is_null() || (ours && !there && kept.is_object() && kept.empty())) continue;
      out[name] = kept;
    }
    return out;
  }
  if (!value.is_array()) return value;
  json out = json::array();
  for (std::size_t i = 0; i < value.size(); ++i)
    out.push_back(normal(value[i], other.is_array() && i < other.size() ? other[i] : json(), ours));
  return out;
}

std::string compared(const Result<std::string>& got, const std::string& wanted) {
  if (!got) return got.error().text();
  const auto left = json::parse(*got, nullptr, false);
  const auto right = json::parse(wanted, nullptr, false);
  if (left.is_discarded() || right.is_discarded()) return "no JSON";
  const auto a = normal(left, right, true);
  const auto b = normal(right, left, false);
  return a == b ? "" : json::diff(b, a).dump();
}

/// Empty: both say the same, and the JSON says the same when it has become protobuf.
std::string difference(const fs::path& protobuf) {
  const auto wanted = read(fs::path(protobuf).replace_extension(".json"));
  if (auto there = compared(protobuf_to_json(read(protobuf)), wanted); !there.empty()) return there;
  const auto made = translate::json_to_protobuf(wanted);
  if (!made) return "back: " + made.error().text();
  const auto back = compared(protobuf_to_json(*made), wanted);
  return back.empty() ? "" : "back: " + back;
}

std::vector<fs::path> bodies(const fs::path& folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".pb") out.push_back(entry.path());
  return out;
}

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>(value | 0x80);
  return out += static_cast<char>(value);
}
std::string part(unsigned number, const std::string& bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string part(unsigned number, std::uint64_t value) {
  return varint(number << 3) + varint(value);
}
std::string body(const std::string& version, const std::string& kind, const std::string& raw,
                 const std::string& more = "") {
  return std::string("k8s\0", 4) + part(1, part(1, version) + part(2, kind)) + part(2, raw) + more;
}
std::string text(const std::string& bytes) {
  const auto got = protobuf_to_json(bytes);
  return got ? *got : got.error().text();
}
Code code(const std::string& bytes, const translate::ProtobufLimits& limits = {}) {
  const auto got = protobuf_to_json(bytes, limits);
  REQUIRE_FALSE(got.has_value());
  return got.error().code();
}

} // namespace

TEST_CASE("bodies of Go clients say what their JSON says") {
  const auto found = bodies(fs::path(ZOO_SOURCE_DIR) / "tests/unit/translate/data/protobuf");
  CHECK(found.size() >= 20);
  for (const auto& path : found) {
    INFO(path.filename().string());
    CHECK(difference(path) == "");
  }
}

TEST_CASE("Kubernetes' own examples of every kind agree") {
  // They are Kubernetes' data and stay in the Go module cache.
  const char* const cache = std::getenv("GOMODCACHE");
  const char* const home = std::getenv("HOME");
  const fs::path root = cache != nullptr  ? fs::path(cache)
                        : home != nullptr ? fs::path(home) / "go/pkg/mod"
                                          : fs::path();
  const fs::path folders[] = {root / "k8s.io/api@v0.36.3/testdata/HEAD",
                              root /
                                  "k8s.io/apiextensions-apiserver@v0.36.3/pkg/apis/testdata/HEAD"};
  constexpr std::string_view k_foreign[] = {"admission.k8s.io.",      "imagepolicy.k8s.io.",
                                            "apidiscovery.k8s.io.",   "extensions.",
                                            "core.v1.APIGroup.",      "core.v1.APIVersions.",
                                            "core.v1.CreateOptions.", "core.v1.GetOptions.",
                                            "core.v1.ListOptions.",   "core.v1.PatchOptions.",
                                            "core.v1.UpdateOptions.", "core.v1.WatchEvent."};
  std::size_t agree = 0;
  std::size_t foreign = 0;
  for (const auto& folder : folders) {
    if (!fs::is_directory(folder)) {
      MESSAGE("skipped: no " << folder.string());
      continue;
    }
    for (const auto& path : bodies(folder)) {
      const auto what = difference(path);
      const auto name = path.filename().string();
      // Groups that no kube-apiserver serves by default, and what is never a body of a request.
      if (std::ranges::any_of(k_foreign, [&](auto start) { return name.starts_with(start); })) {
        INFO(name);
        CHECK(what != "");
        ++foreign;
        continue;
      }
      INFO(path.filename().string());
      CHECK(what == "");
      agree += what.empty() ? 1 : 0;
    }
  }
  MESSAGE(agree << " kinds agree, " << foreign << " are of groups without a table");
}

TEST_CASE("apiVersion and kind come first, zeros go as Go lets them go") {
  CHECK(text(body("v1", "Namespace", part(1, part(1, "x") + part(3, "") + part(8, "")))) ==
        R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"x"}})");
  // storageClassName is a pointer: empty is not absent.
  CHECK(text(body("v1", "PersistentVolumeClaim", part(2, part(5, "")))) ==
        R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","spec":{"storageClassName":""}})");
  // Any order; the last scalar counts; a negative int32 comes in ten bytes.
  CHECK(text(body("apps/v1", "Deployment",
                  part(2, part(1, 7) + part(1, ~std::uint64_t{0})) + part(1, part(1, "b")))) ==
        R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"b"},)"
        R"("spec":{"replicas":-1}})");
  // DeleteOptions come under any group.
  CHECK(text(body("batch/v1", "DeleteOptions", part(1, 0))) ==
        R"({"apiVersion":"batch/v1","kind":"DeleteOptions","gracePeriodSeconds":0})");
  // supplementalGroups: repeated numbers, packed and one by one.
  const std::string packed = varint(5) + varint(300);
  CHECK(text(body("v1", "Pod", part(2, part(14, part(4, packed) + part(4, 9))))) ==
        R"({"apiVersion":"v1","kind":"Pod","spec":{"securityContext":)"
        R"({"supplementalGroups":[5,300,9]}}})");
}

TEST_CASE("nothing is dropped") {
  CHECK(code(body("v1", "Namespace", part(99, 1))) == Code::unsupported_media_type);
  CHECK(code(body("v1", "Namespace", part(1, part(99, 1)))) == Code::unsupported_media_type);
  CHECK(code(body("v1", "Nothing", "")) == Code::unsupported_media_type);
  CHECK(code(body("example.com/v1", "Pod", "")) == Code::unsupported_media_type);
  CHECK(code(body("v1", "Namespace", "", part(3, "gzip"))) == Code::unsupported_media_type);
  CHECK(code(body("v1", "Namespace", "", part(4, "application/json"))) ==
        Code::unsupported_media_type);
  CHECK(code(body("v1", "Namespace", "", part(5, "x"))) == Code::unsupported_media_type);
  const auto inner = body("v1", "Namespace", "");
  CHECK(code(body("apps/v1", "ControllerRevision", part(2, part(1, inner)))) ==
        Code::unsupported_media_type);
}

TEST_CASE("broken bodies are refused") {
  CHECK(code("") == Code::bad_request);
  CHECK(code("{}") == Code::bad_request);
  CHECK(code(std::string("k8s\0", 4)) == Code::bad_request);
  CHECK(code(body("", "Namespace", "")) == Code::bad_request);
  CHECK(code(body("v1", "Namespace", "\x0A\x05")) == Code::bad_request);
  CHECK(code(body("v1", "Namespace", part(1, 3))) == Code::bad_request);
  CHECK(code(body("v1", "Namespace", part(1, "") + part(1, ""))) == Code::bad_request);
  CHECK(code(body("v1", "Namespace", part(1, part(1, "\xFF")))) == Code::bad_request);
  CHECK(code(body("v1", "Namespace", std::string(12, '\xFF'))) == Code::bad_request);
  CHECK(code(body("v1", "Namespace", "", part(2, ""))) == Code::bad_request);
  const auto pair = part(11, part(1, "a") + part(2, "b"));
  CHECK(code(body("v1", "Namespace", part(1, pair + pair))) == Code::bad_request);
  CHECK(code(body("apps/v1", "ControllerRevision", part(2, part(1, "{")))) == Code::bad_request);
  CHECK(code(body("v1", "Namespace", part(1, part(8, part(1, std::uint64_t{1} << 60))))) ==
        Code::bad_request);
  // Every piece of a good body either reads or is refused.
  const auto good = read(fs::path(ZOO_SOURCE_DIR) / "tests/unit/translate/data/protobuf/pod.pb");
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto flipped = good;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x5A);
    if (const auto got = protobuf_to_json(flipped)) CHECK(json::accept(*got));
    if (const auto got = protobuf_to_json(std::string_view(good).substr(0, i)))
      CHECK(json::accept(*got)); // the envelope's last fields may be missing
  }
}

TEST_CASE("depth and output are bounded") {
  std::string schema;
  for (int i = 0; i < 200; ++i)
    schema = part(27, schema); // not
  const auto crd = [&](const std::string& inner) {
    return body("apiextensions.k8s.io/v1", "CustomResourceDefinition",
                part(2, part(7, part(4, part(1, inner)))));
  };
  CHECK(code(crd(schema)) == Code::bad_request);
  std::string items;
  for (int i = 0; i < 1000; ++i)
    items += part(14, "name");
  const auto many = body("v1", "Namespace", part(1, items));
  CHECK(code(many, {.depth = 100, .output = 4000}) == Code::too_large);
  CHECK(protobuf_to_json(many).has_value());
}

TEST_CASE("answers for clients that take protobuf alone") {
  const auto json_of = [](std::string_view text) {
    const auto made = translate::json_to_protobuf(text);
    REQUIRE(made);
    return *made;
  };
  // A list: "k8s\0", TypeMeta, then metadata and items without kinds of their own.
  const std::string list =
      json_of(R"({"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"7"},)"
              R"("items":[{"metadata":{"name":"a"},"data":{"k":"aGk="}}]})");
  const std::string raw("\x0a\x03\x12\x01"
                        "7"
                        "\x12\x0e\x0a\x03\x0a\x01"
                        "a"
                        "\x12\x07\x0a\x01k\x12\x02hi");
  CHECK(list == std::string("k8s\0", 4) + "\x0a\x10\x0a\x02v1\x12\x0aSecretList" + "\x12" +
                    static_cast<char>(raw.size()) + raw + std::string("\x1a\0\x22\0", 4));

  const auto status = json_of(R"({"kind":"Status","apiVersion":"v1","metadata":{},)"
                              R"("status":"Success","code":200})");
  CHECK(status.find("Success") != std::string::npos);
  const auto metadata =
      json_of(R"({"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{},)"
              R"("items":[{"metadata":{"name":"a"}}]})");
  CHECK(metadata.find("\x12\x05\x0a\x03\x0a\x01"
                      "a") != std::string::npos);

  const auto frame = translate::event_to_protobuf(
      R"({"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{}}})");
  REQUIRE(frame);
  REQUIRE(frame->size() > 4);
  CHECK(static_cast<unsigned char>((*frame)[3]) == frame->size() - 4);
  CHECK(frame->substr(0, 3) == std::string(3, '\0'));
  CHECK(frame->substr(4, 10) == "\x0a\x08"
                                "BOOKMARK");

  using translate::json_to_protobuf;
  CHECK(json_to_protobuf(R"({"kind":"CronTab","apiVersion":"a.b/v1"})").error().code() ==
        Code::not_acceptable);
  CHECK(json_to_protobuf(R"({"kind":"Pod","apiVersion":"v1","spec":{"priority":"x"}})")
            .error()
            .code() == Code::internal);
  CHECK_FALSE(json_to_protobuf("{"));
  CHECK(translate::has_protobuf("v1", "Pod"));
  CHECK_FALSE(translate::has_protobuf("a.b/v1", "Pod"));
}
