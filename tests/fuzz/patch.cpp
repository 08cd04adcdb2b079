// SPDX-License-Identifier: Apache-2.0
// Any patch of any form: what goes upstream is JSON, with its precondition too; and where no proof
// of the result follows, an object of the tenant's on which upstream has done what it says is the
// tenant's still.
#include "daemon/translate/patch.hpp"

#include "common/kube/json_patch.hpp"
#include "daemon/translate/json.hpp"
#include "daemon/translate/rewrite.hpp"
#include "tests/fuzz/invariant.hpp"
#include "tests/fuzz/tenant.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>

namespace {

using namespace zoo::translate;
using Json = nlohmann::json;

struct Kind {
  const char *group, *kind;
  const char* object; ///< what the tenant has of it, besides names
};
constexpr std::array k_kinds = {
    // Patches of these are proven by what they say, so that the result must follow.
    Kind{"", "ConfigMap", R"({"data":{"a":"b"},"binaryData":{}})"},
    Kind{"", "LimitRange", R"({"spec":{"limits":[{"type":"Container","max":{"cpu":"1"}}]}})"},
    Kind{"coordination.k8s.io", "Lease", R"({"spec":{"holderIdentity":"h"}})"},
    Kind{"policy", "PodDisruptionBudget",
         R"({"spec":{"selector":{"matchLabels":{"a":"b"}},"minAvailable":1}})"},
    Kind{"certificates.k8s.io", "ClusterTrustBundle", R"({"spec":{"trustBundle":"x"}})"},
    Kind{"scheduling.k8s.io", "PodGroup", R"({"spec":{"a":"b"}})"},
    Kind{"example.com", "Foo", R"({"spec":{"a":[{"b":"c"}]},"status":{"x":1}})"},
    // Patches of these are proven by their result.
    Kind{"", "Namespace", "{}"},
    Kind{"", "Pod", "{}"},
    Kind{"", "Service", "{}"},
    Kind{"apps", "Deployment", "{}"},
    Kind{"rbac.authorization.k8s.io", "ClusterRole", "{}"},
    Kind{"rbac.authorization.k8s.io", "ClusterRoleBinding", "{}"},
    Kind{"rbac.authorization.k8s.io", "RoleBinding", "{}"},
    Kind{"networking.k8s.io", "NetworkPolicy", "{}"},
    Kind{"admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "{}"},
    Kind{"apiextensions.k8s.io", "CustomResourceDefinition", "{}"},
};

/// An object of the kind as upstream has it; nothing where one must be the kind's very own.
Json stored(const Root& root, const char* rest) {
  auto object = Json::parse(rest);
  object["metadata"] = {{"name", "x"}, {"labels", {{"l", "m"}}}, {"annotations", {{"n", "o"}}}};
  if (root.namespaced) object["metadata"]["namespace"] = "team";
  RewriteContext context{fuzz_tenant(), Direction::inward, "team"};
  std::string out;
  if (!rewrite(root, context, object.dump(), out)) return {};
  return Json::parse(out, nullptr, false);
}

/// A null Json: upstream would not do this, or not to an object.
Json patched(Json object, BodyFormat format, const std::string& patch) {
  try {
    const auto changes = Json::parse(patch);
    auto made = format == BodyFormat::merge_patch ? zoo::kube::merge_patch(object, changes)
                                                  : zoo::kube::json_patch(object, changes);
    return made && made->is_object() ? *std::move(made) : Json();
  } catch (const Json::exception&) {
    return {};
  }
}

/// `partial`: `object` is what a patch brings, not what comes of it.
void proven(const Root& root, Json object, const std::string& patch, bool partial) {
  if (!object.is_object()) return;
  if (const auto metadata = object.find("metadata");
      metadata != object.end() && metadata->is_object()) {
    // No result of these is proven either: what they name acts on nothing.
    for (const auto* key : {"ownerReferences", "annotations", "managedFields"})
      metadata->erase(key);
  }
  RewriteContext context{fuzz_tenant(), Direction::prove, "team", partial};
  std::string none;
  const auto text = object.dump();
  const auto verdict = rewrite(root, context, text, none);
  // A value of a wrong type never gets as far as the store.
  if (verdict || verdict.error().code() != zoo::Code::forbidden) return;
  invariant(false, "what a patch makes of the tenant's is the tenant's",
            verdict.error().message() + '\n' + patch + '\n' + text);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  constexpr std::array formats = {BodyFormat::json_patch, BodyFormat::merge_patch,
                                  BodyFormat::strategic_patch, BodyFormat::apply_patch};
  const auto& kind = k_kinds[data[0] % k_kinds.size()];
  const auto& root = root_of(kind.group, kind.kind);
  const auto format = formats[data[1] % formats.size()];
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  // As the gateway, before anything else; not so deep that the other parser needs a larger stack.
  if (!check_json(text, {.depth = 500})) return 0;
  const auto in = patch_in(root, fuzz_tenant(), format, text, "team");
  if (!in) return 0;
  invariant(check_json(*in).has_value(), "inward is JSON", *in);
  if (const auto conditional = with_resource_version(format, *in, "42")) {
    invariant(check_json(*conditional).has_value(), "and with its precondition", *conditional);
    invariant(conditional->find("42") != std::string::npos, "which is there", *conditional);
  }
  if (root.guarded) return 0; // proven by its result
  if (format == BodyFormat::strategic_patch || format == BodyFormat::apply_patch) {
    // The values that it brings, without a merge that nobody but upstream knows.
    proven(root, Json::parse(*in, nullptr, false), *in, true);
    return 0;
  }
  const auto before = stored(root, kind.object);
  invariant(before.is_object(), "the object can be stored", kind.kind);
  proven(root, patched(before, format, *in), *in, false);
  return 0;
}
