// SPDX-License-Identifier: Apache-2.0
// Of any document, in any kind: what goes inward is valid, proven and comes back; no foreign name
// comes out; nothing reads beyond its end.
#include "daemon/translate/rewrite.hpp"

#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/json.hpp"
#include "tests/fuzz/invariant.hpp"
#include "tests/fuzz/tenant.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace {

using namespace zoo::translate;

struct Kind {
  const char *group, *kind;
};
constexpr std::array k_kinds = {
    Kind{"", "ConfigMap"},
    Kind{"", "Pod"},
    Kind{"", "Namespace"},
    Kind{"", "Event"},
    Kind{"", "ResourceQuota"},
    Kind{"", "Secret"},
    Kind{"", "PersistentVolume"},
    Kind{"apps", "Deployment"},
    Kind{"apps", "ControllerRevision"},
    Kind{"rbac.authorization.k8s.io", "ClusterRole"},
    Kind{"rbac.authorization.k8s.io", "ClusterRoleBinding"},
    Kind{"rbac.authorization.k8s.io", "RoleBinding"},
    Kind{"admissionregistration.k8s.io", "ValidatingWebhookConfiguration"},
    Kind{"admissionregistration.k8s.io", "ValidatingAdmissionPolicy"},
    Kind{"networking.k8s.io", "NetworkPolicy"},
    Kind{"storage.k8s.io", "StorageClass"},
    Kind{"scheduling.k8s.io", "PriorityClass"},
    Kind{"autoscaling", "HorizontalPodAutoscaler"},
    Kind{"apiextensions.k8s.io", "CustomResourceDefinition"},
    Kind{"example.com", "Foo"},
};

std::optional<std::string> send(const Root& root, Direction direction, std::string_view text,
                                bool patch = false) {
  RewriteContext context{fuzz_tenant(), direction, "default", patch};
  std::string out;
  if (!rewrite(root, context, text, out)) return std::nullopt;
  return out;
}

/// The places that every list is filtered by.
void no_foreign_name(const Root& root, const std::string& shown) {
  const auto tree = JsonTree::parse(shown);
  if (!tree) return;
  const auto metadata = tree->root()["metadata"];
  if (!root.namespaced) {
    // A definition has the prefix in its group.
    const bool named = root.mode == Mode::private_kind || root.mode == Mode::private_guard;
    if (named && root.kind != "CustomResourceDefinition")
      invariant(!metadata["name"].string().starts_with("zzz999-"), "no foreign name", shown);
    return;
  }
  invariant(!metadata["namespace"].string().starts_with("zzz999-"), "no foreign namespace", shown);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const auto& kind = k_kinds[data[0] % k_kinds.size()];
  const auto& root = root_of(kind.group, kind.kind);
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool valid = check_json(text).has_value();

  const auto shown = send(root, Direction::outward, text); // whatever the upstream says
  if (valid && shown) {
    invariant(check_json(*shown).has_value(), "outward is valid", *shown);
    no_foreign_name(root, *shown);
  }
  static_cast<void>(send(root, Direction::prove, text));
  if (!valid) return 0;
  if (const auto patched = send(root, Direction::inward, text, true))
    invariant(check_json(*patched).has_value(), "a patch inward is valid", *patched);

  const auto up = send(root, Direction::inward, text);
  if (!up) return 0;
  invariant(check_json(*up).has_value(), "inward is valid", *up);
  const auto back = send(root, Direction::outward, *up);
  invariant(back.has_value(), "what went inward can be shown", *up);
  invariant(check_json(*back).has_value(), "and is valid", *back);
  if (!JsonTree::parse(text)->root().is(JsonType::object)) return 0;
  if (const auto proven = send(root, Direction::prove, *up); !proven) {
    RewriteContext context{fuzz_tenant(), Direction::prove, "default"};
    std::string none;
    const auto why = rewrite(root, context, *up, none);
    invariant(false, "what went inward is proven", why.error().message() + "\n" + *up);
  }
  // One way there and back normalises (what was injected, dropped, escaped); from then on it
  // stands.
  const auto again = send(root, Direction::inward, *back);
  invariant(again.has_value(), "what was shown can be sent", *back);
  const auto stable = send(root, Direction::outward, *again);
  // Words for people lose the prefix each time, should a tenant have written it twice.
  const bool twice = back->find("abc123") != std::string::npos;
  invariant(stable.has_value() && (twice || *stable == *back), "there and back is stable",
            *back + "\n" + stable.value_or("-"));
  const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  const bool plain = root.form == Form::plain && !has("\\") && !has("selfLink") && !has("abc123") &&
                     !has("\x7F") && !has("matchLabels") && !has("kubernetes.io/metadata.name");
  const bool injects = root.kind == "Namespace" || root.kind == "Event" ||
                       root.kind == "ClusterRoleBinding" || root.kind == "RoleBinding";
  if (plain && !injects) invariant(*back == text, "nothing added: byte for byte", *back);
  return 0;
}
