// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/pki.hpp"

#include "common/base/file.hpp"
#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "common/crypto/issue.hpp"
#include "daemon/clusters/egress_rules.hpp"
#include "daemon/clusters/files.hpp"
#include "daemon/clusters/plan.hpp"
#include "daemon/net/address.hpp"

#include <algorithm>
#include <ctime>
#include <system_error>

namespace zoo::clusters {
namespace {

using Clock = std::chrono::system_clock;
namespace fs = std::filesystem;

struct Leaf {
  std::string name, authority, common_name;
  std::vector<std::string> organizations;
  bool server = false, client = false;
  std::vector<std::string> dns_names = {}, ip_addresses = {}; ///< sorted, each once
};

void add_name(Leaf& leaf, const std::string& name) {
  // A certificate that is read back has addresses in their one form.
  const auto address = net::canonical_ip(name);
  auto& list = address.empty() ? leaf.dns_names : leaf.ip_addresses;
  const auto& value = address.empty() ? name : address;
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

std::string administrator_name(const PkiWish& wish) {
  return fmt::format("admin-{}-{}", wish.epoch, wish.rotation);
}

std::vector<Leaf> leaves_of(const PkiWish& wish) {
  std::vector<Leaf> out;
  Leaf apiserver{"apiserver", "ca", "kube-apiserver", {}, true, false};
  for (const auto* name : {"localhost", "kubernetes", "kubernetes.default",
                           "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"})
    add_name(apiserver, name);
  add_name(apiserver, wish.address);
  add_name(apiserver, "127.0.0.1");
  for (const auto& name : wish.names)
    add_name(apiserver, name);
  out.push_back(std::move(apiserver));
  out.push_back({"front-proxy", "front-proxy-ca", "front-proxy", {}, false, true});
  Leaf etcd{"etcd-server", "etcd-ca", "etcd", {}, true, true};
  add_name(etcd, wish.address);
  out.push_back(std::move(etcd));
  out.push_back({"etcd-client", "etcd-ca", "kube-apiserver", {}, false, true});
  out.push_back({"controller-manager", "ca", "system:kube-controller-manager", {}, false, true});
  out.push_back({"scheduler", "ca", "system:kube-scheduler", {}, false, true});
  out.push_back({"zood", "ca", "zood", {"system:masters"}, false, true});
  out.push_back({administrator_name(wish),
                 "ca",
                 "admin",
                 {administrators_group(wish.epoch, wish.mark)},
                 false,
                 true});
  for (auto& leaf : out) {
    std::sort(leaf.dns_names.begin(), leaf.dns_names.end());
    std::sort(leaf.ip_addresses.begin(), leaf.ip_addresses.end());
  }
  return out;
}

std::vector<std::string> sorted(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  return texts;
}

/// Why the certificate is to be made anew; "": it is good.
std::string trouble_of(const Leaf& leaf, const crypto::Certificate& certificate,
                       const crypto::PrivateKey& key, const crypto::Certificate& authority,
                       Clock::time_point now) {
  if (!certificate.belongs_to(key)) return "it is of another key";
  if (!certificate.issued_by(authority)) return "another authority has signed it";
  if (certificate.common_name().value_or("") != leaf.common_name ||
      certificate.organizations().value_or(std::vector<std::string>()) != leaf.organizations)
    return "it is somebody else's";
  if (sorted(certificate.dns_sans().value_or(std::vector<std::string>())) != leaf.dns_names ||
      sorted(certificate.ip_sans()) != leaf.ip_addresses)
    return "it has other names than are wished";
  const auto life = certificate.not_after() - certificate.not_before();
  if (now >= certificate.not_after()) return "it has expired";
  if (now >= certificate.not_before() + life / 3 * 2) return "two thirds of its life are over";
  return {};
}

Result<void> ensure_leaf(const fs::path& directory, const Leaf& leaf, const Authority& authority,
                         const PkiWish& wish, Clock::time_point now,
                         std::vector<std::string>& written) {
  ZOO_TRY(const auto key, ensure_key(pki_file(directory, leaf.name, "key")));
  const auto path = pki_file(directory, leaf.name, "crt");
  if (const auto text = file::read(path)) {
    const auto certificate = crypto::Certificate::from_pem(*text);
    const auto trouble = certificate
                             ? trouble_of(leaf, *certificate, key, authority.certificate, now)
                             : std::string("it cannot be read");
    if (trouble.empty()) return {};
    log::info("clusters", "{}: certificate {} is made anew: {}", wish.id, leaf.name, trouble);
  } else if (text.error().code() != Code::not_found) {
    return fail(text.error());
  }
  crypto::CertificateRequest request;
  request.common_name = leaf.common_name;
  request.organizations = leaf.organizations;
  request.dns_names = leaf.dns_names;
  request.ip_addresses = leaf.ip_addresses;
  request.validity = wish.validity;
  request.server = leaf.server;
  request.client = leaf.client;
  ZOO_TRY(const auto certificate,
          crypto::issue(authority.certificate, authority.key, key, request));
  ZOO_TRY_VOID(write_for_programs(path, certificate.to_pem()));
  written.push_back(leaf.name);
  return {};
}

/// A component's: it names files, by their way from here, which client-go reads again when they
/// change.
Result<void> ensure_kubeconfig(const fs::path& directory, std::string_view component,
                               const PkiWish& wish) {
  const auto text =
      fmt::format("apiVersion: v1\nkind: Config\nclusters:\n- name: cluster\n  cluster:\n"
                  "    server: https://{0}:{1}\n    certificate-authority: pki/ca.crt\nusers:\n"
                  "- name: {2}\n  user:\n    client-certificate: pki/{2}.crt\n"
                  "    client-key: pki/{2}.key\ncontexts:\n- name: cluster\n  context:\n"
                  "    cluster: cluster\n    user: {2}\ncurrent-context: cluster\n",
                  wish.address, k_api_port, component);
  const auto path = directory / fmt::format("{}.kubeconfig", component);
  if (const auto there = file::read(path); there && *there == text) return {};
  return write_for_programs(path, text);
}

/// Administrators' files of earlier epochs and rotations.
void remove_former(const fs::path& directory, const PkiWish& wish) {
  std::error_code error;
  const auto now = administrator_name(wish);
  std::vector<fs::path> former;
  for (const auto& entry : fs::directory_iterator(directory / "pki", error)) {
    const auto name = entry.path().stem().string();
    if (name.starts_with("admin-") && name != now) former.push_back(entry.path());
  }
  for (const auto& path : former)
    fs::remove(path, error);
}

struct AuthorityName {
  const char* name;
  bool follows; ///< another one follows it; that of etcd is known to nobody but these programs
};
constexpr AuthorityName k_authorities[] = {
    {"ca", true}, {"etcd-ca", false}, {"front-proxy-ca", true}};

std::int64_t unix_time(Clock::time_point time) { return Clock::to_time_t(time); }

} // namespace

std::string administrators_group(std::uint32_t epoch, const std::string& mark) {
  return mark.empty() ? fmt::format("zoo:cluster-admins:{}", epoch)
                      : fmt::format("zoo:cluster-admins:{}:{}", epoch, mark);
}

Result<void> ensure_pki(const fs::path& directory, const PkiWish& wish, Clock::time_point now,
                        std::vector<std::string>& written) {
  ZOO_TRY_VOID(file::ensure_private_directory(directory / "pki"));
  std::vector<std::pair<std::string, Authority>> authorities;
  for (const auto& [name, follows] : k_authorities) {
    AuthorityWish wanted;
    wanted.id = wish.id;
    wanted.name = name;
    if (follows) {
      wanted.turn = wish.authority_turn;
      wanted.stage = wish.authority;
    }
    ZOO_TRY(auto authority, ensure_authority(directory, wanted, now, written));
    authorities.emplace_back(name, std::move(authority));
  }
  ZOO_TRY_VOID(ensure_key(pki_file(directory, "sa", "key")).map([](auto&&) {}));
  for (const auto& leaf : leaves_of(wish)) {
    const auto authority =
        std::find_if(authorities.begin(), authorities.end(),
                     [&leaf](const auto& each) { return each.first == leaf.authority; });
    ZOO_TRY_VOID(ensure_leaf(directory, leaf, authority->second, wish, now, written));
  }
  for (const char* component : {"controller-manager", "scheduler"})
    ZOO_TRY_VOID(ensure_kubeconfig(directory, component, wish));
  remove_former(directory, wish);
  return {};
}

Result<std::vector<CertificateFact>> check_pki(const fs::path& directory, const PkiWish& wish,
                                               Clock::time_point now) {
  std::vector<CertificateFact> out;
  std::vector<std::pair<std::string, crypto::Certificate>> authorities;
  for (const auto& [name, follows] : k_authorities) {
    ZOO_TRY(auto trusted, trusted_authorities(directory, name));
    for (const auto& [shown, certificate] : trusted)
      out.push_back({shown, unix_time(certificate.not_before()), unix_time(certificate.not_after()),
                     true, now >= certificate.not_after() ? "it has expired" : ""});
    authorities.emplace_back(name, std::move(trusted.front().certificate));
  }
  for (const auto& leaf : leaves_of(wish)) {
    CertificateFact fact;
    fact.name = leaf.name;
    const auto text = file::read(pki_file(directory, leaf.name, "crt"));
    const auto pem = file::read_secret(pki_file(directory, leaf.name, "key"));
    const auto certificate = text ? crypto::Certificate::from_pem(*text)
                                  : Result<crypto::Certificate>(fail(text.error()));
    const auto key = pem ? crypto::PrivateKey::from_pem(pem->view())
                         : Result<crypto::PrivateKey>(fail(pem.error()));
    if (!certificate || !key) {
      fact.trouble = (certificate ? key.error() : certificate.error()).message();
      out.push_back(std::move(fact));
      continue;
    }
    const auto authority =
        std::find_if(authorities.begin(), authorities.end(),
                     [&leaf](const auto& each) { return each.first == leaf.authority; });
    fact.begins = unix_time(certificate->not_before());
    fact.ends = unix_time(certificate->not_after());
    fact.trouble = trouble_of(leaf, *certificate, *key, authority->second, now);
    out.push_back(std::move(fact));
  }
  return out;
}

Result<kube::ClusterAccess> own_access(const fs::path& directory, const std::string& address) {
  kube::ClusterAccess out;
  out.server = fmt::format("https://{}:{}", address, k_api_port);
  ZOO_TRY(out.credentials.ca_pem, file::read(pki_file(directory, "ca", "crt")));
  ZOO_TRY(out.credentials.client_cert_pem, file::read(pki_file(directory, "zood", "crt")));
  ZOO_TRY(out.credentials.client_key_pem, file::read_secret(pki_file(directory, "zood", "key")));
  out.credentials.direct = true;
  return out;
}

std::string own_access_print(const fs::path& directory) {
  std::string all;
  for (const auto* name : {"ca", "zood"})
    all += file::read(pki_file(directory, name, "crt")).value_or("");
  return crypto::hex_encode(crypto::view(crypto::sha256(all)));
}

Result<net::TlsServerOptions> egress_identity(const fs::path& directory) {
  ZOO_TRY(const auto ca, signing_authority(directory, "ca"));
  ZOO_TRY(const auto key, crypto::PrivateKey::generate_p256());
  crypto::CertificateRequest request;
  request.common_name = k_inside_name;
  request.dns_names = {std::string(k_inside_name), std::string(k_usage_host)};
  request.validity = k_authority_life; // it goes with the process, and never outlives the authority
  request.server = true;
  ZOO_TRY(const auto certificate, crypto::issue(ca.certificate, ca.key, key, request));
  net::TlsServerOptions out;
  out.certificate_chain_pem = certificate.to_pem();
  out.key_pem = key.to_pem();
  return out;
}

Result<Secret> administrator_kubeconfig(const fs::path& directory, const PkiWish& wish,
                                        const Entrance& entrance, const std::string& name) {
  const auto user = administrator_name(wish);
  kube::KubeconfigParts parts;
  parts.cluster = name;
  parts.server = entrance.server;
  parts.tls_server_name = entrance.server_name;
  parts.user = fmt::format("{}-admin", name);
  parts.context = name;
  ZOO_TRY(parts.ca_pem, file::read(pki_file(directory, "ca", "crt")));
  ZOO_TRY(parts.client_cert_pem, file::read(pki_file(directory, user, "crt")));
  ZOO_TRY(parts.client_key_pem, file::read_secret(pki_file(directory, user, "key")));
  return Secret(kube::write_kubeconfig(parts));
}

Result<void> drop_leaves(const fs::path& directory, const PkiWish& wish) {
  for (const auto& leaf : leaves_of(wish)) {
    std::error_code error;
    fs::remove(pki_file(directory, leaf.name, "crt"), error);
    if (error)
      return fail(Code::io, "cannot remove certificate {} of {}: {}", leaf.name, wish.id,
                  error.message());
  }
  return {};
}

} // namespace zoo::clusters
