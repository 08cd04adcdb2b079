// SPDX-License-Identifier: Apache-2.0
#include "common/backup/archive.hpp"

#include "common/crypto/aead.hpp"
#include "common/crypto/digest.hpp"
#include "common/crypto/kdf.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace zoo::backup {
namespace {

using nlohmann::json;

constexpr std::string_view k_first_line = "zood-backup 1\n";
constexpr std::size_t k_piece = 64u << 10;
constexpr std::size_t k_overhead = 28; ///< nonce and tag of a piece
constexpr std::size_t k_most_head = 1u << 20;
constexpr unsigned k_log_n = 17;
constexpr std::size_t k_key = crypto::Sealer::k_key_size;
constexpr std::uint32_t k_last = 1u << 31; ///< in a piece's length

std::string hex(std::string_view bytes) { return crypto::hex_encode(bytes); }

/// The key, and what shows that a passphrase is the right one without showing the passphrase.
struct Keys {
  Secret key;
  std::string check;
};

Result<Keys> keys_of(const Secret& passphrase, std::string_view salt, unsigned log_n) {
  ZOO_TRY(const auto both, crypto::scrypt(passphrase.view(), salt, log_n, 2 * k_key));
  return Keys{Secret::copy_of(both.view().substr(0, k_key)), hex(both.view().substr(k_key))};
}

std::string associated(std::string_view digest, std::size_t number, bool last) {
  return fmt::format("zood backup {} piece {} {}", hex(digest), number, last ? "last" : "of more");
}

std::string length_of(std::size_t size, bool last) {
  const auto value = static_cast<std::uint32_t>(size) | (last ? k_last : 0);
  std::string out;
  for (const int shift : {24, 16, 8, 0})
    out += static_cast<char>((value >> shift) & 0xff);
  return out;
}

struct Head {
  json object;
  std::string digest; ///< of its line
  std::size_t body = 0;
};

tl::unexpected<Error> no_head(std::string_view why) {
  return fail(Code::invalid, "the head of the backup is damaged: {}", why);
}

Result<Head> read_head(std::string_view file) {
  if (!file.starts_with(k_first_line)) {
    if (file.starts_with("zood-backup "))
      return no_head("its first line is not \"zood-backup 1\": is it a newer zooctl's?");
    return fail(Code::invalid, "this is no backup of zood's: it does not begin with \"{}\"",
                k_first_line.substr(0, k_first_line.size() - 1));
  }
  auto rest = file.substr(k_first_line.size(), k_most_head);
  const auto stop = rest.find('\n');
  if (stop == std::string_view::npos) return no_head("it has no end");
  const auto line = rest.substr(0, stop);
  rest.remove_prefix(stop + 1);
  Head out;
  out.digest = std::string(crypto::view(crypto::sha256(line)));
  const auto wanted = hex(out.digest) + "\n";
  if (!rest.starts_with(wanted)) return no_head("it does not have its digest");
  out.object = json::parse(line, nullptr, false);
  if (!out.object.is_object()) return no_head("it is no JSON");
  out.body = k_first_line.size() + stop + 1 + wanted.size();
  return out;
}

Result<std::string> text_in(const json& object, const char* member) {
  const auto found = object.find(member);
  if (found == object.end() || !found->is_string()) return no_head("it lacks a member");
  return crypto::hex_decode(found->get<std::string>());
}

/// The key of a file that is to be opened.
Result<Secret> key_for(const Head& head, const Secret* passphrase) {
  const auto& how = head.object.value("encryption", json::object());
  if (!how.is_object()) return no_head("it lacks a member");
  if (how.contains("key")) {
    ZOO_TRY(auto key, text_in(how, "key"));
    if (key.size() != k_key) return no_head("its key has another length");
    return Secret(std::move(key));
  }
  if (passphrase == nullptr)
    return fail(Code::forbidden, "the backup is encrypted: give its passphrase by "
                                 "--passphrase-file");
  ZOO_TRY(const auto salt, text_in(how, "salt"));
  ZOO_TRY(const auto check, text_in(how, "check"));
  const auto log_n = how.value("logN", json());
  if (!log_n.is_number_unsigned()) return no_head("it lacks a member");
  ZOO_TRY(auto keys, keys_of(*passphrase, salt, log_n.get<unsigned>()));
  if (!crypto::equal_constant_time(keys.check, hex(check)))
    return fail(Code::forbidden, "this is not the passphrase of the backup");
  return std::move(keys.key);
}

} // namespace

Result<std::string> seal(std::string_view text, const Secret* passphrase) {
  auto head = json::parse(text.substr(0, text.find('\n')), nullptr, false);
  if (!head.is_object()) return fail(Code::internal, "what is to be sealed has no header");
  Secret key;
  if (passphrase != nullptr) {
    ZOO_TRY(const auto salt, crypto::random_bytes(16));
    ZOO_TRY(auto keys, keys_of(*passphrase, salt, k_log_n));
    key = std::move(keys.key);
    head["encryption"] = {
        {"kdf", "scrypt"}, {"logN", k_log_n}, {"salt", hex(salt)}, {"check", keys.check}};
  } else {
    ZOO_TRY(auto bytes, crypto::random_bytes(k_key));
    key = Secret(std::move(bytes));
    head["encryption"] = {{"kdf", "none"}, {"key", hex(key.view())}};
  }
  const auto line = head.dump(-1, ' ', false, json::error_handler_t::replace);
  const auto digest = crypto::sha256(line);
  std::string out;
  out.reserve(text.size() + text.size() / k_piece * (k_overhead + 4) + line.size() + 256);
  out.append(k_first_line).append(line).append("\n").append(hex(crypto::view(digest))).append("\n");
  const crypto::Sealer sealer(std::move(key));
  try {
    for (std::size_t at = 0, number = 0; at < text.size(); at += k_piece, ++number) {
      const auto piece = text.substr(at, k_piece);
      const bool last = at + piece.size() == text.size();
      out += length_of(piece.size(), last);
      out += sealer.seal(piece, associated(crypto::view(digest), number, last));
    }
  } catch (const std::runtime_error& problem) { // no entropy
    return fail(Code::internal, "the backup cannot be sealed: {}", problem.what());
  }
  return out;
}

Result<Label> read_label(std::string_view file) {
  ZOO_TRY(const auto head, read_head(file));
  Label out;
  auto header = read_header(head.object.dump());
  if (!header) return no_head(header.error().message());
  out.header = *std::move(header);
  const auto how = head.object.value("encryption", json::object());
  out.encrypted = how.is_object() && !how.contains("key");
  out.body = head.body;
  return out;
}

Result<Secret> open(std::string_view file, const Secret* passphrase) {
  ZOO_TRY(const auto head, read_head(file));
  ZOO_TRY(auto key, key_for(head, passphrase));
  const crypto::Sealer sealer(std::move(key));
  std::string out;
  out.reserve(std::min(file.size(), k_most_bytes)); // never moved: no copy of it is left behind
  bool last = false;
  std::size_t number = 0;
  for (auto at = head.body; !last; ++number) {
    const auto damaged = [&](std::string_view why) {
      Secret wiped(std::move(out));
      return fail(Code::invalid, "piece {} of the backup, at byte {}, {}", number, at, why);
    };
    if (file.size() - at < 4) return damaged("is missing: the file was cut off");
    std::uint32_t length = 0;
    for (std::size_t i = 0; i < 4; ++i)
      length = length << 8 | static_cast<unsigned char>(file[at + i]);
    last = (length & k_last) != 0;
    length &= ~k_last;
    if (length > k_piece) return damaged("is damaged: it has an impossible length");
    if (file.size() - at - 4 < length + k_overhead)
      return damaged("is not whole: the file was cut off, or this piece is damaged");
    if (out.size() + length > k_most_bytes) return damaged("is more than a backup may hold");
    const auto opened = sealer.open(file.substr(at + 4, length + k_overhead),
                                    associated(head.digest, number, last));
    if (!opened) return damaged("is damaged");
    out += opened->view();
    at += 4 + length + k_overhead;
    if (last && at != file.size()) return damaged("is the last one, and there is more behind it");
  }
  return Secret(std::move(out));
}

} // namespace zoo::backup
