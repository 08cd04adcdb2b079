// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/backup/content.hpp"
#include "common/base/result.hpp"
#include "common/base/secret.hpp"

#include <string>
#include <string_view>

/// The file of a backup (docs/decisions/206): one line that says what it is, the header as JSON,
/// its digest, and pieces of 64 KiB by AES-256-GCM. Each piece proves the header, its own place and
/// whether it is the last one, so that whatever is changed, left out, repeated or cut off is found,
/// and where. Pure but for random numbers; any thread.
namespace zoo::backup {

/// `text`: of text_of(). With a passphrase the key is made of it by scrypt (N = 2^17). Without one
/// the key stands in the file: then it shows damage, and hides nothing. Code::internal without
/// entropy or memory.
Result<std::string> seal(std::string_view text, const Secret* passphrase);

/// What a file says of itself; nothing is proven but that its first lines are whole.
struct Label {
  Header header;
  bool encrypted = false;
  std::size_t body = 0; ///< where its pieces begin
};
Result<Label> read_label(std::string_view file);

/// The text again. Code::forbidden: the passphrase is wrong or missing. Code::invalid: damaged; the
/// message says in which piece, and at which byte of the file that begins.
Result<Secret> open(std::string_view file, const Secret* passphrase);

} // namespace zoo::backup
