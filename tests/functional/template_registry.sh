#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: templates accounts app
# step: all
# timeout: 900
# Charts of templates that are in an OCI registry, a real one that speaks TLS and takes a password; and repositories and registries that hang, flood
# or lie. tests/functional/template_charts.sh has the charts themselves.
. "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=tests/upstream/go-env.sh
. "$zoo_root/tests/upstream/go-env.sh"

helm=$(go_program "$zoo_root/packaging/helm") || { failed "build helm" <<<"see above"; exit 1; }
program=$(go_program "$zoo_root/tests/functional/templates/registry") || { failed "build the registry" <<<"see above"; exit 1; }
own_upstream
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 \
  -keyout "$TMPDIR/tls.key" -out "$TMPDIR/tls.crt" 2>/dev/null
password='se cret"$x'
echo "zoo:$("$program" password "$password")" >"$TMPDIR/passwords"
cat >"$TMPDIR/registry.yaml" <<YAML
version: 0.1
log: {accesslog: {disabled: false}}
storage: {filesystem: {rootdirectory: "$TMPDIR/blobs"}}
http: {addr: "127.0.0.1:0", secret: test, tls: {certificate: "$TMPDIR/tls.crt", key: "$TMPDIR/tls.key"}}
auth: {htpasswd: {realm: test, path: "$TMPDIR/passwords"}}
YAML
OTEL_TRACES_EXPORTER=none "$program" serve "$TMPDIR/registry.yaml" >"$TMPDIR/registry.log" 2>&1 &
registry_pid=$!
mkdir "$TMPDIR/repository"
python3 "$zoo_root/tests/functional/templates/repository.py" "$TMPDIR/repository" "$TMPDIR/tls.crt" "$TMPDIR/tls.key" --open >"$TMPDIR/repository.port" 2>"$TMPDIR/repository.log" &
repository_pid=$!
at_end() {
  kill "$registry_pid" "$repository_pid" 2>/dev/null
  stop_zood
}
at() { grep -om1 'listening on 127.0.0.1:[0-9]*' "$TMPDIR/registry.log" | cut -d' ' -f3; }
listens() { [[ -n $(at) && -s $TMPDIR/repository.port ]]; }
eventually "a registry and a repository listen" 30 listens
registry=$(at)
repository=127.0.0.1:$(cat "$TMPDIR/repository.port")

# pack VERSION: a chart `app`, whose file is printed.
pack() {
  local at=$TMPDIR/charts/$1
  mkdir -p "$at/app/templates"
  printf 'apiVersion: v2\nname: app\nversion: %s\n' "$1" >"$at/app/Chart.yaml"
  printf '{apiVersion: v1, kind: ConfigMap, metadata: {name: "%s"}, data: {version: "%s", size: {{ .Values.size | quote }}}}\n' '{{ .Release.Name }}' "$1" >"$at/app/templates/map.yaml"
  tar -C "$at" -czf "$at/app-$1.tgz" app && echo "$at/app-$1.tgz"
}
as_helm() {
  env HOME="$TMPDIR/home" HELM_CACHE_HOME="$TMPDIR/home" HELM_CONFIG_HOME="$TMPDIR/home" HELM_DATA_HOME="$TMPDIR/home" SSL_CERT_FILE="$TMPDIR/tls.crt" "$helm" "$@"
}
mkdir "$TMPDIR/home"
login() { as_helm registry login "$registry" --username zoo --password-stdin <<<"$password"; }
require "helm logs in" login
for version in 1.0.0 1.1.0 2.0.0; do require "helm pushes version $version" as_helm push "$(pack "$version")" "oci://$registry/charts"; done
upstream -n kube-system create secret generic registry --from-literal user=zoo --from-literal password="$password" --from-literal wrong=nothing >/dev/null

start_accounts() { # [authority of the registry]
  start_zood_with "accounts: {enabled: true}
templates: {helm: $helm, repositories: ['oci://$registry/charts', 'oci://$repository/silent', 'https://$repository/good']${1:+, repository_ca: $1}}"
}
start_accounts "$TMPDIR/tls.crt"
require "a namespace" upstream create namespace one
# from ADDRESS [MORE OF CHART]: resources.helm of a chart that is there, with the registry's credentials.
from() {
  jq -n --arg oci "$1" --argjson more "${2:-{\}}" '{chart: {oci: $oci}, values: "size: ${{SIZE}}\n"} | .chart += {username: {name: "registry", namespace: "kube-system", key: "user"}, password: {name: "registry", namespace: "kube-system", key: "password"}} + $more'
}
template() { jq -n --arg name "$1" --argjson helm "$2" '{apiVersion: "config.kiosk.sh/v1alpha1", kind: "Template", metadata: {name: $name}, parameters: [{name: "SIZE", value: "1"}], resources: {helm: $helm}}' | upstream apply --server-side -f -; }
instance() { printf '{"apiVersion":"config.kiosk.sh/v1alpha1","kind":"TemplateInstance","metadata":{"name":"%s","namespace":"one"},"spec":{"template":"%s","parameters":[%s]}}' "$1" "$1" "${2:-}" | upstream apply -f -; }
said() { upstream get templateinstance.config.kiosk.sh -n one "$1" -o 'jsonpath={.status.status} {.status.reason}: {.status.message}'; }
says() { grep -Eq -- "$2" <<<"$(said "$1")"; }
made() { # NAME HELM: is deployed; what it has made is printed
  template "$1" "$2" >/dev/null && instance "$1" >/dev/null
  eventually "$1 is deployed" 60 says "$1" '^Deployed ' >&2
  upstream get configmap -n one "$1" -o 'jsonpath={.data.version} {.data.size}'
}
wrong() { # NAME TEXT HELM
  template "$1" "$3" >/dev/null && instance "$1" >/dev/null
  eventually "$1: $2" 60 says "$1" "^Failed ErrorHelm: $2"
}

# ---- a real registry ----------------------------------------------------------------------------------------------

expect "T4: a chart of a registry, by its version" "1.0.0 1" "$(made versioned "$(from "oci://$registry/charts/app:1.0.0")")"
expect "T4: by its tag" "1.1.0 1" "$(made tagged "$(from "oci://$registry/charts/app:1.1.0")")"
expect "T4: the newest one" "2.0.0 1" "$(made newest "$(from "oci://$registry/charts/app")")"
expect_match "the registry was asked by its user" 'auth.user.name=zoo .*http.request.uri="?/v2/charts/app/' "$(cat "$TMPDIR/registry.log")"
asked() { grep -c '"GET /v2/charts/app/blobs/[^"]*" 200 .*Helm' "$TMPDIR/registry.log"; }
before=$(asked)
require "another instance with another parameter" instance versioned '{"name":"SIZE","value":"7"}'
resized() { [[ $(upstream get configmap -n one versioned -o 'jsonpath={.data.size}') == 7 ]]; }
eventually "is rendered anew" 60 resized
expect "from the chart that is kept" "$before" "$(asked)"
wrong stranger '.*(401|unauthorized|credential not found)' "$(from "oci://$registry/charts/app:1.0.1" | jq 'del(.chart.username, .chart.password)')"
wrong impostor '.*(401|unauthorized|Unauthorized|authentication)' "$(from "oci://$registry/charts/app:1.0.2" '{"password":{"name":"registry","namespace":"kube-system","key":"wrong"}}')"
wrong absent '.*(not found|manifest unknown|404)' "$(from "oci://$registry/charts/app:9.9.9")"
wrong elsewhere '.*is none of the repositories of templates.repositories' "$(from "oci://$registry/chartsmore/app:1.0.0")"
wrong outwards '.*is none of the repositories of templates.repositories' "$(from "oci://$registry/charts@evil.test/app:1.0.0")"
expect_no_match "no password is in the log" 'se cret' "$(cat "$zood_dir.log")"

# ---- one that lies ------------------------------------------------------------------------------------------------

blob_of() { echo "$TMPDIR/blobs/docker/registry/v2/blobs/sha256/${1:7:2}/${1:7}/data"; }
digest=$(cat "$TMPDIR/blobs/docker/registry/v2/repositories/charts/app/_manifests/tags/1.1.0/current/link")
layer=$(jq -r '.layers[0].digest' "$(blob_of "$digest")")
require "the chart is a blob of the registry" test -n "$layer"
pack 6.6.6 >/dev/null
require "a blob becomes another one than its digest says" cp "$TMPDIR/charts/6.6.6/app-6.6.6.tgz" "$(blob_of "$layer")"
rm -f "$zood_dir"/charts/*.tgz # as if it had never been fetched
stop_zood
start_accounts "$TMPDIR/tls.crt"
tries() { grep -c "\"GET /v2/charts/app/blobs/$layer HTTP" "$TMPDIR/registry.log"; }
before=$(tries)
wrong forged '.*(digest|mismatch|size|verif)' "$(from "oci://$registry/charts/app:1.1.0")"
expect "what stood stays" "1.1.0 1" "$(upstream get configmap -n one tagged -o 'jsonpath={.data.version} {.data.size}')"

# ---- some that hang, or flood -------------------------------------------------------------------------------------

repo() { jq -n --arg url "$1" --argjson more "${2:-{\}}" '{chart: {repository: ({name: "app", version: "1.0.0", repoUrl: $url} + $more)}, values: "size: 1\n"}'; }
cp "$TMPDIR/charts/1.0.0/app-1.0.0.tgz" "$TMPDIR/repository"
index() { # DIGEST [ADDRESS]
  printf 'apiVersion: v1\nentries: {app: [{apiVersion: v2, name: app, version: 1.0.0, urls: ["%s"], digest: %s}]}\n' "${2:-app-1.0.0.tgz}" "$1" >"$TMPDIR/repository/index.yaml"
}
true_digest=$(sha256sum "$TMPDIR/repository/app-1.0.0.tgz" | cut -d' ' -f1)
index "$true_digest" "https://elsewhere.test/app-1.0.0.tgz"
wrong led-away '.*elsewhere.test' "$(repo "https://$repository/good/b")"
index "$true_digest"
expect "a repository that is honest" "1.0.0 1" "$(made honest "$(repo "https://$repository/good/c")")"
index "$true_digest"
head -c 5000 /dev/urandom >"$TMPDIR/repository/app-1.0.0.tgz"
wrong garbled '' "$(repo "https://$repository/good/a")"
head -c 11000000 /dev/urandom >"$TMPDIR/repository/app-1.0.0.tgz"
index "$(sha256sum "$TMPDIR/repository/app-1.0.0.tgz" | cut -d' ' -f1)"
wrong huge '' "$(repo "https://$repository/good/d")"
template flooding "$(repo "https://$repository/good/long")" >/dev/null && instance flooding >/dev/null
template hanging "$(repo "https://$repository/good/silent")" >/dev/null && instance hanging >/dev/null
template silent "$(from "oci://$repository/silent/app:1.0.0" | jq 'del(.chart.username, .chart.password)')" >/dev/null && instance silent >/dev/null
eventually "a repository without end is given up" 120 says flooding '^Failed ErrorHelm: '
eventually "one that hangs is given up" 120 says hanging '^Failed ErrorHelm: .*helm took longer than 20 s'
eventually "and so is a registry" 120 says silent '^Failed ErrorHelm: .*helm took longer than 20 s'
# Behind the first try after 5 s, 10 s and so on: those that hung took forty.
expect "what has failed is tried ever more rarely" yes "$( (($(tries) - before <= 6)) && echo yes)"
# They are tried again all the time, each in a directory of its own.
mapfile -t runs < <(find "$zood_dir/charts" -name 'run.*')
none_left() {
  local run
  for run in "${runs[@]}"; do [[ ! -e $run ]] || return 1; done
}
eventually "nothing of what ran is left" 60 none_left

# ---- an authority that is nobody's --------------------------------------------------------------------------------

stop_zood
start_accounts ''
wrong unknown-authority '.*(x509|certificate)' "$(from "oci://$registry/charts/app:2.0.0")"
