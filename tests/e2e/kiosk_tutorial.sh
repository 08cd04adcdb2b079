#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: accounts access gateway resources app upstream
# timeout: 900
# kiosk's tutorial, in its order, with its objects and to its end: straight at the upstream, where zood serves tenancy.kiosk.sh through the
# aggregation layer, and through the account door. With the kubectl of this run, and with ZOO_OLD_KUBECTL if there is one; the suite `older`
# has both of an older Kubernetes.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/upstream/go-env.sh
. "$zoo_root/tests/upstream/go-env.sh"

# An EndpointSlice takes no loopback address: kube-apiserver comes by the machine's own.
ip=$(hostname -I | tr ' ' '\n' | grep -m 1 -E '^[0-9]+(\.[0-9]+){3}$') || skip "this machine has no IPv4 address but loopback"
# The tutorial's names are fixed, and it lets everybody make spaces: the upstream is its own.
own_upstream --nodes 1 --apiserver-arg --enable-aggregator-routing=true
at_end() { # zood first: it withdraws the door
  stop_zood
  [[ -z ${repository_pid:-} ]] || kill "$repository_pid"
}
# The chart of the tutorial is in a repository on the internet. A folder stands for that here: zood sees a machine whose names of hosts lead
# there, if this may make one, and else none.
host=charts.bitnami.com
repository=$TMPDIR/repository
mkdir -p "$repository" "$TMPDIR/chart/redis/templates"
printf 'apiVersion: v2\nname: redis\nversion: 1.0.0\n' >"$TMPDIR/chart/redis/Chart.yaml"
printf '{apiVersion: v1, kind: ConfigMap, metadata: {name: redis}, data: {port: {{ .Values.redisPort | quote }}, where: {{ .Values.myOtherValue }}, of: {{ .Release.Name }}}}\n' \
  >"$TMPDIR/chart/redis/templates/map.yaml"
tar -C "$TMPDIR/chart" -czf "$repository/redis-1.0.0.tgz" redis
printf 'apiVersion: v1\nentries: {redis: [{apiVersion: v2, name: redis, version: 1.0.0, urls: [redis-1.0.0.tgz], digest: %s}]}\n' \
  "$(sha256sum "$repository/redis-1.0.0.tgz" | cut -d' ' -f1)" >"$repository/index.yaml"
templates=
if unshare --mount true 2>/dev/null && helm=$(go_program "$zoo_root/packaging/helm"); then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj "/CN=$host" -addext "subjectAltName=DNS:$host" \
    -keyout "$TMPDIR/repository.key" -out "$TMPDIR/repository.crt" 2>/dev/null
  at=127.$((RANDOM % 200 + 20)).$((RANDOM % 250 + 1)).$((RANDOM % 250 + 1)) # port 443 of an address that nothing else here has
  python3 "$zoo_root/tests/functional/templates/repository.py" "$repository" "$TMPDIR/repository.crt" "$TMPDIR/repository.key" --open "$at" 443 \
    >"$TMPDIR/repository.port" 2>"$TMPDIR/repository.log" &
  repository_pid=$!
  listens() { [[ -s $TMPDIR/repository.port ]]; }
  eventually "a repository listens" 30 listens
  printf '%s localhost\n%s %s\n' 127.0.0.1 "$at" "$host" >"$TMPDIR/hosts"
  printf '#!/bin/sh\nexec unshare --mount sh -c '\''mount --bind %s /etc/hosts && exec "$@"'\'' sh %s "$@"\n' "$TMPDIR/hosts" "$ZOO_BUILD/bin/zood" >"$TMPDIR/zood-among-hosts"
  chmod +x "$TMPDIR/zood-among-hosts"
  export ZOO_ZOOD=$TMPDIR/zood-among-hosts
  templates="templates: {helm: $helm, repositories: ['https://$host'], repository_ca: $TMPDIR/repository.crt}"
else
  note "no mount namespace, or no helm: the tutorial's chart is refused instead of made"
fi
start_zood_with "accounts: {enabled: true, listen: '127.0.0.1:0', aggregated: {listen: '$ip:0'}}
$templates"
door=$(sed -n 's/.*the account door listens on //p' "$zood_dir.log" | tail -1)
require "the account door listens" test -n "$door"
available() { [[ $(upstream get apiservice v1alpha1.tenancy.kiosk.sh -o 'jsonpath={.status.conditions[?(@.type=="Available")].status}') == True ]]; }
eventually "kube-apiserver reaches the aggregated door" 60 available
new_tenant t # its kubeconfig has the authority of the account door's certificate
unpack "$t"

# ---- kiosk's objects ----------------------------------------------------------------------------------------------

objects=$TMPDIR/objects
mkdir "$objects"
# account NAME [MEMBERS OF SPACE]: an Account of john's.
account() {
  cat <<YAML
apiVersion: tenancy.kiosk.sh/v1alpha1
kind: Account
metadata:
  name: $1
spec:
${2:+  space:
$2
}  subjects:
  - kind: User
    name: john
    apiGroup: rbac.authorization.k8s.io
YAML
}
# space NAME ACCOUNT
space() {
  cat <<YAML
apiVersion: tenancy.kiosk.sh/v1alpha1
kind: Space
metadata:
  name: $1
spec:
  account: $2
YAML
}
account johns-account >"$objects/account.yaml"
account johns-account "    limit: 2" >"$objects/account-space-limit.yaml"
account johns-account-deletable-spaces "    clusterRole: kiosk-space-admin" >"$objects/account-deletable-spaces.yaml"
account johns-account-default-space-metadata '    clusterRole: kiosk-space-admin
    spaceTemplate:
      metadata:
        labels:
          some-label: "label-value"
          some--other-label: "other-label-value"
        annotations:
          "space-annotation-1": "annotation-value-1"
          "space-annotation-2": "annotation-value-2"' >"$objects/account-default-space-metadata.yaml"
space johns-space johns-account >"$objects/space.yaml"
space johns-space-2 johns-account >"$objects/space-2.yaml"
space johns-space-3 johns-account >"$objects/space-3.yaml"
space johns-space-deletable johns-account-deletable-spaces >"$objects/space-deletable.yaml"
space johns-space-defaults johns-account-default-space-metadata >"$objects/space-defaults.yaml"
cat >"$objects/account-sa.yaml" <<'YAML'
apiVersion: tenancy.kiosk.sh/v1alpha1
kind: Account
metadata:
  name: johns-account
spec:
  subjects:
  - kind: ServiceAccount
    name: john
    namespace: kiosk
YAML
cat >"$objects/rbac-creator.yaml" <<'YAML'
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: kiosk-creator
subjects:
- kind: Group
  name: system:authenticated
  apiGroup: rbac.authorization.k8s.io
roleRef:
  kind: ClusterRole
  name: kiosk-edit
  apiGroup: rbac.authorization.k8s.io
YAML
cat >"$objects/accountquota.yaml" <<'YAML'
apiVersion: config.kiosk.sh/v1alpha1
kind: AccountQuota
metadata:
  name: default-user-limits
spec:
  account: johns-account
  quota:
    hard:
      pods: "2"
      limits.cpu: "4"
YAML
cat >"$objects/template-manifests.yaml" <<'YAML'
apiVersion: config.kiosk.sh/v1alpha1
kind: Template
metadata:
  name: space-restrictions
parameters:
  - name: DEFAULT_CPU_LIMIT
    value: "1"
  - name: DEFAULT_CPU_REQUESTS
    value: "0.5"
    validation: "^[0-9]*\\.?[0-9]+$"
resources:
  manifests:
    - apiVersion: v1
      kind: LimitRange
      metadata:
        name: space-limit-range
        annotations:
          example-parameter: "Hello from ${namespace} - ${WILL_NOT_BE_REPLACED}"
      spec:
        limits:
          - default:
              cpu: "${{DEFAULT_CPU_LIMIT}}"
            defaultRequest:
              cpu: "${{DEFAULT_CPU_REQUESTS}}"
            type: Container
YAML
cat >"$objects/template-helm.yaml" <<'YAML'
apiVersion: config.kiosk.sh/v1alpha1
kind: Template
metadata:
  name: redis
resources:
  helm:
    releaseName: redis
    chart:
      repository:
        name: redis
        repoUrl: https://charts.bitnami.com/bitnami
    values: |
      redisPort: 6379
      # Use a predefined parameter here
      myOtherValue: ${NAMESPACE}
YAML
cat >"$objects/rbac-template-viewer.yaml" <<'YAML'
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: kiosk-template-view
rules:
- apiGroups:
  - config.kiosk.sh
  resources:
  - templates
  verbs:
  - get
  - list
  - watch
  - create
  - delete
  - deletecollection
  - patch
  - update
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: kiosk-template-viewer
subjects:
- kind: Group
  name: system:authenticated
  apiGroup: rbac.authorization.k8s.io
roleRef:
  kind: ClusterRole
  name: kiosk-template-view
  apiGroup: rbac.authorization.k8s.io
YAML
cat >"$objects/rbac-template-instance-admin.yaml" <<'YAML'
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: kiosk-template-admin
  labels:
    rbac.kiosk.sh/aggregate-to-space-admin: "true"
rules:
- apiGroups:
  - config.kiosk.sh
  resources:
  - templateinstances
  verbs:
  - get
  - list
  - watch
  - create
  - delete
  - deletecollection
  - patch
  - update
YAML
# instance NAME TEMPLATE [MORE OF SPEC]
instance() {
  cat <<YAML
apiVersion: config.kiosk.sh/v1alpha1
kind: TemplateInstance
metadata:
  name: $1
spec:
  template: $2
${3:-}
YAML
}
instance redis-instance redis >"$objects/template-instance.yaml"
instance space-restrictions-instance-sync space-restrictions '  sync: true
  parameters:
  - name: DEFAULT_CPU_REQUESTS
    value: "1"' >"$objects/template-instance-sync.yaml"
account johns-account-deletable-spaces "    clusterRole: kiosk-space-admin
    templateInstances:
    - spec:
        template: space-restrictions" >"$objects/account-default-template.yaml"
space johns-space-template-mandatory johns-account-deletable-spaces >"$objects/space-template-mandatory.yaml"
cat >"$objects/deployment.yaml" <<'YAML'
apiVersion: apps/v1
kind: Deployment
metadata:
  name: nginx-deployment
spec:
  selector:
    matchLabels:
      app: nginx
  replicas: 2
  template:
    metadata:
      labels:
        app: nginx
    spec:
      containers:
      - name: nginx
        image: nginx:1.14.2
        ports:
        - containerPort: 80
YAML

# ---- the tutorial -------------------------------------------------------------------------------------------------

# admin ARGUMENTS...: the cluster's administrator, with the kubectl and at the door of this walk; john is impersonated.
admin() {
  case $at in
    upstream) "$kubectl" --kubeconfig "$ZOO_E2E_KUBECONFIG" "$@" ;;
    door) "$kubectl" --kubeconfig "$ZOO_E2E_KUBECONFIG" "${door_options[@]}" "$@" ;;
  esac
}
john() { admin --as=john "$@"; }
apply() { "$1" apply -f "$objects/$2.yaml"; }
spaces() { john get spaces -o 'jsonpath={.items[*].metadata.name}'; }
lists() { [[ $(john get "$1" -o 'jsonpath={.items[*].metadata.name}') == "$2" ]]; }
running() { [[ $(john -n johns-space get pods --field-selector status.phase=Running -o name | wc -l) == 2 ]]; }
gone() { ! upstream get "$@"; }

# walk WHERE WITH: the whole tutorial; WHERE and WITH begin the name of each check.
# pod NAMESPACE CPU: john makes a pod that may use so much ("": it does not say).
pod() {
  jq -n --arg cpu "$2" '{apiVersion: "v1", kind: "Pod", metadata: {name: "tried"}, spec: {containers: [{name: "c", image: "registry.test/c"}
    + if $cpu == "" then {} else {resources: {limits: {cpu: $cpu}}} end]}}' | john -n "$1" create -f -
}
walk() {
  local w="$1, $2:"
  door_options=()
  [[ $1 != door ]] || door_options=(--server "https://$door" --certificate-authority "$TMPDIR/$t.ca")
  export KUBECACHEDIR=$TMPDIR/kube-cache-$2-$1 # what a kubectl knew before the door was there is forgotten

  check "$w 2.1 the administrator creates an account" apply admin account
  expect "$w 2.1 which is an Account of config.kiosk.sh" john "$(upstream get accounts.config.kiosk.sh johns-account -o 'jsonpath={.spec.subjects[0].name}')"
  eventually "$w 2.2 john sees his account" 30 lists accounts johns-account
  expect_match "$w 2.2 as a table" '^johns-account +0 ' "$(john get accounts)"
  expect_match "$w 2.2 and reads it" '^ +name: john$' "$(john get account johns-account -o yaml)"
  expect "$w 2.2 another user sees none" "" "$(admin --as=jane get accounts -o name)"
  check_fails "$w 2.2 nor reads it" 'NotFound' admin --as=jane get account johns-account

  check_fails "$w 3.1 john may not create spaces by default" 'Forbidden|forbidden' apply john space
  check "$w 3.1 the administrator lets all users create spaces" apply admin rbac-creator
  may_create() { [[ $(john auth can-i create spaces.tenancy.kiosk.sh) == yes ]]; }
  eventually "$w 3.1 john may" 30 may_create
  check "$w 3.2 john creates a space" apply john space
  check "$w 3.2 and applies it again" apply john space
  expect_match "$w 3.3 he lists his spaces" '^johns-space +johns-account +Active ' "$(john get spaces)"
  expect "$w 3.3 and reads one" johns-account "$(john get space johns-space -o yaml | sed -n 's/^  account: //p')"
  expect "$w 3.3 another user sees none" "" "$(admin --as=jane get spaces -o name)"
  check "$w 3.4 he makes a deployment in it" john apply -n johns-space -f "$objects/deployment.yaml"
  eventually "$w 3.4 whose pods run" 60 running
  check_fails "$w 3.4 another user does not" 'forbidden' admin --as=jane apply -n johns-space -f "$objects/deployment.yaml"
  check_fails "$w 3.4 nor does john elsewhere" 'forbidden' john apply -n default -f "$objects/deployment.yaml"
  check_fails "$w 3.4 he may not delete the space" '"johns-account" binds "admin"' john delete space johns-space

  check "$w 3.5 an account whose members may delete spaces" apply admin account-deletable-spaces
  eventually "$w 3.5 is john's, too" 30 lists accounts 'johns-account johns-account-deletable-spaces'
  check "$w 3.5 he creates a space of it" apply john space-deletable
  expect "$w 3.6 he has two spaces" 'johns-space johns-space-deletable' "$(spaces)"
  check "$w 3.6 he deletes it" john delete space johns-space-deletable --timeout 60s
  expect "$w 3.6 one is left" johns-space "$(spaces)"
  # His right ends with his binding, and the space for him; the namespace a moment later.
  eventually "$w 3.6 and its namespace goes" 60 gone namespace johns-space-deletable

  check "$w 3.7 an account with defaults for spaces" apply admin account-default-space-metadata
  eventually "$w 3.7 is john's, too" 30 lists accounts 'johns-account johns-account-default-space-metadata johns-account-deletable-spaces'
  check "$w 3.7 he creates a space of it" apply john space-defaults
  expect "$w 3.7 which has them" 'label-value other-label-value annotation-value-1 annotation-value-2' "$(john get space johns-space-defaults -o \
    'jsonpath={.metadata.labels.some-label} {.metadata.labels.some--other-label} {.metadata.annotations.space-annotation-1} {.metadata.annotations.space-annotation-2}')"

  expect "$w 4.1 the administrator limits the first account to two spaces" 'account.tenancy.kiosk.sh/johns-account configured' \
    "$(apply admin account-space-limit 2>&1)"
  limited() { [[ $(john get account johns-account -o 'jsonpath={.spec.space.limit}') == 2 ]]; }
  eventually "$w 4.1 john sees the limit" 30 limited
  expect_match "$w 4.1 in the table" '^johns-account +1/2 ' "$(john get accounts)"
  check "$w 4.1 he creates the second space" apply john space-2
  check_fails "$w 4.1 the third is refused" 'space limit of 2 reached for account johns-account' apply john space-3
  check "$w 4.1 and no namespace is left of it" gone namespace johns-space-3

  check "$w 4.2 the administrator limits what the account uses" apply admin accountquota
  uses() { john get accountquotas | says_line -E "^default-user-limits +johns-account +$1 "; }
  eventually "$w 4.2 john sees what it uses, and may" 60 uses 'limits.cpu 0/4, pods 2/2'
  expect "$w 4.2 another user does not" "" "$(admin --as=jane get accountquotas -o name)"
  refused() { grep -qE "$1" <<<"$(pod "$2" "$3" 2>&1)"; }
  full='exceeded quota: default-user-limits, requested: (limits.cpu=1,)?pods=1, used: (limits.cpu=0,)?pods=2, limited: (limits.cpu=4,)?pods=2 \(account johns-account: johns-space pods=2\)'
  eventually "$w 4.2 a third pod is refused in his other space" 60 refused "$full" johns-space-2 1
  check "$w 4.2 one goes" john -n johns-space scale deployment nginx-deployment --replicas 1
  eventually "$w 4.2 and leaves room" 60 uses 'limits.cpu 0/4, pods 1/2'
  eventually "$w 4.2 but how much CPU a pod may use is to be said" 60 refused 'must specify limits.cpu' johns-space-2 ''
  fits() { pod johns-space-2 1; }
  eventually "$w 4.2 one that says so fits" 60 fits
  eventually "$w 4.2 and is counted" 60 uses 'limits.cpu 1/4, pods 2/2'
  check "$w 4.2 the quota goes" admin delete accountquotas.config.kiosk.sh default-user-limits
  check "$w 4.2 and the pod" john -n johns-space-2 delete pod tried --now

  check "$w 5.1 a template of manifests" apply admin template-manifests
  check "$w 5.2 a template of a chart" apply admin template-helm
  check_fails "$w 5.3 john does not see templates by default" 'forbidden' john get templates
  check "$w 5.3 the administrator lets all users see them" apply admin rbac-template-viewer
  eventually "$w 5.3 he does" 30 lists templates 'redis space-restrictions'
  check "$w 5.3 and lets users make instances in their spaces" apply admin rbac-template-instance-admin
  check "$w 5.4 a template is mandatory in an account" apply admin account-default-template
  has_list() { [[ -n $(john get account johns-account-deletable-spaces -o 'jsonpath={.spec.space.templateInstances}') ]]; }
  eventually "$w 5.4 as john sees" 30 has_list
  check "$w 5.4 he creates a space of it" apply john space-template-mandatory
  expect "$w 5.4 which has the template's object" 'Hello from johns-space-template-mandatory - ${WILL_NOT_BE_REPLACED} 1 500m' \
    "$(john -n johns-space-template-mandatory get limitrange space-limit-range -o 'jsonpath={.metadata.annotations.example-parameter} {.spec.limits[0].default.cpu} {.spec.limits[0].defaultRequest.cpu}')"
  expect_match "$w 5.5 john sees an instance of it in his space" '^space-restrictions-[^ ]+ +space-restrictions +Deployed ' "$(john get templateinstances.tenancy.kiosk.sh -n johns-space-template-mandatory --no-headers)"
  expect_match "$w 5.5 and so does the administrator" '^space-restrictions-[^ ]+ +space-restrictions +Deployed ' "$(admin get templateinstances -n johns-space-template-mandatory --no-headers)"
  may_instantiate() { [[ $(john auth can-i create templateinstances.config.kiosk.sh -n johns-space-template-mandatory) == yes ]]; }
  eventually "$w 5.3 john may make instances in it" 60 may_instantiate
  check "$w 5.3 he makes one of the chart" john apply -n johns-space-template-mandatory -f "$objects/template-instance.yaml"
  redis_is() { [[ $(john get templateinstance redis-instance -n johns-space-template-mandatory -o 'jsonpath={.status.status} {.status.reason}') == "$1" ]]; }
  if [[ -n $templates ]]; then
    eventually "$w 5.3 which is deployed" 60 redis_is 'Deployed '
    expect "$w 5.3 with its values" '6379 johns-space-template-mandatory redis' \
      "$(john get configmap redis -n johns-space-template-mandatory -o 'jsonpath={.data.port} {.data.where} {.data.of}')"
  else # this zood has no list of repositories
    eventually "$w 5.3 and is told that its repository is not allowed" 60 redis_is 'Failed ErrorHelm'
  fi
  check "$w 5.5 he deletes it" john delete templateinstance redis-instance -n johns-space-template-mandatory
  check "$w 5.5 of which nothing is left" gone templateinstances.config.kiosk.sh redis-instance -n johns-space-template-mandatory
  check "$w 5.5 he makes one that follows" john apply -n johns-space-defaults -f "$objects/template-instance-sync.yaml"
  follows() { [[ $(john get templateinstance space-restrictions-instance-sync -n johns-space-defaults -o 'jsonpath={.status.status}') == Deployed ]]; }
  eventually "$w 5.5 which is deployed" 60 follows
  check "$w he deletes the space" john delete space johns-space-template-mandatory --timeout 60s
  check "$w the templates go" admin delete templates redis space-restrictions
  check "$w and the rights to them" admin delete clusterrole,clusterrolebinding kiosk-template-view kiosk-template-viewer kiosk-template-admin --ignore-not-found

  # The alternative of 2.1.
  check "$w 2.1 the account's user becomes a ServiceAccount" apply admin account-sa
  robot=(--as=system:serviceaccount:kiosk:john)
  robots() { [[ $(admin "${robot[@]}" get spaces -o 'jsonpath={.items[*].metadata.name}') == "johns-space johns-space-2" ]]; }
  eventually "$w 2.1 who has the spaces then" 30 robots
  not_johns() { [[ $(spaces) == johns-space-defaults ]]; }
  eventually "$w 2.1 and john has them no more" 30 not_johns

  # The extra chapter.
  admin get namespace kiosk >/dev/null 2>&1 || admin create namespace kiosk >/dev/null
  check "$w extra: a ServiceAccount" admin -n kiosk create serviceaccount john
  admin config view --minify --raw >"$TMPDIR/kiosk.kubeconfig"
  "$kubectl" --kubeconfig "$TMPDIR/kiosk.kubeconfig" config set-credentials john --token "$(admin -n kiosk create token john)" >/dev/null
  "$kubectl" --kubeconfig "$TMPDIR/kiosk.kubeconfig" config set-context --current --user john >/dev/null
  with_token() { "$kubectl" --kubeconfig "$TMPDIR/kiosk.kubeconfig" "${door_options[@]}" get spaces -o 'jsonpath={.items[*].metadata.name}'; }
  expect "$w extra: has its spaces by its token" "johns-space johns-space-2" "$(with_token)"
  check "$w extra: it goes" admin -n kiosk delete serviceaccount john

  for name in johns-account johns-account-default-space-metadata johns-account-deletable-spaces; do
    check "$w the account $name goes" admin delete account "$name" --timeout 60s
  done
  check "$w spaces are deleted by the administrator" admin delete space johns-space johns-space-2 johns-space-defaults --timeout 60s
  check "$w and the right to create them" admin delete clusterrolebinding kiosk-creator
  may_not() { [[ $(john auth can-i create spaces.tenancy.kiosk.sh) == no ]]; }
  eventually "$w which john has no more" 30 may_not
}

kubectls=("$KUBECTL")
if [[ -n ${ZOO_OLD_KUBECTL:-} ]]; then kubectls+=("$ZOO_OLD_KUBECTL"); fi
for kubectl in "${kubectls[@]}"; do
  version=$("$kubectl" version --client -o json | jq -r .clientVersion.gitVersion)
  for at in upstream door; do walk "$at" "$version"; done
done

# ---- kiosk is uninstalled -----------------------------------------------------------------------------------------

stop_zood
check "it is uninstalled" ctl account uninstall --upstream "$ZOO_E2E_KUBECONFIG"
check "and its kinds are gone" gone customresourcedefinition accounts.config.kiosk.sh
