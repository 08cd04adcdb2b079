# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by tests/hostile/run.sh: the tenants, what an attack does, and what is held against it.
#
#   $evil, $victim                       the tenants' IDs, the first a new one; both have namespaces `team` and `default`
#   try METHOD PATH [TYPE [BODY]]        as the attacker: the answer is left in $answer, its code in $code
#   with_token METHOD PATH [TYPE BODY]   the same as who has the token $token
#   direct METHOD PATH [TYPE [BODY]]     the same as upstream's administrator: what it would do without the fence
#   would WHAT METHOD PATH [TYPE BODY]   upstream itself lets its administrator do it (dry run): it is the fence that refuses
#   terms JSON                           the platform's administrator changes the attacker's Tenant by a merge patch
#   refused WHAT [CODES]                 the last answer is one of these codes, 4xx unless told otherwise
#   stored PATH [FILTER]                 upstream's own view of an object, through jq
#   curl_more=(...)                      further arguments of curl for the next `try`
#   may_fail=REGEX                       kinds whose list the platform has allowed this attack to break, by their path
# TYPE is json, merge, patch (RFC 6902), strategic, apply, yaml, or a media type.

declare -A media_types=([json]=application/json [merge]=application/merge-patch+json [patch]=application/json-patch+json
  [strategic]=application/strategic-merge-patch+json [apply]=application/apply-patch+yaml [yaml]=application/yaml)
curl_more=()

# credentials FILE NAME: the parts of a kubeconfig as files that the client and openssl read.
credentials() {
  local part
  for part in client-certificate:crt client-key:key certificate-authority:ca; do
    (umask 077 && grep -oP -m1 -- "${part%:*}-data\"?: *\"?\K[A-Za-z0-9+/=]+" "$1" | base64 -d >"$TMPDIR/$2.${part##*:}")
  done
}

# send NAME BASE METHOD PATH [TYPE [BODY]]: over connections that stay open; by curl where it has arguments of its own.
send() {
  local name=$1 base=$2 method=$3 path=$4 type=${5:+${media_types[$5]:-$5}} arguments=()
  if ((${#curl_more[@]} == 0)); then
    printf '%s\0' "$name" "$base" "$method" "$path" "$type" "${6:-}" >&"${client[1]}"
    read -r code <&"${client[0]}"
    answer=$(<"$TMPDIR/body")
    return
  fi
  [[ -n $type ]] && arguments+=(-H "Content-Type: $type" --data-binary @-)
  code=$(printf %s "${6:-}" | curl -sg --max-time 60 --path-as-is -X "$method" --cacert "$TMPDIR/$name.ca" --cert "$TMPDIR/$name.crt" \
    --key "$TMPDIR/$name.key" -D "$TMPDIR/headers" -o "$TMPDIR/body" -w '%{http_code}' "${arguments[@]}" "${curl_more[@]}" "$base$path")
  answer=$(tr -d '\0' <"$TMPDIR/body" 2>/dev/null)
}

try() {
  : >"$TMPDIR/headers"
  : >"$TMPDIR/body"
  send "$evil" "https://$zood_address" "$@"
  # curl 7.88 forgets an answer that RST_STREAM(NO_ERROR) follows, as RFC 9113 8.1 asks where a body was not read.
  if [[ $code == 000 ]]; then
    curl_more+=(--http1.1)
    send "$evil" "https://$zood_address" "$@"
  fi
  observe "$* ${curl_more[*]}" "$(<"$TMPDIR/headers")$answer"
  curl_more=()
}

# with_token METHOD PATH [TYPE BODY]: whose token is in $token.
with_token() {
  local arguments=()
  [[ -n ${3:-} ]] && arguments+=(-H "Content-Type: ${media_types[$3]}" --data-binary "$4")
  answer=$(curl -s --max-time 20 --cacert "$TMPDIR/$evil.ca" -H "Authorization: Bearer $token" -X "$1" "${arguments[@]}" "${curl_more[@]}" -w '\n%{http_code}' "https://$zood_address$2")
  code=${answer##*$'\n'}
  observe "$* ${curl_more[*]}" "$answer"
  curl_more=()
}

direct() {
  send upstream "$upstream_server" "$@"
  curl_more=()
}

would() {
  local what=$1 method=$2 path=$3
  shift 3
  if [[ $method != GET ]]; then
    [[ $path == *\?* ]] && path+='&dryRun=All' || path+='?dryRun=All'
  fi
  direct "$method" "$path" "$@"
  accepted "upstream itself would: $what"
}

terms() {
  require "the platform's terms: $1" curl -sSf --unix-socket "$zood_dir/zood.sock" -X PATCH -H 'Content-Type: application/merge-patch+json' -d "$1" -o "$TMPDIR/terms" \
    "http://zood/apis/tenant.kubezoo.io/v1alpha1/tenants/$evil"
}

# observe ASKED ANSWERED: kept for the search for the victim's bytes.
observe() {
  exchanges=$((exchanges + 1))
  printf '%s\n' "$1" >"$TMPDIR/exchanges/$exchanges.asked"
  printf '%s\n' "$2" >"$TMPDIR/exchanges/$exchanges.answered"
}

# said TEXT: words that an attack knew beforehand and sent in another spelling.
said() { printf '%s\n' "$1" >>"$TMPDIR/exchanges/said.asked"; }

refused() {
  if [[ $code =~ ^(${2:-4..})$ ]]; then passed "$1"; else failed "$1" <<<"answered $code, not ${2:-4xx}: ${answer:0:600}"; fi
}
# accepted WHAT: the last answer was a success (of `direct`, or of a request that is harmless).
accepted() { refused "$1" '2..'; }

stored() {
  direct GET "$1"
  jq -rS "${2:-.}" <<<"$answer" 2>&1
}

# lists NAME URL...: what NAME's certificate is answered.
lists() {
  local name=$1
  shift
  curl -sg --max-time 30 --cacert "$TMPDIR/$name.ca" --cert "$TMPDIR/$name.crt" --key "$TMPDIR/$name.key" "$@"
}

# victims_state: every object that the victim made, what of the platform an attack would change, and what the victim itself sees
# of its own, for zood keeps some kinds. Events come from controllers whenever they like.
victims_state() {
  local -a read=("${victims_lists[@]/#/$upstream_server}")
  local -a own=("${victims_lists[@]/#/https://$zood_address}")
  own=("${own[@]/"/$victim-"//}")
  lists upstream "${read[@]}" |
    jq -rS --arg victim "$victim-" --arg vault "$vault" '
      .kind as $list | .apiVersion as $version | .items[]
      | if any(.metadata.namespace // "", .metadata.name, $version; startswith($victim)) or (.metadata.name | contains("." + $victim))
        then select($list != "EventList" or .metadata.name == $vault) | [$list, .metadata.namespace, .metadata.name, .metadata.uid, .metadata.resourceVersion]
        elif $list == "ClusterRoleList" and (.metadata.name | IN("admin", "edit", "view", "cluster-admin"))
        then [$list, .metadata.name, .rules]
        elif $list == "NodeList" and (.metadata.name | test("^(streams|hooks)-") | not) # of scripts with a kubelet of their own
        then [$list, .metadata.name, .metadata.uid, .metadata.labels, .spec]
        elif (.metadata.name | contains("evil")) and (.metadata.namespace // "" | test("^zq[a-z0-9]{4}-") | not)
          and (.metadata.name | test("(^|[.])zq[a-z0-9]{4}-|^pvc-") | not)
        then ["OUTSIDE THE PREFIX", $list, .metadata.namespace, .metadata.name]
        else empty end | tostring' | sort
  ((PIPESTATUS[1] == 0)) || echo "upstream's lists cannot be read: $RANDOM"
  lists "$victim" "${own[@]/%/?labelSelector=kept%3D$vault}" |
    jq -rS '.kind as $list | .items[]? # not of a refusal: upstream alone has some kinds
      | ["seen: " + $list, .metadata.namespace, .metadata.name, .metadata.uid, .metadata.resourceVersion] | tostring' | sort
  ((PIPESTATUS[1] == 0)) || echo "the victim's lists cannot be read: $RANDOM"
}

# listed_kinds: where upstream lists each kind whose objects are stored, once, but for what other tenants define.
listed_kinds() {
  local path
  for path in /api /apis; do
    curl_more=(-H 'Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList')
    direct GET $path
    printf '%s\n' "$answer"
  done | jq -rn --arg victim "$victim-" '
    [inputs.items[] | (.metadata.name // "") as $group
      | select($group | test("^([a-z]+|([a-z]+[.])+k8s[.]io)?$") or startswith($victim))
      | .versions[] | .version as $version | .resources[] | select(.verbs | index("create") and index("list"))
      | {$group, resource, path: "\(if $group == "" then "/api" else "/apis/" + $group end)/\($version)/\(.resource)"}]
    | unique_by([.group, .resource])[].path'
}

# unlisted: the lists of kinds that upstream refuses to its own controllers, whole or of metadata alone, in any version. One that is
# missing nobody asks for: another script's tenant takes its definitions away as it goes.
unlisted() {
  local path accept
  for path in /api /apis; do
    lists upstream -H 'Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' "$upstream_server$path"
  done | jq -r '.items[] | (.metadata.name // "") as $group | .versions[] | .version as $version | .resources[]
    | select(.verbs | index("list")) | "\(if $group == "" then "/api" else "/apis/" + $group end)/\($version)/\(.resource)"' >"$TMPDIR/to-list"
  for accept in application/json 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'; do
    sed "s|.*|url = \"$upstream_server&\"\noutput = /dev/null|" "$TMPDIR/to-list" |
      lists upstream --http1.1 -K - -H "Accept: $accept" -w '%{http_code} %{url}\n'
  done | sed -En "/^(200|404) /! s|^[0-9]+ $upstream_server||p" | sort -u
}

# listed_as_before: none that was not before. What was defined just now takes upstream a moment.
listed_as_before() {
  comm -13 "$TMPDIR/unlisted" <(unlisted) | grep -vE "^(${may_fail:-none})" >"$TMPDIR/newly-unlisted" || return 0
  cat "$TMPDIR/newly-unlisted"
  return 1
}

# served_alone KINDS: of the manifests of standard input those whose kind `api-resources` has.
served_alone() {
  awk 'NR == FNR { served[$(NF - 2), $NF]; next }
    /^apiVersion: / { api = $2; next }
    /^kind: / { on = (api, $2) in served; if (on) print "---\napiVersion: " api }
    on' "$1" -
}

# begin_attack: each has a new tenant of its own, so that nothing of an earlier one is taken for a leak.
begin_attack() {
  rm -rf "$TMPDIR/exchanges"
  mkdir "$TMPDIR/exchanges"
  curl_more=()
  new_attacker evil
  exchanges=0 code='' answer='' curl_more=() may_fail=''
}

# end_attack NAME: the victim is unhurt, and the attacker knows nothing that it did not say itself.
end_attack() {
  local file word asked leaks=''
  expect "$1: the victim is unhurt" "$victims_before" "$(victims_state)"
  eventually "$1: upstream's controllers can list every kind" 20 listed_as_before
  while IFS=: read -r file word; do
    asked=("$TMPDIR"/exchanges/*.asked)
    [[ $word == "$canary" ]] && asked=("${file%.answered}.asked") # its data: an echo of the same request at most
    grep -qF -- "$word" "${asked[@]}" || leaks+="$word: $(head -c 300 "${file%.answered}.asked") in $(head -c 2000 "$file")"$'\n'
  done < <(grep -aoHFf "$TMPDIR/victims-words" -r "$TMPDIR/exchanges" --include='*.answered' | sort -u)
  expect "$1: no byte of the victim's in any answer" "" "$leaks"
  # What it left goes with its tenant, while the next one attacks.
  leave "$evil"
}

# new_attacker VARIABLE: a tenant with a namespace `team`, by whose ID every script knows it for one.
new_attacker() {
  local -n hostile_new=$1
  local space
  # One that this script had before would be asked for over a connection with that one's certificate.
  while hostile_new=zq$(random_id | cut -c3-); do
    direct GET "/api/v1/namespaces/$hostile_new-default" # 200: it is another script's
    [[ " ${attackers[*]} " == *" $hostile_new "* || $code == 200 ]] || break
  done
  require "attacker $hostile_new" ctl tenant create "$hostile_new" --wait
  export_kubeconfig "$hostile_new"
  credentials "$TMPDIR/$hostile_new.kubeconfig" "$hostile_new"
  attackers+=("$hostile_new")
  send "$hostile_new" "https://$zood_address" POST /api/v1/namespaces json '{"metadata":{"name":"team"}}'
  expect "its namespace" 201 "$code"
  for space in default team; do eventually "pods can be made in $space" 120 has_account "$hostile_new" "$space"; done
}
# has_account ID NAMESPACE: upstream has made its ServiceAccount, without which there are no pods.
has_account() {
  send "$1" "https://$zood_address" GET "/api/v1/namespaces/$2/serviceaccounts/default"
  [[ $code == 200 ]]
}
leave() { ctl tenant delete "$1" >"$TMPDIR/$1.delete" 2>&1 & }
# all_gone ID...: says of each that is still there what it waits for, and what its deletion said.
all_gone() {
  local left
  left=$(ctl tenant list -o json | jq -r '.items[] | select(IN(.metadata.name; $ARGS.positional[]))
    | "\(.metadata.name) is \(.status.phase), waits for \(.status.waitingFor)"' --args "$@") || return
  [[ -n $left ]] || return 0
  printf '%s\n' "$left"
  set -- "${@/#/"$TMPDIR/"}"
  tail -n 2 -- "${@/%/.delete}"
  return 1
}
attackers=()

set_the_stage() {
  new_tenant victim
  upstream_server=$(upstream config view --raw -o jsonpath='{.clusters[0].cluster.server}')
  credentials "$ZOO_E2E_KUBECONFIG" upstream
  coproc client { exec python3 "$hostile/tools/client.py" "$TMPDIR" 2>"$TMPDIR/client.log"; }
  credentials "$TMPDIR/$victim.kubeconfig" "$victim"
  export canary=sesame-$(random_id) vault=vault-$(random_id)
  sed "s/CANARY/$canary/g; s/VAULT/$vault/g" "$hostile/tools/victim.yaml" >"$TMPDIR/victim.yaml"
  # A volume names what it lies on.
  evil=$victim terms '{"spec":{"guards":{"volumeDrivers":["none.example.com"]}}}'
  require "the victim has namespaces and definitions" as "$victim" apply -f <(sed -n '1,/^--- # the rest/p' "$TMPDIR/victim.yaml")
  check "that stand" established --all as "$victim"
  kinds_of_its_own() { as "$victim" api-resources --no-headers >"$TMPDIR/victims-kinds" && (($(grep -c ' vaults.example.com/v1 ' "$TMPDIR/victims-kinds") == 2)); }
  eventually "and are served" 120 kinds_of_its_own
  sed '1,/^--- # the rest/d' "$TMPDIR/victim.yaml" | served_alone "$TMPDIR/victims-kinds" >"$TMPDIR/victim-rest.yaml"
  eventually "and an object of every kind" 120 as "$victim" apply -f "$TMPDIR/victim-rest.yaml"
  check "and a pod that runs" as "$victim" -n team wait --for=condition=Ready "pod/$vault" --timeout=120s
  check "and what has been looked at" as "$victim" -n team wait --for=condition=AbleToScale=False "hpa/$vault" --timeout=120s
  # Of many volumes, as other scripts have them, upstream's controller looks at 20 a second.
  check "the volume, too" as "$victim" wait --for=jsonpath='{.status.phase}'=Available "pv/$vault" --timeout=120s
  mapfile -t victims_lists < <(listed_kinds)
  expect_match "each kind is looked at, its own too" "/$victim-vaults.example.com/v1/safes" "$(printf '%s\n' "${victims_lists[@]}")"
  settled() { # for six seconds
    local state
    state=$(victims_state)
    for _ in 1 2; do
      sleep 3
      [[ "$(victims_state)" == "$state" ]] || return 1
    done
  }
  eventually "the victim's objects are at rest" 120 settled
  victims_before=$(victims_state)
  unlisted >"$TMPDIR/unlisted"
  expect_match "upstream's controllers list the victim's kind, too" "/$victim-vaults.example.com/v1/safes" "$(<"$TMPDIR/to-list")"
  expect_match "they are seen" "SecretList.*$vault" "$victims_before"
  # What the attacker may not learn: UIDs, data, names that nobody guesses, and whose they are.
  {
    victims_uids
    printf '%s\n' "$canary" "$(printf %s "$canary" | base64)" "$vault" "$victim-"
  } | sort -u >"$TMPDIR/victims-words"
  victims_uid=$(stored "/api/v1/namespaces/$victim-team/secrets/$vault" .metadata.uid)
}

victims_uids() { grep -v '^\["\(NodeList\|ClusterRoleList",".*\[\)' <<<"$victims_before" | jq -r .[3] | grep -E '^[0-9a-f-]{36}$'; }

# after_each PATH WANTED: tries the patches of standard input, one a line as TYPE BODY; after each, the function `fence`
# of the attack prints WANTED. An apply comes from another manager, by force, then from who owns what zood has injected, and by
# force from one with zood's name.
after_each() {
  local path=$1 wanted=$2 type body query queries
  while read -r type body; do
    [[ -n $type ]] || continue
    queries=("")
    [[ $type == apply ]] && queries=("?fieldManager=evil" "?fieldManager=evil&force=true" "?fieldManager=evil" "?fieldManager=zood&force=true")
    for query in "${queries[@]}"; do
      try PATCH "$path$query" "$type" "$body"
      expect "$code after $type$query ${body:0:100}" "$wanted" "$(fence)"
      # By force there is no conflict; and what upstream cannot read reaches no fence.
      [[ $query != *force* ]] || expect_no_match "$type$query is tried" '^(404|409|415|5..) |fieldManager: Required' "$code ${answer:0:1000}"
      # Of what is gone any fence() would say that it is well.
      try GET "$path"
      expect "it is still there" 200 "$code"
    done
  done
}

# made WHAT METHOD PATH [TYPE [BODY]]: what the attacker may do, and builds on.
made() {
  local what=$1
  shift
  try "$@"
  accepted "$what"
}

# raw BYTES: over a connection of HTTP/1.1, in printf's notation; raw_h2 NAME=VALUE...: one request's header fields. What
# came back is left in $answer.
raw() {
  answer=$(printf '%b' "$1" | python3 "$hostile/tools/raw.py" "$zood_address" "$TMPDIR/$evil.ca" "$TMPDIR/$evil.crt" "$TMPDIR/$evil.key" 2>&1 | tr -d '\0')
  observe "$1" "$answer"
}
raw_h2() {
  answer=$(python3 "$hostile/tools/raw.py" "$zood_address" "$TMPDIR/$evil.ca" "$TMPDIR/$evil.crt" "$TMPDIR/$evil.key" h2 "$@" </dev/null 2>&1 | tr -d '\0')
  observe "$*" "$answer"
}

# flood KIND SECONDS [PATH]: an attack of tools/flood.py with the attacker's certificate; the victim asks all the while.
# What zood costs meanwhile is bounded, and nobody else notices: each of the victim's requests is answered.
# without_certificate=1 flood ...: by a stranger.
flood() {
  local kind=$1 seconds=$2 path=${3:-/api/v1/namespaces} before most=0 now pid asked=0 said slowest=0 wrong='' mine=("$TMPDIR/$evil.crt" "$TMPDIR/$evil.key")
  [[ -n ${without_certificate:-} ]] && mine=("" "")
  resident() { awk '$1 == "VmRSS:" { print int($2 / 1024) }' "/proc/${zood_pids[$zood_dir]}/status"; }
  before=$(resident)
  python3 "$hostile/tools/flood.py" "$kind" "$zood_address" "$TMPDIR/$evil.ca" "${mine[@]}" "$seconds" "$path" >"$TMPDIR/flood" 2>&1 &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    # Each time over a connection of its own.
    said=$(curl -s --max-time 30 --cacert "$TMPDIR/$victim.ca" --cert "$TMPDIR/$victim.crt" --key "$TMPDIR/$victim.key" -o /dev/null \
      -w '%{http_code} (curl %{exitcode} %{errormsg}; connected %{time_connect}s, TLS %{time_appconnect}s, in all %{time_total}s)' \
      "https://$zood_address/api/v1/namespaces/team/secrets/$vault")
    asked=$((asked + 1))
    now=${said##* in all } now=${now%s)}
    [[ $(printf '%s\n' "$slowest" "$now" | sort -g | tail -n 1) == "$now" ]] && slowest=$now
    [[ $said == 200\ * ]] || wrong+="$said; "
    now=$(resident)
    ((now > most)) && most=$now
    sleep 0.2
  done
  wait "$pid"
  note "$kind: $(tail -n 1 "$TMPDIR/flood"); zood had $before MiB, at most $most; the victim asked $asked times, and waited $slowest s at most"
  ((seconds < 10)) || check "$kind: the victim is answered before it is over" test "$asked" -ge 2
  expect_match "$kind: the attack was one" '^[1-9][0-9]* ' "$(tail -n 1 "$TMPDIR/flood")"
  expect "$kind: the victim is answered" '' "$wrong"
  if ((most < before + ${flood_memory:-200})); then passed "$kind: memory is bounded"; else failed "$kind: memory is bounded" <<<"$before MiB before, $most at most"; fi
}
