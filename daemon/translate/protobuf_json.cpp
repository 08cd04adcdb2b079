// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/protobuf_json.hpp"

#include "common/base/json_text.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/protobuf_wire.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/translate/json.hpp"
#include "daemon/translate/protobuf_table.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

namespace zoo::translate {
namespace {

using namespace protobuf;
using namespace zoo::protobuf;

tl::unexpected<Error> broken(std::string_view name) {
  return fail(Code::bad_request, "the protobuf body is broken within {}", name);
}

tl::unexpected<Error> unknown_field(std::string_view name, std::uint32_t number) {
  return fail(Code::unsupported_media_type,
              "zood does not know the protobuf field {} of {}; send the object as JSON", number,
              name);
}

tl::unexpected<Error> twice(std::string_view name) {
  return fail(Code::bad_request, "the protobuf body gives {} twice", name);
}

Wire wire_of(Type type) {
  switch (type) {
  case Type::boolean:
  case Type::int32:
  case Type::int64:
    return Wire::varint;
  case Type::number:
    return Wire::fixed64;
  default:
    return Wire::bytes;
  }
}

bool is_scalar(Type type) { return type < Type::message; }

/// Calls `take` with each field of a message that the table does not describe: field N has the wire
/// type `wires[N-1]`. Nothing is collected, as a body may consist of nothing but such fields.
template <class Take>
Result<void> each(std::string_view name, std::string_view bytes, std::initializer_list<Wire> wires,
                  Take&& take) {
  WireField field;
  for (WireReader reader(bytes); !reader.done();) {
    if (!reader.next(field)) return broken(name);
    if (field.number > wires.size()) return unknown_field(name, field.number);
    if (field.wire != std::data(wires)[field.number - 1]) return broken(name);
    take(field);
  }
  return {};
}

/// Whole seconds and nanoseconds since 1970 (metav1.Time, metav1.MicroTime), or Go's zero time.
struct Instant {
  bool zero = true;
  std::int64_t seconds = 0;
  std::int32_t nanos = 0;
};

Result<Instant> read_instant(std::string_view bytes) {
  // The year 1, which is Go's zero time, and 0000-01-01 to 9999-12-31: what RFC 3339 can say.
  constexpr std::int64_t k_go_zero = -62'135'596'800;
  constexpr std::int64_t k_earliest = -62'167'219'200;
  constexpr std::int64_t k_latest = 253'402'300'799;
  Instant out;
  if (bytes.empty()) return out;
  ZOO_TRY_VOID(each("Time", bytes, {Wire::varint, Wire::varint}, [&](const WireField& field) {
    if (field.number == 1)
      out.seconds = static_cast<std::int64_t>(field.value);
    else
      out.nanos = static_cast<std::int32_t>(field.value);
  }));
  if (out.seconds < k_earliest || out.seconds > k_latest || out.nanos < 0 ||
      out.nanos > 999'999'999)
    return fail(Code::bad_request, "the protobuf body has a time that RFC 3339 cannot say");
  out.zero = out.seconds == k_go_zero && out.nanos == 0;
  return out;
}

/// As Go writes them: Time drops what is below a second, MicroTime what is below a microsecond.
std::string instant_text(const Instant& instant, bool micro) {
  const std::chrono::sys_seconds when{std::chrono::seconds(instant.seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(when);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(when - day);
  auto out = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                         static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                         time.hours().count(), time.minutes().count(), time.seconds().count());
  if (micro) fmt::format_to(std::back_inserter(out), ".{:06}", instant.nanos / 1000);
  return out + "Z";
}

class Decoder {
public:
  explicit Decoder(const ProtobufLimits& limits) : limits_(limits) {}

  Result<std::string> object(const Kind& kind, std::string_view api_version,
                             std::string_view bytes);

private:
  /// Where a value stands in its message. Small, as a body may consist of nothing but fields.
  struct Entry {
    std::uint32_t at;    ///< of the tag
    std::uint16_t field; ///< place in the message's fields
  };
  using Entries = std::vector<Entry>;

  Result<Entries> scan(const Message& message, std::string_view bytes) const;
  Result<void> members(const Message& message, std::string_view bytes, std::size_t depth);
  Result<void> member(const Message& message, const Field& field, std::string_view bytes,
                      const Entry* from, const Entry* to, std::size_t depth);
  Result<void> list(const Message& message, const Field& field, std::string_view bytes,
                    const Entry* from, const Entry* to, std::size_t depth);
  Result<void> map(const Message& message, const Field& field, std::string_view bytes,
                   const Entry* from, const Entry* to, std::size_t depth);
  Result<void> value(const Message& message, const Field& field, const WireField& from,
                     std::size_t depth);
  Result<void> object_of(const Message& message, std::string_view bytes, std::size_t depth);
  Result<void> text(std::string_view name, std::string_view bytes);
  Result<void> number(const Field& field, double value);
  Result<void> strings(std::string_view name, std::string_view bytes);
  Result<void> int_or_string(std::string_view bytes);
  Result<void> quantity(std::string_view bytes);
  Result<void> raw(const Field& field, std::string_view bytes);
  Result<void> schema_or(const Field& field, std::string_view bytes, std::size_t depth);

  void separate() {
    if (out_.back() != '{' && out_.back() != '[') out_ += ',';
  }
  void key(const Field& field) {
    separate();
    out_ += '"';
    out_ += field.name;
    out_ += "\":";
  }
  Result<void> bounded() const {
    if (out_.size() <= limits_.output) return {};
    return fail(Code::too_large, "the protobuf body becomes more than {} bytes of JSON",
                limits_.output);
  }
  static WireField at(std::string_view bytes, const Entry& entry) {
    WireField field;
    WireReader(bytes, entry.at).next(field); // scan() read it before
    return field;
  }

  ProtobufLimits limits_;
  std::string out_;
};

Result<std::string> Decoder::object(const Kind& kind, std::string_view api_version,
                                    std::string_view bytes) {
  out_ = "{\"apiVersion\":";
  ZOO_TRY_VOID(text(kind.kind, api_version));
  out_ += ",\"kind\":";
  ZOO_TRY_VOID(text(kind.kind, kind.kind));
  ZOO_TRY_VOID(members(messages[kind.message], bytes, 1));
  out_ += '}';
  ZOO_TRY_VOID(bounded());
  return std::move(out_);
}

/// Finds the message's fields and puts them in order, each field's values in the order they came.
Result<Decoder::Entries> Decoder::scan(const Message& message, std::string_view bytes) const {
  Entries entries;
  const Field* const first = fields + message.first;
  const Field* const last = first + message.count;
  bool sorted = true;
  for (WireReader reader(bytes); !reader.done();) {
    const auto begin = static_cast<std::uint32_t>(reader.offset());
    WireField field;
    if (!reader.next(field)) return broken(message.name);
    const auto* const found =
        std::ranges::lower_bound(first, last, field.number, {}, &Field::number);
    if (found == last || found->number != field.number)
      return unknown_field(message.name, field.number);
    const Wire wire = (found->flags & k_map) != 0 ? Wire::bytes : wire_of(found->type);
    const bool packed = (found->flags & k_repeated) != 0 && field.wire == Wire::bytes;
    if (field.wire != wire && !packed)
      return fail(Code::bad_request,
                  "the protobuf body has the field {} of {} in a wrong wire type", found->name,
                  message.name);
    const auto place = static_cast<std::uint16_t>(found - first);
    sorted = sorted && (entries.empty() || entries.back().field <= place);
    entries.push_back({begin, place});
  }
  if (!sorted) {
    std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
      return a.field != b.field ? a.field < b.field : a.at < b.at;
    });
  }
  return entries;
}

Result<void> Decoder::members(const Message& message, std::string_view bytes, std::size_t depth) {
  if (depth > limits_.depth)
    return fail(Code::bad_request, "the protobuf body nests more than {} messages", limits_.depth);
  ZOO_TRY(const auto entries, scan(message, bytes));
  const Entry* const end = entries.data() + entries.size();
  for (const Entry* from = entries.data(); from != end;) {
    const Entry* const to =
        std::find_if(from, end, [&](const Entry& entry) { return entry.field != from->field; });
    const Field& field = fields[message.first + from->field];
    if ((field.flags & k_map) != 0) {
      ZOO_TRY_VOID(map(message, field, bytes, from, to, depth));
    } else if ((field.flags & k_repeated) != 0) {
      ZOO_TRY_VOID(list(message, field, bytes, from, to, depth));
    } else {
      ZOO_TRY_VOID(member(message, field, bytes, from, to, depth));
    }
    ZOO_TRY_VOID(bounded());
    from = to;
  }
  return {};
}

Result<void> Decoder::member(const Message& message, const Field& field, std::string_view bytes,
                             const Entry* from, const Entry* to, std::size_t depth) {
  // proto2: the last scalar counts. Messages would have to be merged, which no encoder asks for.
  if (!is_scalar(field.type) && to - from > 1) return twice(field.name);
  const WireField found = at(bytes, *(to - 1));
  if ((field.flags & k_inline) != 0)
    return members(messages[field.message], found.bytes, depth + 1);
  if ((field.flags & k_keeps_zero) == 0) {
    if (is_scalar(field.type) && found.bytes.empty() && found.value == 0) return {};
    if (field.type == Type::time || field.type == Type::micro_time) {
      ZOO_TRY(const auto instant, read_instant(found.bytes));
      if (instant.zero) return {};
    }
  }
  key(field);
  return value(message, field, found, depth);
}

Result<void> Decoder::list(const Message& message, const Field& field, std::string_view bytes,
                           const Entry* from, const Entry* to, std::size_t depth) {
  key(field);
  out_ += '[';
  const Wire wire = wire_of(field.type);
  for (; from != to; ++from) {
    WireField found = at(bytes, *from);
    if (found.wire == wire) {
      separate();
      ZOO_TRY_VOID(value(message, field, found, depth));
      ZOO_TRY_VOID(bounded());
      continue;
    }
    for (WireReader packed(found.bytes); !packed.done();) {
      if (!(wire == Wire::varint ? packed.varint(found.value) : packed.fixed(8, found.value)))
        return broken(message.name);
      separate();
      ZOO_TRY_VOID(value(message, field, found, depth));
      ZOO_TRY_VOID(bounded());
    }
  }
  out_ += ']';
  return {};
}

Result<void> Decoder::map(const Message& message, const Field& field, std::string_view bytes,
                          const Entry* from, const Entry* to, std::size_t depth) {
  key(field);
  out_ += '{';
  std::vector<std::string_view> keys;
  keys.reserve(static_cast<std::size_t>(to - from));
  const Wire wire = wire_of(field.type);
  for (; from != to; ++from) {
    WireField name;
    WireField found; // a missing value is the zero value
    std::size_t values = 0;
    ZOO_TRY_VOID(
        each(message.name, at(bytes, *from).bytes, {Wire::bytes, wire}, [&](const WireField& part) {
          (part.number == 1 ? name : found) = part;
          values += part.number == 2 ? 1 : 0;
        }));
    if (!is_scalar(field.type) && values > 1) return twice(field.name);
    keys.push_back(name.bytes);
    separate();
    ZOO_TRY_VOID(text(field.name, name.bytes));
    out_ += ':';
    ZOO_TRY_VOID(value(message, field, found, depth));
    ZOO_TRY_VOID(bounded());
  }
  out_ += '}';
  std::ranges::sort(keys);
  if (std::ranges::adjacent_find(keys) != keys.end())
    return fail(Code::bad_request, "the protobuf body gives a key of {} twice", field.name);
  return {};
}

Result<void> Decoder::value(const Message& message, const Field& field, const WireField& from,
                            std::size_t depth) {
  switch (field.type) {
  case Type::string:
    return text(field.name, from.bytes);
  case Type::bytes:
    out_ += '"';
    out_ += crypto::base64_encode(from.bytes);
    out_ += '"';
    return {};
  case Type::boolean:
    out_ += from.value != 0 ? "true" : "false";
    return {};
  case Type::int32: // proto2 keeps the low bits of a longer number
    fmt::format_to(std::back_inserter(out_), "{}", static_cast<std::int32_t>(from.value));
    return {};
  case Type::int64:
    fmt::format_to(std::back_inserter(out_), "{}", static_cast<std::int64_t>(from.value));
    return {};
  case Type::number:
    return number(field, std::bit_cast<double>(from.value));
  case Type::message:
    return object_of(messages[field.message], from.bytes, depth + 1);
  case Type::strings:
    return strings(message.name, from.bytes);
  case Type::time:
  case Type::micro_time: {
    ZOO_TRY(const auto instant, read_instant(from.bytes));
    if (instant.zero)
      out_ += "null";
    else
      out_ += '"' + instant_text(instant, field.type == Type::micro_time) + '"';
    return {};
  }
  case Type::quantity:
    return quantity(from.bytes);
  case Type::int_or_string:
    return int_or_string(from.bytes);
  case Type::json:
    return raw(field, from.bytes);
  case Type::schema_or_array:
  case Type::schema_or_bool:
  case Type::schema_or_strings:
    return schema_or(field, from.bytes, depth);
  }
  return fail(Code::internal, "the message table has no type for {}", field.name);
}

Result<void> Decoder::object_of(const Message& message, std::string_view bytes, std::size_t depth) {
  out_ += '{';
  ZOO_TRY_VOID(members(message, bytes, depth));
  out_ += '}';
  return {};
}

Result<void> Decoder::text(std::string_view name, std::string_view bytes) {
  if (!is_utf8(bytes))
    return fail(Code::bad_request, "the protobuf body has text in {} that is not UTF-8", name);
  append_json_quoted(out_, bytes);
  return {};
}

Result<void> Decoder::number(const Field& field, double value) {
  if (!std::isfinite(value))
    return fail(Code::bad_request, "the protobuf body has a number in {} that JSON cannot say",
                field.name);
  char digits[32]; // the shortest form that reads back the same is 24 characters at most
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
  out_.append(std::begin(digits), end);
  return {};
}

Result<void> Decoder::strings(std::string_view name, std::string_view bytes) {
  out_ += '[';
  ZOO_TRY_VOID(each(name, bytes, {Wire::bytes}, [](const WireField&) {}));
  WireField item;
  for (WireReader reader(bytes); !reader.done() && reader.next(item);) {
    separate();
    ZOO_TRY_VOID(text(name, item.bytes));
    ZOO_TRY_VOID(bounded());
  }
  out_ += ']';
  return {};
}

/// k8s.io/apimachinery/pkg/util/intstr: type 0 is the number, type 1 the string.
Result<void> Decoder::int_or_string(std::string_view bytes) {
  std::uint64_t type = 0;
  std::int32_t number = 0;
  std::string_view word;
  ZOO_TRY_VOID(each("IntOrString", bytes, {Wire::varint, Wire::varint, Wire::bytes},
                    [&](const WireField& part) {
                      if (part.number == 1)
                        type = part.value;
                      else if (part.number == 2)
                        number = static_cast<std::int32_t>(part.value);
                      else
                        word = part.bytes;
                    }));
  if (type > 1)
    return fail(Code::bad_request, "the protobuf body has an IntOrString that is neither");
  if (type == 1) return text("IntOrString", word);
  fmt::format_to(std::back_inserter(out_), "{}", number);
  return {};
}

Result<void> Decoder::quantity(std::string_view bytes) {
  std::string_view word = "0";
  ZOO_TRY_VOID(
      each("Quantity", bytes, {Wire::bytes}, [&](const WireField& part) { word = part.bytes; }));
  return text("Quantity", word);
}

Result<void> Decoder::raw(const Field& field, std::string_view bytes) {
  std::string_view inner;
  ZOO_TRY_VOID(
      each(field.name, bytes, {Wire::bytes}, [&](const WireField& part) { inner = part.bytes; }));
  if (inner.empty()) {
    out_ += "null";
    return {};
  }
  if (inner.starts_with(k_magic))
    return fail(Code::unsupported_media_type,
                "the protobuf body holds protobuf in {}; send the object as JSON", field.name);
  if (auto checked = check_json(inner); !checked)
    return fail(std::move(checked).error().context("while reading {}", field.name));
  out_ += inner;
  return {};
}

/// The three choices of apiextensions (marshal.go there). As in Go a list wins over one schema, a
/// list of names too, and a schema over a bool.
Result<void> Decoder::schema_or(const Field& field, std::string_view bytes, std::size_t depth) {
  const bool flag = field.type == Type::schema_or_bool;
  const bool names = field.type == Type::schema_or_strings;
  const std::uint32_t schema_number = flag ? 2 : 1;
  std::string_view schema;
  std::size_t schemas = 0;
  bool allows = false;
  bool many = false;
  ZOO_TRY_VOID(each(field.name, bytes, {flag ? Wire::varint : Wire::bytes, Wire::bytes},
                    [&](const WireField& part) {
                      if (part.number == schema_number) {
                        schema = part.bytes;
                        ++schemas;
                      } else if (flag) {
                        allows = part.value != 0;
                      } else {
                        many = true;
                      }
                    }));
  if (schemas > 1) return twice(field.name);
  const Message& message = messages[field.message];
  if (!many) {
    if (schemas != 0) return object_of(message, schema, depth + 1);
    out_ += !flag ? "null" : allows ? "true" : "false";
    return {};
  }
  out_ += '[';
  WireField part;
  for (WireReader reader(bytes); !reader.done() && reader.next(part);) {
    if (part.number == schema_number) continue;
    separate();
    if (names) {
      ZOO_TRY_VOID(text(field.name, part.bytes));
    } else {
      ZOO_TRY_VOID(object_of(message, part.bytes, depth + 1));
    }
    ZOO_TRY_VOID(bounded());
  }
  out_ += ']';
  return {};
}

struct Envelope {
  std::string_view api_version;
  std::string_view kind;
  std::string_view raw;
};

Result<Envelope> read_envelope(std::string_view body) {
  if (!body.starts_with(k_magic))
    return fail(Code::bad_request, "the protobuf body does not begin with Kubernetes' four bytes");
  if (body.size() > std::numeric_limits<std::uint32_t>::max())
    return fail(Code::too_large, "the protobuf body is too large");
  WireField parts[5]; // by number
  std::size_t given[5] = {};
  ZOO_TRY_VOID(each("runtime.Unknown", body.substr(k_magic.size()),
                    {Wire::bytes, Wire::bytes, Wire::bytes, Wire::bytes},
                    [&](const WireField& part) {
                      parts[part.number] = part;
                      ++given[part.number];
                    }));
  if (given[1] > 1 || given[2] > 1) return twice("runtime.Unknown");
  if (!parts[3].bytes.empty())
    return fail(Code::unsupported_media_type,
                "the protobuf body has a content encoding, which zood does not take");
  if (!parts[4].bytes.empty() && parts[4].bytes != translate::k_protobuf)
    return fail(Code::unsupported_media_type,
                "the protobuf body wraps another media type, which zood does not take");
  Envelope out;
  out.raw = parts[2].bytes;
  ZOO_TRY_VOID(
      each("TypeMeta", parts[1].bytes, {Wire::bytes, Wire::bytes}, [&](const WireField& name) {
        (name.number == 1 ? out.api_version : out.kind) = name.bytes;
      }));
  if (out.api_version.empty() || out.kind.empty())
    return fail(Code::bad_request, "the protobuf body does not name its apiVersion and kind");
  if (!is_utf8(out.api_version) || !is_utf8(out.kind)) return broken("TypeMeta");
  return out;
}

/// No kind of its own: the table has its message, since a ConversionReview holds one.
const Kind* status_kind() {
  static const Kind found{"v1", "Status",
                          static_cast<std::uint16_t>(find_message("Status") - messages)};
  return &found;
}

} // namespace

Result<std::string> protobuf_to_json(std::string_view body, const ProtobufLimits& limits) {
  ZOO_TRY(const auto envelope, read_envelope(body));
  const Kind* kind = find_kind(envelope.api_version, envelope.kind);
  if (kind == nullptr) kind = find_kind("", envelope.kind);
  if (kind == nullptr && envelope.api_version == "v1" && envelope.kind == "Status")
    kind = status_kind(); // what upstream refuses with
  if (kind == nullptr)
    return fail(Code::unsupported_media_type,
                "zood does not know {} {} in protobuf; send the object as JSON",
                json_quote(envelope.api_version), json_quote(envelope.kind));
  return Decoder(limits).object(*kind, envelope.api_version, envelope.raw);
}

} // namespace zoo::translate
