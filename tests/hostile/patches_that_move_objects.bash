# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: patches that give an object another name, namespace or UID, in each form and through each subresource.
# Without the fence: upstream refuses most of it, but a proof that reads the old name would pass the new one's object.
# Rule: name, namespace and UID of a patch are those of the path, or it is refused.
made "an object" POST /api/v1/namespaces/team/configmaps json '{"metadata":{"name":"evil-move","annotations":{"n":"'"$victim-team"'","u":"'"$victims_uid"'"}}}'
made "a role" POST /apis/rbac.authorization.k8s.io/v1/clusterroles json '{"metadata":{"name":"evil-move","annotations":{"n":"'"$victim-$vault"'"}}}'
uid=$(stored "/api/v1/namespaces/$evil-team/configmaps/evil-move" .metadata.uid)
fence() { stored "/api/v1/namespaces/$evil-team/configmaps/evil-move" '.metadata.namespace + " " + .metadata.name + " " + .metadata.uid'; }
after_each /api/v1/namespaces/team/configmaps/evil-move "$evil-team evil-move $uid" <<P
merge {"metadata":{"namespace":"$victim-team"}}
merge {"metadata":{"namespace":null,"name":null,"uid":null}}
merge {"metadata":{"name":"$vault","namespace":"$victim-team","uid":"$victims_uid"}}
merge {"metadata":null}
strategic {"metadata":{"namespace":"$victim-team"}}
strategic {"metadata":{"\$patch":"replace","name":"$vault","namespace":"$victim-team"}}
strategic {"\$patch":"delete"}
strategic {"\$patch":"replace","metadata":{"name":"$vault","namespace":"$victim-team"}}
patch [{"op":"replace","path":"/metadata/namespace","value":"$victim-team"}]
patch [{"op":"copy","from":"/metadata/annotations/n","path":"/metadata/namespace"}]
patch [{"op":"move","from":"/metadata/annotations/n","path":"/metadata/namespace"}]
patch [{"op":"copy","from":"/metadata/annotations/u","path":"/metadata/uid"}]
patch [{"op":"replace","path":"/metadata","value":{"name":"$vault","namespace":"$victim-team"}}]
patch [{"op":"replace","path":"","value":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"$vault","namespace":"$victim-team"}}}]
patch [{"op":"add","path":"/metadata/n~0amespace","value":"$victim-team"},{"op":"add","path":"/metadata/name~01space","value":"x"}]
patch [{"op":"replace","path":"/metad\u0061ta/n\u0061mespace","value":"$victim-team"}]
patch [{"op":"test","path":"/metadata/namespace","value":"$evil-team"},{"op":"remove","path":"/metadata/namespace"}]
apply {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"evil-move","namespace":"$victim-team"}}
apply {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"$vault","namespace":"$victim-team"}}
P
made "it is there again" PATCH "/api/v1/namespaces/team/configmaps/evil-move?fieldManager=x&force=true" apply '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"evil-move"}}'
role_uid=$(stored "/apis/rbac.authorization.k8s.io/v1/clusterroles/$evil-evil-move" .metadata.uid)
fence() { stored "/apis/rbac.authorization.k8s.io/v1/clusterroles/$evil-evil-move" '.metadata.name + " " + .metadata.uid'; }
after_each /apis/rbac.authorization.k8s.io/v1/clusterroles/evil-move "$evil-evil-move $role_uid" <<P
merge {"metadata":{"name":"$vault"}}
merge {"metadata":{"name":"$victim-$vault"}}
patch [{"op":"copy","from":"/metadata/annotations/n","path":"/metadata/name"}]
patch [{"op":"replace","path":"/metadata/name","value":"cluster-admin"}]
patch [{"op":"replace","path":"/metadata/name","value":"../$victim-$vault"}]
strategic {"metadata":{"\$retainKeys":["name"],"name":"$victim-$vault"}}
apply {"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"$victim-$vault"},"rules":[]}
P
direct PATCH "/api/v1/namespaces/$evil-team/configmaps/evil-move?dryRun=All" merge '{"metadata":{"namespace":"'"$victim-team"'"}}'
refused "upstream refuses the like itself: what is held here is that nothing of it is taken for the other object's"
# What it lets be: the victim's namespace in the path of the same apply, and the victim's object as the owner.
would "make it where it was to be moved" PATCH "/api/v1/namespaces/$victim-team/configmaps/evil-move?fieldManager=x" apply '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"evil-move","namespace":"'"$victim-team"'"}}'
would "take an owner that is the victim's" PATCH "/api/v1/namespaces/$evil-team/configmaps/evil-move" merge '{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Secret","name":"'"$vault"'","uid":"'"$victims_uid"'"}]}}'
expect "by its UID" "$victims_uid" "$(jq -r '.metadata.ownerReferences[0].uid' <<<"$answer")"
n=0
for sub in scale status; do
  for body in '{"metadata":{"namespace":"'"$victim-team"'","name":"'"$vault"'"},"spec":{"replicas":0}}' '{"metadata":{"labels":{"a":"'"$victim"'"},"ownerReferences":[{"apiVersion":"v1","kind":"Secret","name":"'"$vault"'","uid":"'"$victims_uid"'"}]},"spec":{"replicas":0}}'; do
    name=evil-move-$((++n))
    made "a deployment" POST /apis/apps/v1/namespaces/team/deployments json '{"metadata":{"name":"'$name'"},"spec":{"replicas":0,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"x"}]}}}}'
    there="^$evil-team $name\$"
    # What names an owner that is not in its namespace may be gone: upstream's garbage collector takes it.
    [[ $body == *ownerReferences* ]] && there="^($evil-team $name|NotFound)\$"
    try PATCH "/apis/apps/v1/namespaces/team/deployments/$name/$sub" merge "$body"
    try PUT "/apis/apps/v1/namespaces/team/deployments/$name/$sub" json "$body"
    expect_match "$code: $sub moves nothing" "$there" "$(stored "/apis/apps/v1/namespaces/$evil-team/deployments/$name" '.reason // .metadata.namespace + " " + .metadata.name')"
  done
done
