// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zoo::http {

/// A field: views into its Headers, until these change or go.
struct Header {
  std::string_view name; ///< as received; HTTP/2 names are lower case
  std::string_view value;
};

/// Header fields in wire order, all in one buffer. Names compare without case (RFC 9110 section
/// 5.1). A value type; of less than 4 GiB, as every reader's limits see to.
class Headers {
public:
  /// Goes over the fields, made as it comes to them.
  class Iterator {
  public:
    using difference_type = std::ptrdiff_t;
    using value_type = Header;
    using pointer = void;
    using reference = Header;
    using iterator_category = std::input_iterator_tag;

    Header operator*() const { return of_->view(of_->fields_[index_]); }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    Iterator operator++(int) { return {of_, index_++}; }
    bool operator==(const Iterator&) const = default;

  private:
    friend class Headers;
    Iterator(const Headers* of, std::size_t index) : of_(of), index_(index) {}
    const Headers* of_;
    std::size_t index_;
  };

  Headers() = default;
  Headers(std::initializer_list<Header> fields) {
    for (const auto& [name, value] : fields)
      add(name, value);
  }

  // What is given may be of these fields themselves.
  void add(std::string_view name, std::string_view value);
  void set(std::string_view name, std::string_view value); ///< replaces all of that name by one
  void remove(std::string_view name);
  void erase_if(auto predicate) { ///< of a Header
    std::erase_if(fields_, [&](const Field& field) { return predicate(view(field)); });
  }
  std::optional<std::string_view> find(std::string_view name) const; ///< the first of that name
  std::string_view get(std::string_view name) const { return find(name).value_or(""); }
  std::vector<std::string_view> all(std::string_view name) const;
  bool has(std::string_view name) const { return find(name).has_value(); }
  std::size_t bytes() const; ///< names and values, as the limit on header bytes counts them

  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, fields_.size()}; }
  std::size_t size() const { return fields_.size(); }

private:
  struct Field {
    std::uint32_t at, name, value; ///< of `text_`: where the name begins; both lengths
  };
  Header view(const Field& field) const {
    const char* const name = text_.data() + field.at;
    return {{name, field.name}, {name + field.name, field.value}};
  }

  std::string text_; ///< names and values, of fields that went too
  std::vector<Field> fields_;
};

class FieldLines;

/// The head of a request, protocol-neutral. Guaranteed by the codecs: `method` is an RFC 9110
/// token, `target` is origin-form and starts with '/' (or is "*"), no control characters anywhere,
/// no hop-by-hop or pseudo fields in `headers` except Upgrade/Connection of an HTTP/1.1 upgrade,
/// no Host (see `authority`) and no Expect (the codec answers it).
struct RequestHead {
  std::string method;
  std::string target;    ///< path and query as received; see logged()
  std::string authority; ///< Host or :authority
  Headers headers;
  int version = 11;     ///< 10, 11 or 20
  bool upgrade = false; ///< HTTP/1.1 with `Connection: upgrade`; headers keep `Upgrade`
  /// Of a request that is sent: fields beside those of `headers`, which have none of their names.
  std::shared_ptr<const FieldLines> prepared{};
};

/// Of a target what may stand in a log: not the query, which has commands of `exec` and tokens, and
/// no more than anybody reads.
inline std::string_view logged(std::string_view target) {
  return target.substr(0, std::min<std::size_t>(target.find('?'), 512));
}

struct ResponseHead {
  int status = 200;
  Headers headers;
};

} // namespace zoo::http
