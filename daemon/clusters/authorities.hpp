// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/crypto/certificate.hpp"
#include "common/crypto/key.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The authorities of a virtual cluster, and how one follows another: files of `pki/` of its
/// directory (docs/decisions/341-an-authority-in-three-stages.md).
///
///     NAME.crt          all that are trusted, the one that signs first
///     NAME.key          of the one that signs
///     NAME-signing.crt  that one alone, for kube-controller-manager
///     NAME-next.key     of the one that is announced
namespace zoo::clusters {

/// Of an authority's certificate.
inline constexpr std::chrono::hours k_authority_life{10 * 365 * 24};

/// settled: there is one. announced: the next one is trusted, too, and the one before it signs.
/// used: the next one signs, and the one before it is trusted.
enum class AuthorityStage : std::uint8_t { settled, announced, used };
std::string_view stage_name(AuthorityStage stage);
std::optional<AuthorityStage> authority_stage(std::string_view name);
/// May a cluster go from one stage to the other? From `announced` it may go back, too.
bool may_follow(AuthorityStage now, AuthorityStage next);

struct Authority {
  crypto::PrivateKey key;
  crypto::Certificate certificate;
};

struct AuthorityWish {
  std::string id, name;   ///< "abc123", "ca"
  std::uint32_t turn = 0; ///< times that its stage was another one: in the next one's name
  AuthorityStage stage = AuthorityStage::settled;
};

/// Brings the files into the form that the stage has, and returns the one that signs. What an
/// interruption left is made good. Adds the name to `written` if another one is trusted, or signs,
/// than before, also where it fails after that. Code::io.
Result<Authority> ensure_authority(const std::filesystem::path& directory,
                                   const AuthorityWish& wish,
                                   std::chrono::system_clock::time_point now,
                                   std::vector<std::string>& written);

/// The one that signs, of files that are there. Code::not_found, Code::io.
Result<Authority> signing_authority(const std::filesystem::path& directory, std::string_view name);

struct TrustedAuthority {
  std::string name; ///< "ca"; of others that are trusted "ca-next", "ca-former"
  crypto::Certificate certificate;
};
/// All that are trusted, the one that signs first. Code::not_found, Code::io.
Result<std::vector<TrustedAuthority>> trusted_authorities(const std::filesystem::path& directory,
                                                          std::string_view name);

/// `pki/NAME.ENDING` of the directory.
std::filesystem::path pki_file(const std::filesystem::path& directory, std::string_view name,
                               std::string_view ending);
/// The key in that file; made if there is none, or none that can be read. Code::io.
Result<crypto::PrivateKey> ensure_key(const std::filesystem::path& path);

} // namespace zoo::clusters
