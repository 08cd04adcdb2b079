#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate upstream
# timeout: 240
# Definitions with every construct that definitions of widely used projects have (constructs/definitions.yaml), in a tenant
# and, under the same names, upstream itself, where the tenant's have another group: whatever is asked of both is answered
# alike. Conversion by a webhook is in definitions.sh.
. "$(dirname "$0")/lib.sh"
constructs=$zoo_root/tests/e2e/constructs

start_zood
new_tenant id
unpack "$id"
unpack upstream "$ZOO_E2E_KUBECONFIG"
group=$(random_id).example.com space=parts-$(random_id)
crds=/apis/apiextensions.k8s.io/v1/customresourcedefinitions

# ---- both sides -----------------------------------------------------------------------------------------------------

# ask SIDE METHOD PATH [TYPE] [ACCEPT]: the body is read from standard input where there is a TYPE. Prints the status, a line for
# each warning, and the body as plain.jq has it. In a PATH, SPACE is the namespace.
ask() {
  local side=$1 method=$2 path=${3//SPACE/$space} type=${4:-} accept=${5:-application/json} status
  local more=()
  [[ -n $type ]] && more=(-H "Content-Type: $type" --data-binary @-)
  status=$(curl -sN --max-time 60 --cacert "$TMPDIR/$side.ca" --cert "$TMPDIR/$side.crt" --key "$TMPDIR/$side.key" -X "$method" -H "Accept: $accept" \
    ${more[@]+"${more[@]}"} -D "$TMPDIR/head" -o "$TMPDIR/body" -w '%{http_code}' "$(<"$TMPDIR/$side.server")$path")
  echo "$status"
  sed -n 's/\r$//; s/^[Ww]arning: //p' "$TMPDIR/head"
  jq -S -f "$constructs/plain.jq" "$TMPDIR/body" 2>/dev/null || cat "$TMPDIR/body"
}

# same WHAT STATUS METHOD PATH [TYPE BODY [ACCEPT]]: both answer with this status, and alike. Upstream's answer is left in $answer.
same() {
  local what=$1 status=$2 method=$3 path=$4 type=${5:-} body=${6:-} accept=${7:-} mine
  answer=$(ask upstream "$method" "$path" "$type" "$accept" <<<"$body")
  mine=$(ask "$id" "$method" "$path" "$type" "$accept" <<<"$body")
  [[ ${answer%%$'\n'*} == "$status" ]] || failed "$what: upstream" <<<"$status was expected: ${answer:0:2000}"
  expect "$what" "$answer" "$mine"
}

# says WHAT TEXT: upstream's last answer has it. Otherwise both could agree on something else.
says() { [[ $answer == *"$2"* ]] && passed "$1" || failed "$1" <<<"no $2 in ${answer:0:4000}"; }

both_say() { # WHAT TEXT KUBECTL-ARGUMENTS...: kubectl prints the same on both sides, and TEXT is in it
  local what=$1 text=$2 theirs mine
  shift 2
  theirs=$(upstream "$@" 2>&1) mine=$(KUBECACHEDIR=$TMPDIR/cache-$id as "$id" "$@" 2>&1)
  expect "$what" "$(ageless "$theirs")" "$(ageless "$mine")"
  [[ $theirs == *"$text"* ]] || failed "$what: it is there" <<<"no $text in $theirs"
}
ageless() { sed -E 's/\b([0-9]+[smh])+( *$| )/AGE\2/g; s/ +/ /g' <<<"$1"; }

at_end() {
  upstream delete crd --ignore-not-found --wait=false "${names[@]}" >/dev/null 2>&1
  upstream delete namespace "$space" --ignore-not-found --wait=false >/dev/null 2>&1
}

merge=application/merge-patch+json json_patch=application/json-patch+json apply=application/apply-patch+yaml yaml=application/yaml
table='application/json;as=Table;v=v1;g=meta.k8s.io'

# ---- definitions ----------------------------------------------------------------------------------------------------

sed "s/GROUP/$group/g" "$constructs/definitions.yaml" >"$TMPDIR/definitions.yaml"
(cd "$TMPDIR" && csplit -sz -f definition- definitions.yaml '/^---$/' '{*}')
# A schema of hundreds of kilobytes: an object of objects of objects, all described.
jq -cn --arg group "$group" '
  def described: . + {description: ("Words that say what this is for, and what else is to be known of it. " * 5)};
  def object(f): {type: "object", properties: ([range(9) | {key: "field\(.)", value: f}] | from_entries)} | described;
  {apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: {name: "plans.\($group)"},
   spec: {group: $group, scope: "Namespaced", names: {plural: "plans", singular: "plan", kind: "Plan"}, versions: [{name: "v1", served: true, storage: true,
     schema: {openAPIV3Schema: {type: "object", properties: {spec: object(object(object({type: "string", minLength: 1} | described)))}}}}]}}' >"$TMPDIR/definition-large"
expect_match "a large schema is large" '^[3-9][0-9]{5}$' "$(wc -c <"$TMPDIR/definition-large")"
names=()
for file in "$TMPDIR"/definition-*; do names+=("$(grep -oE "[a-z]+\.([a-z]+\.)?$group" "$file" | head -n 1)"); done
expect "the definitions that are compared" 7 "${#names[@]}"

for side in "$id" upstream; do
  require "a namespace of $side" "$KUBECTL" --kubeconfig "$([[ $side == upstream ]] && echo "$ZOO_E2E_KUBECONFIG" || echo "$TMPDIR/$id.kubeconfig")" create namespace "$space"
done
turn=0
for file in "$TMPDIR"/definition-*; do
  # Every other one by an apply on the server, as charts do it.
  if ((++turn % 2)); then
    same "create ${names[turn - 1]}" 201 POST "$crds" $yaml "$(<"$file")"
  else
    same "apply ${names[turn - 1]}" 201 PATCH "$crds/${names[turn - 1]}?fieldManager=chart" $apply "$(<"$file")"
  fi
done
for name in "${names[@]}"; do
  for side in as\ "$id" upstream; do
    check "$name is established, ${side% *}" established "$name" $side
  done
  same "$name reads alike" 200 GET "$crds/$name"
done
for ((turn = 0; turn < ${#names[@]}; ++turn)); do
  file=$(printf '%s\n' "$TMPDIR"/definition-* | sed -n "$((turn + 1))p")
  same "${names[turn]} is applied once more, by another" 200 PATCH "$crds/${names[turn]}?fieldManager=other&force=true" $apply "$(<"$file")"
done
same "a label" 200 PATCH "$crds/tools.sub.$group" $merge '{"metadata":{"labels":{"a":"b"}}}'
same "a column more, by a JSON patch" 200 PATCH "$crds/crews.$group" $json_patch '[{"op":"test","path":"/spec/group","value":"'"$group"'"},{"op":"add","path":"/spec/versions/0/additionalPrinterColumns","value":[{"name":"Workers","type":"integer","jsonPath":".spec.workers"}]}]'
same "what no definition can say" 422 POST "$crds?dryRun=All" $yaml "$(sed 's/minLength: 2/minLength: 2, x-kubernetes-list-type: bag, default: 1/; s/name: benches/name: stools/' "$TMPDIR/definition-00")"
same "what has another type than it must" 400 POST "$crds?dryRun=All" $yaml "$(sed 's/minLength: 2/minLength: two/; s/name: benches/name: stools/' "$TMPDIR/definition-00")"
same "a rule that is none" 422 POST "$crds?dryRun=All" $yaml "$(sed 's/name: routetables/name: timetables/; s/plural: routetables/plural: timetables/; s/self.startsWith/self.beginsWith/' "$TMPDIR/definition-02")"

# ---- discovery and OpenAPI ------------------------------------------------------------------------------------------

versions=("$group/v1" "$group/v1alpha1" "rails.$group/v1" "sub.$group/v1" "sub.$group/v1alpha1" "sub.$group/v1beta1")
discovered() { # SIDE
  local side=$1 version
  for version in "${versions[@]}"; do
    ask "$side" GET "/openapi/v3/apis/$version" >"$TMPDIR/openapi" && [[ $(<"$TMPDIR/openapi") == 200* ]] || return 1
  done
  grep -q '"Plan"' <<<"$(ask "$side" GET "/openapi/v3/apis/$group/v1")" && grep -q '"Bench"' <<<"$(ask "$side" GET "/openapi/v3/apis/$group/v1")" &&
    grep -q '"Crew"' <<<"$(ask "$side" GET "/openapi/v3/apis/$group/v1")" && grep -q RouteTable <<<"$(ask "$side" GET "/openapi/v3/apis/rails.$group/v1")"
}
for side in "$id" upstream; do eventually "OpenAPI has them, $side" 120 discovered "$side"; done
for name in "$group" "rails.$group" "sub.$group"; do same "the group $name" 200 GET "/apis/$name"; done
for version in "${versions[@]}"; do
  same "the kinds of $version" 200 GET "/apis/$version"
  same "OpenAPI of $version" 200 GET "/openapi/v3/apis/$version"
done
for side in "$id" upstream; do expect_match "a version that is not served, $side" '^404$' "$(ask "$side" GET "/apis/sub.$group/v0")"; done
in_aggregated() { ask "$1" GET /apis '' 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' | tail -n +2 | jq -S --arg group "$group" '.items[] | select(.metadata.name | IN($group, "rails." + $group, "sub." + $group))'; }
expect "discovery as a whole" "$(in_aggregated upstream)" "$(in_aggregated "$id")"
both_say "explain a field" 'DESCRIPTION' explain "bench.spec.outlets.protocol" --api-version "$group/v1"
both_say "explain all fields" 'lastTransitionTime' explain "bench" --api-version "$group/v1" --recursive
both_say "explain a field of a large schema" 'Words that say' explain "plan.spec.field8.field8.field8" --api-version "$group/v1"
both_say "explain alternatives" 'stops' explain route.spec --api-version "rails.$group/v1" --recursive

# ---- objects: WHAT | STATUS of their creation | version | kind | name | the rest ----------------------------------------

declare -A plural=([Bench]=benches [Route]=route [RouteTable]=routetables [Tool]=tools [Crew]=crews [Note]=notes [Plan]=plans)
path_of() { # VERSION KIND
  case $2 in
    Route | Note) echo "/apis/$1/${plural[$2]}" ;;
    *) echo "/apis/$1/namespaces/SPACE/${plural[$2]}" ;;
  esac
}
# In the cluster upstream has one name for all: the word is this script's.
word=${group%%.*}
while IFS='|' read -r what status version kind name rest; do
  [[ -n $what ]] || continue
  version=${version//GROUP/$group}
  same "$what" "$status" POST "$(path_of "$version" "$kind")?fieldValidation=Strict" $yaml "{apiVersion: $version, kind: $kind, metadata: {name: $name}, ${rest//GROUP/$group}}"
done <<OBJECTS
the least|201|GROUP/v1|Bench|least|spec: {wood: oak}
each value|201|GROUP/v1|Bench|full|spec: {wood: ash-dark, finish: Oil, legs: 6, width: 9007199254740993, step: 15, load: 1.5, level: false, seal: Zm9v, bought: "2026-01-02T03:04:05Z", day: "2026-01-02", serial: 6f1ed002-ab44-4c19-9c4b-0123456789ab, wait: 90s, vise: {jaws: 3}, light: {watts: 60}, spare: null, dust: null, colour: null, gap: 50%, slack: 3, shelves: [a, a], uses: [cut, glue], drawers: [{name: a, depth: 1}, {name: b}], outlets: [{port: 1}, {port: 1, protocol: UDP, fused: true}], texts: {a: b}, counts: {a: 1}, flags: {a: true}, lists: {a: [b]}, parts: {a: {size: s}}, amounts: {a: 1, b: 2Gi}, anything: {a: {b: [1, null]}}, selector: {matchLabels: {a: b}}, loose: {apiVersion: GROUP/v1, a: [null, {b: 1.5}]}, half: {known: 1, unknown: {a: b}, apiVersion: GROUP/v1}, free: [1, a, null], frees: [1, {a: b}, null], template: {apiVersion: GROUP/v1, kind: Bench, metadata: {name: inner, labels: {a: b}}, spec: {wood: 1}}, ref: {apiVersion: GROUP/v1, kind: Bench, group: GROUP, metadata: {name: r, labels: {a: b}}}, namespace: ns, in: i, hugepages-1Gi: 1Gi, a/b: c}
empty ones|201|GROUP/v1|Bench|empty|spec: {wood: elm, finish: "", tags: [], vise: {}, light: {}, uses: [cut], drawers: [], loose: {}, free: null, anything: {}}
a field that nothing needs|400|GROUP/v1|Bench|bad|spec: {wood: oak, woods: two, bare: {a: b}, vise: {jars: 1}, drawers: [{name: a, hight: 2}]}
no field at all|422|GROUP/v1|Bench|bad|spec: {}
no spec|422|GROUP/v1|Bench|bad|status: {}
bounds|422|GROUP/v1|Bench|bad|spec: {wood: Oak of an old tree, legs: 9, width: 0, step: 7, uses: [], texts: {}}
more bounds|422|GROUP/v1|Bench|bad|spec: {wood: o, finish: Paint, legs: 2, uses: [cut, plane, glue, cut, cut], texts: {a: b, c: d, e: f, g: h}}
types|422|GROUP/v1|Bench|bad|spec: {wood: 1, finish: true, legs: four, load: much, level: "yes", tags: red, vise: [], gap: 1.5, slack: many, lists: {a: b}, counts: {a: b}}
formats|422|GROUP/v1|Bench|bad|spec: {wood: oak, seal: "*", bought: today, day: today, serial: s, wait: long, legs: 4294967296}
what must not be null|422|GROUP/v1|Bench|bad|spec: {wood: null, frees: [null], uses: [null]}
a set that has one twice|422|GROUP/v1|Bench|bad|spec: {wood: oak, uses: [cut, cut]}
maps that have one twice|422|GROUP/v1|Bench|bad|spec: {wood: oak, drawers: [{name: a}, {name: a}], outlets: [{port: 1}, {port: 1, protocol: TCP}]}
an object within whose version is none|400|GROUP/v1|Bench|bad|spec: {wood: oak, template: {apiVersion: 1, kind: A}}
an object within whose metadata is none|400|GROUP/v1|Bench|bad|spec: {wood: oak, template: {apiVersion: v1, kind: A, metadata: {name: []}}}
an object within that has no kind|422|GROUP/v1|Bench|bad|spec: {wood: oak, template: {apiVersion: v1, metadata: {name: Not_One}}}
a reference to what is not named|422|GROUP/v1|Bench|bad|spec: {wood: oak, ref: {apiVersion: GROUP/v2}}
a name that is none|422|GROUP/v1|Bench|Bad_Name|spec: {wood: oak}
one alternative|201|rails.GROUP/v1|Route|$word-a|spec: {tram: a, stops: [{name: a, from: 1, to: 2}, {code: b}, {}], fare: {price: 1}}
the other|201|rails.GROUP/v1|Route|$word-b|spec: {train: {cars: 1, class: first}, fare: {free: true}}
none of them|201|rails.GROUP/v1|Route|$word-c|spec: {}
two alternatives|422|rails.GROUP/v1|Route|$word-d|spec: {tram: a, train: {}}
alternatives within|422|rails.GROUP/v1|Route|$word-d|spec: {stops: [{name: a, code: b}, {from: 1}], fare: {}}
what must not be|422|rails.GROUP/v1|Route|$word-d|spec: {train: {cars: 1, class: none}, fare: {price: 1, free: true}}
rules that hold|201|rails.GROUP/v1|RouteTable|table|spec: {size: 2, a: a, first: x, rows: [x, z], labels: {a: b}, ports: {"80": true}, address: unix:///run, link: "https://example.com/a", pause: 1s}
a rule of the object|422|rails.GROUP/v1|RouteTable|bad|spec: {}
rules within|422|rails.GROUP/v1|RouteTable|t-bad|spec: {a: a, b: b, first: z, rows: [x, Y], labels: {"*": b, c: d-}, ports: {"0": true}, address: unix:relative, link: "ftp://example.com", pause: 1ns, namespace: much-too-long-for-this-rule}
rules that cannot be evaluated|422|rails.GROUP/v1|RouteTable|t-bad|spec: {pause: soon, ports: {x: true}, link: "::"}
the stored version|201|sub.GROUP/v1|Tool|chisel|spec: {edge: steel, size: 3, sharp: true}
a deprecated one|201|sub.GROUP/v1beta1|Tool|saw|spec: {edge: steel, size: 9, sharp: false}
one with words of its own|201|sub.GROUP/v1alpha1|Tool|file|spec: {edge: none, size: 3}
what is scaled|201|GROUP/v1|Crew|night|spec: {workers: 2}
what is not known|201|GROUP/v1alpha1|Note|$word-note|spec: {anything: [1, null, {apiVersion: GROUP/v1}]}, more: text
within a large schema|201|GROUP/v1|Plan|plan|spec: {field0: {field1: {field2: x}}, field8: {field8: {field8: z}}}
far within a large schema|422|GROUP/v1|Plan|bad|spec: {field8: {field8: {field8: "", field7: 1}}}
unknown there|400|GROUP/v1|Plan|bad|spec: {field8: {field8: {field9: x}}}
OBJECTS
# Of a refusal that is longer than zood reads, the beginning is told.
many=$(jq -cn --arg group "$group" '{apiVersion: ($group + "/v1"), kind: "Bench", metadata: {name: "many"}, spec: {wood: "oak", shelves: [range(5000)]}}')
check_fails "a refusal of more than a megabyte" "Bench.$group \"many\" is invalid: .*spec.shelves.*in body must be of type string.*correct this first" as "$id" create --validate=false -n "$space" -f - <<<"$many"
answer=$(ask upstream GET "/apis/$group/v1/namespaces/$space/benches/least")
says "defaults are there" '"lens": "clear"'
says "and of empty ones" '"brand": "none"'

# ---- read, watched, changed -----------------------------------------------------------------------------------------

benches=/apis/$group/v1/namespaces/SPACE/benches tools=/apis/sub.$group/v1/namespaces/SPACE/tools tables=/apis/rails.$group/v1/namespaces/SPACE/routetables crews=/apis/$group/v1/namespaces/SPACE/crews
for path in "$benches" "$tools" "$tables" "$crews" "/apis/sub.$group/v1beta1/namespaces/SPACE/tools" "/apis/sub.$group/v1alpha1/tools" "/apis/$group/v1/plans"; do
  same "list $path" 200 GET "$path"
  same "a table of it" 200 GET "$path?includeObject=None" '' '' "$table"
  same "its objects' metadata" 200 GET "$path" '' '' 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'
done
same "list in a deprecated version" 200 GET "/apis/sub.$group/v1alpha1/tools"
says "with its warning" "goes; use sub.$group/v1 Tool"
for name in "$word-a" "$word-b"; do same "read $name" 200 GET "/apis/rails.$group/v1/route/$name"; done
condition='{"status":{"observedGeneration":3,"conditions":[{"type":"Ready","status":"True","reason":"Made","lastTransitionTime":"2026-01-02T03:04:05Z"},{"type":"Old","status":"False"}]}}'
same "a status" 200 PATCH "$benches/full/status" $merge "$condition"
same "a status that is wrong" 422 PATCH "$benches/full/status" $merge '{"status":{"conditions":[{"type":"Ready","status":"Maybe"},{"type":"Ready","status":"True"}]}}'
same "a status by the object's own path, which drops it" 200 PATCH "$benches/full" $merge '{"status":{"observedGeneration":7},"metadata":{"annotations":{"example.com/place":"window"}}}'
both_say "columns" Made get "benches.$group" -n "$space" -o wide
both_say "without those of a lower priority" LEVEL get "benches.$group" -n "$space"
both_say "columns of another version" SIZE get "tools.v1beta1.sub.$group" -n "$space"
both_say "all by a category" "tool.sub.$group/saw" get workshop -n "$space" -o name
for selector in spec.edge=steel 'spec.edge!=steel' spec.size=3 spec.sharp=true spec.sharp=false,spec.edge=steel metadata.name=saw; do
  same "select by $selector" 200 GET "$tools?fieldSelector=$(jq -rn --arg s "$selector" '$s | @uri')"
  same "in all namespaces" 200 GET "/apis/sub.$group/v1/tools?fieldSelector=$(jq -rn --arg s "$selector" '$s | @uri')"
done
same "by what only another version selects by" 400 GET "/apis/sub.$group/v1beta1/namespaces/SPACE/tools?fieldSelector=spec.size%3D3"
watched() { ask "$1" GET "$benches?watch=1&resourceVersion=0&timeoutSeconds=2" | tail -n +2 | jq -cs 'map(select(.type != "BOOKMARK")) | sort_by(.object.metadata.name)'; }
answer=$(watched upstream)
expect "a watch" "$answer" "$(watched "$id")"
says "has begun with what is there" '"name":"empty"'

part() { echo "{apiVersion: $group/v1, kind: Bench, metadata: {name: ${2:-full}}, spec: {$1}}"; }
same "an update, checked strictly" 400 PUT "$benches/full?fieldValidation=Strict" $yaml "$(part 'wood: oak, wodd: oak')"
same "one that does not say of which version" 422 PUT "$benches/full" $yaml "$(part 'wood: oak')"
same "a merge patch that warns" 200 PATCH "$benches/full?fieldValidation=Warn" $merge '{"spec":{"wodd":"oak","legs":null,"texts":{"a":null,"z":"x"}}}'
same "a JSON patch" 200 PATCH "$benches/full" $json_patch '[{"op":"test","path":"/apiVersion","value":"'"$group"'/v1"},{"op":"add","path":"/spec/uses/-","value":"plane"},{"op":"move","from":"/spec/a~1b","path":"/spec/in"},{"op":"remove","path":"/spec/drawers/0"}]'
same "one whose test fails" 422 PATCH "$benches/full" $json_patch '[{"op":"test","path":"/apiVersion","value":"x/v1"}]'
same "a strategic patch, which custom resources do not take" 415 PATCH "$benches/full" application/strategic-merge-patch+json '{}'
same "an apply of parts of lists and maps" 200 PATCH "$benches/full?fieldManager=one" $apply "$(part 'uses: [glue], drawers: [{name: c, depth: 3}], outlets: [{port: 2}], texts: {q: r}, parts: {b: {size: t}}')"
same "of what another owns" 409 PATCH "$benches/full?fieldManager=two" $apply "$(part 'drawers: [{name: c, depth: 4}], selector: {matchLabels: {e: f}}')"
same "with force" 200 PATCH "$benches/full?fieldManager=two&force=true" $apply "$(part 'drawers: [{name: c, depth: 4}], selector: {matchLabels: {e: f}}')"
same "what is no longer applied goes" 200 PATCH "$benches/full?fieldManager=one" $apply "$(part 'outlets: [{port: 2, protocol: UDP}]')"
same "apply of a new one" 201 PATCH "$benches/applied?fieldManager=one" $apply "$(part 'wood: fir, outlets: [{port: 2}]' applied)"
same "apply that is wrong" 422 PATCH "$benches/wrong?fieldManager=one" $apply "$(part 'wood: X' wrong)"
same "apply of a list with two of the same key" 500 PATCH "$benches/wrong?fieldManager=one" $apply "$(part 'wood: fir, outlets: [{port: 2}, {port: 2}]' wrong)"
same "a status that is applied" 200 PATCH "$benches/full/status?fieldManager=controller" $apply "{apiVersion: $group/v1, kind: Bench, metadata: {name: full}, status: {conditions: [{type: New, status: Unknown}]}}"
same "in another version" 200 PATCH "/apis/sub.$group/v1beta1/namespaces/SPACE/tools/chisel" $merge '{"spec":{"size":4}}'
same "read in the stored one" 200 GET "$tools/chisel"
same "a rule of what was before" 422 PATCH "$tables/table" $merge '{"spec":{"size":1}}'
same "what may be set once, set" 200 PATCH "$tables/table" $merge '{"spec":{"fixed":"a"}}'
same "and changed" 422 PATCH "$tables/table" $merge '{"spec":{"fixed":"b"}}'
same "a scale" 200 PATCH "$crews/night/status" $merge '{"status":{"workers":1,"selector":"a=b"}}'
same "is read" 200 GET "$crews/night/scale"
says "with its selector" '"selector": "a=b"'
same "and changed" 200 PATCH "$crews/night/scale" $merge '{"spec":{"replicas":5}}'
same "seen in the object" 200 GET "$crews/night"
same "a version that is another than the path's" 400 POST "$benches" $yaml "{apiVersion: other.example.com/v1, kind: Bench, metadata: {name: bad}, spec: {wood: oak}}"
same "a scale that is not there" 404 GET "$benches/full/scale"
same "a status that is not there" 404 PATCH "$tools/saw/status" $merge '{"status":{}}'
same "delete one, which must be another" 409 DELETE "$benches/full" application/json '{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"6f1ed002-ab44-4c19-9c4b-0123456789ab"}}'
same "delete one" 200 DELETE "$benches/full"
same "that is gone" 404 GET "$benches/full"
same "delete all" 200 DELETE "$benches"
same "none is left" 200 GET "$benches"
same "a definition goes with its objects" 200 DELETE "$crds/tools.sub.$group"
for side in as\ "$id" upstream; do check "in a while, ${side% *}" $side wait --for=delete "crd/tools.sub.$group" --timeout 120s; done
expect_no_match "nothing of upstream's names" "$id-" "$(as "$id" get crd -o yaml --show-managed-fields; as "$id" get workshop -A -o yaml --show-managed-fields 2>&1)"
check "delete tenant $id" ctl tenant delete "$id" --wait
