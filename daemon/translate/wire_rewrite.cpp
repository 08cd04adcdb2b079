// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/wire_rewrite.hpp"

#include "common/base/json_text.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/protobuf_wire.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/inside.hpp"
#include "daemon/translate/known_words.hpp"
#include "daemon/translate/pod_fields.hpp"
#include "daemon/translate/protobuf_table.hpp"
#include "daemon/translate/rewrite_walk.hpp"
#include "daemon/translate/structure.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace zoo::translate {
namespace {

using namespace protobuf;
using zoo::protobuf::put_varint;
using zoo::protobuf::Wire;
using zoo::protobuf::WireField;
using zoo::protobuf::WireReader;

constexpr unsigned k_max_depth = 96;
/// Keys are no words of protobuf: where one is, its field is met.
constexpr Words k_rare_words =
    static_cast<Words>(k_all_words & ~(k_prefix_word | k_domain_word | k_device_word));

const Field* find_field(const Message& message, std::uint32_t number) {
  const auto* const first = fields + message.first;
  // Most messages number their fields without gaps.
  if (number - 1 < message.count && first[number - 1].number == number) return first + (number - 1);
  const auto* const last = first + message.count;
  const auto* const found = std::lower_bound(
      first, last, number, [](const Field& field, std::uint32_t n) { return field.number < n; });
  return found != last && found->number == number ? found : nullptr;
}

std::string varint(std::size_t value) {
  std::string out;
  put_varint(out, value);
  return out;
}

/// Collects what is to be changed, in the order of its place; lengths of the messages around it are
/// changes themselves. Nothing is written before all is known.
class WireWalker final : private WordSource {
public:
  WireWalker(const WireContext& context, std::string_view body)
      : context_(context), body_(body), event_namespace_(context.request_namespace) {
    edits_.reserve(16); // an object has some ten
  }

  Result<std::string> run();
  Result<void> run_field(const Message& item, std::string& out);

private:
  /// A field where it stands in the body.
  struct Place {
    std::size_t begin;  ///< of its tag
    std::size_t length; ///< of its length
    std::size_t content;
    std::size_t end;
    WireField field;
  };
  struct Edit {
    std::size_t at, size;
    std::string text;
  };
  /// Calls `take` with each field between two offsets.
  template <class Take>
  void each(std::size_t begin, std::size_t end, Take&& take) {
    WireReader reader(body_.substr(0, end), begin);
    while (!reader.done()) {
      Place place{};
      place.begin = reader.offset();
      if (!reader.next(place.field)) {
        broken_ = true;
        return;
      }
      place.end = reader.offset();
      if (place.field.wire == Wire::bytes) {
        place.length = place.begin;
        while ((static_cast<unsigned char>(body_[place.length]) & 0x80U) != 0)
          ++place.length;
        ++place.length;
        place.content = static_cast<std::size_t>(place.field.bytes.data() - body_.data());
      }
      take(place);
    }
  }

  /// Runs `inner` on the content of a message and mends its length.
  template <class Inner>
  void within(const Place& place, Inner&& inner) {
    const auto index = edits_.size();
    const auto outer = std::exchange(delta_, 0);
    edits_.push_back({place.length, place.content - place.length, {}});
    inner();
    if (edits_.size() == index + 1) {
      edits_.pop_back();
    } else {
      auto& edit = edits_[index];
      edit.text = varint(static_cast<std::size_t>(
          static_cast<std::ptrdiff_t>(place.end - place.content) + delta_));
      delta_ +=
          static_cast<std::ptrdiff_t>(edit.text.size()) - static_cast<std::ptrdiff_t>(edit.size);
    }
    delta_ += outer;
  }

  void change(std::size_t at, std::size_t size, std::string text) {
    delta_ += static_cast<std::ptrdiff_t>(text.size()) - static_cast<std::ptrdiff_t>(size);
    edits_.push_back({at, size, std::move(text)});
  }
  void drop(const Place& place) { change(place.begin, place.end - place.begin, {}); }
  void put(const Place& place, std::string_view text) {
    auto made = varint(text.size());
    made += text;
    if (shrinks_ && made.size() > place.end - place.length) return;
    change(place.length, place.end - place.length, std::move(made));
  }

  void object(const Message& message, const Place& place, const Siblings& siblings);
  void again_without_growth(const Message& item, const Place& place);
  void message(const Node& node, const Message& message, const Place& place,
               const Siblings& siblings, unsigned depth);
  void members(const Node& node, const Message& message, const Place& place,
               const Siblings& siblings, unsigned depth);
  void member(const Node& node, const Field& field, const Place& place, const Siblings& siblings,
              unsigned depth);
  void entry(const Node& map, const Field& field, const Place& place, const Siblings& siblings,
             unsigned depth);
  bool leaves_out(const Node& node, const Field& field, const Place& place,
                  const Siblings& siblings, std::string_view key);
  bool untouched(const Node& node, const Place& place) const;
  void value(const Node& node, const Field& field, const Place& place, const Siblings& siblings,
             std::string_view key, unsigned depth);
  void text(const Node& node, const Field& field, const Place& place, const Siblings& siblings,
            std::string_view key);
  void json(const Node& node, const Place& place);
  void collect(const Message& message, const Place& place, Siblings& out);
  /// A string of the object's own metadata; "": it has none of that name.
  std::string_view of_metadata(const Message& message, const Place& place, std::string_view member);
  void root_ca(const Place& place);

  Site site(const Siblings& siblings, std::string_view key) {
    return {
        context_.mapping, Direction::outward, context_.root, siblings, key, event_namespace_, this};
  }
  KnownWords& words() override;
  std::string_view word_at(std::size_t at) const;
  /// A string that was changed, behind the first byte of its length.
  void tell_edit(std::string_view text) { words_->shown(text.substr(text.empty() ? 0 : 1)); }
  std::string_view content(const Place& place) const {
    return body_.substr(place.content, place.end - place.content);
  }
  void apply(std::string& out) const;
  tl::unexpected<Error> wrong() const;

  const WireContext& context_;
  const std::string_view body_;
  std::string event_namespace_; ///< as the walker of JSON has it
  std::vector<Edit> edits_;
  std::optional<KnownWords> words_; ///< of what stands in front of text_; none until one asks
  std::size_t text_ = 0;            ///< the string that is being read
  std::size_t told_ = 0;            ///< the body up to here is in words_
  std::size_t told_edits_ = 0;      ///< and so many of the edits
  bool shrinks_ = false;            ///< what would get longer stays as it is
  bool broken_ = false;             ///< bytes that are no protobuf were met
  bool shows_root_ca_ = false;      ///< the object is ConfigMap kube-root-ca.crt
  std::ptrdiff_t delta_ = 0;        ///< bytes that the message gains by its edits so far
};

Result<std::string> WireWalker::run() {
  if (!body_.starts_with(k_magic)) return wrong();
  std::optional<Place> raw;
  std::string_view api_version, kind;
  each(k_magic.size(), body_.size(), [&](const Place& place) {
    if (place.field.number == 2 && place.field.wire == Wire::bytes) raw = place;
    if (place.field.number != 1 || place.field.wire != Wire::bytes) return;
    each(place.content, place.end, [&](const Place& name) {
      if (name.field.number == 1) api_version = content(name);
      if (name.field.number == 2) kind = content(name);
    });
  });
  const auto* item = protobuf::find_kind(api_version, context_.root.kind);
  if (!raw || item == nullptr) return wrong();
  if (kind != context_.root.kind) return wrong();
  Siblings top;
  top.api_version = api_version;
  top.kind = kind;
  within(*raw, [&] { object(messages[item->message], *raw, top); });
  if (broken_) return wrong();
  std::string out;
  out.reserve(static_cast<std::size_t>(static_cast<std::ptrdiff_t>(body_.size()) + delta_));
  apply(out);
  return out;
}

tl::unexpected<Error> WireWalker::wrong() const {
  return fail(Code::internal, "the upstream's answer is not the protobuf of {}",
              context_.root.kind);
}

/// k8s.io/apimachinery's ListMeta is field 1 of every list, and its items are field 2.
Result<void> WireWalker::run_field(const Message& item, std::string& out) {
  each(0, body_.size(), [&](const Place& place) {
    if (place.field.wire != Wire::bytes) return;
    if (place.field.number == 2) {
      within(place, [&] { object(item, place, {}); });
      // For what ConfigMap kube-root-ca.crt shows a list has room.
      if (delta_ > 0 && !shows_root_ca_) again_without_growth(item, place);
    } else if (place.field.number == 1 && context_.seal_continue) {
      within(place, [&] {
        each(place.content, place.end, [&](const Place& meta) {
          constexpr std::uint32_t k_continue = 3;
          if (meta.field.number == k_continue && !content(meta).empty())
            put(meta, context_.seal_continue(content(meta)));
        });
      });
    }
  });
  if (broken_) return wrong();
  apply(out);
  return {};
}

/// No other object of a list may get longer (wire_list.hpp). Only a pod does that mentions zood's
/// ConfigMap more often than it has bytes to give for it: its name stays there.
void WireWalker::again_without_growth(const Message& item, const Place& place) {
  edits_.clear();
  words_.reset();
  told_ = told_edits_ = 0;
  delta_ = 0;
  shrinks_ = true;
  within(place, [&] { object(item, place, {}); });
}

void WireWalker::object(const Message& shape, const Place& place, const Siblings& siblings) {
  if (event_namespace_.empty()) event_namespace_ = of_metadata(shape, place, "namespace");
  shows_root_ca_ = context_.mapping.root_ca() != nullptr && context_.root.kind == "ConfigMap" &&
                   of_metadata(shape, place, "name") == k_upstream_root_ca;
  message(*context_.root.object, shape, place, siblings, 0);
}

std::string_view WireWalker::of_metadata(const Message& shape, const Place& place,
                                         std::string_view member) {
  std::string_view out;
  each(place.content, place.end, [&](const Place& metadata) {
    const auto* field = find_field(shape, metadata.field.number);
    if (field == nullptr || field->name != "metadata" || field->type != Type::message) return;
    each(metadata.content, metadata.end, [&](const Place& name) {
      const auto* inner = find_field(messages[field->message], name.field.number);
      if (inner != nullptr && inner->name == member) out = content(name);
    });
  });
  return out;
}

void WireWalker::message(const Node& node, const Message& shape, const Place& place,
                         const Siblings& siblings, unsigned depth) {
  if (depth >= k_max_depth) {
    broken_ = true;
    return;
  }
  if ((node.flags & Node::siblings) == 0) return members(node, shape, place, siblings, depth);
  Siblings own;
  if (depth == 0) own = siblings;
  collect(shape, place, own);
  members(node, shape, place, own, depth);
}

/// What decides the meaning of this object's members, as Walker::collect().
void WireWalker::collect(const Message& shape, const Place& place, Siblings& out) {
  each(place.content, place.end, [&](const Place& each_place) {
    const auto* field = find_field(shape, each_place.field.number);
    if (field == nullptr || each_place.field.wire != Wire::bytes) return;
    if ((field->flags & k_inline) != 0) return collect(messages[field->message], each_place, out);
    if (field->type != Type::string || (field->flags & (k_map | k_repeated)) != 0) return;
    for (const auto& wanted : k_sibling_keys) {
      if (field->name == wanted.key) out.*(wanted.to) = content(each_place);
    }
  });
}

void WireWalker::members(const Node& node, const Message& shape, const Place& place,
                         const Siblings& siblings, unsigned depth) {
  each(place.content, place.end, [&](const Place& each_place) {
    const auto* field = find_field(shape, each_place.field.number);
    if (field == nullptr || each_place.field.wire != Wire::bytes) return;
    if ((field->flags & k_inline) != 0) {
      return within(each_place, [&] {
        members(node, messages[field->message], each_place, siblings, depth + 1);
      });
    }
    member(node, *field, each_place, siblings, depth);
  });
}

void WireWalker::member(const Node& node, const Field& field, const Place& place,
                        const Siblings& siblings, unsigned depth) {
  const auto* edge = node.find(field.name);
  const Node* to = edge != nullptr ? edge->to : node.value;
  if (to == nullptr) return;
  if ((field.flags & k_map) != 0) return entry(*to, field, place, siblings, depth + 1);
  if (leaves_out(*to, field, place, siblings, field.name)) return drop(place);
  if ((field.flags & k_repeated) == 0)
    return value(*to, field, place, siblings, field.name, depth + 1);
  if (to->element != nullptr) value(*to->element, field, place, siblings, field.name, depth + 1);
}

/// Is it a member that a tenant does not see at all?
bool WireWalker::leaves_out(const Node& node, const Field& field, const Place& place,
                            const Siblings& siblings, std::string_view key) {
  if (node.action == Action::hide) return true;
  if (field.type != Type::string ||
      (node.action != Action::binding_namespace && node.action != Action::event_namespace))
    return false;
  std::string output;
  return act(node.action, node.parameter, site(siblings, key), content(place), output) ==
         Fate::drop;
}

/// One entry of a map: a message of key and value.
void WireWalker::entry(const Node& map, const Field& field, const Place& place,
                       const Siblings& siblings, unsigned depth) {
  if (map.action == Action::hide) return drop(place);
  if (map.action == Action::authorities) return root_ca(place);
  if (untouched(map, place)) return;
  std::optional<Place> key, held;
  each(place.content, place.end, [&](const Place& part) {
    if (part.field.wire != Wire::bytes) return;
    if (part.field.number == 1) key = part;
    if (part.field.number == 2) held = part;
  });
  const auto name = key ? content(*key) : std::string_view();
  const auto* edge = map.find(name);
  const Node* to = edge != nullptr ? edge->to : map.value;
  std::optional<std::string> renamed;
  if (map.key_action != KeyAction::none) {
    std::string output;
    const auto fate = act_on_key(map.key_action, site(siblings, name), name, output);
    if (fate == Fate::drop || fate == Fate::foreign) return drop(place);
    if (fate == Fate::replace && output != name) renamed = std::move(output);
  } else if (to != nullptr && held && leaves_out(*to, field, *held, siblings, name)) {
    return drop(place);
  }
  within(place, [&] { // in the order in which both stand there
    const bool key_first = key && (!held || key->begin < held->begin);
    if (renamed && key_first) put(*key, *renamed);
    if (to != nullptr && held) value(*to, field, *held, siblings, name, depth);
    if (renamed && !key_first) put(*key, *renamed);
  });
}

/// An entry of a ConfigMap's data, as Walker::root_ca().
void WireWalker::root_ca(const Place& place) {
  if (!shows_root_ca_) return;
  std::optional<Place> key, held;
  each(place.content, place.end, [&](const Place& part) {
    if (part.field.wire != Wire::bytes) return;
    if (part.field.number == 1) key = part;
    if (part.field.number == 2) held = part;
  });
  if (!key || !held || content(*key) != k_root_ca_key) return;
  within(place, [&] { put(*held, *context_.mapping.root_ca()); });
}

/// Outward nothing acts there: of most subtrees their bytes say so.
bool WireWalker::untouched(const Node& node, const Place& place) const {
  return node.words != k_all_words && (node.words & k_rare_words) == 0 &&
         (words_in(content(place), context_.mapping.prefix()) & node.words) == 0;
}

void WireWalker::value(const Node& node, const Field& field, const Place& place,
                       const Siblings& siblings, std::string_view key, unsigned depth) {
  if (untouched(node, place)) return;
  switch (field.type) {
  case Type::string:
  case Type::bytes:
    return text(node, field, place, siblings, key);
  case Type::message:
    if (node.action == Action::namespace_source) {
      if (const auto shown = namespace_source_wire(content(place))) return put(place, *shown);
    }
    return within(place, [&] { message(node, messages[field.message], place, siblings, depth); });
  case Type::strings:
    if (node.element == nullptr) return;
    return within(place, [&] {
      each(place.content, place.end, [&](const Place& item) {
        if (item.field.number == 1 && item.field.wire == Wire::bytes)
          text(*node.element, field, item, siblings, key);
      });
    });
  case Type::json:
    return within(place, [&] {
      each(place.content, place.end, [&](const Place& raw) {
        if (raw.field.number == 1 && raw.field.wire == Wire::bytes) json(node, raw);
      });
    });
  default: // numbers, times, quantities: no rule is about them
    return;
  }
}

void WireWalker::text(const Node& node, const Field& field, const Place& place,
                      const Siblings& siblings, std::string_view key) {
  if (node.action == Action::none) return;
  if (node.action == Action::embedded || node.action == Action::last_applied) {
    // A document within a string: the walker of JSON knows what to do with the string.
    const auto quoted = json_quote(content(place));
    RewriteContext context{context_.mapping, Direction::outward, context_.request_namespace};
    std::string out;
    if (!Walker(context_.root, context, quoted, out).run_at(node) || out == quoted) return;
    return put(place, json_unquote(out));
  }
  const auto given = field.type == Type::bytes ? crypto::base64_encode(content(place))
                                               : std::string(content(place));
  std::string output;
  text_ = place.content;
  switch (act(node.action, node.parameter, site(siblings, key), given, output)) {
  case Fate::replace:
    if (output == given) return;
    break;
  case Fate::foreign:
    output.clear();
    break;
  default:
    return;
  }
  if (field.type != Type::bytes) return put(place, output);
  const auto decoded = crypto::base64_decode(output);
  put(place, decoded ? *decoded : std::string());
}

/// The word that begins with the prefix at `at`: a whole string, whose length stands before it, or
/// a part of one.
std::string_view WireWalker::word_at(std::size_t at) const {
  const std::size_t said = at > 0 ? static_cast<unsigned char>(body_[at - 1]) : 0;
  if (said > context_.mapping.prefix().size() && said < 0x80 && said <= body_.size() - at) {
    const auto whole = body_.substr(at, said);
    if (word_length(whole) == said) return whole;
  }
  return begins_word(body_, at) ? body_.substr(at, word_length(body_.substr(at)))
                                : std::string_view();
}

/// As the walker of JSON: what the edits have changed got the prefix from zood.
KnownWords& WireWalker::words() {
  const auto& prefix = context_.mapping.prefix();
  if (!words_) words_.emplace(prefix);
  for (auto at = body_.find(prefix, told_); at < text_ && !words_->full();
       at = body_.find(prefix, at + 1)) {
    const auto word = word_at(at);
    if (word.empty()) continue;
    while (told_edits_ < edits_.size() && edits_[told_edits_].at + edits_[told_edits_].size <= at)
      tell_edit(edits_[told_edits_++].text);
    words_->add(word, false);
    const bool changed = told_edits_ < edits_.size() && edits_[told_edits_].at <= at;
    if (!changed) words_->add(word, true);
  }
  while (told_edits_ < edits_.size() && edits_[told_edits_].at < text_)
    tell_edit(edits_[told_edits_++].text);
  told_ = std::max(told_, text_);
  return *words_;
}

void WireWalker::json(const Node& node, const Place& place) {
  RewriteContext context{context_.mapping, Direction::outward, context_.request_namespace};
  std::string out;
  const auto document = content(place);
  if (!Walker(context_.root, context, document, out).run_at(node) || out == document) return;
  put(place, out);
}

void WireWalker::apply(std::string& out) const {
  std::size_t at = 0;
  for (const auto& edit : edits_) {
    out += body_.substr(at, edit.at - at);
    out += edit.text;
    at = edit.at + edit.size;
  }
  out += body_.substr(at);
}

} // namespace

bool has_wire_form(const Root& root, std::string_view api_version) {
  return root.form == Form::plain && root.namespaced &&
         protobuf::find_kind(api_version, root.kind) != nullptr;
}

Result<std::string> wire_outward(const WireContext& context, std::string_view body) {
  return WireWalker(context, body).run();
}

Result<void> wire_list_field(const WireContext& context, const protobuf::Message& item,
                             std::string_view field, std::string& out) {
  return WireWalker(context, field).run_field(item, out);
}

} // namespace zoo::translate
