// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/json_yaml.hpp"

#include "common/kube/yaml.hpp"
#include "daemon/translate/discovery_json.hpp"

namespace zoo::translate {
namespace {

constexpr std::size_t k_deepest = 64; ///< levels of block style: they cost a stack

class Writer {
public:
  explicit Writer(std::string& out) : out_(out) {}

  void document(JsonNode root) {
    if (is_block(root)) return block(root, 0, 0);
    scalar(root);
    out_ += '\n';
  }

private:
  static bool is_block(JsonNode node) {
    return (node.is(JsonType::object) || node.is(JsonType::array)) && node.first();
  }

  void scalar(JsonNode node) {
    if (node.is(JsonType::string)) {
      out_ += kube::yaml_scalar(node.string());
    } else if (node.is(JsonType::object)) {
      out_ += "{}";
    } else if (node.is(JsonType::array)) {
      out_ += "[]";
    } else {
      out_ += node.raw();
    }
  }

  /// Something with members. Its first line begins where the writer stands.
  void block(JsonNode node, std::size_t indent, std::size_t depth) {
    if (depth == k_deepest) {
      out_ += node.raw();
      out_ += '\n';
      return;
    }
    const bool object = node.is(JsonType::object);
    for (auto member = node.first(); member; member = member.next()) {
      if (member.begin_member() != node.first().begin_member()) out_.append(indent, ' ');
      out_ += object ? kube::yaml_scalar(member.key()) + ":" : "-";
      if (!is_block(member)) {
        out_ += ' ';
        scalar(member);
        out_ += '\n';
        continue;
      }
      if (!object) {
        out_ += ' ';
        block(member, indent + 2, depth + 1);
        continue;
      }
      const bool list = member.is(JsonType::array);
      const auto deeper = list ? indent : indent + 2;
      out_ += '\n';
      // JSON below the deepest level stands inside its key.
      out_.append(depth + 1 == k_deepest ? indent + 2 : deeper, ' ');
      block(member, deeper, depth + 1);
    }
  }

  std::string& out_;
};

} // namespace

Result<std::string> json_to_yaml(std::string_view json) {
  ZOO_TRY(const auto tree, JsonTree::parse(json));
  std::string out;
  out.reserve(json.size());
  Writer(out).document(tree.root());
  return out;
}

} // namespace zoo::translate
