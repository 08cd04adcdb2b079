// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zoo::http {

struct Header {
  std::string name; ///< as received; HTTP/2 names are lower case
  std::string value;
};

/// Header fields in wire order. Names compare without case (RFC 9110 section 5.1). A value type.
class Headers {
public:
  Headers() = default;
  Headers(std::initializer_list<Header> fields) : fields_(fields) {}

  void add(std::string name, std::string value) {
    if (fields_.empty()) fields_.reserve(12); // what most messages have
    fields_.push_back({std::move(name), std::move(value)});
  }
  void set(std::string_view name, std::string value); ///< replaces all of that name by one
  void remove(std::string_view name);
  void erase_if(auto predicate) { std::erase_if(fields_, predicate); } ///< of a Header
  std::optional<std::string_view> find(std::string_view name) const;   ///< the first of that name
  std::string_view get(std::string_view name) const { return find(name).value_or(""); }
  std::vector<std::string_view> all(std::string_view name) const;
  bool has(std::string_view name) const { return find(name).has_value(); }
  std::size_t bytes() const; ///< names and values, as the limit on header bytes counts them

  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  std::size_t size() const { return fields_.size(); }

private:
  std::vector<Header> fields_;
};

/// The head of a request, protocol-neutral. Guaranteed by the codecs: `method` is an RFC 9110
/// token, `target` is origin-form and starts with '/' (or is "*"), no control characters anywhere,
/// no hop-by-hop or pseudo fields in `headers` except Upgrade/Connection of an HTTP/1.1 upgrade,
/// no Host (see `authority`) and no Expect (the codec answers it).
struct RequestHead {
  std::string method;
  std::string target;    ///< path and query as received
  std::string authority; ///< Host or :authority
  Headers headers;
  int version = 11;     ///< 10, 11 or 20
  bool upgrade = false; ///< HTTP/1.1 with `Connection: upgrade`; headers keep `Upgrade`
};

struct ResponseHead {
  int status = 200;
  Headers headers;
};

} // namespace zoo::http
