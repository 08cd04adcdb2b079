// SPDX-License-Identifier: Apache-2.0
#include "daemon/keeper/fence.hpp"

#include "daemon/keeper/system_text.hpp"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

namespace zoo::keeper {
namespace {

namespace fs = std::filesystem;

// The kernel's interface by its numbers: the headers of Debian 12 end with its second version.
constexpr std::uint64_t k_execute = 1U << 0, k_write_file = 1U << 1, k_read_file = 1U << 2,
                        k_read_dir = 1U << 3, k_refer = 1U << 13, k_truncate = 1U << 14;
constexpr std::uint64_t k_first_version = (1U << 13) - 1; ///< all that the first one knows
constexpr std::uint64_t k_of_files = k_execute | k_write_file | k_read_file | k_truncate;
constexpr std::uint64_t k_scope_signals = 1U << 1;

struct RulesetAttributes {
  std::uint64_t files, network, scopes;
};

constexpr std::array k_system_runs = {"/usr", "/lib", "/lib64"};
constexpr std::array k_system_reads = {"/proc",
                                       "/sys",
                                       "/etc/ca-certificates",
                                       "/etc/gai.conf",
                                       "/etc/group",
                                       "/etc/host.conf",
                                       "/etc/hosts",
                                       "/etc/ld.so.cache",
                                       "/etc/localtime",
                                       "/etc/nsswitch.conf",
                                       "/etc/passwd",
                                       "/etc/pki/ca-trust",
                                       "/etc/pki/tls/cert.pem",
                                       "/etc/pki/tls/certs",
                                       "/etc/protocols",
                                       "/etc/resolv.conf",
                                       "/etc/services",
                                       "/etc/ssl/cert.pem",
                                       "/etc/ssl/certs",
                                       "/etc/ssl/openssl.cnf",
                                       "/etc/timezone",
                                       "/run/systemd/resolve",
                                       "/dev/random",
                                       "/dev/urandom",
                                       "/dev/zero"};
constexpr std::array k_system_writes = {"/dev/null"};

/// 0: the kernel has none, or it is switched off; then errno says which.
int landlock_version() {
  const auto version =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version < 0 ? 0 : static_cast<int>(version);
}

std::uint64_t known_to(int version) {
  auto out = k_first_version;
  if (version >= 2) out |= k_refer;
  if (version >= 3) out |= k_truncate;
  return out;
}

/// What is not there is not allowed, and not missed.
Result<void> allow(const file::Fd& rules, const fs::path& path, std::uint64_t rights) {
  const file::Fd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat facts{};
  if (!place || ::fstat(place.get(), &facts) != 0) return {};
  if (!S_ISDIR(facts.st_mode)) rights &= k_of_files;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = rights;
  rule.parent_fd = place.get();
  if (::syscall(SYS_landlock_add_rule, rules.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0)
    return {};
  return fail(Code::io, "cannot make a fence around {}: {}", path.string(), reason(errno));
}

} // namespace

Result<Fence> Fence::around(const FenceWish& wish) {
  const int version = landlock_version();
  if (version == 0) return Fence(file::Fd());
  RulesetAttributes attributes{known_to(version), 0, version >= 6 ? k_scope_signals : 0};
  // An older kernel takes no more than it knows.
  const auto size = version >= 6 ? sizeof(attributes) : sizeof(attributes.files);
  file::Fd rules(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  if (!rules) return fail(Code::io, "cannot make a fence: {}", reason(errno));
  const auto reads = k_read_file | k_read_dir;
  const auto runs = reads | k_execute;
  const auto writes = attributes.files & ~k_execute;
  for (const auto* path : k_system_runs)
    ZOO_TRY_VOID(allow(rules, path, runs));
  for (const auto* path : k_system_reads)
    ZOO_TRY_VOID(allow(rules, path, reads));
  for (const auto* path : k_system_writes)
    ZOO_TRY_VOID(allow(rules, path, reads | k_write_file));
  for (const auto& path : wish.reads)
    ZOO_TRY_VOID(allow(rules, path, reads));
  for (const auto& path : wish.runs)
    ZOO_TRY_VOID(allow(rules, path, runs));
  for (const auto& path : wish.writes)
    ZOO_TRY_VOID(allow(rules, path, writes));
  return Fence(std::move(rules));
}

bool enter_fence(int descriptor) noexcept {
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_landlock_restrict_self, descriptor, 0) == 0;
}

std::string fence_trouble() {
  if (landlock_version() != 0) return {};
  return "this kernel has no Landlock, or has it switched off: " + reason(errno);
}

} // namespace zoo::keeper
