// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/answer.hpp"

#include "daemon/gateway/continue_token.hpp"
#include "daemon/gateway/exchange.hpp"
#include "daemon/gateway/sides.hpp"
#include "daemon/translate/framer.hpp"
#include "daemon/translate/watch_event.hpp"
#include "daemon/translate/wire_list.hpp"
#include "daemon/upstream/list_source.hpp"

namespace zoo::gateway {
namespace {

using translate::Shape;

class Verbatim final : public AnswerTranslator {
public:
  Result<void> feed(std::string_view bytes, std::string& out) override {
    out.append(bytes);
    return {};
  }
  Result<void> finish(std::string&) override { return {}; }
};

/// What the framing translators share: the framer, and the first error of a callback.
class Framed : public AnswerTranslator, public translate::FrameHandler {
public:
  Framed(Exchange& exchange, Shape shape, std::string_view array)
      : framer_(shape, exchange.gateway().limits().object, *this, array) {}

  Result<void> feed(std::string_view bytes, std::string& out) override {
    out_ = &out;
    ZOO_TRY_VOID(framer_.feed(bytes));
    return std::exchange(result_, {});
  }
  Result<void> finish(std::string& out) override {
    out_ = &out;
    ZOO_TRY_VOID(framer_.finish());
    return std::exchange(result_, {});
  }
  std::size_t held() const override { return framer_.held(); }

protected:
  void note(Result<void> result) {
    if (result || !result_) return;
    result_ = std::move(result);
    framer_.ignore_rest();
  }
  std::string& out() { return *out_; }

private:
  std::string* out_ = nullptr;
  Result<void> result_;
  translate::Framer framer_;
};

class ObjectAnswer final : public Framed {
public:
  ObjectAnswer(Exchange& exchange, const Rendering& rendering)
      : Framed(exchange, Shape::single, ""), exchange_(exchange), rendering_(rendering) {}

private:
  void on_frame(std::string_view value) override {
    note(write_object(exchange_, rendering_, value, out()));
  }
  Exchange& exchange_;
  const Rendering& rendering_;
};

class ListAnswer final : public Framed {
public:
  ListAnswer(Exchange& exchange, const Rendering& rendering)
      : Framed(exchange, Shape::list,
               rendering.wanted.representation == translate::Representation::table ? "rows"
                                                                                   : "items"),
        exchange_(exchange), writer_(exchange, rendering) {}

private:
  void on_frame_head(std::string_view head) override {
    if (exchange_.side()) {
      const auto begin = translate::object_key(translate::closed_head(head));
      const auto revision = begin ? upstream::revision_of(begin->resource_version)
                                  : Result<std::int64_t>(fail(begin.error()));
      if (revision) side_listed(exchange_, *revision);
    }
    note(writer_.begin(head, out()));
  }
  void on_frame(std::string_view value) override { note(writer_.item(value, out())); }
  std::size_t on_open_frame(std::string_view rest) override {
    return writer_.open_item({}, rest, out());
  }
  void on_frame_tail(std::string_view tail) override { note(writer_.end(tail, out())); }
  Exchange& exchange_;
  ListWriter writer_;
};

/// Which of both it is, its first bytes say: Kubernetes writes the kind of a Status first.
class CollectionAnswer final : public AnswerTranslator {
public:
  CollectionAnswer(Exchange& exchange, const Rendering& rendering)
      : exchange_(exchange), rendering_(rendering) {}

  Result<void> feed(std::string_view bytes, std::string& out) override {
    constexpr std::string_view k_status = R"({"kind":"Status")";
    if (chosen_) return chosen_->feed(bytes, out);
    begin_ += bytes;
    std::string compact; // it may be pretty
    for (std::size_t i = 0; i < begin_.size() && compact.size() < k_status.size(); ++i) {
      if (begin_[i] != ' ' && begin_[i] != '\n') compact += begin_[i];
    }
    if (compact.size() < k_status.size()) return {};
    const bool status = compact == k_status;
    chosen_ =
        make_translator(exchange_, status ? AnswerShape::object : AnswerShape::list, rendering_);
    return chosen_->feed(begin_, out);
  }
  Result<void> finish(std::string& out) override {
    if (!chosen_) return fail(Code::unavailable, "the upstream's answer is not complete");
    return chosen_->finish(out);
  }
  std::size_t held() const override { return chosen_ ? chosen_->held() : 0; }

private:
  Exchange& exchange_;
  const Rendering& rendering_;
  std::string begin_;
  std::unique_ptr<AnswerTranslator> chosen_;
};

class WatchAnswer final : public Framed {
public:
  WatchAnswer(Exchange& exchange, const Rendering& rendering)
      : Framed(exchange, Shape::watch, ""), exchange_(exchange), writer_(exchange, rendering) {}

private:
  void on_frame(std::string_view value) override {
    if (side_tells(exchange_, value)) note(writer_.event(value, out()));
  }
  Exchange& exchange_;
  EventWriter writer_;
};

translate::WireContext wire_context(Exchange& exchange) {
  return {exchange.mapping(), root_of(exchange), exchange.target().name_space,
          [&exchange](std::string_view token) { return seal_upstream_token(exchange, token); }};
}

/// An object that is protobuf and stays it: lengths stand in front of what they measure, so that it
/// is held until it is whole.
class WireObjectAnswer final : public AnswerTranslator {
public:
  explicit WireObjectAnswer(Exchange& exchange) : exchange_(exchange) {}

  Result<void> feed(std::string_view bytes, std::string&) override {
    if (body_.size() + bytes.size() > exchange_.gateway().limits().object)
      return fail(Code::too_large, "the answer is too large to be held");
    if (!exchange_.buffer(bytes.size())) return tl::unexpected<Error>(held_too_much());
    body_ += bytes;
    return {};
  }
  Result<void> finish(std::string& out) override {
    ZOO_TRY(out, translate::wire_outward(wire_context(exchange_), body_));
    return {};
  }

private:
  Exchange& exchange_;
  std::string body_;
};

class WireListAnswer final : public AnswerTranslator {
public:
  explicit WireListAnswer(Exchange& exchange)
      : list_(wire_context(exchange), exchange.gateway().limits().object) {}
  Result<void> feed(std::string_view bytes, std::string& out) override {
    return list_.feed(bytes, out);
  }
  Result<void> finish(std::string& out) override { return list_.finish(out); }

private:
  translate::WireList list_;
};

} // namespace

std::unique_ptr<AnswerTranslator> make_translator(Exchange& exchange, AnswerShape shape,
                                                  const Rendering& rendering) {
  if (rendering.wire && shape == AnswerShape::list)
    return std::make_unique<WireListAnswer>(exchange);
  if (rendering.wire) return std::make_unique<WireObjectAnswer>(exchange);
  switch (shape) {
  case AnswerShape::object:
    return std::make_unique<ObjectAnswer>(exchange, rendering);
  case AnswerShape::list:
    return std::make_unique<ListAnswer>(exchange, rendering);
  case AnswerShape::collection:
    return std::make_unique<CollectionAnswer>(exchange, rendering);
  case AnswerShape::watch:
    return std::make_unique<WatchAnswer>(exchange, rendering);
  case AnswerShape::verbatim:
    break;
  }
  return std::make_unique<Verbatim>();
}

} // namespace zoo::gateway
