#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Propose api-references.json and api-resources.json for a version of Kubernetes.

usage: generate.py KUBERNETES-SOURCE OUTPUT-FOLDER

Walks the OpenAPI v3 documents and the discovery documents of a Kubernetes source tree (folder
`api/`). A rule below is keyed by schema type (without its version) and property, and holds wherever
the type occurs. A string-like leaf that no rule names is kept; OUTPUT-FOLDER/api-leaves-reviewed.tsv
lists every leaf with its verdict, so that what a new version brings can be read before it is taken
over. README.md says how.
"""
import json, glob, os, re, sys, collections
root, out = sys.argv[1], sys.argv[2]

# ------------------------------------------------------------------ load
sch = {}
gv_of_file = {}
for f in sorted(glob.glob(root + '/api/openapi-spec/v3/*.json')):
    d = json.load(open(f))
    for k, v in d.get('components', {}).get('schemas', {}).items():
        # keep the richest copy (x-kubernetes-group-version-kind differs per file for shared meta types)
        if k not in sch or len(json.dumps(v)) > len(json.dumps(sch[k])):
            sch[k] = v

def short(k):
    k = k.replace('io.k8s.apimachinery.pkg.apis.', '').replace('io.k8s.apimachinery.pkg.', 'apimachinery.')
    k = k.replace('io.k8s.apiextensions-apiserver.pkg.apis.', '').replace('io.k8s.kube-aggregator.pkg.apis.', '')
    k = k.replace('io.k8s.api.', '')
    return re.sub(r'\.v\d+((alpha|beta)\d+)?\.', '.', k)

def ref(p):
    if '$ref' in p: return p['$ref'].split('/')[-1]
    if 'allOf' in p and len(p['allOf']) == 1: return ref(p['allOf'][0])
    return None

# ------------------------------------------------------------------ rules
# value: list of (subpath-suffix, refers, in, out, rule, note)
R = {}
def r(t, p, refers, i, o, rule, note='', suf=''):
    R.setdefault((t, p), []).append((suf, refers, i, o, rule, note))

NSNOTE = ''
# --- object reference shapes
r('core.ObjectReference','namespace','namespace','prefix','strip','NS','empty stays empty')
r('core.ObjectReference','name','clusterName:<kind>','prefix','strip','BYKIND','only when kind is a cluster-scoped private kind (or CRD); Node and other shared kinds keep')
r('core.ObjectReference','apiVersion','apiVersion','prefix','strip','GV','tenant CRD groups only; core/built-in keep')
r('core.ObjectReference','fieldPath','none','keep','keep','OPAQUE','spec.containers{name}')
r('core.TypedLocalObjectReference','apiGroup','group','prefix','strip','GRP','PVC dataSource VolumeSnapshot (snapshot.storage.k8s.io): keep when that CRD is shared')
r('core.TypedLocalObjectReference','name','clusterName:<kind>','prefix','strip','BYKIND','populator CRs may be cluster-scoped; namespaced kinds keep')
r('core.TypedObjectReference','apiGroup','group','prefix','strip','GRP','PVC dataSourceRef')
r('core.TypedObjectReference','name','clusterName:<kind>','prefix','strip','BYKIND')
r('core.TypedObjectReference','namespace','namespace','prefix','strip','NS','CrossNamespaceVolumeDataSource (alpha): needs a ReferenceGrant; reject another tenant by construction')
r('scheduling.TypedLocalObjectReference','apiGroup','group','prefix','strip','GRP')
r('scheduling.TypedLocalObjectReference','name','clusterName:<kind>','prefix','strip','BYKIND')
r('core.SecretReference','namespace','namespace','prefix','strip','NS','PV CSI/iSCSI/RBD/CephFS/ScaleIO/StorageOS/Cinder secret refs')
r('core.AzureFilePersistentVolumeSource','secretNamespace','namespace','prefix','strip','NS')
r('core.GlusterfsPersistentVolumeSource','endpointsNamespace','namespace','prefix','strip','NS')
r('core.StorageOSPersistentVolumeSource','volumeNamespace','namespace','keep','keep','OPAQUE','namespace inside StorageOS, not an API namespace; default is the (prefixed) pod namespace; plugin removed')
r('core.StorageOSVolumeSource','volumeNamespace','namespace','keep','keep','OPAQUE','as above')
r('core.ConfigMapNodeConfigSource','namespace','namespace','keep','strip','FILTER','Node.spec/status dynamic kubelet config; Node is shared, drop the field in the tenant view')
# --- pod
r('core.PodAffinityTerm','namespaces','namespace','prefix','strip','NS','list is atomic',suf='[]')
r('core.PodAffinityTerm','namespaceSelector','selector:namespaceLabels','prefix','strip','NSSEL','{} means ALL upstream namespaces: inject the tenant label; translate kubernetes.io/metadata.name values; strip the injected term on the way out')
r('core.PodSpec','nodeName','clusterName:Node','keep','keep','SHARED','guard: bypasses the scheduler')
r('core.PodSpec','priorityClassName','clusterName:PriorityClass','prefix','strip','OVERLAY','system-node-critical/system-cluster-critical: guard. Admission also copies value into spec.priority')
r('core.PodSpec','runtimeClassName','clusterName:RuntimeClass','prefix','strip','OVERLAY')
r('core.PodSpec','schedulerName','none','keep','keep','OPAQUE','name of a scheduler process, also a field selector')
r('core.PodSpec','subdomain','dns','keep','keep','DNS','<hostname>.<subdomain>.<ns>.svc.<domain>: only the namespace part changes upstream')
r('core.PodSpec','nodeSelector','label:node','keep','keep','SHARED','labels of shared nodes',suf='{}')
r('core.PodDNSConfig','searches','dns','keep','keep','DNS','untranslatable in general; <ns>.svc.<clusterDomain> may be rewritten',suf='[]')
r('core.PodDNSConfig','nameservers','dns','keep','keep','OPAQUE','',suf='[]')
r('core.HostAlias','hostnames','dns','keep','keep','DNS','',suf='[]')
r('core.ObjectFieldSelector','fieldPath','downwardAPI','keep','keep','DOWNWARD','metadata.namespace resolves in the kubelet to the upstream namespace: untranslatable at the API, see note 5 (rewrite to a literal, or accept)')
r('core.ObjectFieldSelector','fieldPath','downwardAPI','keep','strip','PODFIELD','the annotation that a pod is given is shown as metadata.namespace, and refused inward')
for t in ('ConfigMapKeySelector','ConfigMapEnvSource','ConfigMapVolumeSource','ConfigMapProjection'):
    r('core.'+t,'name','configMap','keep','strip','ROOTCA','zoo-root-ca.crt is shown as kube-root-ca.crt, and refused inward')
r('core.EnvVar','value','dns','keep','keep','OPAQUE','may embed service DNS names; untranslatable')
r('core.HTTPGetAction','host','dns','keep','keep','DNS')
r('core.TCPSocketAction','host','dns','keep','keep','DNS')
r('core.ClusterTrustBundleProjection','name','clusterName:ClusterTrustBundle','prefix','strip','SIGNERCN','name is <signer with / as :>:<name> when signerName is set')
r('core.ClusterTrustBundleProjection','signerName','signerName','prefix','strip','SIGNER')
r('core.PodCertificateProjection','signerName','signerName','prefix','strip','SIGNER','kubernetes.io/* signers: reject')
r('core.ServiceAccountTokenProjection','audience','audience','keep','keep','OPAQUE','default audience is the upstream API server; the proxy must accept it or the pod must be given its own')
for f in ('limits','requests'):
    r('core.ResourceRequirements',f,'resourceKey:DeviceClass','prefix','strip','RKEY','only keys deviceclass.resource.kubernetes.io/<class>; every other key keeps',suf='{key}')
for f in ('default','defaultRequest','max','maxLimitRequestRatio','min'):
    r('core.LimitRangeItem',f,'resourceKey:DeviceClass','prefix','strip','RKEY','only deviceclass.resource.kubernetes.io/<class>',suf='{key}')
r('core.PodStatus','allocatedResources','resourceKey:DeviceClass','prefix','strip','RKEY','',suf='{key}')
r('core.ContainerStatus','allocatedResources','resourceKey:DeviceClass','prefix','strip','RKEY','',suf='{key}')
r('core.ContainerExtendedResourceRequest','resourceName','resourceKey:DeviceClass','prefix','strip','RKEY','deviceclass.resource.kubernetes.io/<class>')
r('core.ResourceFieldSelector','resource','resourceKey','keep','keep','OPAQUE','limits.cpu style only')
r('core.ContainerResizePolicy','resourceName','resourceKey','keep','keep','OPAQUE','cpu|memory')
r('core.PodStatus','nominatedNodeName','clusterName:Node','keep','keep','SHARED')
r('core.PodStatus','message','text','keep','strip','TEXT')
r('core.PodStatus','reason','text','keep','keep','OPAQUE','CamelCase token')
r('core.PodCondition','message','text','keep','strip','TEXT','scheduler messages name PVs, PVCs, nodes, device classes')
r('core.ContainerStateWaiting','message','text','keep','strip','TEXT','names secrets/configmaps as ns/name, pod as name_ns(uid)')
r('core.ContainerStateTerminated','message','text','keep','keep','OPAQUE','termination log written by the container itself: do not touch')
r('core.ResourceHealth','message','text','keep','strip','TEXT')
r('core.WindowsSecurityContextOptions','gmsaCredentialSpecName','clusterName:GMSACredentialSpec','prefix','strip','BYKIND','cluster-scoped CR windows.k8s.io of a shared webhook: keep if shared (default)')
# --- config/secret/sa
r('core.Secret','data','namespace(base64)','prefix','strip','B64NS','only type kubernetes.io/service-account-token, key "namespace" (base64 of the prefixed namespace); key "token" is a JWT whose claims stay prefixed; key "ca.crt" is the upstream CA',suf='{namespace}')
r('core.Secret','stringData','namespace','prefix','keep','B64NS','write-only twin of data',suf='{namespace}')
# --- service
r('core.ServiceSpec','externalName','dns','prefix','strip','EXTNAME','<svc>.<ns>.svc[.<clusterDomain>][.]; others keep')
r('core.ServiceSpec','externalIPs','none','reject','keep','GUARD','CVE-2020-8554: guard in a shared cluster',suf='[]')
r('core.ServiceSpec','loadBalancerClass','none','keep','keep','OPAQUE')
r('core.EndpointAddress','nodeName','clusterName:Node','keep','keep','SHARED')
r('core.EndpointAddress','hostname','dns','keep','keep','OPAQUE')
r('discovery.Endpoint','nodeName','clusterName:Node','keep','keep','SHARED')
r('discovery.Endpoint','addresses','dns','keep','keep','OPAQUE','addressType FQDN (deprecated)',suf='[]')
r('discovery.Endpoint','deprecatedTopology','clusterName:Node','keep','keep','SHARED','kubernetes.io/hostname',suf='{}')
r('discovery.ForNode','name','clusterName:Node','keep','keep','SHARED')
# --- namespace / quota / events
r('core.NamespaceCondition','message','text','keep','strip','TEXT','lists "foos.<id>-group has N resource instances"')
r('core.ResourceQuotaSpec','hard','quotaKey','prefix','strip','QKEY','count/<res>.<group>, <class>.storageclass.storage.k8s.io/*, <class>.deviceclass.resource.k8s.io/devices, requests.deviceclass.resource.kubernetes.io/<class>; name part after / is at most 63 chars',suf='{key}')
r('core.ResourceQuotaStatus','hard','quotaKey','prefix','strip','QKEY','',suf='{key}')
r('core.ResourceQuotaStatus','used','quotaKey','prefix','strip','QKEY','',suf='{key}')
r('core.ScopedResourceSelectorRequirement','values','clusterName:PriorityClass|VolumeAttributesClass','prefix','strip','OVERLAY','by scopeName PriorityClass / VolumeAttributesClass',suf='[]')
r('core.Event','message','text','keep','strip','TEXT','do not use a blind replaceAll(id+"-")')
r('core.Event','reportingInstance','none','keep','keep','OPAQUE')
r('events.Event','note','text','keep','strip','TEXT','at most 1024 chars on create; immutable on update through events.k8s.io/v1, so the stored (unstripped) text must be put back')
r('core.EventSource','host','clusterName:Node','keep','keep','SHARED')
# --- PV / PVC
r('core.PersistentVolumeClaimSpec','storageClassName','clusterName:StorageClass','prefix','strip','OVERLAY','"" (no class) must stay ""')
r('core.PersistentVolumeClaimSpec','volumeName','clusterName:PersistentVolume','prefix','strip','PVNAME','dynamic PVs are pvc-<uid> without prefix')
r('core.PersistentVolumeClaimSpec','volumeAttributesClassName','clusterName:VolumeAttributesClass','prefix','strip','OVERLAY')
r('core.PersistentVolumeClaimStatus','currentVolumeAttributesClassName','clusterName:VolumeAttributesClass','prefix','strip','OVERLAY')
r('core.ModifyVolumeStatus','targetVolumeAttributesClassName','clusterName:VolumeAttributesClass','prefix','strip','OVERLAY')
r('core.PersistentVolumeClaimCondition','message','text','keep','strip','TEXT')
r('core.PersistentVolumeSpec','storageClassName','clusterName:StorageClass','prefix','strip','OVERLAY')
r('core.PersistentVolumeSpec','volumeAttributesClassName','clusterName:VolumeAttributesClass','prefix','strip','OVERLAY')
r('core.PersistentVolumeStatus','message','text','keep','strip','TEXT')
r('core.CSIPersistentVolumeSource','volumeAttributes','driverData','keep','keep','OPAQUE','csi.storage.k8s.io/pvc/namespace, /pv/name may appear (extra-create-metadata)',suf='{}')
r('core.CSIPersistentVolumeSource','volumeHandle','storageHandle','reject','keep','GUARD','a tenant-made PV can name any backing volume of the shared cluster: reject tenant PVs except by policy')
r('core.CSIPersistentVolumeSource','driver','clusterName:CSIDriver','keep','keep','SHARED','driver name is a DNS name known to kubelets')
r('core.CSIVolumeSource','driver','clusterName:CSIDriver','keep','keep','SHARED')
r('core.HostPathVolumeSource','path','none','keep','keep','GUARD','node escape: Pod Security')
r('core.LocalVolumeSource','path','none','reject','keep','GUARD','node escape: Pod Security does not look behind a claim')
# --- node (shared)
r('core.ContainerImage','names','leak','keep','keep','FILTER','Node.status.images lists every tenant\'s images: drop in the tenant view',suf='[]')
r('core.NodeStatus','volumesInUse','clusterName:PersistentVolume','keep','strip','FILTER','names of every tenant\'s volumes: drop',suf='[]')
r('core.AttachedVolume','name','clusterName:PersistentVolume','keep','strip','FILTER','drop')
r('core.NodeSpec','providerID','none','keep','keep','SHARED')
# --- apps
r('apps.ControllerRevision','data','objectImage','prefix','strip','IMG','{"spec":{"template":<PodTemplateSpec with $patch:replace>}} for DaemonSet/StatefulSet: translate as PodTemplateSpec; else opaque')
for t in ('DaemonSet','Deployment','ReplicaSet','StatefulSet'):
    r('apps.%sCondition'%t,'message','text','keep','strip','TEXT')
r('core.ReplicationControllerCondition','message','text','keep','strip','TEXT','e.g. forbidden: exceeded quota … namespace')
r('apps.StatefulSetSpec','serviceName','none','keep','keep','OPAQUE','namespaced service name; pod DNS uses it with the upstream namespace')
r('batch.JobCondition','message','text','keep','strip','TEXT')
r('batch.JobSpec','managedBy','none','keep','keep','OPAQUE','domain-prefixed controller name')
# --- autoscaling
r('autoscaling.CrossVersionObjectReference','apiVersion','apiVersion','prefix','strip','GV','HPA on a CR: upstream HPA controller resolves it through its RESTMapper')
r('autoscaling.CrossVersionObjectReference','name','clusterName:<kind>','prefix','strip','BYKIND','only describedObject may be cluster-scoped (e.g. kind Namespace for root-scoped custom metrics)')
r('autoscaling.HorizontalPodAutoscalerCondition','message','text','keep','strip','TEXT')
# --- admissionregistration
r('admissionregistration.ServiceReference','namespace','namespace','prefix','strip','NS','service reference of a webhook')
r('admissionregistration.ServiceReference','name','serviceRef','keep','keep','OPAQUE')
r('admissionregistration.WebhookClientConfig','url','url','hold','keep','URL','SSRF from the upstream API server: the webhook is stored with rules that match nothing')
r('admissionregistration.WebhookClientConfig','caBundle','none','keep','keep','OPAQUE','replaced together with url when the proxy interposes')
for t in ('RuleWithOperations','NamedRuleWithOperations'):
    r('admissionregistration.'+t,'apiGroups','group','prefix','strip','GRP','"*" also matches every other tenant\'s groups: see WHSCOPE',suf='[]')
    r('admissionregistration.'+t,'resources','resource','keep','keep','OPAQUE','',suf='[]')
    r('admissionregistration.'+t,'scope','scope','reject','keep','WHSCOPE','"*"/"Cluster" rules see every tenant\'s cluster-scoped objects because namespaceSelector never filters them: narrow with an injected matchCondition, or evaluate in the proxy')
r('admissionregistration.NamedRuleWithOperations','resourceNames','clusterName:<resource>','prefix','strip','BYRES','split by scope of resources[]',suf='[]')
for t in ('MutatingWebhook','ValidatingWebhook','MatchResources'):
    r('admissionregistration.'+t,'namespaceSelector','selector:namespaceLabels','prefix','strip','NSSEL','inject tenant label')
    r('admissionregistration.'+t,'objectSelector','selector:objectLabels','prefix','strip','LBLVAL','only kubernetes.io/metadata.name values (rules on namespaces)')
r('admissionregistration.ParamKind','apiVersion','apiVersion','prefix','strip','GV')
r('admissionregistration.ParamRef','name','clusterName:<paramKind>','prefix','strip','BYKIND','when paramKind is cluster-scoped')
r('admissionregistration.ParamRef','namespace','namespace','prefix','strip','NS')
r('admissionregistration.ValidatingAdmissionPolicyBindingSpec','policyName','clusterName:ValidatingAdmissionPolicy','prefix','strip','CN')
r('admissionregistration.MutatingAdmissionPolicyBindingSpec','policyName','clusterName:MutatingAdmissionPolicy','prefix','strip','CN')
for t,p in (('MatchCondition','expression'),('Validation','expression'),('Validation','messageExpression'),('Variable','expression'),
            ('AuditAnnotation','valueExpression'),('ApplyConfiguration','expression'),('JSONPatch','expression')):
    r('admissionregistration.'+t,p,'cel','keep','keep','CEL','untranslatable: guard (reject when it names namespaces, user names, groups, cluster-scoped names) or evaluate in the proxy on the tenant view')
r('admissionregistration.ExpressionWarning','warning','text','keep','strip','TEXT')
# --- authn / authz
r('authentication.BoundObjectReference','apiVersion','apiVersion','keep','keep','GV','v1 only')
r('authentication.BoundObjectReference','name','clusterName:<kind>','keep','keep','BYKIND','Pod/Secret namespaced, Node shared')
r('authentication.TokenRequestSpec','audiences','audience','keep','keep','OPAQUE','empty = upstream API server audiences',suf='[]')
r('authentication.TokenRequestStatus','token','jwt','keep','keep','JWT','sub, kubernetes.io.namespace stay prefixed: untranslatable')
r('authentication.TokenReviewSpec','token','jwt','keep','keep','JWT')
r('authentication.TokenReviewSpec','audiences','audience','keep','keep','OPAQUE','',suf='[]')
r('authentication.TokenReviewStatus','audiences','audience','keep','keep','OPAQUE','',suf='[]')
r('authentication.TokenReviewStatus','error','text','keep','strip','TEXT')
for t in ('UserInfo',):
    r('authentication.'+t,'username','user','prefix','strip','USER','answer authenticated:false for a user of another tenant')
    r('authentication.'+t,'groups','group-name','prefix','strip','UGROUP','',suf='[]')
    r('authentication.'+t,'extra','userExtra','keep','strip','EXTRA','drop the proxy\'s own tenant key; authentication.kubernetes.io/* keep',suf='{}')
r('authorization.SubjectAccessReviewSpec','user','user','prefix','strip','USER')
r('authorization.SubjectAccessReviewSpec','groups','group-name','prefix','strip','UGROUP','',suf='[]')
r('authorization.SubjectAccessReviewSpec','extra','userExtra','keep','keep','EXTRA','',suf='{}')
r('authorization.ResourceAttributes','namespace','namespace','prefix','strip','NS','"" = all namespaces: must be answered by the proxy, never upstream')
r('authorization.ResourceAttributes','group','group','prefix','strip','GRP','"*" means any')
r('authorization.ResourceAttributes','name','clusterName:<resource>','prefix','strip','BYRES')
r('authorization.FieldSelectorAttributes','rawSelector','fieldSelector','prefix','strip','FSEL')
r('authorization.LabelSelectorAttributes','rawSelector','labelSelector','prefix','strip','LBLVAL')
r('meta.FieldSelectorRequirement','values','fieldSelector','prefix','strip','FSEL','by key metadata.name / metadata.namespace / …',suf='[]')
r('authorization.SelfSubjectRulesReviewSpec','namespace','namespace','prefix','strip','NS')
r('authorization.NonResourceAttributes','path','url','keep','keep','SELF','answer from tenant RBAC')
r('authorization.ResourceRule','apiGroups','group','prefix','strip','GRP','',suf='[]')
r('authorization.ResourceRule','resourceNames','clusterName:<resource>','prefix','strip','BYRES','',suf='[]')
r('authorization.NonResourceRule','nonResourceURLs','url','keep','keep','SELF','',suf='[]')
for t in ('SubjectAccessReviewStatus','SubjectRulesReviewStatus'):
    r('authorization.'+t,'evaluationError','text','keep','strip','TEXT')
r('authorization.SubjectAccessReviewStatus','reason','text','keep','strip','TEXT','RBAC: allowed by ClusterRoleBinding "<id>-x" of ClusterRole "<id>-y" to User "<id>-z"')
# --- certificates
r('certificates.CertificateSigningRequestSpec','signerName','signerName','prefix','strip','SIGNER','kubernetes.io/*: never forward; the tenant CA answers')
r('certificates.CertificateSigningRequestSpec','username','user','keep','strip','USER','set by the API server from the (impersonated) user')
r('certificates.CertificateSigningRequestSpec','groups','group-name','keep','strip','UGROUP','set by the API server',suf='[]')
r('certificates.CertificateSigningRequestSpec','extra','userExtra','keep','strip','EXTRA','set by the API server; drop the tenant key',suf='{}')
r('certificates.CertificateSigningRequestSpec','request','x509','reject','keep','X509','PKCS#10 CN/O are user and group names: untranslatable; guard system:* and reject kubernetes.io signers upstream')
r('certificates.CertificateSigningRequestStatus','certificate','x509','keep','keep','X509')
r('certificates.CertificateSigningRequestCondition','message','text','keep','strip','TEXT')
r('certificates.ClusterTrustBundleSpec','signerName','signerName','prefix','strip','SIGNER')
r('certificates.PodCertificateRequestSpec','signerName','signerName','prefix','strip','SIGNER')
r('certificates.PodCertificateRequestSpec','nodeName','clusterName:Node','keep','keep','SHARED')
# --- coordination
r('coordination.LeaseSpec','holderIdentity','identity','keep','keep','OPAQUE')
r('coordination.LeaseSpec','preferredHolder','identity','keep','keep','OPAQUE')
# --- flowcontrol
r('flowcontrol.PriorityLevelConfigurationReference','name','clusterName:PriorityLevelConfiguration','prefix','strip','VIRT','keep the whole kind in a virtual store: never upstream')
r('flowcontrol.ResourcePolicyRule','apiGroups','group','prefix','strip','VIRT','',suf='[]')
r('flowcontrol.ResourcePolicyRule','namespaces','namespace','prefix','strip','VIRT','"*" = all',suf='[]')
r('flowcontrol.GroupSubject','name','group-name','prefix','strip','VIRT')
r('flowcontrol.UserSubject','name','user','prefix','strip','VIRT','"*" = all')
r('flowcontrol.ServiceAccountSubject','namespace','namespace','prefix','strip','VIRT')
r('flowcontrol.NonResourcePolicyRule','nonResourceURLs','url','keep','keep','VIRT','',suf='[]')
r('flowcontrol.FlowSchemaCondition','message','text','keep','strip','TEXT')
r('flowcontrol.PriorityLevelConfigurationCondition','message','text','keep','strip','TEXT')
# --- networking
r('networking.IngressClassSpec','controller','driverName','prefix','strip','DRIVER','zoo-inert-<controller>: the platform\'s controllers serve the classes that it shares')
r('networking.IngressClassParametersReference','apiGroup','group','prefix','strip','GRP')
r('networking.IngressClassParametersReference','name','clusterName:<kind>','prefix','strip','BYKIND','scope: Cluster only')
r('networking.IngressClassParametersReference','namespace','namespace','prefix','strip','NS','scope: Namespace')
r('networking.IngressSpec','ingressClassName','clusterName:IngressClass','prefix','strip','OVERLAY')
r('networking.IngressRule','host','dns','keep','keep','GUARD','shared ingress controllers merge hosts of all tenants: host ownership guard')
r('networking.IngressTLS','hosts','dns','keep','keep','GUARD','',suf='[]')
r('networking.NetworkPolicyPeer','namespaceSelector','selector:namespaceLabels','prefix','strip','NSSEL','{} = every namespace of every tenant: inject tenant label')
r('networking.ParentReference','group','group','prefix','strip','GRP','IPAddress.spec.parentRef')
r('networking.ParentReference','namespace','namespace','prefix','strip','NS')
r('networking.ParentReference','name','clusterName:<resource>','prefix','strip','BYRES','services: keep')
# --- runtime classes
r('node.RuntimeClass','handler','driverName','prefix','strip','DRIVER','zoo-inert-<handler>: a node runs pods by the platform\'s handlers for its own classes alone')
# --- rbac
r('rbac.PolicyRule','apiGroups','group','prefix','strip','GRP','prefix every non-built-in group even before its CRD exists; "*" must never go upstream in a cluster-wide grant',suf='[]')
r('rbac.PolicyRule','resourceNames','clusterName:<resource>','prefix','strip','BYRES','rule must be split when resources[] mixes scopes; customresourcedefinitions use plural.<id>-group; signers use signerName',suf='[]')
r('rbac.PolicyRule','verbs','verb','prefix','strip','INERT','verb v <-> zoo:v, so that a stored rule grants nothing even when a platform role aggregates it',suf='[]')
r('rbac.PolicyRule','resources','resource','keep','keep','OPAQUE','',suf='[]')
r('rbac.PolicyRule','nonResourceURLs','url','keep','keep','SELF','evaluate in the proxy; never grant upstream. /apis/<group>* contains a group',suf='[]')
r('rbac.RoleRef','name','clusterName:ClusterRole','prefix','strip','BYKIND','kind ClusterRole only; Role keeps')
r('rbac.RoleRef','apiGroup','group','keep','keep','OPAQUE','always rbac.authorization.k8s.io')
r('rbac.Subject','name','user|group-name','prefix','strip','INERT','User/Group n <-> zoo:inert:<id>:n; ServiceAccount keeps kind and name, its namespace ns <-> zoo:inert:<id>:ns (an empty one in a RoleBinding is written out first)')
r('rbac.Subject','namespace','namespace','prefix','strip','INERT','User/Group n <-> zoo:inert:<id>:n; ServiceAccount keeps kind and name, its namespace ns <-> zoo:inert:<id>:ns (an empty one in a RoleBinding is written out first)')
r('rbac.AggregationRule','clusterRoleSelectors','selector:clusterRoleLabels','reject','keep','AGG','would collect rules of other tenants and of system roles: aggregate in the proxy',suf='[]')
# --- resource.k8s.io
for t in ('ExactDeviceRequest','DeviceSubRequest','DeviceRequest'):
    r('resource.'+t,'deviceClassName','clusterName:DeviceClass','prefix','strip','OVERLAY')
r('resource.DeviceClassSpec','extendedResourceName','resourceKey','reject','keep','GUARD','cluster-global resource name: a tenant could capture another\'s; reject')
r('resource.ResourceClaimConsumerReference','apiGroup','group','prefix','strip','GRP')
r('resource.ResourceClaimConsumerReference','name','clusterName:<resource>','prefix','strip','BYRES','pods: keep')
r('resource.OpaqueDeviceConfiguration','parameters','driverData','keep','keep','OPAQUE','RawExtension decoded by the DRA driver: verbatim')
r('resource.AllocatedDeviceStatus','data','driverData','keep','keep','OPAQUE')
for t in ('OpaqueDeviceConfiguration','AllocatedDeviceStatus','DeviceRequestAllocationResult','ResourceSliceSpec','DeviceTaintSelector','PoolStatus','ResourcePoolStatusRequestSpec'):
    r('resource.'+t,'driver','driverName','keep','keep','SHARED')
for t in ('DeviceRequestAllocationResult','AllocatedDeviceStatus'):
    r('resource.'+t,'pool','poolName','keep','keep','SHARED','often a node name')
r('resource.ResourceSliceSpec','nodeName','clusterName:Node','keep','keep','SHARED')
r('resource.Device','nodeName','clusterName:Node','keep','keep','SHARED')
r('resource.BasicDevice','nodeName','clusterName:Node','keep','keep','SHARED')
r('resource.PoolStatus','nodeName','clusterName:Node','keep','keep','SHARED')
r('resource.ResourcePool','name','poolName','keep','keep','SHARED')
r('resource.CELDeviceSelector','expression','cel','keep','keep','CEL','device.* only: safe')
for t_ in ('PodGroupSpec','PodGroupTemplate'):
    r('scheduling.'+t_,'priorityClassName','clusterName:PriorityClass','prefix','strip','OVERLAY','alpha (scheduling.k8s.io/v1alpha2)')
r('core.ResourceStatus','name','resourceKey:DeviceClass','keep','strip','RKEY','claim:<name>/<request> keeps; deviceclass.resource.kubernetes.io/<class> strips')
r('scheduling.PriorityClass','globalDefault','default','reject','keep','DEFAULTCLASS','a private class with globalDefault would become the default of every tenant\'s pods')
r('scheduling.PriorityClass','value','none','keep','keep','GUARD','cap: a high value pre-empts other tenants\' pods')
r('apiextensions.CustomResourceDefinitionVersion','deprecationWarning','text','keep','keep','OPAQUE','tenant text; but the default deprecation Warning header names <id>-group/version: strip there')
r('core.PodSpec','hostNetwork','none','keep','keep','GUARD','Pod Security')
# --- storage
r('storage.CSIStorageCapacity','storageClassName','clusterName:StorageClass','prefix','strip','OVERLAY','objects live in the driver namespace: not visible to tenants')
r('storage.VolumeAttachmentSpec','nodeName','clusterName:Node','keep','keep','SHARED')
r('storage.VolumeAttachmentSpec','attacher','clusterName:CSIDriver','keep','keep','SHARED')
r('storage.VolumeAttachmentSource','persistentVolumeName','clusterName:PersistentVolume','prefix','strip','PVNAME')
r('storage.StorageClass','provisioner','driverName','prefix','strip','DRIVER','zoo-inert-<driver>: what acts for a class of the platform\'s does not act for a tenant\'s')
r('storage.StorageClass','parameters','namespace','prefix','strip','SCPARAM','keys csi.storage.k8s.io/{provisioner,controller-publish,node-stage,node-publish,controller-expand,node-expand}-secret-namespace (literal values; ${pvc.namespace} is resolved upstream to the prefixed one and stays)',suf='{}')
r('storage.VolumeAttributesClass','driverName','clusterName:CSIDriver','prefix','strip','DRIVER','zoo-inert-<driver>: what acts for a class of the platform\'s does not act for a tenant\'s')
r('storage.VolumeError','message','text','keep','strip','TEXT')
r('storage.CSINodeDriver','name','clusterName:CSIDriver','keep','keep','SHARED')
r('storage.CSINodeDriver','nodeID','none','keep','keep','SHARED')
# --- apiextensions / apiregistration
r('apiextensions.CustomResourceDefinitionSpec','group','group','prefix','strip','GRP')
r('apiextensions.ServiceReference','namespace','namespace','prefix','strip','NS','conversion webhook')
r('apiextensions.ServiceReference','name','serviceRef','keep','keep','OPAQUE')
r('apiextensions.WebhookClientConfig','url','url','reject','keep','URL','conversion webhook: the proxy must interpose, because the review carries <id>-group apiVersions')
r('apiextensions.CustomResourceDefinitionCondition','message','text','keep','strip','TEXT')
r('apiextensions.ValidationRule','rule','cel','keep','keep','CEL','self.metadata.name of a cluster-scoped CR is seen prefixed only if CRs are prefixed by name; apiVersion is cut by definition.cpp')
r('apiextensions.ValidationRule','messageExpression','cel','keep','keep','CEL')
r('apiextensions.CustomResourceColumnDefinition','jsonPath','tableCell','keep','keep','TABLE','may point at .metadata.namespace/.metadata.name/ownerReferences: cells need stripping')
r('apiextensions.JSONSchemaProps','default','objectImage','keep','keep','OPAQUE','default values may hold names; tenant data')
r('apiregistration.APIServiceSpec','group','group','reject','strip','APISVC','aggregate in the proxy')
r('apiregistration.ServiceReference','namespace','namespace','reject','strip','APISVC')
r('apiregistration.APIServiceCondition','message','text','keep','strip','TEXT')
# --- storage version (hidden)
r('storagemigration.StorageVersionMigrationSpec','resource','group','prefix','strip','GRP','',suf='.group')
# --- meta
r('meta.OwnerReference','apiVersion','apiVersion','prefix','strip','GV','wrong translation makes the garbage collector DELETE the dependent')
r('meta.OwnerReference','name','clusterName:<kind>','prefix','strip','BYKIND','cluster-scoped owner kinds only; Node keeps')
r('meta.ManagedFieldsEntry','apiVersion','apiVersion','prefix','strip','GV','custom resources only; an unknown version makes the server drop the entry')
r('meta.ManagedFieldsEntry','fieldsV1','fieldsV1','prefix','strip','FV1','keys that contain translated map keys, set values or list-map keys')
r('meta.ManagedFieldsEntry','manager','manager','keep','keep','MANAGER','default comes from the User-Agent up to "/": forward the tenant\'s User-Agent or set fieldManager')
r('meta.Condition','message','text','keep','strip','TEXT')
r('meta.Condition','reason','text','keep','keep','OPAQUE')
r('meta.GroupResource','group','group','prefix','strip','GRP')

# Kinds: policy for cluster-scoped kinds (recommended default)
MODE = {
 'Namespace':'private','Node':'shared-ro','PersistentVolume':'hybrid','ComponentStatus':'self',
 'MutatingAdmissionPolicy':'proxy-eval','MutatingAdmissionPolicyBinding':'proxy-eval',
 'ValidatingAdmissionPolicy':'proxy-eval','ValidatingAdmissionPolicyBinding':'proxy-eval',
 'MutatingWebhookConfiguration':'private+guard','ValidatingWebhookConfiguration':'private+guard',
 'CustomResourceDefinition':'private','APIService':'virtual',
 'CertificateSigningRequest':'private','ClusterTrustBundle':'private',
 'FlowSchema':'virtual','PriorityLevelConfiguration':'virtual','StorageVersion':'hidden','StorageVersionMigration':'hidden',
 'IngressClass':'overlay','IPAddress':'filter','ServiceCIDR':'shared-ro','RuntimeClass':'overlay',
 'ClusterRole':'proxy-eval','ClusterRoleBinding':'proxy-eval',
 'DeviceClass':'overlay','ResourceSlice':'shared-ro','DeviceTaintRule':'hidden','ResourcePoolStatusRequest':'hidden',
 'PriorityClass':'overlay','CSIDriver':'shared-ro','CSINode':'shared-ro','StorageClass':'overlay','VolumeAttachment':'filter',
 'VolumeAttributesClass':'overlay',
 'SelfSubjectReview':'self','TokenReview':'self','SelfSubjectAccessReview':'self','SelfSubjectRulesReview':'self','SubjectAccessReview':'self',
}
NAMERULE = { # in,out,rule for metadata.name of cluster-scoped kinds
 'shared-ro':('keep','keep','SHARED'), 'self':('keep','keep','SELF'), 'hidden':('reject','strip','HIDDEN'),
 'virtual':('keep','keep','VIRT'), 'filter':('keep','keep','FILTER'),
}

# ------------------------------------------------------------------ resources
res = []
for f in sorted(glob.glob(root + '/api/discovery/*.json')):
    d = json.load(open(f))
    if d.get('kind') != 'APIResourceList': continue
    g, v = (d['groupVersion'].split('/') + [None])[:2] if '/' in d['groupVersion'] else ('', d['groupVersion'])
    for x in d['resources']:
        res.append(dict(group=g, version=v, resource=x['name'], kind=x['kind'], kindGroup=x.get('group', g), kindVersion=x.get('version', v),
                        namespaced=x['namespaced'], verbs=x['verbs'], shortNames=x.get('shortNames', []), categories=x.get('categories', [])))
stable = lambda v: re.fullmatch(r'v\d+', v) is not None

gvk2schema = {}
for k, s in sch.items():
    for g in s.get('x-kubernetes-group-version-kind', []):
        if k.startswith('io.k8s.api') or 'apiextensions' in k or 'kube-aggregator' in k:
            gvk2schema.setdefault((g['group'], g['version'], g['kind']), k)

# ------------------------------------------------------------------ walk
entries = []
verdict = {}
def emit(gvk, path, refers, i, o, rule, note='', extra=None):
    e = {'group': gvk[0], 'version': gvk[1], 'kind': gvk[2], 'path': path, 'refers': refers, 'in': i, 'out': o, 'rule': rule}
    if note: e['note'] = note
    if extra: e.update(extra)
    entries.append(e)

def is_leaf(p):
    rr = ref(p)
    if rr: return 'properties' not in sch[rr]
    if p.get('type') == 'array': return is_leaf(p['items'])
    if p.get('type') == 'object':
        ap = p.get('additionalProperties')
        return True if (ap is None or ap is True) else is_leaf(ap)
    return True
def suffix_and_ref(p):
    rr = ref(p)
    if rr: return '', rr
    if p.get('type') == 'array':
        s, x = suffix_and_ref(p['items']); return '[]' + s, x
    if p.get('type') == 'object' and isinstance(p.get('additionalProperties'), dict):
        s, x = suffix_and_ref(p['additionalProperties']); return '{}' + s, x
    return '', None
def leaftype(p):
    rr = ref(p)
    if rr: return rr.split('.')[-1]
    if p.get('type') == 'array': return '[]' + leaftype(p['items'])
    if p.get('type') == 'object' and isinstance(p.get('additionalProperties'), dict): return '{}' + leaftype(p['additionalProperties'])
    return str(p.get('type')) + (':' + p['format'] if 'format' in p else '')

TENANTLABEL = '(tenant label)'
# Pods alone: templates are as the tenant wrote them.
OF_PODS = ('PODFIELD', 'ROOTCA')
def nssel(gvk, path, note):
    emit(gvk, path, 'selector:namespaceLabels', 'prefix', 'strip', 'NSSEL', note)
    emit(gvk, path + '.matchLabels{kubernetes.io/metadata.name}', 'namespace', 'prefix', 'strip', 'LBLVAL', 'value is a namespace name')
    emit(gvk, path + '.matchExpressions[key=kubernetes.io/metadata.name].values[]', 'namespace', 'prefix', 'strip', 'LBLVAL', '')

def walk(gvk, tname, path, stack):
    s = sch[tname]; t = short(tname)
    # list-map keys of this property are noted for FieldsV1
    for p, v in sorted(s.get('properties', {}).items()):
        pp = (path + '.' + p) if path else p
        rules = R.get((t, p))
        lf = is_leaf(v)
        if lf:
            lt = leaftype(v)
            verdict.setdefault((t, p, lt), 'rule:' + ','.join(x[4] for x in rules) if rules else 'keep')
        if rules:
            for suf, refers, i, o, rule, note in rules:
                pod = gvk == ('', 'v1', 'Pod')
                if rule in OF_PODS and not pod or rule == 'DOWNWARD' and pod: continue
                if rule == 'NSSEL': nssel(gvk, pp, note)
                else:
                    emit(gvk, pp + suf, refers, i, o, rule, note, {'untranslatable': True} if rule in ('CEL','X509','JWT','DOWNWARD','DNS','URL') else None)
        if not lf:
            if rules and any(x[4] in ('NSSEL','AGG') for x in rules): continue
            suf, rr = suffix_and_ref(v)
            if rr in stack: continue
            if short(rr) == 'meta.ObjectMeta' and path:
                # template metadata: labels/annotations only, no name/namespace semantics
                if t in ('core.PersistentVolumeClaim', 'core.PersistentVolumeClaimTemplate'):
                    emit(gvk, pp + suf + '.annotations{volume.beta.kubernetes.io/storage-class}', 'clusterName:StorageClass', 'prefix', 'strip', 'OVERLAY', 'legacy, still honoured')
                emit(gvk, pp + suf + '.annotations{}', 'annotation', 'keep', 'keep', 'ANNO', 'template metadata: same annotation rules as the object it makes')
                emit(gvk, pp + suf + '.namespace', 'namespace', 'prefix', 'strip', 'NS', 'normally empty in templates; if set it must match or is ignored')
                emit(gvk, pp + suf + '.ownerReferences[]', 'ownerReferences', 'prefix', 'strip', 'GV', 'normally empty in templates; same rules as metadata.ownerReferences')
                continue
            if short(rr) == 'meta.ObjectMeta': continue
            if short(rr) == 'meta.LabelSelector': continue
            walk(gvk, rr, pp + suf, stack + [rr])

ANNOS = {  # annotation rules per kind
 'HorizontalPodAutoscaler/v1': [('autoscaling.alpha.kubernetes.io/metrics','objectImage','prefix','strip','IMG','JSON of v2 metrics: describedObject.apiVersion/name; produced by version conversion'),
                                ('autoscaling.alpha.kubernetes.io/current-metrics','objectImage','keep','strip','IMG',''),
                                ('autoscaling.alpha.kubernetes.io/conditions','text','keep','strip','TEXT','')],
 'PersistentVolumeClaim': [('volume.beta.kubernetes.io/storage-class','clusterName:StorageClass','prefix','strip','OVERLAY','legacy, still honoured'),
                           ('volume.kubernetes.io/selected-node','clusterName:Node','keep','keep','SHARED','')],
 'PersistentVolume': [('volume.beta.kubernetes.io/storage-class','clusterName:StorageClass','prefix','strip','OVERLAY','legacy')],
 'Secret': [('kubernetes.io/service-account.name','none','keep','keep','OPAQUE','namespaced'),],
 'Ingress': [('kubernetes.io/ingress.class','clusterName:IngressClass','prefix','strip','OVERLAY','legacy, still honoured by controllers: a shared class stays, another is the tenant\'s own')],
 'StorageClass': [('storageclass.kubernetes.io/is-default-class','default','reject','keep','DEFAULTCLASS','would become the default of the whole upstream cluster: hold back and emulate in the proxy'),
                  ('storageclass.beta.kubernetes.io/is-default-class','default','reject','keep','DEFAULTCLASS','')],
 'IngressClass': [('ingressclass.kubernetes.io/is-default-class','default','reject','keep','DEFAULTCLASS','')],
 'Namespace': [('scheduler.alpha.kubernetes.io/node-selector','none','reject','keep','GUARD','PodNodeSelector admission'),
               ('scheduler.alpha.kubernetes.io/defaultTolerations','none','reject','keep','GUARD','PodTolerationRestriction'),
               ('scheduler.alpha.kubernetes.io/tolerationsWhitelist','none','reject','keep','GUARD','')],
 'Endpoints': [('control-plane.alpha.kubernetes.io/leader','identity','keep','keep','OPAQUE','legacy leader election')],
 'ConfigMap': [('control-plane.alpha.kubernetes.io/leader','identity','keep','keep','OPAQUE','legacy leader election')],
 'CustomResourceDefinition': [('api-approved.kubernetes.io','none','keep','keep','OPAQUE','*.k8s.io groups stay protected after prefixing, but the bare groups k8s.io and kubernetes.io become <id>-k8s.io, which are not: check in the proxy')],
 'ClusterRole': [('rbac.authorization.kubernetes.io/autoupdate','none','keep','keep','OPAQUE','')],
}
LABELS = {
 'Namespace': [('kubernetes.io/metadata.name','namespace','prefix','strip','LBLVAL','server forces it to metadata.name on every write and read'),
               ('pod-security.kubernetes.io/*','podSecurity','reject','keep','GUARD','policy: cap enforce level, keep the admin\'s label authoritative'),
               ('resource.kubernetes.io/admin-access','none','reject','keep','GUARD','unlocks DRA adminAccess to every device')],
 'ClusterRole': [('rbac.authorization.k8s.io/aggregate-to-admin|edit|view','aggregation','reject','keep','AGG','stored verbatim upstream it injects tenant rules into the shared admin/edit/view roles: store under a tenant-private label key'),],
 'EndpointSlice': [('kubernetes.io/service-name','none','keep','keep','OPAQUE','namespaced')],
}

def meta_entries(gvk, namespaced, path='metadata', kind=None, subresource=False):
    kind = gvk[2]
    m = MODE.get(kind)
    if namespaced:
        emit(gvk, path + '.namespace', 'namespace', 'prefix', 'strip', 'NS', 'must equal the path namespace after translation; empty stays empty')
        emit(gvk, path + '.name', 'none', 'keep', 'keep', 'OPAQUE', 'namespaced name')
        emit(gvk, path + '.generateName', 'none', 'keep', 'keep', 'OPAQUE')
    else:
        if kind == 'CustomResourceDefinition':
            emit(gvk, path + '.name', 'crdName', 'prefix', 'strip', 'CRDNAME', '<plural>.<group> -> <plural>.<id>-<group>')
        elif kind == 'APIService':
            emit(gvk, path + '.name', 'apiServiceName', 'reject', 'strip', 'APISVC', '<version>.<group>')
        elif kind == 'ClusterTrustBundle':
            emit(gvk, path + '.name', 'clusterName:self', 'prefix', 'strip', 'SIGNERCN', '<signer:…>:<name>')
        elif kind == 'PersistentVolume':
            emit(gvk, path + '.name', 'clusterName:self', 'prefix', 'strip', 'PVNAME', 'dynamic PVs are called pvc-<uid>; visible through spec.claimRef.namespace')
        elif kind.startswith('*('):
            emit(gvk, path + '.name', 'clusterName:self', 'keep', 'keep', 'CRNAME', 'the prefixed group already isolates; shared CRD groups: prefix or read-only')
            emit(gvk, path + '.generateName', 'clusterName:self', 'keep', 'keep', 'CRNAME')
        else:
            i, o, rule = NAMERULE.get(m, ('prefix', 'strip', 'OVERLAY' if m == 'overlay' else 'CN'))
            emit(gvk, path + '.name', 'clusterName:self', i, o, rule, 'mode: %s' % (m or 'private'))
        i, o, rule = NAMERULE.get(m, ('prefix', 'strip', 'CN'))
        if not kind.startswith('*('): emit(gvk, path + '.generateName', 'clusterName:self', i, o, rule, 'result is cut to 58+5 characters; 7 go to the prefix')
    if subresource: return
    emit(gvk, path + '.ownerReferences[].apiVersion', 'apiVersion', 'prefix', 'strip', 'GV', 'tenant CRD groups only; a wrong value makes the GC delete the object')
    emit(gvk, path + '.ownerReferences[].name', 'clusterName:<kind>', 'prefix', 'strip', 'BYKIND', 'owner kinds that are cluster-scoped and private')
    emit(gvk, path + '.managedFields[].fieldsV1', 'fieldsV1', 'prefix', 'strip', 'FV1')
    emit(gvk, path + '.managedFields[].manager', 'manager', 'keep', 'keep', 'MANAGER')
    emit(gvk, path + '.annotations{kubectl.kubernetes.io/last-applied-configuration}', 'objectImage', 'keep', 'keep', 'OPAQUE', 'written and read by the same tenant clients: verbatim both ways')
    emit(gvk, path + '.annotations{applyset.kubernetes.io/*}', 'opaque', 'keep', 'keep', 'OPAQUE', 'additional-namespaces, contains-group-kinds and the id hash are kubectl-only')
    emit(gvk, path + '.selfLink', 'url', 'keep', 'strip', 'URL', 'not populated since 1.20/1.24; drop if present')
    emit(gvk, path + '.finalizers[]', 'opaque', 'keep', 'keep', 'OPAQUE', 'domain-qualified strings, not groups')
    key = kind + ('/v1' if kind == 'HorizontalPodAutoscaler' and gvk[1] == 'v1' else '')
    for a, refers, i, o, rule, note in ANNOS.get(key, []):
        emit(gvk, path + '.annotations{%s}' % a, refers, i, o, rule, note)
    for a, refers, i, o, rule, note in LABELS.get(kind, []):
        emit(gvk, path + '.labels{%s}' % a, refers, i, o, rule, note)

done = set()
order = sorted(res, key=lambda x: (not stable(x['version']), x['group'], x['version'], x['resource']))
for x in order:
    gvk = (x['kindGroup'], x['kindVersion'], x['kind'])
    if gvk in done: continue
    done.add(gvk)
    tn = gvk2schema.get(gvk)
    sub = '/' in x['resource'] and x['kind'] in ('Scale','TokenRequest','Eviction','Binding')
    if tn is None:
        continue  # *Options kinds: query parameters only
    meta_entries(gvk, x['namespaced'], subresource=(x['kind'] in ('TokenReview','SelfSubjectReview','SelfSubjectAccessReview','SelfSubjectRulesReview','SubjectAccessReview','LocalSubjectAccessReview','TokenRequest','Eviction','Binding','ComponentStatus')))
    walk(gvk, tn, '', [tn])
    if x['kind'] == 'PersistentVolume':
        for entry in entries:
            if entry['kind'] == 'PersistentVolume' and entry['path'] == 'spec.hostPath.path':
                entry['in'] = 'reject'
                entry['note'] = 'node escape: Pod Security does not look behind a claim'
    if x['kind'] == 'VolumeAttachment': # read-only: no tenant writes one
        entries[:] = [e for e in entries if e['kind'] != x['kind'] or not e['path'].endswith('.local.path')]
    if x['kind'] == 'Event':
        f = 'regarding' if x['group'] == 'events.k8s.io' else 'involvedObject'
        emit(gvk, f + '.namespace', 'namespace', 'prefix', 'strip', 'EVENTNS', 'cluster-scoped object: empty namespace is legal only for events in the literal namespaces default (and kube-system with eventTime); upstream it must be filled with the event namespace and blanked again on the way out')
    if x['kind'] == 'Namespace':
        emit(gvk, 'metadata.labels{<tenant label>}', 'tenant', 'prefix', 'strip', 'TENANTLABEL', 'inject on create, forbid change, hide on read together with its managedFields key')

# custom resources (any tenant CRD)
for scope in ('Namespaced', 'Cluster'):
    gvk = ('<tenant-crd-group>', '*', '*(scope=%s)' % scope)
    emit(gvk, 'apiVersion', 'apiVersion', 'prefix', 'strip', 'GV', 'objects, lists, list items, Table rows[].object, PartialObjectMetadata keeps meta.k8s.io/v1')
    meta_entries(gvk, scope == 'Namespaced')
    emit(gvk, 'metadata.managedFields[].apiVersion', 'apiVersion', 'prefix', 'strip', 'GV', 'server drops entries whose version it does not know')
    emit(gvk, '<schema body>', 'opaque', 'keep', 'keep', 'OPAQUE', 'references inside a CR are read only by tenant controllers through the proxy: verbatim. x-kubernetes-embedded-resource objects too')

# query-option kinds: no references
for k in ('NodeProxyOptions','PodAttachOptions','PodExecOptions','PodPortForwardOptions','PodProxyOptions','ServiceProxyOptions','PodLogOptions'):
    emit(('', 'v1', k), '(query parameters)', 'none', 'reject' if k == 'NodeProxyOptions' else 'keep', 'keep', 'GUARD' if k == 'NodeProxyOptions' else 'OPAQUE', 'nodes/proxy is the kubelet API: always 403' if k == 'NodeProxyOptions' else 'pass unchanged, keep repeated parameters and their order')
# hand-written: meta, review and wire types
H = []
def h(g, v, k, path, refers, i, o, rule, note=''): emit((g, v, k), path, refers, i, o, rule, note)
for p, note in (('message', 'free text'), ('details.causes[].message', 'free text')):
    h('', 'v1', 'Status', p, 'text', 'keep', 'strip', 'TEXT', note)
h('', 'v1', 'Status', 'details.name', 'clusterName:<details.kind>', 'keep', 'strip', 'BYRES', 'cluster-scoped resources and namespaces; CRD name infix')
h('', 'v1', 'Status', 'details.group', 'group', 'keep', 'strip', 'GRP')
h('', 'v1', 'Status', 'details.causes[].field', 'fieldPath', 'keep', 'strip', 'QKEY', 'spec.hard[count/foos.<id>-group] style keys')
h('', 'v1', 'Status', 'metadata.continue', 'continueToken', 'keep', 'strip', 'CONT', '410 Expired carries a fresh (inconsistent) continue token')
h('', 'v1', 'Status', 'details.kind', 'resource', 'keep', 'keep', 'OPAQUE')
for k in ('*List',):
    h('*', '*', k, 'apiVersion', 'apiVersion', 'keep', 'strip', 'GV', 'custom resource lists')
    h('*', '*', k, 'metadata.continue', 'continueToken', 'keep', 'strip', 'CONT', 'base64 JSON {"v","rv","start"}: start holds a foreign key')
    h('*', '*', k, 'metadata.remainingItemCount', 'count', 'keep', 'strip', 'CONT', 'counts other tenants\' objects: drop or recompute')
    h('*', '*', k, 'metadata.resourceVersion', 'rv', 'keep', 'keep', 'RV')
    h('*', '*', k, 'metadata.shardInfo.selector', 'none', 'keep', 'keep', 'OPAQUE')
    h('*', '*', k, 'items[]', 'filter', 'keep', 'keep', 'FILTER', 'drop items of other tenants')
h('', 'v1', 'DeleteOptions', 'apiVersion', 'apiVersion', 'prefix', 'strip', 'GV', 'clients may send DeleteOptions with the group version of the CR')
h('', 'v1', 'DeleteOptions', 'preconditions', 'none', 'keep', 'keep', 'OPAQUE', 'uid/resourceVersion pass through')
h('meta.k8s.io', 'v1', 'WatchEvent', 'object', 'objectImage', 'keep', 'strip', 'IMG', 'ADDED/MODIFIED/DELETED object; BOOKMARK has kind+apiVersion+resourceVersion+annotation k8s.io/initial-events-end; ERROR is a Status')
h('meta.k8s.io', 'v1', 'Table', 'rows[].cells[]', 'tableCell', 'keep', 'strip', 'TABLE', 'by column, see §2.5')
h('meta.k8s.io', 'v1', 'Table', 'rows[].object', 'objectImage', 'keep', 'strip', 'IMG', 'PartialObjectMetadata by default; None/Object by includeObject')
h('meta.k8s.io', 'v1', 'Table', 'metadata.continue', 'continueToken', 'keep', 'strip', 'CONT')
h('meta.k8s.io', 'v1', 'Table', 'metadata.remainingItemCount', 'count', 'keep', 'strip', 'CONT')
h('meta.k8s.io', 'v1', 'PartialObjectMetadata', 'metadata', 'objectImage', 'keep', 'strip', 'IMG', 'the GVK of the object is only known from the request path')
for k, base in (('AdmissionReview', 'request.'),):
    g = 'admission.k8s.io'
    for p, refers, rule in (('kind.group','group','GRP'),('resource.group','group','GRP'),('requestKind.group','group','GRP'),('requestResource.group','group','GRP'),
                            ('name','clusterName:<resource>','BYRES'),('namespace','namespace','NS'),('userInfo.username','user','USER'),('userInfo.groups[]','group-name','UGROUP'),
                            ('userInfo.extra{}','userExtra','EXTRA'),('object','objectImage','IMG'),('oldObject','objectImage','IMG'),('options','objectImage','GV')):
        h(g, 'v1', k, base + p, refers, 'keep', 'strip', rule, 'upstream -> tenant webhook, when the proxy interposes')
    h(g, 'v1', k, 'response.patch', 'jsonPatch', 'prefix', 'strip', 'JPATCH', 'tenant webhook -> upstream: apply to the tenant view, translate the result, emit a new patch')
    h(g, 'v1', k, 'response.status.message', 'text', 'keep', 'keep', 'OPAQUE')
    h(g, 'v1', k, 'response.warnings[]', 'text', 'keep', 'keep', 'OPAQUE')
    h(g, 'v1', k, 'response.auditAnnotations{}', 'none', 'keep', 'keep', 'OPAQUE')
for p, refers, i, o, rule in (('request.desiredAPIVersion','apiVersion','keep','strip','GV'),('request.objects[]','objectImage','keep','strip','IMG'),
                              ('response.convertedObjects[]','objectImage','prefix','keep','IMG'),('response.result.message','text','keep','keep','OPAQUE')):
    h('apiextensions.k8s.io', 'v1', 'ConversionReview', p, refers, i, o, rule, 'upstream -> tenant webhook, when the proxy interposes')
for k, p, refers, o, rule, note in (
    ('APIGroupList','groups[]','group','strip','DISC','filter to built-in + shared + own; strip name and groupVersion'),
    ('APIGroup','name','group','strip','DISC',''),('APIGroup','versions[].groupVersion','apiVersion','strip','DISC',''),
    ('APIGroup','preferredVersion.groupVersion','apiVersion','strip','DISC',''),
    ('APIGroup','serverAddressByClientCIDRs[].serverAddress','url','strip','DISC','/api only: upstream address, replace by the proxy\'s'),
    ('APIVersions','serverAddressByClientCIDRs[].serverAddress','url','strip','DISC','GET /api'),
    ('APIResourceList','groupVersion','apiVersion','strip','DISC',''),('APIResourceList','resources[].group','group','strip','DISC','only set when different from the list\'s'),
    ('APIResourceList','resources[].storageVersionHash','hash','keep','DISC','hash over the upstream group: opaque')):
    h('meta.k8s.io', 'v1', k, p, refers, 'keep', o, rule, note)
for p, refers in (('items[].metadata.name','group'),('items[].versions[].resources[].responseKind.group','group'),('items[].versions[].resources[].subresources[].responseKind.group','group')):
    h('apidiscovery.k8s.io', 'v2', 'APIGroupDiscoveryList', p, refers, 'keep', 'strip', 'DISC', 'own ETag per tenant')
h('', 'openapi', 'v2', 'definitions{key}, $ref, paths{key}, operationId, tags[], x-kubernetes-group-version-kind[].group', 'group', 'keep', 'strip', 'OPENAPI', 'model names reverse the group: com.example.<id>-stable.v1.Foo')
h('', 'openapi', 'v3', 'paths{key}.serverRelativeURL, components.schemas{key}, $ref, paths, operationId, tags, x-kubernetes-group-version-kind', 'group', 'keep', 'strip', 'OPENAPI', 'hash= must be the tenant document\'s own')

# FieldsV1 key analysis: which translated fields are map keys / set values / list-map keys
fv1 = []
for k, s in sorted(sch.items()):
    t = short(k)
    for p, v in s.get('properties', {}).items():
        lt = v.get('x-kubernetes-list-type')
        rr = ref(v['items']) if v.get('type') == 'array' and 'items' in v else None
        if lt == 'map' and rr:
            for kk in v.get('x-kubernetes-list-map-keys', []):
                if (short(rr), kk) in R and any(x[2] == 'prefix' or x[3] == 'strip' for x in R[(short(rr), kk)]):
                    fv1.append((t, p, 'k:{"%s":…}' % kk))
        if lt == 'set' and (t, p) in R and any(x[2] == 'prefix' for x in R[(t, p)]):
            fv1.append((t, p, 'v:"…"'))
        if v.get('type') == 'object' and 'additionalProperties' in v and v.get('x-kubernetes-map-type') != 'atomic' and (t, p) in R and any('{key}' in x[0] or '{namespace}' in x[0] for x in R[(t, p)]):
            fv1.append((t, p, 'f:<key>'))
        if lt is None and v.get('x-kubernetes-patch-strategy', '').startswith('merge') and rr:
            mk = v.get('x-kubernetes-patch-merge-key')
            if (short(rr), mk) in R and any(x[2] == 'prefix' for x in R[(short(rr), mk)]): fv1.append((t, p, 'smp merge key ' + mk))
# strategic-merge keys that hold translated values
smp = []
for k, s in sorted(sch.items()):
    for p, v in s.get('properties', {}).items():
        mk = v.get('x-kubernetes-patch-merge-key'); rr = ref(v['items']) if v.get('type') == 'array' and 'items' in v else None
        if mk and rr and (short(rr), mk) in R and any(x[2] == 'prefix' for x in R[(short(rr), mk)]): smp.append((short(k), p, mk))

def write(path, rows):
    with open(path, 'w') as f:
        f.write('[\n' + ',\n'.join(json.dumps(x, ensure_ascii=False) for x in rows) + '\n]\n')

write(out + '/api-references.json', entries)
for x in res:
    x['mode'] = 'n/a' if x['namespaced'] else MODE.get(x['kind'], '?')
    x['servedByDefault'] = stable(x['version'])
write(out + '/api-resources.json', res)
with open(out + '/api-leaves-reviewed.tsv', 'w') as f:
    f.write('schemaType\tproperty\tleafType\tverdict\n')
    for (t, p, lt), vd in sorted(verdict.items()): f.write('%s\t%s\t%s\t%s\n' % (t, p, lt, vd))
c = collections.Counter(e['rule'] for e in entries)
print(len(entries), 'entries;', len(verdict), 'leaf types;', len(done), 'kinds')
print(c)
unused = [k for k in R if not any(True for (t, p, lt) in verdict if (t, p) == k)]
print('rules never met as leaf (composite or dead):', unused)
print('FieldsV1 keys:', fv1); print('SMP merge keys translated:', smp)
print('no mode:', sorted({x['kind'] for x in res if not x['namespaced'] and x['mode'] == '?'}))
