// SPDX-License-Identifier: Apache-2.0
// The same parts come out of any split of the input; for a valid list they are the list.
#include "daemon/translate/framer.hpp"

#include "daemon/translate/json.hpp"
#include "tests/fuzz/invariant.hpp"

#include <cstdint>
#include <string>

namespace {

using namespace zoo;
using namespace zoo::translate;

struct Heard : FrameHandler {
  void on_frame_head(std::string_view text) override { add('H', text); }
  void on_frame(std::string_view text) override { add('I', text); }
  void on_frame_tail(std::string_view text) override { add('T', text); }
  void add(char what, std::string_view text) {
    parts += what;
    parts += text;
    parts += '\n';
    if (what == 'I') items_valid = items_valid && check_json(text);
  }
  std::string parts;
  bool items_valid = true;
};

struct Outcome {
  std::string parts;
  bool good = false;
  bool items_valid = true;
};

Outcome cut(Shape shape, std::string_view text, std::string_view sizes) {
  Heard heard;
  Framer framer(shape, 4096, heard);
  Outcome out{"", true, true};
  std::size_t turn = 0;
  while (!text.empty() && out.good) {
    const auto wanted = sizes.empty()
                            ? text.size()
                            : 1U + static_cast<unsigned char>(sizes[turn++ % sizes.size()]) % 37U;
    const auto chunk = text.substr(0, wanted);
    text.remove_prefix(chunk.size());
    out.good = framer.feed(chunk).has_value();
  }
  out.good = out.good && framer.finish().has_value();
  out.parts = heard.parts;
  out.items_valid = heard.items_valid;
  return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const auto shape = static_cast<Shape>(data[0] % 3);
  const auto sizes = all.substr(1, 3);
  const auto text = all.substr(4);
  const auto whole = cut(shape, text, {});
  for (const auto split : {sizes, std::string_view("\0", 1)}) {
    const auto other = cut(shape, text, split);
    invariant(whole.good == other.good, "a split changes no verdict", text);
    // After an error the parts before it may differ: a chunk is judged as far as it goes.
    if (whole.good) invariant(whole.parts == other.parts, "a split changes no part", text);
  }
  if (whole.good && shape != Shape::watch && check_json(text))
    invariant(whole.items_valid, "the items of a valid document are valid", text);
  return 0;
}
