// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/micro/samples.hpp"

#include <fmt/format.h>

namespace zoo::bench {
namespace {

std::string container(std::size_t number) {
  return fmt::format(
      R"({{"name":"c{}","image":"registry.example/app:1","env":[{{"name":"A","value":"some value"}},{{"name":"NS","valueFrom":{{"fieldRef":{{"apiVersion":"v1","fieldPath":"metadata.namespace"}}}}}}],"resources":{{"requests":{{"cpu":"10m","memory":"16Mi"}}}},"volumeMounts":[{{"name":"kube-api-access-x9k2l","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}],"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}})",
      number);
}

std::string container_fields(std::size_t number) {
  return fmt::format(
      R"("k:{{\"name\":\"c{}\"}}":{{".":{{}},"f:env":{{".":{{}},"k:{{\"name\":\"A\"}}":{{".":{{}},"f:name":{{}},"f:value":{{}}}},"k:{{\"name\":\"NS\"}}":{{".":{{}},"f:name":{{}},"f:valueFrom":{{".":{{}},"f:fieldRef":{{}}}}}}}},"f:image":{{}},"f:imagePullPolicy":{{}},"f:name":{{}},"f:resources":{{".":{{}},"f:requests":{{".":{{}},"f:cpu":{{}},"f:memory":{{}}}}}},"f:terminationMessagePath":{{}},"f:terminationMessagePolicy":{{}}}})",
      number);
}

/// Of the tenant with this number: its prefix and a name.
std::string group(std::size_t number) { return fmt::format("a{:05}-stable.example.com", number); }

} // namespace

std::string pod(std::size_t number, const std::string& name_space) {
  return fmt::format(
      R"({{"metadata":{{"name":"bench-{0:06}","namespace":"{1}","uid":"1f0a2b3c-4d5e-4f60-8172-93a4b5{0:06}","resourceVersion":"{0}","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z","labels":{{"app":"bench","bench":"bench-{0:06}"}},"managedFields":[{{"manager":"Go-http-client","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{{"f:metadata":{{"f:labels":{{".":{{}},"f:app":{{}},"f:bench":{{}}}}}},"f:spec":{{"f:containers":{{{2},{3}}},"f:dnsPolicy":{{}},"f:enableServiceLinks":{{}},"f:restartPolicy":{{}},"f:schedulerName":{{}},"f:securityContext":{{}},"f:terminationGracePeriodSeconds":{{}}}}}}}}]}},"spec":{{"volumes":[{{"name":"kube-api-access-x9k2l","projected":{{"sources":[{{"serviceAccountToken":{{"expirationSeconds":3607,"path":"token"}}}},{{"configMap":{{"name":"kube-root-ca.crt","items":[{{"key":"ca.crt","path":"ca.crt"}}]}}}},{{"downwardAPI":{{"items":[{{"path":"namespace","fieldRef":{{"apiVersion":"v1","fieldPath":"metadata.namespace"}}}}]}}}}],"defaultMode":420}}}}],"containers":[{4},{5}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","serviceAccount":"default","securityContext":{{}},"schedulerName":"none","tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}},{{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"}},"status":{{"phase":"Pending","qosClass":"Burstable"}}}})", number,
      name_space, container_fields(0), container_fields(1), container(0), container(1));
}

std::string pod_list(std::size_t count, const std::string& name_space) {
  std::string out =
      R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"6000"},"items":[)";
  for (std::size_t i = 0; i < count; ++i) {
    if (i != 0) out += ',';
    out += pod(i, name_space);
  }
  return out + "]}\n";
}

std::string config_map(const std::string& name_space) {
  return fmt::format(
      R"({{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"bench","namespace":"{}","uid":"1f0a2b3c-4d5e-4f60-8172-93a4b5c6d7e8","resourceVersion":"5000","creationTimestamp":"2026-01-01T00:00:00Z","labels":{{"app":"bench","bench":"bench"}},"managedFields":[{{"manager":"Go-http-client","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{{"f:data":{{".":{{}},"f:k":{{}}}},"f:metadata":{{"f:labels":{{".":{{}},"f:app":{{}},"f:bench":{{}}}}}}}}}}]}},"data":{{"k":"{}"}}}})",
      name_space, std::string(512, 'x'));
}

std::string groups(std::size_t count, const std::string& change) {
  std::string out =
      R"({"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[)";
  for (std::size_t i = 0; i < count; ++i) {
    out += fmt::format(
        R"({0}{{"metadata":{{"name":"{1}"}},"versions":[{{"version":"v1","resources":[{{"resource":"crontabs","responseKind":{{"group":"{1}","version":"v1","kind":"CronTab"}},"scope":"Namespaced","singularResource":"crontab","verbs":["delete","deletecollection","get","list","patch","create","update","watch"],"shortNames":["ct"],"categories":["all"],"subresources":[{{"subresource":"status","responseKind":{{"group":"{1}","version":"v1","kind":"CronTab"}},"verbs":["get","patch","update"]}}]}}],"freshness":"{2}"}}]}})",
        i == 0 ? "" : ",", group(i), i == count / 2 ? change : "Current");
  }
  return out + "]}";
}

std::string openapi_index(std::size_t count) {
  std::string out = R"({"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=00"})";
  for (std::size_t i = 0; i < count; ++i) {
    out += fmt::format(
        R"(,"apis/{0}/v1":{{"serverRelativeURL":"/openapi/v3/apis/{0}/v1?hash={1:A>128}"}})",
        group(i), i);
  }
  return out + "}}";
}

} // namespace zoo::bench
