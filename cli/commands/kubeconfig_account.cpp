// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster.hpp"
#include "cli/command.hpp"
#include "cli/door.hpp"
#include "cli/kubeconfig_file.hpp"
#include "cli/options.hpp"
#include "cli/output/printer.hpp"
#include "cli/service_account.hpp"
#include "common/api/tenant.hpp"
#include "common/base/file.hpp"
#include "common/crypto/certificate.hpp"
#include "common/crypto/digest.hpp"
#include "common/crypto/key.hpp"
#include "common/crypto/signing_request.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace zoo::cli {
namespace {

using nlohmann::json;

constexpr std::string_view k_cluster = "zood-accounts";
constexpr std::string_view k_requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
constexpr int k_looks = 300; ///< for a certificate, each after k_pause
constexpr std::chrono::milliseconds k_pause{100};

/// A kubeconfig of zood's account door: with a certificate, with the token of a ServiceAccount, or
/// with no credential.
struct KubeconfigAccount final : Command {
  std::string service_account, user, server, ca_file, ttl, output, context_name;
  std::vector<std::string> groups;
  bool bare = false, merge = false;

  void define(CLI::App& app) override {
    auto* without = app.add_flag(
        "--bare", bare, "Only the server and its CA: the user adds a credential of his own");
    app.add_option("--sa", service_account,
                   "A ServiceAccount, for which a token is asked of the cluster that your "
                   "kubeconfig names")
        ->type_name("NS/NAME")
        ->excludes(without);
    app.add_option(
           "--user", user,
           "A user, for whom a certificate is asked of that cluster and approved; it cannot "
           "be revoked before its end")
        ->type_name("USER")
        ->excludes(without);
    add_repeated(app, "--group", groups, "A group of that user; may be repeated", "GROUP");
    app.add_option(
           "--ttl", ttl,
           "How long the credential is valid, as in 1h or 30d; by default what the cluster chooses")
        ->type_name("DURATION")
        ->excludes(without);
    app.add_option("--server", server,
                   "The URL of the account door; else what zood says of it, where it can be asked, "
                   "or the server of your kubeconfig")
        ->type_name("URL");
    app.add_option("--certificate-authority", ca_file,
                   "The CA (PEM) of --server; else what zood says, or that of your kubeconfig")
        ->type_name("FILE");
    add_context_option(app, context_name);
    add_kubeconfig_output(app, output, merge);
    add_examples(app, "  zooctl kubeconfig account --bare -o blue.kubeconfig\n"
                      "  zooctl kubeconfig account --bare --server https://zoo.example.com:8443 "
                      "--certificate-authority ca.crt -o blue.kubeconfig\n"
                      "  zooctl kubeconfig account --user jane --group blue-team --ttl 30d\n"
                      "  zooctl kubeconfig account --sa ci/deployer --ttl 30d -o ci.kubeconfig");
  }

  Result<Secret> token(Cluster& cluster) const {
    ZOO_TRY(const auto account, option_service_account("--sa", service_account));
    ZOO_TRY(const auto wanted, token_request(ttl));
    ZOO_TRY(const auto answer, cluster.create(token_path(account), wanted, false));
    return token_of(answer);
  }

  /// By the signer kubernetes.io/kube-apiserver-client: request, approval, certificate.
  Result<void> certificate(Context& context, Cluster& cluster, kube::KubeconfigParts& parts) const {
    ZOO_TRY(const auto key, crypto::PrivateKey::generate_p256());
    ZOO_TRY(const auto pem, crypto::signing_request_pem(key, user, groups));
    json wanted = {{"apiVersion", "certificates.k8s.io/v1"},
                   {"kind", "CertificateSigningRequest"},
                   {"metadata", {{"generateName", "zooctl-"}}},
                   {"spec",
                    {{"request", crypto::base64_encode(pem)},
                     {"signerName", "kubernetes.io/kube-apiserver-client"},
                     {"usages", {"client auth"}}}}};
    if (!ttl.empty()) {
      ZOO_TRY(const auto span, option_ttl(ttl));
      wanted["spec"]["expirationSeconds"] = span.count();
    }
    ZOO_TRY(auto request, cluster.create(k_requests, wanted, false));
    const auto path = fmt::format("{}/{}", k_requests, text_at(request, "/metadata/name"));
    request["status"]["conditions"] = {{{"type", "Approved"},
                                        {"status", "True"},
                                        {"reason", "Zooctl"},
                                        {"message", "approved by zooctl kubeconfig account"}}};
    auto done = cluster.update(path + "/approval", request, false);
    std::string signed_pem;
    for (int look = 0; done && signed_pem.empty(); ++look) {
      done = cluster.get(path);
      if (!done) break;
      if (const auto text = text_at(*done, "/status/certificate"); !text.empty()) {
        ZOO_TRY(signed_pem, crypto::base64_decode(text));
        break;
      }
      if (look == k_looks)
        done = fail(Code::timeout,
                    "the cluster does not sign the certificate: its controller manager needs the "
                    "key of the cluster's CA");
      context.pause(k_pause);
    }
    const auto removed = cluster.remove(path, false); // it has served, whether it goes or not
    if (!done) return fail(std::move(done).error());
    parts.client_cert_pem = signed_pem;
    parts.client_key_pem = key.to_pem();
    if (const auto read = crypto::Certificate::from_pem(signed_pem))
      context.say(
          fmt::format("the certificate is valid until {}, and cannot be revoked before",
                      api::rfc3339(std::chrono::system_clock::to_time_t(read->not_after()))));
    return {};
  }

  Result<void> check_names() const {
    if (static_cast<int>(bare) + static_cast<int>(!service_account.empty()) +
            static_cast<int>(!user.empty()) !=
        1)
      return fail(Code::usage,
                  "say --bare, or whose kubeconfig it is to be: --user USER, or --sa NS/NAME");
    ZOO_TRY_VOID(check_user(user, groups));
    auto names = groups;
    names.push_back(user);
    for (const auto& name : names)
      if (name.starts_with("system:"))
        return fail(Code::usage, "'{}' is a name of the cluster's own: it gets no kubeconfig here",
                    name);
    return {};
  }

  /// Where zood says that its account door is, with its CA; false: it cannot be asked, or has none.
  bool ask_zood(Context& context, kube::KubeconfigParts& parts) const {
    if (!server.empty() || !context.globals.kubeconfig.empty() || !context_name.empty())
      return false;
    const auto client = context.client();
    const auto status = client ? (*client)->status() : fail(client.error());
    if (!status) return false;
    const json said = json(*status);
    parts.server = text_at(said, "/accountDoor/server");
    auto ca = crypto::base64_decode(text_at(said, "/accountDoor/certificateAuthorityData"));
    if (parts.server.empty() || !ca) return false;
    parts.ca_pem = *std::move(ca);
    return true;
  }

  /// What the cluster of the user's kubeconfig gives: the credential, and the server and its CA
  /// where zood has not told them.
  Result<void> ask_cluster(Context& context, bool told, kube::KubeconfigParts& parts) const {
    ZOO_TRY(auto cluster, Cluster::open(context, context_name));
    const auto& access = cluster.access();
    if (!told) {
      parts.server = server.empty() ? access.server : server;
      parts.ca_pem = access.credentials.ca_pem;
      if (server.empty()) parts.tls_server_name = access.credentials.tls_server_name;
    }
    if (!ca_file.empty()) {
      ZOO_TRY(parts.ca_pem, file::read(ca_file));
    }
    if (!user.empty()) ZOO_TRY_VOID(certificate(context, cluster, parts));
    if (service_account.empty()) return {};
    ZOO_TRY(parts.token, token(cluster));
    parts.default_namespace = service_account.substr(0, service_account.find('/'));
    return {};
  }

  Result<int> run(Context& context) override {
    ZOO_TRY_VOID(check_names());
    if (!server.empty() && !server.starts_with("https://"))
      return fail(Code::usage, "--server must be an https URL, not '{}'", server);
    if (!server.empty() && ca_file.empty())
      return fail(Code::usage, "--server needs --certificate-authority FILE: the CA of your "
                               "kubeconfig is another server's");
    kube::KubeconfigParts parts;
    parts.cluster = k_cluster;
    const bool told = ask_zood(context, parts);
    if (told && !ca_file.empty())
      return fail(Code::usage, "--certificate-authority needs --server: it is of that server");
    if (!told || !bare) ZOO_TRY_VOID(ask_cluster(context, told, parts));
    parts.user = bare ? "me" : service_account + user;
    parts.context = k_cluster;
    const auto text = kube::write_kubeconfig(parts);
    if (merge) {
      ZOO_TRY(const auto file, default_kubeconfig_file(context));
      ZOO_TRY_VOID(merge_into_file(file, text));
      context.say(
          fmt::format("merged into {}; the current context is now {}", file.string(), k_cluster));
      return 0;
    }
    if (output.empty() || output == "-") {
      context.out << text << std::flush;
      return 0;
    }
    ZOO_TRY_VOID(write_kubeconfig_file(output, text));
    context.say("wrote " + output);
    if (bare)
      context.hint(fmt::format("Add a credential: kubectl --kubeconfig {} config set-credentials "
                               "me --token TOKEN",
                               output));
    return 0;
  }
};

} // namespace

std::unique_ptr<Command> make_kubeconfig_account() { return std::make_unique<KubeconfigAccount>(); }

} // namespace zoo::cli
