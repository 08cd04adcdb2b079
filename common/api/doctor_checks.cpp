// SPDX-License-Identifier: Apache-2.0
#include "common/api/doctor_checks.hpp"

#include <algorithm>

namespace zoo::api {
namespace {

constexpr DoctorCheck k_checks[] = {
    {"credential-upstream", "credential upstream",
     "zood works upstream with a token of ServiceAccount zoo-system/zood, which it renews at half "
     "of "
     "its life by the kubeconfig of upstream.kubeconfig. When it cannot, all stops at the token's "
     "end: give that kubeconfig a credential that is good."},
    {"tenants-ca", "tenants' CA",
     "The CA in pki/ signs the certificates of all tenants' kubeconfigs. Near its end every "
     "kubeconfig has to be made anew; and it must be none that the upstream lets clients in by."},
    {"serving-certificate", "tenants' door",
     "The certificate that the doors show: its end, whether it is good for the host of advertise, "
     "and whether it is by a CA that kubeconfigs trust. zood renews its own when a third of its "
     "life is left; one that tls.certificate names is the platform's to renew."},
    {"administrators-ca", "administrators' CA",
     "The CA of admin.kubeconfig. At its end nobody administers zood from another machine; the "
     "socket goes on."},
    {"upstream-version", "upstream version",
     "zood is tested with Kubernetes 1.33 to 1.36. With others it runs, and what they have changed "
     "is not known: look at the release notes of zood before that upgrade."},
    {"api-services", "api services",
     "Kinds that other API servers serve upstream (APIServices). The upstream looks through all "
     "kinds before it deletes a namespace: while one of these does not answer it deletes none, of "
     "no tenant."},
    {"fairness", "fairness",
     "The upstream shares itself out between its clients (API priority and fairness). It should "
     "count tenants' requests by FlowSchema zoo-tenants, each tenant for itself, and zood's own by "
     "zoo-system. By another one they wait behind each other, or behind strangers."},
    {"upstream", "upstream",
     "zood asks the upstream who it is there. Without an answer tenants are answered 503; as a "
     "member of system:masters zood could do what nobody has granted it."},
    {"objects-upstream", "objects upstream",
     "Roles, policies and other objects that zood installs upstream are compared with what it "
     "would "
     "install. Those that are a fence hold tenants in their places, whether zood lives or not."},
    {"accounts-upstream", "accounts upstream",
     "The kinds, roles and policies of accounts and spaces, compared with what zood would "
     "install."},
    {"quota-broker", "quota broker",
     "Whether the upstream asks zood before it creates what a quota of an account counts. Where it "
     "does not, ResourceQuotas alone hold the limit, and room moves between spaces later."},
    {"quotas", "quotas",
     "Quotas of accounts: one that cannot be read, a scoped one, and ResourceQuotas of others in "
     "an account's spaces, beside which Kubernetes can exceed a limit while zood is away."},
    {"templates", "templates",
     "Instances of templates that have failed, and whether charts can be rendered here."},
    {"accounts", "accounts",
     "Who sees which namespace follows from upstream's roles and bindings, which zood keeps in "
     "memory. What is too much of them, or changes too often, is not shown."},
    {"aggregated-door", "aggregated door",
     "While tenancy.kiosk.sh is registered upstream and no zood answers there, upstream deletes no "
     "namespace at all."},
    {"lists", "lists",
     "Whether the upstream begins a list at any key. If it does not, lists of tenants cost more "
     "than what the tenants own."},
    {"changes-upstream", "changes upstream",
     "zood hears of changes to what it keeps in tenants' namespaces and repairs them at once. "
     "While "
     "it does not hear, it looks each four minutes."},
    {"role-bindings", "role binding",
     "RoleBinding zoo-tenant in each namespace of a tenant lets the tenant's user in there. "
     "Without "
     "it the upstream refuses what the tenant asks in that namespace."},
    {"tenants-namespaces", "tenants' namespaces",
     "What zood keeps in each namespace of a tenant: its label, the network policy of isolated "
     "tenants, the authorities that its pods trust."},
    {"tenants-kinds", "tenants' kinds",
     "The upstream lists every kind before it deletes a namespace. One kind of a tenant's that "
     "cannot "
     "be listed, as by a conversion webhook that does not answer, keeps all namespaces."},
    {"definition", "definition ",
     "A kind of a tenant's that the upstream cannot list, as by a conversion webhook that does not "
     "answer: no namespace of the platform is deleted until it can."},
    {"tenants", "tenants", "How many tenants are in order."},
    {"tenant", "tenant ",
     "A tenant that is not in order, whose certificate ends soon, or whose record cannot be read."},
    {"namespaces", "namespaces", "Namespaces upstream could not be looked through."},
    {"namespace", "namespace ",
     "A namespace under a tenant's prefix without the tenant's label: made by somebody upstream, "
     "and "
     "not the tenant's."},
    {"store-latency", "store latency",
     "How long a write to zood's database takes. It is written before an answer is given: on a "
     "slow "
     "disk creating tenants, revoking and writes of kept kinds are slow."},
    {"store", "store",
     "Where zood's records are: the database cannot be read, etcd has not been heard from, or the "
     "records were moved and zood is to be started where they are."},
    {"replicas", "replicas",
     "The zoods that have one store open, which of them leads, and whether they agree in version "
     "and in the settings that say what a tenant may: a tenant meets any of them."},
    {"relay", "relay",
     "Upstream calls tenants' webhooks through zood, in the tenants' own words, where it reaches "
     "the "
     "relay's door. Else it calls them directly, in upstream's words."},
    {"virtual-clusters", "virtual clusters",
     "Whether the keeper of control planes answers, there are programs for them, there is memory "
     "for one more, and orders of the upstream are heard of."},
    {"virtual-cluster", "virtual cluster ",
     "A virtual cluster that is not as it should be. `zooctl cluster describe` shows its programs, "
     "and `zooctl cluster logs` what they say."},
    {"names-inside-pods", "names inside pods",
     "The cluster's DNS leads a tenant's pods to the tenant's own Services by two rules, which "
     "`zooctl dns corefile` prints and the platform adds to CoreDNS."},
    {"inside-pods", "inside pods",
     "Whether pods of tenants find zood as their API server: the policy that writes its address "
     "and "
     "tokens into them, tried with a pod that is not stored."},
    {"restored-state", "restored state",
     "After a restore certificates are accepted that were revoked since the backup. Revoke what "
     "you "
     "are not sure of, then say `zooctl backup acknowledge`; or restore with --revoke-all."},
    {"backup", "backup",
     "When the last backup was made. The state holds the CA that all kubeconfigs trust: without a "
     "backup its loss is the loss of all of them."},
    {"clock", "clock",
     "This machine's clock against the upstream's. Certificates, tokens and revocations compare "
     "times: half a minute lets some in too long, or refuses them too early."},
    {"free-space", "free space",
     "Room on the disk of zood's directory. When it is full no tenant is created, nothing is "
     "revoked, "
     "and the audit log loses lines."},
    {"open-files", "open files",
     "How many files zood may open (RLIMIT_NOFILE, LimitNOFILE= of the unit) against what "
     "limits.connections lets it need: beyond the former it can accept nobody."},
    {"advertise", "advertise",
     "The address that stands in all kubeconfigs: it should lead back to zood from this machine, "
     "and "
     "be answered by the CA that kubeconfigs trust. Behind a load balancer this asks through it."},
    {"zood", "zood", "Whether zood answers at all."},
    {"object-upstream", "",
     "An object that zood keeps upstream is missing, or another than it should be. Where it is a "
     "fence, "
     "one of the things that hold tenants in their places is not there."},
};

} // namespace

std::span<const DoctorCheck> doctor_checks() { return k_checks; }

const DoctorCheck& doctor_check_of(std::string_view subject) {
  return *std::find_if(std::begin(k_checks), std::end(k_checks),
                       [&](const DoctorCheck& each) { return subject.starts_with(each.subject); });
}

} // namespace zoo::api
