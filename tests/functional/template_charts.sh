#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: templates accounts app
# timeout: 900
# Helm charts of templates: from the Template itself and from a repository, with values and parameters; one that takes long is a phase;
# and charts that loop, write without end, look around or name what is not theirs.
. "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=tests/upstream/go-env.sh
. "$zoo_root/tests/upstream/go-env.sh"

helm=$(go_program "$zoo_root/packaging/helm") || { failed "build helm" <<<"see above"; exit 1; }
own_upstream
repository=$TMPDIR/repository
mkdir "$repository"

# chart NAME: packs the chart in $TMPDIR/NAME, whose templates were written there, and prints the file.
begin_chart() {
  mkdir -p "$TMPDIR/charts/$1/templates"
  printf 'apiVersion: v2\nname: %s\nversion: %s\n' "$1" "${2:-1.0.0}" >"$TMPDIR/charts/$1/Chart.yaml"
}
pack() { tar -C "$TMPDIR/charts" -czf "$TMPDIR/charts/$1-${2:-1.0.0}.tgz" "$1" && echo "$TMPDIR/charts/$1-${2:-1.0.0}.tgz"; }
manifest() { cat >"$TMPDIR/charts/$1/templates/${2:-all}.yaml"; }
# A repository that speaks TLS, takes a user name and a password, and can be slow.
serve() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 \
    -keyout "$TMPDIR/repository.key" -out "$TMPDIR/repository.crt" 2>/dev/null
  python3 "$zoo_root/tests/functional/templates/repository.py" "$repository" "$TMPDIR/repository.crt" "$TMPDIR/repository.key" >"$TMPDIR/repository.port" 2>"$TMPDIR/repository.log" &
  repository_pid=$!
  announced() { [[ -s $TMPDIR/repository.port ]]; }
  eventually "a repository listens" 30 announced
  url=https://127.0.0.1:$(cat "$TMPDIR/repository.port")
}
serve
at_end() {
  kill "$repository_pid"
  stop_zood
}
config="accounts: {enabled: true, listen: '127.0.0.1:0', self_service: true}
templates: {helm: $helm, repositories: ['$url/good'], repository_ca: $TMPDIR/repository.crt}"
start_zood_with "$config"
require "the account door listens" test -n "$(account_door)"
new_tenant t
unpack "$t"
new_user john
john() {
  "$KUBECTL" --server "https://$(account_door)" --certificate-authority "$TMPDIR/$t.ca" --client-certificate "$TMPDIR/john.crt" --client-key "$TMPDIR/john.key" "$@"
}
# template NAME HELM: HELM is resources.helm as JSON.
template() { jq -n --arg name "$1" --argjson helm "$2" '{apiVersion: "config.kiosk.sh/v1alpha1", kind: "Template", metadata: {name: $name}, parameters: [{name: "SIZE", value: "1"}], resources: {helm: $helm}}' | upstream apply --server-side -f -; }
inline() { jq -n --arg chart "$(base64 -w0 "$1")" '{chart: {inline: $chart}}'; }
instance() { printf '{"apiVersion":"config.kiosk.sh/v1alpha1","kind":"TemplateInstance","metadata":{"name":"%s","namespace":"one"},"spec":{"template":"%s","parameters":[%s]}}' "$1" "$1" "${2:-}" | upstream apply -f -; }
is() { [[ $(upstream get templateinstance -n one "$1" -o 'jsonpath={.status.status}') == "$2" ]]; }
said() { upstream get templateinstance -n one "$1" -o 'jsonpath={.status.reason}: {.status.message}'; }
says() { grep -Eq -- "$2" <<<"$(said "$1")"; }
value() { upstream get configmap -n one "$1" -o "jsonpath={.data.$2}"; }
require "an account" upstream apply -f - <<'YAML'
apiVersion: config.kiosk.sh/v1alpha1
kind: Account
metadata: {name: team}
spec: {subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: john}]}
YAML
sees_account() { [[ $(john get accounts.tenancy.kiosk.sh -o name) == account.tenancy.kiosk.sh/team ]]; }
eventually "its member sees it" 30 sees_account
space() { printf '{"apiVersion":"tenancy.kiosk.sh/v1alpha1","kind":"Space","metadata":{"name":"%s","annotations":{"zoo.kubezoo.io/templates":"%s"}},"spec":{"account":"team"}}' "$1" "$2"; }
require "a space" john create -f - <<<"$(space one '')"

# ---- a chart in its template --------------------------------------------------------------------------------------

begin_chart app
manifest app <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: app, namespace: {{ .Release.Namespace }}}
data:
  release: {{ .Release.Name }}
  size: {{ .Values.size | quote }}
  text: {{ .Values.text | quote }}
  list: {{ .Values.list | quote }}
  kind: {{ kindOf .Values.size }} {{ kindOf .Values.text }}
  looked: {{ lookup "v1" "Secret" "kube-system" "" | toString | quote }}
  read: {{ printf "%s%s" (.Files.Get "/etc/passwd") (.Files.Get "../../../../etc/passwd") | quote }}
---
apiVersion: v1
kind: Service
metadata: {name: app}
spec: {ports: [{port: 80}]}
YAML
manifest app hook <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: hook, annotations: {helm.sh/hook: pre-install}}
YAML
app=$(pack app)
require "a template with a chart" template app "$(jq '. + {releaseName: "first", values: "size: ${{SIZE}}\nlist: in ${NAMESPACE}\n", setValues: [{name: "text", value: "7,x={y}", forceString: true}]}' <<<"$(inline "$app")")"
require "an instance" instance app '{"name":"SIZE","value":"3"}'
eventually "T2: is deployed" 60 is app Deployed
expect "with values, parameters and texts as they are" "first 3 7,x={y} in one" "$(value app release) $(value app size) $(value app text) $(value app list)"
expect "of their kinds" "float64 string" "$(value app kind)"
expect "it looks nothing up" "map[]" "$(value app looked)"
expect "and reads nothing of the machine" "" "$(value app read)"
check "its Service is there" upstream get service -n one app
check_fails "hooks are not" NotFound upstream get configmap -n one hook
require "values that it does not take" template app "$(jq '. + {values: "- a\n"}' <<<"$(inline "$app")")"
require "other parameters" instance app '{"name":"SIZE","value":"4"}'
eventually "T3: are told" 60 says app '^ErrorReplaceParameters: resources.helm.values is no mapping'
check "T3: what stood stays" upstream get service -n one app

# ---- a repository -------------------------------------------------------------------------------------------------

cp "$app" "$repository/app-1.0.0.tgz"
cat >"$repository/index.yaml" <<YAML
apiVersion: v1
entries:
  app: [{apiVersion: v2, name: app, version: 1.0.0, urls: [app-1.0.0.tgz], digest: $(sha256sum "$app" | cut -d' ' -f1)}]
YAML
upstream -n kube-system create secret generic repository --from-literal user=zoo --from-literal password='se cret"$x' >/dev/null
from() { # URL [MORE]
  jq -n --arg url "$1" --argjson more "${2:-{\}}" '{chart: {repository: ({name: "app", version: "1.0.0", repoUrl: $url} + $more)}, values: "size: 1\ntext: t\nlist: l\n"}'
}
login='{"username":{"name":"repository","namespace":"kube-system","key":"user"},"password":{"name":"repository","namespace":"kube-system","key":"password"}}'
require "a template with a chart of a repository" template fetched "$(from "$url/good" "$login")"
require "is named for a new space" john create -f - <<<"$(space two fetched)"
expect "T4: which has it" fetched "$(upstream get configmap -n two app -o 'jsonpath={.data.release}')"
expect_match "T4: the repository was given the password" '^GET /good/index.yaml zoo:se cret"\$x$' "$(cat "$TMPDIR/repository.log")"
requests=$(wc -l <"$TMPDIR/repository.log")
require "a third space" john create -f - <<<"$(space three fetched)"
expect "asks the repository for nothing: the chart is kept" "$requests" "$(wc -l <"$TMPDIR/repository.log")"
wrong() { # NAME TEXT HELM
  template "$1" "$3" >/dev/null && instance "$1" >/dev/null
  eventually "$1: $2" 60 says "$1" "$2"
}
wrong unlisted 'is none of the repositories of templates.repositories' "$(from "$url/other" "$login")"
wrong longer 'is none of the repositories' "$(from "$url/goodness" "$login")"
wrong plain 'is none of the repositories' "$(from "http://127.0.0.1/good" "$login")"
wrong stranger '^ErrorHelm: .*(401|Unauthorized)' "$(from "$url/good" | jq '.chart.repository.version = "1.0.1"')"
wrong absent '^ErrorHelm: ' "$(from "$url/good" "$login" | jq '.chart.repository.name = "nothing"')"
wrong secretless 'Secret kube-system/none of the repository' "$(from "$url/good" "$login" | jq '.chart.repository.version = "1.0.2" | .chart.repository.password.name = "none"')"
wrong option '^ErrorHelm: .*release name' "$(jq '. + {releaseName: "--debug"}' <<<"$(inline "$app")")"
require "a chart that comes slowly" template slow "$(from "$url/good/slow" "$login")"
slowly() { upstream get templateinstance -n four slow -o "jsonpath={.status.status}|{.status.conditions[0].reason}|{.status.conditions[0].message}"; }
john create -f - >"$TMPDIR/four.out" 2>&1 <<<"$(space four slow)" &
creator=$!
phase() { [[ $(slowly) == "|Rendering|chart app is being fetched and rendered" ]]; }
eventually "is a phase of the instance" 30 phase
expect "in which nobody has access" "" "$(upstream get rolebinding -n four zoo:account -o name 2>/dev/null)"
check_fails "not even who asked for it" 'orbidden' john get configmaps -n four
touch "$repository/released"
wait "$creator"
expect "and the space is there when it has come" space.tenancy.kiosk.sh/four "$(grep -o '^space[^ ]*' "$TMPDIR/four.out")"
expect_match "with all of it" '^Deployed\|Deployed' "$(slowly)"

# ---- hostile charts -----------------------------------------------------------------------------------------------

hostile() { # NAME TEXT: its manifest on standard input
  begin_chart "$1"
  manifest "$1"
  template "$1" "$(inline "$(pack "$1")")" >/dev/null && instance "$1" >/dev/null
  eventually "$1 fails: $2" 90 says "$1" "$2"
}
hostile loops '^ErrorHelm: .*(took longer than|more than 10 s of CPU)' <<'YAML'
{{- range $i := until 1000 }}{{ range $j := until 1000 }}{{ range $k := until 1000 }}{{ $x := sha256sum "x" }}{{ end }}{{ end }}{{ end }}
YAML
hostile floods '^ErrorHelm: ' <<'YAML'
{{- range $i := until 30000 }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: x{{ $i }}}
data: {x: {{ repeat 30000 "x" }}}
{{- end }}
YAML
hostile swells '^ErrorHelm: ' <<'YAML'
{{- $x := "xxxxxxxxxxxxxxxx" }}{{ range until 60 }}{{ $x = printf "%s%s" $x $x }}{{ end }}{{ $x }}
YAML
hostile elsewhere 'names namespace "kube-system"' <<'YAML'
{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: kube-system}}
YAML
hostile roots 'would stand outside of the namespace' <<'YAML'
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: x}, rules: []}
YAML
hostile many 'more than 500 objects' <<'YAML'
{{- range $i := until 600 }}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: x{{ $i }}}}
{{- end }}
YAML
hostile dials '^ErrorHelm: |^ErrorConvertingManifest: ' <<'YAML'
{{ getHostByName "localhost" }}
YAML
hostile broken '^ErrorHelm: .*parse error' <<'YAML'
{{ if }}
YAML
template packed "$(jq -n --arg chart "$(head -c 3000 /dev/urandom | base64 -w0)" '{chart: {inline: $chart}}')" >/dev/null && instance packed >/dev/null
eventually "a chart that is none fails" 60 says packed '^ErrorHelm: '
# A link out of the chart, and a path out of it.
begin_chart links
ln -s "$zood_dir/upstream.token" "$TMPDIR/charts/links/token"
printf '{apiVersion: v1, kind: ConfigMap, metadata: {name: stolen}, data: {x: {{ .Files.Get "token" | quote }}}}\n' | manifest links
template links "$(inline "$(pack links)")" >/dev/null && instance links >/dev/null
over() { is links Deployed || is links Failed; }
eventually "a chart with a link to zood's token ends" 60 over
expect "and has nothing of it" "" "$(value stolen x 2>/dev/null)"
check "zood still lives, and renders" instance app '{"name":"SIZE","value":"5"}'
no_run() { [[ -z $(find "$zood_dir/charts" -name 'run.*') ]]; }
eventually "nothing is left in its directory of charts" 60 no_run
expect_no_match "no password is in its log" 'se cret' "$(cat "$zood_dir.log")"
