// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/door_certificates.hpp"

#include "common/base/file.hpp"
#include "common/base/log.hpp"
#include "common/base/text.hpp"
#include "daemon/net/address.hpp"
#include "daemon/tenants/pki.hpp"
#include "daemon/tenants/records.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace zoo::app {
namespace {

Result<std::vector<crypto::Certificate>> certificates_of(const std::filesystem::path& file) {
  ZOO_TRY(const auto pem, file::read(file));
  auto bundle = crypto::Certificate::bundle_from_pem(pem);
  if (!bundle) return fail(std::move(bundle).error().context("while reading {}", file.native()));
  return bundle;
}

/// As clients compare a server's name (RFC 9525 6.3): a first label "*" stands for any one label.
bool good_for(const crypto::Certificate& certificate, const std::string& host) {
  if (const auto address = net::canonical_ip(host); !address.empty()) {
    const auto addresses = certificate.ip_sans();
    return std::find(addresses.begin(), addresses.end(), address) != addresses.end();
  }
  const auto names = certificate.dns_sans();
  if (!names) return false;
  const auto dot = host.find('.');
  const auto any = dot == std::string::npos ? std::string() : "*" + host.substr(dot);
  return std::any_of(names->begin(), names->end(), [&](const std::string& name) {
    return text::iequals(name, host) || (!any.empty() && text::iequals(name, any));
  });
}

} // namespace

DoorCertificates::DoorCertificates(tenants::Pki& pki, const config::Values& values)
    : pki_(pki), certificate_file_(values.path("tls.certificate")),
      key_file_(values.path("tls.key")), ca_file_(values.path("tls.ca")),
      further_ca_file_(values.path("tls.further_ca")) {}

Result<net::TlsServerOptions> DoorCertificates::identity(const std::string& client_ca) {
  net::TlsServerOptions options;
  options.client_ca_pem = client_ca;
  if (certificate_file_.empty()) {
    ZOO_TRY(auto pair, pki_.serving());
    options.certificate_chain_pem = std::move(pair.certificate_pem);
    options.key_pem = std::move(pair.key_pem);
  } else {
    ZOO_TRY(options.certificate_chain_pem, file::read(certificate_file_));
    ZOO_TRY(options.key_pem, file::read_secret(key_file_));
  }
  return options;
}

Result<DoorCertificates::Shown> DoorCertificates::tenants_identity() {
  Shown out;
  ZOO_TRY(out.options, identity(pki_.ca_pem()));
  out.options.ticket_key = ticket_key_.clone();
  if (certificate_file_.empty()) return with_further(std::move(out)); // by the tenants' CA
  std::vector<crypto::Certificate> authorities;
  if (ca_file_.empty()) {
    ZOO_TRY(authorities, crypto::Certificate::bundle_from_pem(pki_.ca_pem()));
  } else {
    ZOO_TRY(authorities, certificates_of(ca_file_));
    // Of what the file holds only the certificates: there may be a key beside them.
    for (const auto& each : authorities)
      out.trusted += each.to_pem();
  }
  ZOO_TRY(const auto chain,
          crypto::Certificate::bundle_from_pem(out.options.certificate_chain_pem));
  const auto known = [&](const crypto::Certificate& each) {
    return std::any_of(authorities.begin(), authorities.end(),
                       [&](const auto& authority) { return each.issued_by(authority); });
  };
  if (std::none_of(chain.begin(), chain.end(), known)) {
    out.stranger = ca_file_.empty() ? "the tenants' CA" : "a CA of tls.ca";
    log::warning("app",
                 "tls.certificate is not by {}, and kubeconfigs that zood writes trust only that: "
                 "set tls.ca to the certificate of a CA it is by",
                 out.stranger);
  }
  return with_further(std::move(out));
}

Result<DoorCertificates::Shown> DoorCertificates::with_further(Shown shown) const {
  if (further_ca_file_.empty()) return shown;
  ZOO_TRY(const auto further, certificates_of(further_ca_file_));
  if (shown.trusted.empty()) shown.trusted = pki_.ca_pem();
  for (const auto& each : further)
    shown.trusted += each.to_pem();
  return shown;
}

void DoorCertificates::note(const net::TlsServerOptions& options) {
  serving_.reset();
  if (auto shown = crypto::Certificate::from_pem(options.certificate_chain_pem))
    serving_ = *std::move(shown);
}

Result<std::shared_ptr<net::TlsServerContext>>
DoorCertificates::open(const net::TlsServerOptions& options) {
  ZOO_TRY(auto context, net::TlsServerContext::create(options));
  note(options);
  return context;
}

Result<std::shared_ptr<net::TlsServerContext>> DoorCertificates::open_tenants(Secret ticket_key) {
  const std::scoped_lock lock(mutex_);
  ticket_key_ = std::move(ticket_key);
  ZOO_TRY(auto shown, tenants_identity());
  ZOO_TRY(tenants_, open(shown.options));
  stranger_ = std::move(shown.stranger);
  pki_.trust_server_by(std::move(shown.trusted));
  return tenants_;
}

Result<std::shared_ptr<net::TlsServerContext>> DoorCertificates::open_admin() {
  const std::scoped_lock lock(mutex_);
  ZOO_TRY(const auto options, identity(pki_.admin_ca_pem()));
  ZOO_TRY(admin_, open(options));
  return admin_;
}

void DoorCertificates::write_admin_kubeconfig(std::string server) {
  const std::scoped_lock lock(mutex_);
  admin_server_ = std::move(server);
  rewrite_admin_kubeconfig();
}

void DoorCertificates::load() {
  if (tenants_) {
    auto shown = tenants_identity();
    // What kubeconfigs trust goes with what the door shows, and both doors show one that
    // it trusts.
    if (!(shown ? take(*tenants_, shown->options) : refused(shown.error()))) return;
    stranger_ = std::move(shown->stranger);
    pki_.trust_server_by(std::move(shown->trusted));
  }
  if (!admin_) return;
  const auto options = identity(pki_.admin_ca_pem());
  static_cast<void>(options ? take(*admin_, *options) : refused(options.error()));
}

bool DoorCertificates::take(net::TlsServerContext& door, const net::TlsServerOptions& options) {
  if (auto done = door.reload(options); !done) return refused(done.error());
  note(options);
  return true;
}

bool DoorCertificates::refused(const Error& error) {
  log::error("app", "the certificate was not reloaded: {}", error.text());
  return false;
}

void DoorCertificates::reload(const config::Values& values) {
  const std::scoped_lock lock(mutex_);
  certificate_file_ = values.path("tls.certificate");
  key_file_ = values.path("tls.key");
  ca_file_ = values.path("tls.ca");
  further_ca_file_ = values.path("tls.further_ca");
  const auto trusted = pki_.server_ca_pem();
  load();
  if (admin_certificate_ && pki_.server_ca_pem() != trusted) rewrite_admin_kubeconfig();
}

bool DoorCertificates::rewrite_admin_kubeconfig() {
  auto written = pki_.write_admin_kubeconfig(admin_server_);
  if (!written) {
    log::error("app", "admin.kubeconfig was not written: {}", written.error().text());
    return false;
  }
  admin_certificate_ = *std::move(written);
  return true;
}

void DoorCertificates::renew() {
  const std::scoped_lock lock(mutex_);
  // zood.yaml's is renewed by whoever made it, and read again at SIGHUP.
  if (certificate_file_.empty() && serving_ && tenants::due_for_renewal(*serving_)) {
    const auto before = serving_->serial();
    load();
    if (serving_->serial() != before)
      log::info("app", "the certificate of zood's own doors is renewed: it ends {}",
                tenants::time_text(serving_->not_after()));
  }
  if (admin_server_.empty()) return;
  if (admin_certificate_ && !tenants::due_for_renewal(*admin_certificate_)) return;
  if (!rewrite_admin_kubeconfig()) return;
  log::info("app", "admin.kubeconfig is renewed: its certificate ends {}",
            tenants::time_text(admin_certificate_->not_after()));
}

std::vector<std::string> DoorCertificates::cover(const std::vector<std::string>& hosts) {
  const std::scoped_lock lock(mutex_);
  if (certificate_file_.empty() && pki_.add_hosts(hosts)) load();
  std::vector<std::string> out;
  if (!serving_) return hosts;
  std::copy_if(hosts.begin(), hosts.end(), std::back_inserter(out),
               [&](const auto& host) { return !good_for(*serving_, host); });
  return out;
}

std::optional<DoorCertificates::Time> DoorCertificates::serving_ends() const {
  const std::scoped_lock lock(mutex_);
  return serving_ ? std::optional(serving_->not_after()) : std::nullopt;
}

std::optional<DoorCertificates::Time> DoorCertificates::admin_ends() const {
  const std::scoped_lock lock(mutex_);
  return admin_certificate_ ? std::optional(admin_certificate_->not_after()) : std::nullopt;
}

std::vector<tenants::Finding> DoorCertificates::findings(const std::string& advertised) const {
  using Level = tenants::Finding::Level;
  constexpr std::chrono::hours k_soon{14 * 24};
  std::vector<tenants::Finding> out;
  const auto look = [&](std::string subject, const crypto::Certificate& certificate,
                        std::string remedy) {
    const auto ends = certificate.not_after(), begins = certificate.not_before();
    const auto now = std::chrono::system_clock::now();
    if (now < begins) {
      out.push_back({Level::problem, std::move(subject),
                     "it is not valid before " + tenants::time_text(begins),
                     "is this machine's clock right? If it is: " + std::move(remedy)});
      return;
    }
    const bool ended = ends < now;
    const auto level = ended ? Level::problem : ends - now < k_soon ? Level::warning : Level::ok;
    out.push_back({level, std::move(subject),
                   (ended ? "it has ended on " : "valid until ") + tenants::time_text(ends),
                   level == Level::ok ? std::string() : std::move(remedy)});
  };
  const std::scoped_lock lock(mutex_);
  if (serving_)
    look("tenants' door", *serving_,
         certificate_file_.empty()
             ? "zood's log tells why the certificate is not made anew"
             : "renew the file of tls.certificate, then systemctl reload zood (SIGHUP)");
  if (serving_ && !good_for(*serving_, advertised))
    out.push_back(
        {Level::warning, "tenants' door",
         fmt::format("its certificate is not good for {}, which kubeconfigs name", advertised),
         "give it that name (a subject alternative name), or set advertise to one that it "
         "has; `zooctl kubeconfig export` has what clients use then"});
  if (!stranger_.empty())
    out.push_back({Level::warning, "tenants' door",
                   fmt::format("its certificate is not by {}, and kubeconfigs that zood writes "
                               "trust only that",
                               stranger_),
                   "set tls.ca to the certificate of a CA it is by, then systemctl reload zood"});
  look("administrators' CA", pki_.admin_ca(),
       "stop zood, remove admin-ca.crt, admin-ca.key, admin.crt and admin.key of its directory's "
       "pki, and start it: administrators get another kubeconfig");
  return out;
}

} // namespace zoo::app
