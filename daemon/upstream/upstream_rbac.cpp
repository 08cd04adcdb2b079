// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/upstream_rbac.hpp"

#include "common/base/text.hpp"
#include "common/kube/client.hpp"
#include "common/kube/yaml.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <stdexcept>

namespace zoo::upstream {
namespace {

constexpr std::string_view k_tenants_option = "--print-upstream-rbac";

struct Row {
  Need need;
  std::string_view json;
};

// Subresources are named one by one: `customresourcedefinitions/*` is no RBAC syntax.
constexpr std::array k_rows{
    Row{Need::identity, R"j({
"apiVersion":"v1","kind":"Namespace","metadata":{"name":"zoo-system"}})j"},

    Row{Need::identity, R"j({
"apiVersion":"v1","kind":"ServiceAccount",
"metadata":{"name":"zood","namespace":"zoo-system"},
"automountServiceAccountToken":false})j"},

    // Impersonation knows no prefixes and tenants' custom resources have any group, so that this
    // is as strong as cluster-admin; verbs are named all the same, and `bind` for one role only.
    Row{Need::identity, R"j({
"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"zoo:zood"},
"rules":[
{"apiGroups":["*"],"resources":["*"],
 "verbs":["get","list","watch","create","update","patch","delete","deletecollection"]},
{"apiGroups":[""],"resources":["users","groups"],"verbs":["impersonate"]},
{"apiGroups":["authentication.k8s.io"],"resources":["userextras/zoo-user","userextras/zoo-group"],"verbs":["impersonate"]},
{"apiGroups":["certificates.k8s.io"],"resources":["signers"],"verbs":["approve","sign"]},
{"apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles","roles"],
 "verbs":["escalate"]},
{"apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles"],
 "resourceNames":["zoo:tenant","zoo:tenants-cluster","zoo:zood","zoo:zood-accounts"],"verbs":["bind"]},
{"nonResourceURLs":["/api","/api/*","/apis","/apis/*","/openapi","/openapi/*","/version",
 "/version/*","/healthz","/livez","/readyz","/openid/v1/jwks"],"verbs":["get"]}]})j"},

    Row{Need::identity, R"j({
"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding",
"metadata":{"name":"zoo:zood"},
"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"zoo:zood"},
"subjects":[{"kind":"ServiceAccount","name":"zood","namespace":"zoo-system"}]})j"},

    Row{Need::fence, R"j({
"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"zoo:tenant"},
"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]})j"},

    // No reads, no deletecollection: RBAC cannot narrow them to a prefix, nor can admission.
    Row{Need::fence, R"j({
"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole",
"metadata":{"name":"zoo:tenants-cluster"},
"rules":[
{"apiGroups":[""],"resources":["namespaces"],"verbs":["create"]},
{"apiGroups":[""],"resources":["persistentvolumes"],
 "verbs":["create","update","patch","delete"]},
{"apiGroups":[""],"resources":["persistentvolumes/status"],"verbs":["update","patch"]},
{"apiGroups":["admissionregistration.k8s.io"],
 "resources":["mutatingwebhookconfigurations","validatingwebhookconfigurations"],
 "verbs":["create","update","patch","delete"]},
{"apiGroups":["apiextensions.k8s.io"],"resources":["customresourcedefinitions"],
 "verbs":["create","update","patch","delete"]},
{"apiGroups":["apiextensions.k8s.io"],"resources":["customresourcedefinitions/status"],
 "verbs":["update","patch"]},
{"apiGroups":["certificates.k8s.io"],
 "resources":["certificatesigningrequests","clustertrustbundles"],
 "verbs":["create","update","patch","delete"]},
{"apiGroups":["networking.k8s.io"],"resources":["ingressclasses"],
 "verbs":["create","update","patch","delete"]},
{"apiGroups":["node.k8s.io"],"resources":["runtimeclasses"],
 "verbs":["create","update","patch","delete"]},
{"apiGroups":["resource.k8s.io"],"resources":["deviceclasses"],
 "verbs":["create","update","patch","delete"]},
{"apiGroups":["scheduling.k8s.io"],"resources":["priorityclasses"],
 "verbs":["create","update","patch","delete"]},
{"apiGroups":["storage.k8s.io"],"resources":["storageclasses","volumeattributesclasses"],
 "verbs":["create","update","patch","delete"]}]})j"},

    // `ownObjects` is what translate::fence_in() writes.
    Row{Need::fence, R"j({
"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy",
"metadata":{"name":"zoo-tenants-cluster-scoped"},
"spec":{"failurePolicy":"Fail",
"matchConstraints":{"resourceRules":[{"apiGroups":["*"],"apiVersions":["*"],
 "operations":["CREATE","UPDATE","DELETE","CONNECT"],"resources":["*/*"],"scope":"Cluster"}]},
"matchConditions":[{"name":"a-tenant",
 "expression":"has(request.userInfo.groups) && 'zoo:tenants' in request.userInfo.groups"}],
"variables":[
{"name":"id","expression":"request.userInfo.username.matches('^zoo:[a-z0-9]{6}$') ? request.userInfo.username.substring(4) : ''"},
{"name":"prefix","expression":"variables.id + '-'"},
{"name":"named","expression":"has(request.name) && request.name.startsWith(variables.prefix) && size(request.name) > 7"},
{"name":"objects","expression":"[object, oldObject].filter(o, o != null)"},
{"name":"stores","expression":"object != null && !(has(request.dryRun) && request.dryRun)"},
{"name":"webhooks","expression":"variables.stores && request.resource.resource in ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'] ? object.?webhooks.orValue([]) : []"},
{"name":"notTheirs","expression":"\"!(has(request.subResource) && request.subResource in ['binding', 'status'] && !request.resource.group.startsWith('\" + variables.prefix + \"')) && !(has(request.subResource) && request.subResource == 'portforward' && !(has(request.userInfo.groups) && 'zoo:tenants' in request.userInfo.groups)) && !(has(request.name) && (request.resource.group + '/' + request.resource.resource + '/' + request.name) in ['/configmaps/zoo-root-ca.crt', 'networking.k8s.io/networkpolicies/zoo-baseline', 'rbac.authorization.k8s.io/rolebindings/zoo-tenant']) && !(request.resource.group == '' && request.resource.resource == 'resourcequotas' && has(request.name) && request.name.startsWith('zoo-quota'))\""},
{"name":"ownObjects","expression":"(request.resource.resource == 'mutatingwebhookconfigurations' ? \"!((request.resource.group + '/' + request.resource.resource) in ['/services', '/persistentvolumeclaims', '/endpoints', '/serviceaccounts', '/bindings', 'discovery.k8s.io/endpointslices', 'networking.k8s.io/ingresses', 'networking.k8s.io/networkpolicies', 'rbac.authorization.k8s.io/roles', 'rbac.authorization.k8s.io/rolebindings', 'resource.k8s.io/resourceclaims', 'resource.k8s.io/resourceclaimtemplates']) && \" : '') + variables.notTheirs"},
{"name":"annotations","expression":"variables.stores ? object.metadata.?annotations.orValue({}) : {}"}],
"validations":[
{"expression":"variables.id != ''","message":"a member of zoo:tenants must be a user named zoo:<id>"},
{"expression":"request.resource.group == 'apiextensions.k8s.io' || request.resource.resource == 'persistentvolumes' || variables.named","messageExpression":"'a cluster-scoped object of this tenant has a name that begins with ' + variables.prefix"},
{"expression":"request.resource.group != 'apiextensions.k8s.io' || (size(variables.objects) > 0 && variables.objects.all(o, has(o.spec.group) && o.spec.group.startsWith(variables.prefix) && size(o.spec.group) > 7))","messageExpression":"'a custom resource definition of this tenant has a group that begins with ' + variables.prefix"},
{"expression":"request.resource.resource != 'persistentvolumes' || request.resource.group != '' || ((request.operation != 'CREATE' || variables.named) && size(variables.objects) > 0 && variables.objects.all(o, has(o.spec.claimRef) && has(o.spec.claimRef.namespace) ? o.spec.claimRef.namespace.startsWith(variables.prefix) : o.metadata.name.startsWith(variables.prefix)))","messageExpression":"'a persistent volume of this tenant has a name, and its claim a namespace, that begins with ' + variables.prefix"},
{"expression":"request.resource.resource != 'namespaces' || request.resource.group != '' || (size(variables.objects) > 0 && variables.objects.all(o, has(o.metadata.labels) && 'tenant.kubezoo.io/id' in o.metadata.labels && o.metadata.labels['tenant.kubezoo.io/id'] == variables.id))","messageExpression":"'a namespace of this tenant carries the label tenant.kubezoo.io/id=' + variables.id + ' (rule reserved-names): take away labels by their names'"},
{"expression":"request.resource.resource != 'namespaces' || request.resource.group != '' || object == null || (has(object.metadata.labels) && 'pod-security.kubernetes.io/enforce' in object.metadata.labels && (object.metadata.labels['pod-security.kubernetes.io/enforce'] in ['baseline', 'restricted'] || (oldObject != null && has(oldObject.metadata.labels) && 'pod-security.kubernetes.io/enforce' in oldObject.metadata.labels && oldObject.metadata.labels['pod-security.kubernetes.io/enforce'] == object.metadata.labels['pod-security.kubernetes.io/enforce'])))","message":"a tenant's namespace enforces pod security level baseline or restricted (rule pod-security): take away labels by their names, or name one of these levels"},
{"expression":"request.resource.resource != 'namespaces' || request.resource.group != '' || object == null || object.metadata.?labels[?'pod-security.kubernetes.io/enforce-version'].orValue('latest') == 'latest'","message":"a tenant's namespace enforces the latest version of pod security (rule pod-security): leave the label out"},
{"expression":"request.resource.resource != 'namespaces' || request.resource.group != '' || object == null || 'kubernetes' in object.spec.?finalizers.orValue([]) || (oldObject != null && !('kubernetes' in oldObject.spec.?finalizers.orValue([])))","message":"the finalizer kubernetes of a namespace is upstream's to take away, when all that is in it is gone: delete the namespace (rule namespace-finalizers)"},
{"expression":"variables.webhooks.all(w, w.?namespaceSelector.?matchLabels[?'tenant.kubezoo.io/id'].orValue('') == variables.id)","messageExpression":"'the webhooks of this tenant are called for its namespaces alone: their namespaceSelector has the label tenant.kubezoo.io/id=' + variables.id"},
{"expression":"variables.webhooks.all(w, w.?rules.orValue([]).all(r, r.?scope.orValue('*') == 'Namespaced' || r.?apiGroups.orValue([]) == ['cluster.zoo.kubezoo.io']))","message":"the webhooks of a tenant are called for objects in namespaces alone"},
{"expression":"variables.webhooks.all(w, w.?matchConditions.orValue([]).exists(c, c.name == 'zoo.kubezoo.io/own-objects' && c.expression == variables.ownObjects))","message":"the webhooks of a tenant leave alone what reaches out of it, and what kubelets and the scheduler write: match condition zoo.kubezoo.io/own-objects"},
{"expression":"variables.webhooks.all(w, w.?timeoutSeconds.orValue(10) <= 10)","message":"a tenant's webhook has ten seconds"},
{"expression":"request.resource.resource != 'priorityclasses' || !variables.stores || !object.?globalDefault.orValue(false)","message":"a tenant's PriorityClass is nobody's default"},
{"expression":"!(request.resource.resource in ['storageclasses', 'ingressclasses']) || ['storageclass.kubernetes.io/is-default-class', 'storageclass.beta.kubernetes.io/is-default-class', 'ingressclass.kubernetes.io/is-default-class'].all(k, variables.annotations[?k].orValue('') != 'true')","message":"a tenant's class is nobody's default"},
{"expression":"request.resource.resource != 'storageclasses' || object == null || object.provisioner == 'kubernetes.io/no-provisioner' || object.provisioner.startsWith('zoo-inert-')","message":"no provisioner of the platform acts for a tenant's own class"},
{"expression":"request.resource.resource != 'volumeattributesclasses' || object == null || object.driverName.startsWith('zoo-inert-')","message":"no driver of the platform acts for a tenant's own class"},
{"expression":"request.resource.resource != 'deviceclasses' || object == null || object.spec.?config.orValue([]).all(c, c.?opaque.?driver.orValue('zoo-inert-').startsWith('zoo-inert-'))","message":"no driver of the platform is configured by a tenant's own class"},
{"expression":"request.resource.resource != 'runtimeclasses' || object == null || object.handler.startsWith('zoo-inert-')","message":"no handler of the platform's nodes runs pods of a tenant's own class"},
{"expression":"request.resource.resource != 'ingressclasses' || object == null || object.spec.?controller.orValue('zoo-inert-').startsWith('zoo-inert-')","message":"no controller of the platform acts for a tenant's own class"},
{"expression":"request.resource.resource != 'customresourcedefinitions' || object == null || (size(object.spec.versions) <= 16 && size(object.spec.names.?shortNames.orValue([])) <= 32 && size(object.spec.names.?categories.orValue([])) <= 32)","message":"a tenant's definition has at most 16 versions, 32 short names and 32 categories"}]}})j"},

    // What tenants store as RBAC is inert (DESIGN 8); here the upstream holds zood to it.
    Row{Need::fence, R"j({
"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy",
"metadata":{"name":"zoo-tenants-roles"},
"spec":{"failurePolicy":"Fail",
"matchConstraints":{"resourceRules":[{"apiGroups":["rbac.authorization.k8s.io"],
 "apiVersions":["*"],"operations":["CREATE","UPDATE"],"resources":["roles"],
 "scope":"Namespaced"}]},
"matchConditions":[{"name":"a-tenant",
 "expression":"has(request.userInfo.groups) && 'zoo:tenants' in request.userInfo.groups"}],
"validations":[
{"expression":"!has(object.rules) || object.rules.all(r, r.verbs.all(v, v.startsWith('zoo:')))","message":"the verbs of a tenant's role are stored with the prefix zoo:"}]}})j"},

    Row{Need::fence, R"j({
"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy",
"metadata":{"name":"zoo-tenants-rolebindings"},
"spec":{"failurePolicy":"Fail",
"matchConstraints":{"resourceRules":[{"apiGroups":["rbac.authorization.k8s.io"],
 "apiVersions":["*"],"operations":["CREATE","UPDATE","DELETE"],"resources":["rolebindings"],
 "scope":"Namespaced"}]},
"matchConditions":[{"name":"a-tenant",
 "expression":"has(request.userInfo.groups) && 'zoo:tenants' in request.userInfo.groups"}],
"variables":[
{"name":"inert","expression":"request.userInfo.username.matches('^zoo:[a-z0-9]{6}$') ? 'zoo:inert:' + request.userInfo.username.substring(4) + ':' : 'zoo:nobody:'"}],
"validations":[
{"expression":"(object == null || object.metadata.name != 'zoo-tenant') && (oldObject == null || oldObject.metadata.name != 'zoo-tenant')","message":"the role binding zoo-tenant is zood's own"},
{"expression":"object == null || !has(object.subjects) || object.subjects.all(s, s.kind == 'ServiceAccount' ? has(s.namespace) && s.namespace.startsWith(variables.inert) : s.name.startsWith(variables.inert))","message":"the subjects of a tenant's role binding are stored inert"}]}})j"},

    // A tenant holds no token that this upstream would take.
    Row{Need::fence, R"j({
"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy",
"metadata":{"name":"zoo-tenants-tokens"},
"spec":{"failurePolicy":"Fail",
"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["*"],
 "operations":["CREATE","UPDATE"],"resources":["secrets","serviceaccounts/token"],
 "scope":"Namespaced"}]},
"matchConditions":[{"name":"a-tenant",
 "expression":"has(request.userInfo.groups) && 'zoo:tenants' in request.userInfo.groups"}],
"validations":[
{"expression":"request.resource.resource != 'secrets' || !has(object.type) || object.type != 'kubernetes.io/service-account-token'","message":"a tenant has no tokens that never expire"},
{"expression":"request.resource.resource != 'serviceaccounts' || (has(object.spec.audiences) && object.spec.audiences == ['zood'])","message":"a tenant's tokens are for the audience zood"}]}})j"},

    // A tenant's own mutations change pods when zood has proven them, and pods that controllers
    // make (docs/decisions/087): what they must not set is held here. The parameters are
    // tenants::PodTerms'.
    Row{Need::fence, R"j({
"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"zoo-pods","namespace":"zoo-system"}})j"},

    Row{Need::fence, R"j({
"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy",
"metadata":{"name":"zoo-tenants-pods"},
"spec":{"failurePolicy":"Fail","paramKind":{"apiVersion":"v1","kind":"ConfigMap"},
"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["*"],
 "operations":["CREATE"],"resources":["pods"],"scope":"Namespaced"}],
"namespaceSelector":{"matchExpressions":[{"key":"tenant.kubezoo.io/id","operator":"Exists"}]}},
"matchConditions":[{"name":"no-administrator",
 "expression":"!has(request.userInfo.groups) || !('system:masters' in request.userInfo.groups)"}],
"variables":[
{"name":"id","expression":"namespaceObject.metadata.labels['tenant.kubezoo.io/id']"},
{"name":"allowed","expression":"params.?data.orValue({})"},
{"name":"nodes","expression":"variables.allowed[?'nodeNames.' + variables.id].orValue(variables.allowed[?'nodeNames'].orValue('false')) == 'true'"},
{"name":"priority","expression":"int(variables.allowed[?'priority.' + variables.id].orValue(variables.allowed[?'priority'].orValue('1000000000')))"},
{"name":"class","expression":"object.spec.?priorityClassName.orValue('')"},
{"name":"runtime","expression":"object.spec.?runtimeClassName.orValue('')"},
{"name":"shared","expression":"variables.class != '' && variables.class in variables.allowed[?'priorityClasses'].orValue('').split(' ')"},
{"name":"required","expression":"object.spec.?affinity.?podAffinity.?requiredDuringSchedulingIgnoredDuringExecution.orValue([]) + object.spec.?affinity.?podAntiAffinity.?requiredDuringSchedulingIgnoredDuringExecution.orValue([])"},
{"name":"preferred","expression":"object.spec.?affinity.?podAffinity.?preferredDuringSchedulingIgnoredDuringExecution.orValue([]) + object.spec.?affinity.?podAntiAffinity.?preferredDuringSchedulingIgnoredDuringExecution.orValue([])"},
{"name":"foreign","expression":"variables.allowed[?'audiences'].orValue('')"},
{"name":"tokens","expression":"variables.foreign != '' && namespaceObject.metadata.labels[?'zoo.kubezoo.io/inside'].orValue('') in ['', 'api']"}],
"validations":[
{"expression":"!variables.tokens || object.spec.?volumes.orValue([]).all(v, v.?projected.?sources.orValue([]).all(s, !has(s.serviceAccountToken) || !(s.serviceAccountToken.?audience.orValue('') in variables.foreign.split(' ') + [''])))","message":"a tenant's pod has no token that the platform's API server takes (spec.inside.api of the Tenant)"},
{"expression":"(variables.required + variables.preferred.map(p, p.podAffinityTerm)).all(t, t.?namespaces.orValue([]).all(n, n.startsWith(variables.id + '-')) && (!has(t.namespaceSelector) || t.namespaceSelector.?matchLabels[?'tenant.kubezoo.io/id'].orValue('') == variables.id || t.namespaceSelector.?matchExpressions.orValue([]).exists(e, e.key == 'tenant.kubezoo.io/id' && e.operator == 'In' && e.values == [variables.id])))","message":"the affinity of a tenant's pod regards that tenant's namespaces alone"},
{"expression":"variables.nodes || object.spec.?nodeName.orValue('') == ''","message":"spec.nodeName goes past the scheduler (guards.node_names of zood)"},
{"expression":"variables.shared || (object.spec.?priority.orValue(0) <= variables.priority && !variables.class.startsWith('system-'))","messageExpression":"'the priority of a tenant\\'s pod is at most ' + string(variables.priority) + ', and its class none of the system\\'s (guards.priority of zood)'"},
{"expression":"variables.runtime == '' || variables.runtime.startsWith(variables.id + '-') || variables.runtime in variables.allowed[?'runtimeClasses'].orValue('').split(' ')","message":"a tenant's pod names a RuntimeClass of its own or a shared one"},
{"expression":"object.spec.?volumes.orValue([]).all(v, v.?projected.?sources.orValue([]).all(s, [string(s.?clusterTrustBundle.?name.orValue('')), string(s.?clusterTrustBundle.?signerName.orValue('')), string(s.?podCertificate.?signerName.orValue(''))].all(n, n == '' || n.startsWith(variables.id + '-'))))","message":"a tenant's pod names signers and trust bundles of its own"}]}})j"},

    // Upstream's deletion of a namespace lists all kinds, also those of others, and stops at one
    // that nobody converts.
    Row{Need::fence, R"j({
"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy",
"metadata":{"name":"zoo-tenants-definitions"},
"spec":{"failurePolicy":"Fail","paramKind":{"apiVersion":"v1","kind":"ConfigMap"},
"matchConstraints":{"resourceRules":[{"apiGroups":["apiextensions.k8s.io"],"apiVersions":["*"],
 "operations":["CREATE","UPDATE"],
 "resources":["customresourcedefinitions","customresourcedefinitions/status"],"scope":"Cluster"}]},
"matchConditions":[{"name":"a-tenant",
 "expression":"has(request.userInfo.groups) && 'zoo:tenants' in request.userInfo.groups"}],
"variables":[
{"name":"id","expression":"request.userInfo.username.matches('^zoo:[a-z0-9]{6}$') ? request.userInfo.username.substring(4) : ''"},
{"name":"allowed","expression":"params.?data.orValue({})"},
{"name":"webhooks","expression":"variables.allowed[?'conversionWebhooks.' + variables.id].orValue(variables.allowed[?'conversionWebhooks'].orValue('false')) == 'true'"},
{"name":"status","expression":"has(request.subResource) && request.subResource == 'status'"},
{"name":"trial","expression":"has(request.dryRun) && request.dryRun"},
{"name":"now","expression":"object.?status.orValue({})"},
{"name":"before","expression":"oldObject == null ? {} : oldObject.?status.orValue({})"},
{"name":"cleans","expression":"oldObject != null && has(oldObject.metadata.deletionTimestamp) && 'customresourcecleanup.apiextensions.k8s.io' in oldObject.metadata.?finalizers.orValue([])"}],
"validations":[
{"expression":"variables.trial || !variables.cleans || 'customresourcecleanup.apiextensions.k8s.io' in object.metadata.?finalizers.orValue([])","message":"the finalizer by which upstream removes a definition's objects is its own to take away (rule definition-cleanup of zood)"},
{"expression":"variables.trial || !variables.status || variables.before.?storedVersions.orValue([]).all(v, v in variables.now.?storedVersions.orValue([]))","message":"zood takes a version from status.storedVersions when no object is stored in it (rule stored-versions of zood)"},
{"expression":"variables.trial || !variables.status || variables.now.?acceptedNames.orValue({}) == variables.before.?acceptedNames.orValue({})","message":"the accepted names of a definition are written by upstream's own controllers"},
{"expression":"variables.trial || !variables.status || ['Established', 'NamesAccepted', 'Terminating'].all(t, variables.now.?conditions.orValue([]).filter(c, c.?type.orValue('') == t) == variables.before.?conditions.orValue([]).filter(c, c.?type.orValue('') == t))","message":"the conditions by which upstream serves a definition are written by its own controllers"},
{"expression":"variables.status || object.spec.versions.all(v, v.?selectableFields.orValue([]).all(f, f.jsonPath.matches('^([.][A-Za-z0-9_-]+)+$')))","message":"the selectable fields of a tenant's definition are named by plain words (rule definition-schemas of zood)"},
{"expression":"variables.webhooks || variables.status || object.spec.?conversion.?strategy.orValue('None') == 'None'","message":"a tenant's definition is not converted by a webhook (guards.conversion_webhooks of zood)"}]}})j"},

    // Whom upstream calls for a tenant: its own Services, or zood's relay in its name.
    Row{Need::fence, R"j({
"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy",
"metadata":{"name":"zoo-tenants-webhooks"},
"spec":{"failurePolicy":"Fail","paramKind":{"apiVersion":"v1","kind":"ConfigMap"},
"matchConstraints":{"resourceRules":[{"apiGroups":["admissionregistration.k8s.io"],
 "apiVersions":["*"],"operations":["CREATE","UPDATE"],
 "resources":["mutatingwebhookconfigurations","validatingwebhookconfigurations"],"scope":"Cluster"},
 {"apiGroups":["apiextensions.k8s.io"],"apiVersions":["*"],"operations":["CREATE","UPDATE"],
 "resources":["customresourcedefinitions"],"scope":"Cluster"}]},
"matchConditions":[{"name":"a-tenant",
 "expression":"has(request.userInfo.groups) && 'zoo:tenants' in request.userInfo.groups"},
{"name":"to-store","expression":"!(has(request.dryRun) && request.dryRun)"}],
"variables":[
{"name":"prefix","expression":"(request.userInfo.username.matches('^zoo:[a-z0-9]{6}$') ? request.userInfo.username.substring(4) : '') + '-'"},
{"name":"room","expression":"'/w/' + variables.prefix.substring(0, size(variables.prefix) - 1) + '/'"},
{"name":"relays","expression":"params.?data.orValue({}).filter(k, k.startsWith('relay.')).map(k, string(params.data[k]) + variables.room)"},
{"name":"webhooks","expression":"request.resource.resource == 'customresourcedefinitions' ? [] : object.?webhooks.orValue([])"},
{"name":"conversion","expression":"request.resource.resource == 'customresourcedefinitions' ? object.spec.?conversion.?webhook.?clientConfig.orValue({}) : {}"}],
"validations":[
{"expression":"size(variables.prefix) > 1","message":"a member of zoo:tenants must be a user named zoo:<id>"},
{"expression":"variables.webhooks.all(w, w.clientConfig.?service.?namespace.orValue('').startsWith(variables.prefix) || variables.relays.exists(r, w.clientConfig.?url.orValue('').startsWith(r)) || w.?rules.orValue([]).all(r, r.?apiGroups.orValue([]) == ['cluster.zoo.kubezoo.io']))","messageExpression":"'the webhooks of this tenant are Services in namespaces that begin with ' + variables.prefix + ', or the relay of zood calls them'"},
{"expression":"variables.conversion == {} || variables.conversion.?service.?namespace.orValue('').startsWith(variables.prefix) || variables.relays.exists(r, variables.conversion.?url.orValue('').startsWith(r))","messageExpression":"'objects of this tenant are converted by Services in namespaces that begin with ' + variables.prefix + ', or through the relay of zood'"}]}})j"},

    // What controllers and kubelets write there decides where traffic goes, what the API server
    // connects to for `proxy`, and which devices are taken.
    Row{Need::fence, R"j({
"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy",
"metadata":{"name":"zoo-tenants-status"},
"spec":{"failurePolicy":"Fail","paramKind":{"apiVersion":"v1","kind":"ConfigMap"},
"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["*"],
 "operations":["UPDATE"],"resources":["services/status","pods/status"],"scope":"Namespaced"},
 {"apiGroups":["resource.k8s.io"],"apiVersions":["*"],"operations":["UPDATE"],
 "resources":["resourceclaims/status"],"scope":"Namespaced"}]},
"matchConditions":[{"name":"a-tenant",
 "expression":"has(request.userInfo.groups) && 'zoo:tenants' in request.userInfo.groups"}],
"variables":[
{"name":"id","expression":"request.userInfo.username.matches('^zoo:[a-z0-9]{6}$') ? request.userInfo.username.substring(4) : ''"},
{"name":"allowed","expression":"params.?data.orValue({})"},
{"name":"services","expression":"variables.allowed[?'serviceStatus.' + variables.id].orValue(variables.allowed[?'serviceStatus'].orValue('false')) == 'true'"},
{"name":"now","expression":"object.?status.orValue({})"},
{"name":"before","expression":"oldObject.?status.orValue({})"}],
"validations":[
{"expression":"request.resource.resource != 'services' || variables.services || variables.now.?loadBalancer.orValue({}) == variables.before.?loadBalancer.orValue({})","message":"status.loadBalancer of a Service is written by the platform's controllers (guards.service_status of zood)"},
{"expression":"request.resource.resource != 'pods' || (variables.now.?podIP.orValue('') == variables.before.?podIP.orValue('') && variables.now.?podIPs.orValue([]) == variables.before.?podIPs.orValue([]) && variables.now.?hostIP.orValue('') == variables.before.?hostIP.orValue('') && variables.now.?hostIPs.orValue([]) == variables.before.?hostIPs.orValue([]))","message":"the addresses of a pod are written by its kubelet"},
{"expression":"request.resource.resource != 'pods' || variables.now.?nominatedNodeName.orValue('') == '' || variables.now.?nominatedNodeName.orValue('') == variables.before.?nominatedNodeName.orValue('')","message":"the node that a pod is nominated for is written by the scheduler"},
{"expression":"request.resource.resource != 'pods' || (variables.now.?allocatedResources.orValue({}) == variables.before.?allocatedResources.orValue({}) && variables.now.?resources.orValue({}) == variables.before.?resources.orValue({}) && ['containerStatuses', 'initContainerStatuses'].all(l, variables.now[?l].orValue([]).all(c, c.?allocatedResources.orValue({}) == {} && c.?resources.orValue({}) == {} || variables.before[?l].orValue([]).exists(b, b.name == c.name && b.?allocatedResources.orValue({}) == c.?allocatedResources.orValue({}) && b.?resources.orValue({}) == c.?resources.orValue({})))) && ['containerStatuses', 'initContainerStatuses'].all(l, variables.before[?l].orValue([]).all(b, b.?allocatedResources.orValue({}) == {} && b.?resources.orValue({}) == {} || variables.now[?l].orValue([]).exists(c, b.name == c.name && b.?allocatedResources.orValue({}) == c.?allocatedResources.orValue({}) && b.?resources.orValue({}) == c.?resources.orValue({})))))","message":"the resources that a pod has been given are written by its kubelet"},
{"expression":"request.resource.resource != 'resourceclaims' || (variables.now.?allocation.orValue({}) == variables.before.?allocation.orValue({}) && variables.now.?reservedFor.orValue([]) == variables.before.?reservedFor.orValue([]))","message":"devices are allocated by the scheduler"}]}})j"},

    // The scheduler takes them from all namespaces, by the name of their class.
    Row{Need::fence, R"j({
"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy",
"metadata":{"name":"zoo-tenants-capacities"},
"spec":{"failurePolicy":"Fail",
"matchConstraints":{"resourceRules":[{"apiGroups":["storage.k8s.io"],"apiVersions":["*"],
 "operations":["CREATE","UPDATE"],"resources":["csistoragecapacities"],"scope":"Namespaced"}]},
"matchConditions":[{"name":"a-tenant",
 "expression":"has(request.userInfo.groups) && 'zoo:tenants' in request.userInfo.groups"}],
"variables":[
{"name":"id","expression":"request.userInfo.username.matches('^zoo:[a-z0-9]{6}$') ? request.userInfo.username.substring(4) : ''"}],
"validations":[
{"expression":"variables.id != '' && object.storageClassName.startsWith(variables.id + '-')","message":"a tenant tells of the capacity of its own classes alone"}]}})j"},

    // Whom a tenant lets in, it lets in from its own namespaces. (zood tries a patch without
    // storing it, here and where policies above say `stores`, and stores what it made of the
    // result.)
    Row{Need::fence, R"j({
"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy",
"metadata":{"name":"zoo-tenants-networkpolicies"},
"spec":{"failurePolicy":"Fail",
"matchConstraints":{"resourceRules":[{"apiGroups":["networking.k8s.io"],"apiVersions":["*"],
 "operations":["CREATE","UPDATE"],"resources":["networkpolicies"],"scope":"Namespaced"}]},
"matchConditions":[{"name":"a-tenant",
 "expression":"has(request.userInfo.groups) && 'zoo:tenants' in request.userInfo.groups"},
{"name":"to-store","expression":"!(has(request.dryRun) && request.dryRun)"}],
"variables":[
{"name":"id","expression":"request.userInfo.username.matches('^zoo:[a-z0-9]{6}$') ? request.userInfo.username.substring(4) : ''"}],
"validations":[
{"expression":"variables.id != '' && object.spec.?ingress.orValue([]).all(r, r.?from.orValue([]).all(p, !has(p.namespaceSelector) || p.namespaceSelector.?matchLabels[?'tenant.kubezoo.io/id'].orValue('') == variables.id))","message":"a tenant's NetworkPolicy regards that tenant's namespaces alone"},
{"expression":"variables.id != '' && object.spec.?egress.orValue([]).all(r, r.?to.orValue([]).all(p, !has(p.namespaceSelector) || p.namespaceSelector.?matchLabels[?'tenant.kubezoo.io/id'].orValue('') == variables.id))","message":"a tenant's NetworkPolicy regards that tenant's namespaces alone"}]}})j"},

    // What zood keeps in tenants' namespaces (translate/hidden_names.hpp).
    Row{Need::fence, R"j({
"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy",
"metadata":{"name":"zoo-tenants-kept"},
"spec":{"failurePolicy":"Fail",
"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["*"],
 "operations":["CREATE","UPDATE","DELETE"],"resources":["configmaps"],"scope":"Namespaced"},
 {"apiGroups":["networking.k8s.io"],"apiVersions":["*"],
 "operations":["CREATE","UPDATE","DELETE"],"resources":["networkpolicies"],"scope":"Namespaced"}]},
"matchConditions":[{"name":"a-tenant",
 "expression":"has(request.userInfo.groups) && 'zoo:tenants' in request.userInfo.groups"}],
"variables":[
{"name":"kept","expression":"request.resource.resource == 'configmaps' ? 'zoo-root-ca.crt' : 'zoo-baseline'"}],
"validations":[
{"expression":"(object == null || object.metadata.name != variables.kept) && (oldObject == null || oldObject.metadata.name != variables.kept)","message":"an object of this name is zood's own (rule reserved-names)"}]}})j"},

    // Controllers make claims of what a tenant's mutation has put into a StatefulSet or a pod. A
    // claim has upstream's default class by the time that it is seen here, a template has none.
    Row{Need::fence, R"j({
"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy",
"metadata":{"name":"zoo-tenants-claims"},
"spec":{"failurePolicy":"Fail","paramKind":{"apiVersion":"v1","kind":"ConfigMap"},
"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["*"],
 "operations":["CREATE"],"resources":["persistentvolumeclaims","pods"],"scope":"Namespaced"},
 {"apiGroups":["apps"],"apiVersions":["*"],"operations":["CREATE","UPDATE"],
 "resources":["statefulsets"],"scope":"Namespaced"}],
"namespaceSelector":{"matchExpressions":[{"key":"tenant.kubezoo.io/id","operator":"Exists"}]}},
"matchConditions":[{"name":"no-administrator",
 "expression":"!has(request.userInfo.groups) || !('system:masters' in request.userInfo.groups)"}],
"variables":[
{"name":"prefix","expression":"namespaceObject.metadata.labels['tenant.kubezoo.io/id'] + '-'"},
{"name":"shared","expression":"params.?data[?'storageClasses'].orValue('').split(' ')"},
{"name":"sharedAttributes","expression":"params.?data[?'volumeAttributesClasses'].orValue('').split(' ')"},
{"name":"whole","expression":"request.resource.resource == 'persistentvolumeclaims'"},
{"name":"ephemeral","expression":"request.resource.resource == 'pods' ? object.spec.?volumes.orValue([]).filter(v, has(v.ephemeral) && has(v.ephemeral.volumeClaimTemplate)).map(v, v.ephemeral.volumeClaimTemplate) : []"},
{"name":"templates","expression":"request.resource.resource == 'statefulsets' && (oldObject == null || oldObject.spec.?volumeClaimTemplates != object.spec.?volumeClaimTemplates) ? object.spec.?volumeClaimTemplates.orValue([]) : []"},
{"name":"claims","expression":"variables.whole ? [object] : variables.ephemeral + variables.templates"}],
"validations":[
{"expression":"variables.claims.all(c, c.spec.?volumeName.orValue('') == '' || c.spec.volumeName.startsWith(variables.prefix) || c.spec.volumeName.matches('^pvc-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'))","message":"a tenant's claim names a volume of its own, or none"},
{"expression":"variables.claims.all(c, [string(c.spec.?storageClassName.orValue('')), string(c.?metadata.?annotations[?'volume.beta.kubernetes.io/storage-class'].orValue(''))].all(n, n == '' || n.startsWith(variables.prefix) || n in variables.shared || (variables.whole && !n.matches('^[a-z0-9]{6}-'))))","message":"a tenant's claim names a StorageClass of its own or a shared one"},
{"expression":"variables.claims.all(c, [string(c.spec.?volumeAttributesClassName.orValue(''))].all(n, n == '' || n.startsWith(variables.prefix) || n in variables.sharedAttributes || (variables.whole && !n.matches('^[a-z0-9]{6}-'))))","message":"a tenant's claim names a VolumeAttributesClass of its own or a shared one"}]}})j"},

    // After the policies: the right appears when its fence stands.
    Row{Need::fence, R"j({
"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding",
"metadata":{"name":"zoo:tenants-cluster"},
"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"zoo:tenants-cluster"},
"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"zoo:tenants"}]})j"},

    // A namespace that is going has lost its RoleBinding: zood adds this group to a tenant's user
    // for requests there, and for those to a namespace that is not there.
    Row{Need::fence, R"j({
"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding",
"metadata":{"name":"zoo:tenants-anywhere"},
"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"zoo:tenant"},
"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"zoo:tenants-anywhere"}]})j"},

    Row{Need::fairness, R"j({
"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"PriorityLevelConfiguration",
"metadata":{"name":"zoo-tenants"},
"spec":{"type":"Limited","limited":{"nominalConcurrencyShares":100,"lendablePercent":50,
"limitResponse":{"type":"Queue","queuing":{"queues":128,"handSize":6,"queueLengthLimit":50}}}}})j"},

    Row{Need::fairness, R"j({
"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"FlowSchema",
"metadata":{"name":"zoo-tenants"},
"spec":{"priorityLevelConfiguration":{"name":"zoo-tenants"},"matchingPrecedence":1100,
"distinguisherMethod":{"type":"ByUser"},
"rules":[{"subjects":[{"kind":"Group","group":{"name":"zoo:tenants"}}],
"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true,
 "namespaces":["*"]}],
"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]}})j"},

    // Range lists and shared watches of all tenants go as zood: they must not queue behind the
    // cluster's other service accounts, nor behind one tenant's own requests.
    Row{Need::fairness, R"j({
"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"PriorityLevelConfiguration",
"metadata":{"name":"zoo-system"},
"spec":{"type":"Limited","limited":{"nominalConcurrencyShares":60,"lendablePercent":50,
"limitResponse":{"type":"Queue","queuing":{"queues":64,"handSize":6,"queueLengthLimit":100}}}}})j"},

    Row{Need::fairness, R"j({
"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"FlowSchema",
"metadata":{"name":"zoo-system"},
"spec":{"priorityLevelConfiguration":{"name":"zoo-system"},"matchingPrecedence":1000,
"rules":[{"subjects":[{"kind":"ServiceAccount",
 "serviceAccount":{"name":"zood","namespace":"zoo-system"}}],
"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true,
 "namespaces":["*"]}],
"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]}})j"},
};

/// A policy holds nobody without its binding. The parameters of all that have some:
/// tenants::PodTerms'.
Manifest binding_of(const Manifest& policy) {
  const auto object = nlohmann::json::parse(policy.json);
  const std::string_view parameters =
      object.at("spec").contains("paramKind")
          ? R"(,"paramRef":{"name":"zoo-pods","namespace":"zoo-system","parameterNotFoundAction":"Deny"})"
          : "";
  return manifest_of(
      policy.need, k_tenants_option,
      fmt::format(R"({{"apiVersion":"admissionregistration.k8s.io/v1",)"
                  R"("kind":"ValidatingAdmissionPolicyBinding","metadata":{{"name":"{0}"}},)"
                  R"("spec":{{"policyName":"{0}","validationActions":["Deny"]{1}}}}})",
                  policy.name, parameters));
}

} // namespace

Manifest manifest_of(Need need, std::string_view printed_by, std::string json) {
  const auto object = nlohmann::json::parse(json);
  const auto& metadata = object.at("metadata");
  Manifest out;
  out.kind = object.at("kind").get<std::string>();
  out.name = metadata.at("name").get<std::string>();
  out.name_space = metadata.value("namespace", "");
  out.need = need;
  out.printed_by = printed_by;
  out.json = std::move(json);
  auto plural = text::lower(out.kind); // as it is of every kind in the tables
  if (plural.ends_with('y')) plural.replace(plural.size() - 1, 1, "ie");
  plural += 's';
  const auto api_version = object.at("apiVersion").get<std::string>();
  out.path = api_version == "v1" ? "/api/v1" : "/apis/" + api_version;
  if (!out.name_space.empty()) out.path += kube::path({"namespaces", out.name_space});
  out.path += kube::path({plural, out.name});
  return out;
}

const std::vector<Manifest>& upstream_manifests() {
  static const auto manifests = [] {
    std::vector<Manifest> out;
    for (const auto& row : k_rows) {
      out.push_back(manifest_of(row.need, k_tenants_option, std::string(row.json)));
      if (out.back().kind == "ValidatingAdmissionPolicy") out.push_back(binding_of(out.back()));
    }
    return out;
  }();
  return manifests;
}

std::string upstream_rbac_yaml() {
  std::string out =
      "# SPDX-License-Identifier: Apache-2.0\n"
      "# What zood needs in the upstream cluster, for those who install it themselves:\n"
      "#   kubectl apply --server-side -f upstream-rbac.yaml\n"
      "# Printed by `zood --print-upstream-rbac`. ClusterRole zoo:zood is as strong as\n"
      "# cluster-admin: keep the credential of ServiceAccount zoo-system/zood accordingly.\n";
  for (const auto& manifest : upstream_manifests()) {
    auto text = kube::json_to_yaml(nlohmann::ordered_json::parse(manifest.json));
    if (!text.ends_with('\n')) text += '\n';
    out += "---\n" + text;
  }
  return out;
}

} // namespace zoo::upstream
