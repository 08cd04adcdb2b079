// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/pki.hpp"

#include "common/base/file.hpp"
#include "common/base/log.hpp"
#include "common/crypto/issue.hpp"
#include "common/kube/kubeconfig.hpp"
#include "daemon/net/address.hpp"
#include "daemon/tenants/identity.hpp"

#include <algorithm>
#include <array>

namespace zoo::tenants {
namespace {

constexpr auto k_ca_validity = std::chrono::seconds(10LL * 365 * 24 * 3600);

struct Authority {
  crypto::Certificate certificate;
  crypto::PrivateKey key;
};

struct HostNames {
  std::vector<std::string> dns, addresses;
};

HostNames names_of(const std::vector<std::string>& hosts) {
  HostNames out{{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
                {"127.0.0.1", "::1"}};
  const auto add = [](std::vector<std::string>& list, const std::string& value) {
    if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
  };
  for (const auto& host : hosts) {
    const auto address = net::canonical_ip(host);
    if (host.empty() || address == "0.0.0.0" || address == "::") continue;
    if (address.empty()) {
      add(out.dns, host);
    } else {
      add(out.addresses, address);
    }
  }
  std::sort(out.dns.begin(), out.dns.end());
  std::sort(out.addresses.begin(), out.addresses.end());
  return out;
}

Result<Authority> load_authority(const std::filesystem::path& certificate_file,
                                 const std::filesystem::path& key_file) {
  ZOO_TRY(const auto pem, file::read(certificate_file));
  ZOO_TRY(const auto key_pem, file::read_secret(key_file));
  const auto named = [&](Error error, const std::filesystem::path& path) {
    return fail(std::move(error).context("while reading {}", path.string()));
  };
  auto certificate = crypto::Certificate::from_pem(pem);
  if (!certificate) return named(std::move(certificate).error(), certificate_file);
  auto key = crypto::PrivateKey::from_pem(key_pem.view());
  if (!key) return named(std::move(key).error(), key_file);
  if (!certificate->is_ca()) {
    return fail(Code::invalid, "{} is not the certificate of an authority (CA:TRUE)",
                certificate_file.string());
  }
  if (!certificate->belongs_to(*key)) {
    return fail(Code::invalid, "the key {} does not belong to the certificate {}",
                key_file.string(), certificate_file.string());
  }
  if (certificate->not_after() <= std::chrono::system_clock::now()) {
    return fail(Code::invalid, "the authority {} has expired", certificate_file.string());
  }
  return Authority{*std::move(certificate), *std::move(key)};
}

Result<bool> is_there(const std::filesystem::path& path) {
  std::error_code error;
  const bool found = std::filesystem::exists(path, error);
  if (error) return fail(Code::io, "cannot look at {}: {}", path.string(), error.message());
  return found;
}

/// A key that has no certificate is one whose certificate was not written any more, or was lost:
/// it is kept, for what it signed is verified by any certificate of the same name and key.
Result<crypto::PrivateKey> kept_or_new_key(const std::filesystem::path& key_file) {
  ZOO_TRY(const bool kept, is_there(key_file));
  if (kept) {
    ZOO_TRY(const auto pem, file::read_secret(key_file));
    auto key = crypto::PrivateKey::from_pem(pem.view());
    if (!key) return fail(std::move(key).error().context("while reading {}", key_file.string()));
    return key;
  }
  ZOO_TRY(auto key, crypto::PrivateKey::generate_p256());
  ZOO_TRY_VOID(file::write_secret(key_file, key.to_pem().view()));
  return key;
}

/// The key is written first: a certificate without its key can never lie there.
Result<Authority> own_authority(const std::filesystem::path& certificate_file,
                                const std::filesystem::path& key_file, std::string_view name) {
  ZOO_TRY(const bool there, is_there(certificate_file));
  if (there) return load_authority(certificate_file, key_file);
  ZOO_TRY(auto key, kept_or_new_key(key_file));
  ZOO_TRY(auto certificate, crypto::make_ca(key, name, k_ca_validity));
  ZOO_TRY_VOID(file::write_secret(certificate_file, certificate.to_pem()));
  log::info("tenants", "made {}", certificate_file.string());
  return Authority{std::move(certificate), std::move(key)};
}

/// The one that tenants' certificates are by and their kubeconfigs trust: made for the first
/// tenant, never for those that are there.
Result<Authority> tenants_authority(const std::filesystem::path& folder, bool has_tenants) {
  const auto certificate_file = folder / "ca.crt";
  ZOO_TRY(const bool there, is_there(certificate_file));
  if (!there && has_tenants) {
    return fail(Code::invalid,
                "{} is missing, and the store holds tenants whose kubeconfigs only work with this "
                "CA: restore {} from a backup",
                certificate_file.string(), folder.string());
  }
  return own_authority(certificate_file, folder / "ca.key", "zood tenants");
}

Result<Authority> administrators_authority(const std::filesystem::path& folder, bool has_tenants) {
  const auto key_file = folder / "admin-ca.key";
  ZOO_TRY(const bool kept, is_there(key_file));
  auto authority = own_authority(folder / "admin-ca.crt", key_file, "zood administrators");
  if (authority && !kept && has_tenants) {
    log::warning("tenants",
                 "{} was missing and is made anew: copies of an older admin.kubeconfig are refused "
                 "from now on, hand out the new one",
                 key_file.string());
  }
  return authority;
}

/// What lies in the two files, if it is whole, by this authority and not due.
Result<KeyPair> kept_pair(const std::filesystem::path& certificate_file,
                          const std::filesystem::path& key_file,
                          const crypto::Certificate& authority, const HostNames* names) {
  ZOO_TRY(const auto pem, file::read(certificate_file));
  ZOO_TRY(auto key_pem, file::read_secret(key_file));
  ZOO_TRY(const auto certificate, crypto::Certificate::from_pem(pem));
  ZOO_TRY(const auto key, crypto::PrivateKey::from_pem(key_pem.view()));
  if (!certificate.belongs_to(key) || !certificate.issued_by(authority) ||
      due_for_renewal(certificate)) {
    return fail(Code::expired, "due for renewal");
  }
  if (names != nullptr) {
    ZOO_TRY(auto dns, certificate.dns_sans());
    auto addresses = certificate.ip_sans();
    std::sort(dns.begin(), dns.end());
    std::sort(addresses.begin(), addresses.end());
    if (dns != names->dns || addresses != names->addresses) return fail(Code::expired, "new hosts");
  }
  return KeyPair{pem, std::move(key_pem)};
}

Result<KeyPair> new_pair(const crypto::Certificate& ca, const crypto::PrivateKey& ca_key,
                         const crypto::CertificateRequest& request) {
  ZOO_TRY(const auto key, crypto::PrivateKey::generate_p256());
  ZOO_TRY(const auto certificate, crypto::issue(ca, ca_key, key, request));
  return KeyPair{certificate.to_pem(), key.to_pem()};
}

Result<void> keep_pair(const std::filesystem::path& certificate_file,
                       const std::filesystem::path& key_file, const KeyPair& pair) {
  ZOO_TRY_VOID(file::write_secret(key_file, pair.key_pem.view()));
  return file::write_secret(certificate_file, pair.certificate_pem);
}

} // namespace

bool due_for_renewal(const crypto::Certificate& certificate) {
  const auto life = certificate.not_after() - certificate.not_before();
  const auto now = std::chrono::system_clock::now();
  return now < certificate.not_before() || now >= certificate.not_after() - life / 3;
}

Pki::Pki(PkiOptions options, crypto::Certificate ca, crypto::PrivateKey ca_key,
         crypto::Certificate admin_ca, crypto::PrivateKey admin_ca_key)
    : options_(std::move(options)), ca_(std::move(ca)), ca_key_(std::move(ca_key)),
      admin_ca_(std::move(admin_ca)), admin_ca_key_(std::move(admin_ca_key)) {}

std::filesystem::path Pki::file(std::string_view name) const {
  return options_.directory / "pki" / name;
}

Result<std::unique_ptr<Pki>> Pki::open(PkiOptions options) {
  if (options.ca_certificate.empty() != options.ca_key.empty()) {
    return fail(Code::usage,
                "pki.ca_certificate and pki.ca_key belong together: give both or none");
  }
  const auto folder = options.directory / "pki";
  ZOO_TRY_VOID(file::ensure_private_directory(folder));
  auto ca = options.ca_certificate.empty() ? tenants_authority(folder, options.has_tenants)
                                           : load_authority(options.ca_certificate, options.ca_key);
  if (!ca) return fail(std::move(ca).error().context("while opening the tenants' CA"));
  auto admin = administrators_authority(folder, options.has_tenants);
  if (!admin) return fail(std::move(admin).error().context("while opening the admins' CA"));
  if (ca->key.same_public_key(admin->key)) {
    return fail(Code::invalid, "the tenants' CA and the administrators' CA must not be the same");
  }
  return std::unique_ptr<Pki>(new Pki(std::move(options), std::move(ca->certificate),
                                      std::move(ca->key), std::move(admin->certificate),
                                      std::move(admin->key)));
}

Result<KeyPair> Pki::serving(const std::vector<std::string>& hosts) {
  const std::lock_guard lock(files_);
  const auto names = names_of(hosts);
  if (auto kept = kept_pair(file("server.crt"), file("server.key"), ca_, &names)) return kept;
  crypto::CertificateRequest request;
  request.common_name = "zood";
  request.dns_names = names.dns;
  request.ip_addresses = names.addresses;
  request.validity = options_.serving_validity;
  request.server = true;
  auto pair = new_pair(ca_, ca_key_, request);
  if (!pair) return pair;
  // A full disk must not keep zood from serving.
  if (const auto kept = keep_pair(file("server.crt"), file("server.key"), *pair); !kept) {
    log::error("tenants", "the certificate of zood's doors is kept in memory alone: {}",
               kept.error().text());
  }
  return pair;
}

bool Pki::add_hosts(const std::vector<std::string>& more) {
  const std::lock_guard lock(hosts_lock_);
  bool added = false;
  for (const auto& each : more) {
    auto& known = options_.hosts;
    if (each.empty() || std::find(known.begin(), known.end(), each) != known.end()) continue;
    known.push_back(each);
    added = true;
  }
  return added;
}

std::vector<std::string> Pki::hosts() const {
  const std::lock_guard lock(hosts_lock_);
  return options_.hosts;
}

void Pki::trust_server_by(std::string ca_pem) {
  const std::lock_guard lock(server_ca_lock_);
  server_ca_ = std::move(ca_pem);
}

std::string Pki::server_ca_pem() const {
  const std::lock_guard lock(server_ca_lock_);
  return server_ca_.empty() ? ca_pem() : server_ca_;
}

Result<crypto::Certificate> Pki::write_admin_kubeconfig(std::string_view server) {
  const std::lock_guard lock(files_);
  auto pair = kept_pair(file("admin.crt"), file("admin.key"), admin_ca_, nullptr);
  if (!pair) {
    crypto::CertificateRequest request;
    request.common_name = "admin";
    request.organizations = {std::string(k_administrators_group)};
    request.validity = options_.serving_validity;
    request.client = true;
    pair = new_pair(admin_ca_, admin_ca_key_, request);
    if (!pair) return fail(std::move(pair).error());
    ZOO_TRY_VOID(keep_pair(file("admin.crt"), file("admin.key"), *pair));
  }
  kube::KubeconfigParts parts;
  parts.cluster = "zood";
  parts.server = server;
  parts.ca_pem = server_ca_pem();
  parts.user = "admin";
  parts.client_cert_pem = pair->certificate_pem;
  parts.client_key_pem = std::move(pair->key_pem);
  parts.context = "zood";
  ZOO_TRY_VOID(
      file::write_secret(options_.directory / "admin.kubeconfig", kube::write_kubeconfig(parts)));
  return crypto::Certificate::from_pem(pair->certificate_pem);
}

namespace {

crypto::CertificateRequest tenant_subject(const Holder& holder, std::string_view user,
                                          const std::vector<std::string>& groups,
                                          std::chrono::seconds validity) {
  crypto::CertificateRequest request;
  request.common_name = user;
  request.organizations = groups;
  request.organizational_units = {std::string(holder.id)};
  request.uris = {uri_of(holder)};
  request.validity = validity;
  request.client = true;
  return request;
}

} // namespace

Result<KeyPair> Pki::issue_tenant(const Holder& holder, std::string_view user,
                                  const std::vector<std::string>& groups,
                                  std::chrono::seconds validity) const {
  ZOO_TRY(const auto key, crypto::PrivateKey::generate_p256());
  ZOO_TRY(const auto certificate,
          crypto::issue(ca_, ca_key_, key, tenant_subject(holder, user, groups, validity)));
  return KeyPair{certificate.to_pem(), key.to_pem()};
}

Result<std::string> Pki::issue_for(const Holder& holder, const crypto::SigningRequest& request,
                                   std::chrono::seconds validity) const {
  ZOO_TRY(const auto certificate, crypto::issue(ca_, ca_key_, request,
                                                tenant_subject(holder, request.common_name(),
                                                               request.organizations(), validity)));
  return certificate.to_pem();
}

} // namespace zoo::tenants
