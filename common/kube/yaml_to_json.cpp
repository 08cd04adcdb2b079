// SPDX-License-Identifier: Apache-2.0
#include "common/base/json_text.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/yaml.hpp"
#include "common/kube/yaml_scalar.hpp"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <sstream>
#include <unordered_map>
#include <vector>

namespace zoo::kube {
namespace {

using Kind = Scalar::Kind;

struct Place {
  int line = 0, column = 0; ///< from 1
};

struct Node {
  enum class Shape { scalar, list, mapping, alias };
  Shape shape = Shape::scalar;
  Place place;
  Scalar scalar;               ///< of a scalar; text stands in `text`
  std::string text;            ///< of a scalar that is a string
  std::vector<Node*> children; ///< of a mapping: key, value, key, value...
  Node* target = nullptr;      ///< of an alias
  bool open = true;            ///< its end has not come yet
};

/// Thrown through yaml-cpp's parser by the handler, caught at the door below.
struct Refusal {
  Error error;
};

[[noreturn]] void refuse(Code code, Place place, std::string_view what) {
  throw Refusal{Error(code, fmt::format("line {}, column {}: {}", place.line, place.column, what))};
}
[[noreturn]] void refuse(Place place, std::string_view what) {
  refuse(Code::bad_request, place, what);
}

/// As goyaml.v2 says it: clients look for these words.
[[noreturn]] void refuse_repeated(Place place, std::string_view key) {
  throw Refusal{Error(Code::bad_request, fmt::format("line {}: key {} already set in map",
                                                     place.line, json_quote(key)))};
}

/// Builds the tree of one document from yaml-cpp's events.
class Builder : public YAML::EventHandler {
public:
  /// `after`: where the document before began.
  explicit Builder(const YamlLimits& limits, int after = -1) : limits_(limits), begun_(after) {}

  Node* root() const { return root_; }
  int begun() const { return begun_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    // yaml-cpp makes an empty document of a "," or "]" outside of all lists, does not read on, and
    // makes the next one of the same, without end.
    if (mark.pos <= begun_) refuse(place_of(mark), "a mark that belongs to nothing");
    begun_ = mark.pos;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto& node = add(mark, anchor);
    node.scalar = resolve_plain("");
    node.open = false;
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    const auto place = place_of(mark);
    if (found == anchors_.end()) refuse(place, "an alias without an anchor");
    if (found->second->open) refuse(place, "an alias inside its own anchor");
    auto& node = add(mark, 0);
    node.shape = Node::Shape::alias;
    node.target = found->second;
    node.open = false;
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    auto& node = add(mark, anchor);
    node.open = false;
    node.scalar = tagged(node.place, tag, value);
    if (node.scalar.kind == Kind::text || node.scalar.kind == Kind::merge) {
      node.text = node.scalar.key;
    }
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(mark, tag, "tag:yaml.org,2002:seq", anchor, Node::Shape::list);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(mark, tag, "tag:yaml.org,2002:map", anchor, Node::Shape::mapping);
  }
  void OnMapEnd() override { end(); }

private:
  static Place place_of(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

  static Scalar tagged(Place place, const std::string& tag, const std::string& value) {
    if (tag == "?") return resolve_plain(value);
    if (tag == "!" || tag == "tag:yaml.org,2002:str") return {Kind::text, {}, value};
    if (tag == "tag:yaml.org,2002:binary") {
      std::string packed;
      for (const char c : value) {
        if (c != ' ' && c != '\n') packed += c;
      }
      auto bytes = crypto::base64_decode(packed);
      if (!bytes || !is_utf8(*bytes)) refuse(place, "!!binary must be base64 of UTF-8");
      return {Kind::text, {}, std::move(*bytes)};
    }
    auto scalar = resolve_plain(value);
    const bool number = scalar.kind == Kind::integer || scalar.kind == Kind::decimal;
    if (tag == "tag:yaml.org,2002:timestamp") return {Kind::text, {}, value};
    const bool fits =
        (tag == "tag:yaml.org,2002:null" && scalar.kind == Kind::null) ||
        (tag == "tag:yaml.org,2002:bool" && scalar.kind == Kind::boolean) ||
        (tag == "tag:yaml.org,2002:int" && scalar.kind == Kind::integer) ||
        (tag == "tag:yaml.org,2002:float" && (number || scalar.kind == Kind::not_finite));
    if (!fits) refuse(place, fmt::format("tag {} does not fit '{:.40}'", tag, value));
    return scalar;
  }

  Node& add(const YAML::Mark& mark, YAML::anchor_t anchor) {
    const auto place = place_of(mark);
    if (nodes_.size() >= limits_.nodes) {
      refuse(Code::too_large, place, fmt::format("more than {} nodes", limits_.nodes));
    }
    auto& node = nodes_.emplace_back();
    node.place = place;
    if (anchor != 0) anchors_[anchor] = &node;
    if (stack_.empty()) {
      root_ = &node;
    } else {
      stack_.back()->children.push_back(&node);
    }
    return node;
  }

  void begin(const YAML::Mark& mark, const std::string& tag, std::string_view fitting,
             YAML::anchor_t anchor, Node::Shape shape) {
    auto& node = add(mark, anchor);
    if (tag != "?" && tag != "!" && !tag.empty() && tag != fitting) {
      refuse(node.place, fmt::format("unknown tag {:.80}", tag));
    }
    node.shape = shape;
    stack_.push_back(&node);
    if (stack_.size() > limits_.depth) {
      refuse(Code::too_large, node.place, fmt::format("nested deeper than {}", limits_.depth));
    }
  }

  void end() {
    stack_.back()->open = false;
    stack_.pop_back();
  }

  const YamlLimits& limits_;
  int begun_;
  std::deque<Node> nodes_;
  std::vector<Node*> stack_;
  std::map<YAML::anchor_t, Node*> anchors_;
  Node* root_ = nullptr;
};

/// Writes the tree as JSON, expanding aliases and merges within the limits.
class Writer {
public:
  explicit Writer(const YamlLimits& limits) : limits_(limits) {}

  std::string write(const Node* root) {
    value(*root, 0);
    return std::move(out_);
  }

private:
  struct Member {
    std::string key;
    const Node* value;
  };
  using Members = std::vector<Member>;
  using Index = std::unordered_map<std::string, std::size_t>;

  void count(const Node& node) {
    if (++count_ > limits_.nodes) {
      refuse(Code::too_large, node.place,
             fmt::format("more than {} nodes after expanding aliases", limits_.nodes));
    }
    if (out_.size() > limits_.output) {
      refuse(Code::too_large, node.place,
             fmt::format("more than {} bytes after expanding aliases", limits_.output));
    }
  }

  static const Node& resolved(const Node& node) {
    return node.shape == Node::Shape::alias ? *node.target : node;
  }

  static std::string key_of(const Node& given) {
    const auto& node = resolved(given);
    if (node.shape != Node::Shape::scalar) {
      refuse(given.place, "a key must not be a list or a mapping");
    }
    if (node.scalar.kind == Kind::text || node.scalar.kind == Kind::merge) return node.text;
    if (node.scalar.key.empty()) refuse(given.place, "a key must not be null or above 2^63");
    return node.scalar.key;
  }

  static bool is_merge(const Node& key) {
    return key.shape == Node::Shape::scalar && key.scalar.kind == Kind::merge;
  }

  /// What comes later replaces, at the place of what was there.
  static void set(Members& members, Index& index, Member member) {
    const auto [found, added] = index.try_emplace(member.key, members.size());
    if (added) {
      members.push_back(std::move(member));
    } else {
      members[found->second] = std::move(member);
    }
  }

  void merge(const Node& given, Members& members, Index& index, std::size_t depth) {
    const auto& node = resolved(given);
    if (node.shape == Node::Shape::mapping) {
      gather(node, members, index, depth + 1);
      return;
    }
    if (given.shape != Node::Shape::list) {
      refuse(given.place, "<< takes a mapping or a list of mappings");
    }
    // Earlier ones win: they are set last.
    for (auto each = node.children.rbegin(); each != node.children.rend(); ++each) {
      if (resolved(**each).shape != Node::Shape::mapping) {
        refuse((*each)->place, "<< takes a mapping or a list of mappings");
      }
      gather(resolved(**each), members, index, depth + 1);
    }
  }

  void gather(const Node& mapping, Members& members, Index& index, std::size_t depth) {
    if (depth > limits_.depth) {
      refuse(Code::too_large, mapping.place, fmt::format("nested deeper than {}", limits_.depth));
    }
    Index own; // keys of this mapping itself, to tell a repetition from an override
    for (std::size_t i = 0; i + 1 < mapping.children.size(); i += 2) {
      const auto& key = *mapping.children[i];
      const auto& value = *mapping.children[i + 1];
      count(key);
      if (is_merge(key)) {
        merge(value, members, index, depth);
        continue;
      }
      auto name = key_of(key);
      if (!own.try_emplace(name, i).second) {
        if (!limits_.keep_repeated_keys) refuse_repeated(key.place, name);
        members.push_back({std::move(name), &value});
        continue;
      }
      set(members, index, {std::move(name), &value});
    }
  }

  void value(const Node& given, std::size_t depth) {
    const auto& node = resolved(given);
    count(given);
    if (depth > limits_.depth) {
      refuse(Code::too_large, given.place, fmt::format("nested deeper than {}", limits_.depth));
    }
    switch (node.shape) {
    case Node::Shape::list:
      out_ += '[';
      for (std::size_t i = 0; i < node.children.size(); ++i) {
        if (i > 0) out_ += ',';
        value(*node.children[i], depth + 1);
      }
      out_ += ']';
      return;
    case Node::Shape::mapping: {
      Members members;
      Index index;
      gather(node, members, index, depth);
      out_ += '{';
      for (std::size_t i = 0; i < members.size(); ++i) {
        if (i > 0) out_ += ',';
        append_json_quoted(out_, members[i].key);
        out_ += ':';
        value(*members[i].value, depth + 1);
      }
      out_ += '}';
      return;
    }
    case Node::Shape::alias:
    case Node::Shape::scalar:
      if (node.scalar.kind == Kind::not_finite) {
        refuse(given.place, "infinity and not-a-number have no JSON");
      }
      if (node.scalar.kind == Kind::text || node.scalar.kind == Kind::merge) {
        append_json_quoted(out_, node.text);
      } else {
        out_ += node.scalar.json;
      }
    }
  }

  const YamlLimits& limits_;
  std::string out_;
  std::size_t count_ = 0;
};

/// What YAML 1.1 5.1 does not call printable. yaml-cpp would take 0x04 for the end of the text.
std::optional<Error> check_characters(std::string_view yaml) {
  Place place{1, 1};
  if (!is_utf8(yaml)) return Error(Code::bad_request, "the YAML is not UTF-8");
  for (std::size_t i = 0; i < yaml.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(yaml[i]);
    const auto next = [&](std::size_t k) {
      return i + k < yaml.size() ? static_cast<std::uint8_t>(yaml[i + k]) : 0;
    };
    const bool c0 = byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r';
    const bool c1 = byte == 0xc2 && next(1) < 0xa0 && next(1) != 0x85;
    const bool not_a_character = byte == 0xef && next(1) == 0xbf && next(2) >= 0xbe;
    if (c0 || byte == 0x7f || c1 || not_a_character) {
      return Error(Code::bad_request,
                   fmt::format("line {}, column {}: a control character, which YAML does not allow",
                               place.line, place.column));
    }
    if (byte == '\n') {
      ++place.line;
      place.column = 1;
    } else if ((byte & 0xc0) != 0x80) {
      ++place.column;
    }
  }
  return std::nullopt;
}

} // namespace

Result<std::string> yaml_to_json(std::string_view yaml, const YamlLimits& limits) {
  if (yaml.size() > limits.bytes) {
    return fail(Code::too_large, "the YAML has {} bytes; at most {} are taken", yaml.size(),
                limits.bytes);
  }
  if (auto error = check_characters(yaml)) return fail(std::move(*error));
  try {
    std::istringstream stream{std::string(yaml)};
    YAML::Parser parser(stream);
    Builder builder(limits);
    if (!parser.HandleNextDocument(builder) || builder.root() == nullptr) return "null";
    for (int begun = builder.begun();;) {
      Builder next(limits, begun);
      if (!parser.HandleNextDocument(next)) break;
      begun = next.begun();
      const auto* root = next.root();
      const bool empty = root == nullptr ||
                         (root->shape == Node::Shape::scalar && root->scalar.kind == Kind::null);
      if (!empty) refuse(root->place, "more than one document");
    }
    return Writer(limits).write(builder.root());
  } catch (Refusal& refusal) {
    return fail(std::move(refusal.error));
  } catch (const YAML::DeepRecursion&) {
    return fail(Code::too_large, "the YAML is nested deeper than {}", limits.depth);
  } catch (const YAML::Exception& e) {
    return fail(Code::bad_request, "line {}, column {}: {}", e.mark.line + 1, e.mark.column + 1,
                e.msg);
  } catch (const std::exception& e) {
    return fail(Code::internal, "cannot read the YAML: {}", e.what());
  }
}

} // namespace zoo::kube
