// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/door.hpp"

#include "common/crypto/certificate.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

namespace zoo::admin {
namespace {

struct User {
  std::string name;
  gid_t group = 0;
};

std::optional<User> find_user(uid_t uid) {
  std::vector<char> buffer(16384);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || !found) return {};
  return User{entry.pw_name, entry.pw_gid};
}

std::optional<gid_t> find_group(const std::string& name) {
  std::vector<char> buffer(65536);
  group entry{};
  group* found = nullptr;
  if (getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || !found)
    return {};
  return entry.gr_gid;
}

bool belongs(const User& user, gid_t wanted) {
  std::vector<gid_t> groups(64);
  int count = static_cast<int>(groups.size());
  while (getgrouplist(user.name.c_str(), user.group, groups.data(), &count) < 0) {
    if (count <= static_cast<int>(groups.size())) return false;
    groups.resize(static_cast<std::size_t>(count));
  }
  groups.resize(static_cast<std::size_t>(count));
  return std::find(groups.begin(), groups.end(), wanted) != groups.end();
}

Result<Who> by_socket(const http::ConnectionInfo& peer, const DoorOptions& options) {
  const auto uid = static_cast<uid_t>(peer.peer_uid);
  const auto user = find_user(uid);
  Who who;
  who.name = "unix:" + (user ? user->name : std::to_string(uid));
  who.groups = {std::string(k_administrators)};
  if (uid == 0 || uid == geteuid()) return who;
  if (options.unix_group.empty())
    return fail(Code::forbidden,
                "user {} may not administer zood: only root and zood's own user may",
                who.name.substr(5));
  const auto group = find_group(options.unix_group);
  if (!group)
    return fail(Code::forbidden,
                "user {} may not administer zood: this machine has no group '{}'; make it with "
                "'groupadd --system {}' and add the user, or run as root",
                who.name.substr(5), options.unix_group, options.unix_group);
  if (static_cast<gid_t>(peer.peer_gid) == *group || (user && belongs(*user, *group))) return who;
  return fail(Code::forbidden,
              "user {} may not administer zood: be root or a member of group '{}' "
              "(usermod -a -G {} {})",
              who.name.substr(5), options.unix_group, options.unix_group, who.name.substr(5));
}

Result<Who> by_certificate(const http::ConnectionInfo& peer) {
  if (peer.peer_certificate_der.empty())
    return fail(Code::unauthorized, "the admin API wants a client certificate: use the kubeconfig "
                                    "that zood wrote as admin.kubeconfig into its directory");
  if (!peer.peer_certificate_verified)
    return fail(Code::unauthorized,
                "the client certificate is not valid for the admin API (issued by another CA, or "
                "out of date): use the admin.kubeconfig in zood's directory");
  auto certificate = crypto::Certificate::from_der(peer.peer_certificate_der);
  if (!certificate)
    return fail(Code::unauthorized, "the client certificate cannot be read: {}",
                certificate.error().message());
  auto name = certificate->common_name();
  auto organizations = certificate->organizations();
  if (!name || !organizations)
    return fail(Code::unauthorized, "the client certificate's subject is refused: {}",
                !name ? name.error().message() : organizations.error().message());
  if (name->empty())
    return fail(Code::unauthorized, "the client certificate names nobody: it has no CN");
  if (std::find(organizations->begin(), organizations->end(), k_administrators) ==
      organizations->end())
    return fail(Code::forbidden,
                "user '{}' is not an administrator: the certificate lacks O={}; use the "
                "admin.kubeconfig in zood's directory",
                *name, k_administrators);
  std::erase(*organizations, k_administrators);
  organizations->insert(organizations->begin(), std::string(k_administrators));
  return Who{*std::move(name), *std::move(organizations)};
}

} // namespace

Result<Who> identify(const http::ConnectionInfo& peer, const DoorOptions& options) {
  return peer.peer_uid >= 0 ? by_socket(peer, options) : by_certificate(peer);
}

std::optional<Error> stranger(const http::ConnectionInfo& peer) {
  if (peer.peer_uid >= 0) return std::nullopt;
  auto who = by_certificate(peer);
  return who ? std::nullopt : std::optional(std::move(who).error());
}

} // namespace zoo::admin
