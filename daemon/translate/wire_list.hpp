// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/wire_rewrite.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace zoo::translate {

/// Field of a list's message that no list has: every reader of protobuf passes over it.
inline constexpr std::uint32_t k_filler_field = 2047;

/// A list in Kubernetes' protobuf, in the tenant's names, as it comes. Its length stands in front,
/// when what it will be is not known yet; but outward no object gets longer, except for one in each
/// namespace, ConfigMap kube-root-ca.crt, and this one by no more than what it shows. So the length
/// that upstream said is said again, with what the metadata gains and that one may, and what is
/// left of it is filled with zeros in k_filler_field. Holds one item and k_most_slack. For lists of
/// one namespace. Pure; one thread at a time.
class WireList {
public:
  static constexpr std::size_t k_most_slack = 4096; ///< bytes that were saved and not yet filled

  /// `most`: bytes of one item.
  WireList(WireContext context, std::size_t most);

  /// Appends to `out` what `bytes` tell of the answer. Code::internal: this is no list of the kind
  /// of the context's root, or an object got longer; Code::too_large: an item is.
  Result<void> feed(std::string_view bytes, std::string& out);
  /// The answer has ended. Code::internal: within the list, or what stands behind it is none.
  Result<void> finish(std::string& out);

private:
  Result<std::size_t> read_head();
  Result<void> take_field(std::string_view& bytes, std::string& out);
  Result<void> put_field(std::string_view field, std::string& out);
  void say_length(std::uint64_t size, std::string& out);
  tl::unexpected<Error> wrong() const;

  const WireContext context_;
  const std::size_t most_;
  const protobuf::Message* item_ = nullptr; ///< null: the head has not been read
  std::string held_;       ///< the head, a field that has not ended, or what stands behind the list
  std::string head_;       ///< what stands before the list's length, until that is said
  std::uint64_t left_ = 0; ///< bytes of the list that are still to come
  std::uint64_t slack_ = 0; ///< bytes that were said and have not been filled
  std::uint64_t reserve_ = 0; ///< of these, for the object that may get longer
};

} // namespace zoo::translate
