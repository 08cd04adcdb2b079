#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate upstream http
# timeout: 600
# Discovery and OpenAPI as documents: what is in them, ETag, gzip, how soon a change shows; and the first events of
# watches, which zood makes of lists.
. "$(dirname "$0")/lib.sh"

start_zood
new_tenant a
new_tenant b

# get ID PATH [CURL ARGUMENTS...]: as that tenant, with curl.
get() {
  local id=$1 path=$2
  shift 2
  [[ -s $TMPDIR/$id.key ]] || unpack "$id"
  curl -sS --max-time 30 --cacert "$TMPDIR/$id.ca" --cert "$TMPDIR/$id.crt" --key "$TMPDIR/$id.key" "$@" "https://$zood_address$path"
}
# header NAME: of the answer on standard input, head first.
header() { tr -d '\r' | sed -n "1,/^\$/s/^$1: //Ip"; }

definition() { # FIELD
  cat <<Y
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.stable.example.com}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab, shortNames: [ct]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {$1: {type: string}}}}
Y
}
model=com.example.stable.v1.CronTab
has_field() { get "$1" /openapi/v2 | jq -e ".definitions[\"$model\"].properties.spec.properties.$2" >/dev/null; }
has_none() { ! get "$1" /openapi/v2 | jq -e ".definitions[\"$model\"]" >/dev/null; }

# OpenAPI v2.
before=$(get "$a" /openapi/v2 -D - -o "$TMPDIR/v2.json" | header etag)
expect "v2: swagger" 2.0 "$(jq -r .swagger "$TMPDIR/v2.json")"
expect "v2: built-in kinds" object "$(jq -r '.definitions["io.k8s.api.core.v1.Pod"].type' "$TMPDIR/v2.json")"
expect "v2: and their paths" patch \
  "$(jq -r '.paths["/api/v1/namespaces/{namespace}/pods/{name}"] | keys[] | select(. == "patch")' "$TMPDIR/v2.json")"
expect "v2: every reference leads somewhere" "" "$(jq -r '
  . as $all | [.. | objects | .["$ref"]? // empty | select(type == "string")] | unique[] | ltrimstr("#/") |
  select((split("/")) as $at | ($all | getpath([$at[0], ($at[1:] | join("/"))])) == null)' "$TMPDIR/v2.json")"
expect "v2: again, the client has it" 304 "$(get "$a" /openapi/v2 -o /dev/null -w '%{http_code}' -H "If-None-Match: $before")"
get "$a" /openapi/v2 -H 'Accept-Encoding: gzip' | gzip -dc >"$TMPDIR/v2-unzipped.json"
check "v2: gzip has the same text" cmp "$TMPDIR/v2.json" "$TMPDIR/v2-unzipped.json"
expect "v2: protobuf for old clients" application/com.github.proto-openapi.spec.v2.v1.0+protobuf \
  "$(get "$a" /openapi/v2 -D - -o /dev/null -H 'Accept: application/com.github.proto-openapi.spec.v2@v1.0+protobuf' | header content-type)"

check "define a kind" as "$a" create -f <(definition schedule)
eventually "v2 has it soon" 60 has_field "$a" schedule
expect "with another ETag" 200 "$(get "$a" /openapi/v2 -o /dev/null -w '%{http_code}' -H "If-None-Match: $before")"
expect "the neighbour's is what it was" 304 "$(get "$b" /openapi/v2 -o /dev/null -w '%{http_code}' -H "If-None-Match: $before")"
check "the neighbour has none" has_none "$b"
check "the neighbour defines the same otherwise" as "$b" create -f <(definition period)
eventually "and has its own" 60 has_field "$b" period
check "the first keeps its own" has_field "$a" schedule
expect_no_match "no prefix in the document" "$a-|$b-" "$(get "$a" /openapi/v2 | tr ',' '\n')"
get "$a" /openapi/v2 -H 'Accept-Encoding: gzip' | gzip -dc >"$TMPDIR/v2-own.json"
check "gzip with an own group" jq -e ".definitions[\"$model\"]" "$TMPDIR/v2-own.json"
check "change it" as "$a" replace -f <(definition later)
eventually "the change shows soon" 60 has_field "$a" later
check "delete it" as "$a" delete crd crontabs.stable.example.com
eventually "and it is gone soon" 60 has_none "$a"

# OpenAPI v3 and discovery.
url=$(get "$a" /openapi/v3 | jq -r '.paths["apis/batch/v1"].serverRelativeURL')
expect_match "v3: by its hash it is for ever" immutable "$(get "$a" "$url" -D - -o /dev/null | header cache-control)"
expect_no_match "v3: by its path it is not" immutable "$(get "$a" /openapi/v3/apis/batch/v1 -D - -o /dev/null | header cache-control)"
etag=$(get "$a" /openapi/v3/apis/batch/v1 -D - -o /dev/null | header etag)
expect "v3: the client has it" 304 "$(get "$a" /openapi/v3/apis/batch/v1 -o /dev/null -w '%{http_code}' -H "If-None-Match: W/\"x\", $etag")"
expect "v3: gzip" gzip "$(get "$a" /openapi/v3/apis/batch/v1 -D - -o /dev/null -H 'Accept-Encoding: gzip' | header content-encoding)"
expect "v3: of a foreign group there is none" 404 "$(get "$a" /openapi/v3/apis/stable.example.com/v1 -o /dev/null -w '%{http_code}')"
aggregated='Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
etag=$(get "$a" /apis -D - -o /dev/null -H "$aggregated" | header etag)
expect "discovery: the client has it" 304 "$(get "$a" /apis -o /dev/null -w '%{http_code}' -H "$aggregated" -H "If-None-Match: $etag")"
check "discovery: gzip" get "$a" /apis -H "$aggregated" --compressed -o "$TMPDIR/apis.json"
expect "discovery: is what it says" APIGroupDiscoveryList "$(jq -r .kind "$TMPDIR/apis.json")"
check "define a kind" as "$a" create -f <(definition now)
check "wait until it is established" established crontabs.stable.example.com as "$a"
discovered() { [[ $(get "$a" /apis/stable.example.com/v1 | jq -r '.resources[0].kind') == CronTab ]]; }
eventually "discovery has it" 60 discovered

# The first events of a watch from '' are made of a list; each says its kind.
check "an object to watch" as "$a" create configmap seen --from-literal=a=b
check "and one of a class" as "$a" apply -f - <<Y
{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: seen}, handler: none}
Y
first_event() { # PATH ACCEPT
  get "$a" "$1" -H "Accept: $2" | head -n 1 | jq -r '[.type, .object.apiVersion, .object.kind, .object.metadata.name] | join(" ")'
}
expect "watch of a namespaced kind" "ADDED v1 ConfigMap seen" \
  "$(first_event '/api/v1/configmaps?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dseen' application/json)"
expect "watch of a class" "ADDED node.k8s.io/v1 RuntimeClass seen" \
  "$(first_event '/apis/node.k8s.io/v1/runtimeclasses?watch=true&timeoutSeconds=1' application/json)"
expect "watch of metadata" "ADDED meta.k8s.io/v1 PartialObjectMetadata seen" \
  "$(first_event '/api/v1/configmaps?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dseen' \
    'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io')"
expect "with the initial events asked for" "ADDED v1 ConfigMap seen" \
  "$(first_event '/api/v1/configmaps?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dseen&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true' application/json)"

# Where the first events end is told to who takes bookmarks, and asks for them or names no version.
ends_of() { get "$a" "/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=1&$1" | jq -c 'select(.type == "BOOKMARK") | .object.metadata.annotations["k8s.io/initial-events-end"] // empty'; }
for query in '' 'resourceVersion=0&' 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&'; do
  expect "the end of the first events: ?$query" '"true"' "$(ends_of "${query}allowWatchBookmarks=true")"
  expect "not without bookmarks: ?$query" '' "$(ends_of "$query")"
done

# Of Tables it is a Table, too: a row of an object that has the version alone.
table_marks() { # PATH
  get "$a" "$1?watch=true&timeoutSeconds=1&allowWatchBookmarks=true" -H 'Accept: application/json;as=Table;v=v1;g=meta.k8s.io' |
    jq -rs 'map(select(.type == "BOOKMARK"))[0].object | [.kind, (.rows[0].cells | length), .rows[0].object.kind, .rows[0].object.metadata.annotations["k8s.io/initial-events-end"],
      (.rows[0].object.metadata.resourceVersion == .metadata.resourceVersion and .metadata.resourceVersion != null)] | join(" ")'
}
expect "a bookmark among Tables" "Table 3 PartialObjectMetadata true true" "$(table_marks /api/v1/configmaps)"
expect "of a kind that zood keeps itself" "Table 4 PartialObjectMetadata true true" "$(table_marks /apis/apiregistration.k8s.io/v1/apiservices)"

# Upstream sends the columns of a watch's Tables once, with whatever comes first, which is another tenant's here.
bindings=/apis/rbac.authorization.k8s.io/v1/rolebindings
version=$(get "$a" "$bindings?limit=1" | jq -r .metadata.resourceVersion)
check "another tenant binds" as "$b" create rolebinding first --clusterrole=view --user=joe
check "and then this one" as "$a" create rolebinding second --clusterrole=view --user=jane
get "$a" "$bindings?watch=1&resourceVersion=$version&timeoutSeconds=5" -H 'Accept: application/json;as=Table;v=v1;g=meta.k8s.io' >"$TMPDIR/tables"
expect "a watch's first Table has the columns, and cells by them" "Role ClusterRole/view Users jane" \
  "$(jq -rs '.[0].object | [range(5) as $i | .columnDefinitions[$i].name, .rows[0].cells[$i]] | map(tostring) | join(" ")' "$TMPDIR/tables" |
    grep -Eo 'Role [^ ]+|Users [^ ]+' | xargs)"

# Kinds of which the spec tells whose an object is, by their metadata alone.
check "a Service, for its address" as "$a" create service clusterip addressed --tcp=80
addresses=/apis/networking.k8s.io/v1/ipaddresses
full() { get "$a" "$addresses" | jq -r '.items[].metadata.name'; }
has_one() { [[ -n $(full) ]]; }
eventually "has one" 30 has_one
metadata='Accept: application/json;g=meta.k8s.io;v=v1;as=PartialObjectMetadata'
expect "a list of metadata has the same" "$(full)" \
  "$(get "$a" "$addresses" -H "${metadata}List" | jq -r 'select(.kind == "PartialObjectMetadataList" and .apiVersion == "meta.k8s.io/v1").items[] | select(.kind == "PartialObjectMetadata" and (has("spec") | not)).metadata.name')"
expect "one object" "PartialObjectMetadata $(full | head -n 1)" \
  "$(get "$a" "$addresses/$(full | head -n 1)" -H "$metadata" | jq -r '.kind + " " + .metadata.name')"
get "$a" "$addresses?watch=true&timeoutSeconds=1&allowWatchBookmarks=true" -H "$metadata" >"$TMPDIR/addresses"
expect "a watch, too" "$(full | sort)" "$(jq -r 'select(.type == "ADDED").object.metadata.name' "$TMPDIR/addresses" | sort)"
expect "of metadata, with its bookmarks" "ADDED PartialObjectMetadata|BOOKMARK PartialObjectMetadata" \
  "$(jq -r '.type + " " + .object.kind' "$TMPDIR/addresses" | sort -u | paste -sd'|')"

check "an address of its own" as "$a" create -f - <<<'{"apiVersion":"networking.k8s.io/v1","kind":"IPAddress","metadata":{"name":"203.0.113.9"},"spec":{"parentRef":{"resource":"services","namespace":"default","name":"addressed"}}}'
of_its_own() { jq -r 'select(.metadata.name == "203.0.113.9") | .kind + " " + (has("spec") | tostring)'; }
expect "metadata of what zood keeps, too" "PartialObjectMetadata false" \
  "$(get "$a" "$addresses" -H "${metadata}List" | jq '.items[]' | of_its_own)"
expect "in a watch" "PartialObjectMetadata false" \
  "$(get "$a" "$addresses?watch=true&timeoutSeconds=2" -H "$metadata" | jq '.object' | of_its_own)"
expect "a watch of metadata may begin at now" 200 "$(get "$a" \
  '/api/v1/configmaps?watch=true&timeoutSeconds=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan' \
  -H "$metadata" -o /dev/null -w '%{http_code}')"

# Options of a delete in YAML.
expect "dry run of a delete by YAML" 200 "$(get "$a" /api/v1/namespaces/default/configmaps/seen -X DELETE \
  -H 'Content-Type: application/yaml' --data-binary $'kind: DeleteOptions\napiVersion: v1\ndryRun: [All]\n' -o /dev/null -w '%{http_code}')"
check "it is there" as "$a" get configmap seen

# A client that takes protobuf alone.
protobuf='Accept: application/vnd.kubernetes.protobuf'
check "an object in protobuf" get "$a" /api/v1/namespaces/default/configmaps/seen -H "$protobuf" -D "$TMPDIR/head" -o "$TMPDIR/object.pb"
expect "it says so" application/vnd.kubernetes.protobuf "$(header content-type <"$TMPDIR/head")"
expect "and begins so" k8s "$(head -c 3 "$TMPDIR/object.pb")"
expect "it goes up as it came down" seen "$(get "$a" '/api/v1/namespaces/default/configmaps/seen?dryRun=All' -X PUT \
  -H 'Content-Type: application/vnd.kubernetes.protobuf' --data-binary "@$TMPDIR/object.pb" | jq -r .metadata.name)"
check "a list in protobuf" get "$a" /api/v1/configmaps -H "$protobuf" -o "$TMPDIR/list.pb"
expect_match "of that kind" ConfigMapList "$(tr -c "[:print:]" "\n" <"$TMPDIR/list.pb")"
expect_match "with its objects" seen "$(tr -c "[:print:]" "\n" <"$TMPDIR/list.pb")"
check "a watch in protobuf" get "$a" '/api/v1/configmaps?watch=true&timeoutSeconds=1' -H "$protobuf;stream=watch" -D "$TMPDIR/head" -o "$TMPDIR/watch.pb"
expect "of frames" 'application/vnd.kubernetes.protobuf;stream=watch' "$(header content-type <"$TMPDIR/head")"
expect_match "with events" ADDED "$(tr -c "[:print:]" "\n" <"$TMPDIR/watch.pb")"
expect "a custom resource has none" 406 \
  "$(get "$a" /apis/stable.example.com/v1/crontabs -H "$protobuf" -o /dev/null -w '%{http_code}')"

# Long answers: gzip for who takes it, above 128 KiB, and no watch.
jq -n '{apiVersion: "v1", kind: "ConfigMap", metadata: {name: "long"}, data: {text: ("some text, again and again; " * 8000)}}' |
  as "$a" create -f - >"$TMPDIR/created" || failed "a long ConfigMap" <"$TMPDIR/created"
gzipped='Accept-Encoding: gzip'
for path in /api/v1/namespaces/default/configmaps/long /api/v1/namespaces/default/configmaps /api/v1/configmaps; do
  get "$a" "$path" -H "$gzipped" -D "$TMPDIR/head" -o "$TMPDIR/long.gz"
  expect "$path: gzip" gzip "$(header content-encoding <"$TMPDIR/head")"
  expect "$path: for who asked" Accept-Encoding "$(header vary <"$TMPDIR/head")"
  get "$a" "$path" -D "$TMPDIR/head" -o "$TMPDIR/long.json"
  expect "$path: and nobody else" "" "$(header content-encoding <"$TMPDIR/head")"
  # A list of another moment has another resourceVersion, since others write meanwhile.
  for coding in cat 'gzip -dc'; do
    $coding <"$TMPDIR/long.$([[ $coding == cat ]] && echo json || echo gz)" |
      jq -S 'if .items then del(.metadata.resourceVersion) else . end' >"$TMPDIR/long.${coding%% *}"
  done
  check "$path: the same" cmp "$TMPDIR/long.cat" "$TMPDIR/long.gzip"
  get "$a" "$path" -H "$gzipped" -H "$protobuf" -D "$TMPDIR/head" -o "$TMPDIR/long.gz"
  expect "$path: protobuf too" gzip "$(header content-encoding <"$TMPDIR/head")"
  expect "$path: beneath it" k8s "$(gzip -dc "$TMPDIR/long.gz" | head -c 3)"
done
for path in /api/v1/namespaces/default/configmaps/seen '/api/v1/configmaps?watch=true&timeoutSeconds=1' \
  '/api/v1/configmaps?fieldSelector=metadata.name%3Dseen'; do
  get "$a" "$path" -H "$gzipped" -D "$TMPDIR/head" -o "$TMPDIR/short"
  expect "$path: as it is" "" "$(header content-encoding <"$TMPDIR/head")"
done

# What upstream warns of, zood's own reads carry too.
version=$(get "$a" '/api/v1/configmaps?limit=1' | jq -r .metadata.resourceVersion)
for query in '' '?limit=1' '?watch=true&timeoutSeconds=1' "?watch=true&timeoutSeconds=1&resourceVersion=$version"; do
  get "$a" "/api/v1/endpoints$query" -D "$TMPDIR/head" -o /dev/null
  expect_match "endpoints$query: Warning" 'v1 Endpoints is deprecated' "$(header warning <"$TMPDIR/head")"
done

# The name behind the legacy prefix selects: one object, of which alone its reader may know.
names_of() { get "$a" "$1" | jq -r '"\(.type) \(.object.metadata.name)"' | sort -u; }
for path in 'namespaces/default/configmaps/seen' 'namespaces/default'; do
  expect "legacy watch of $path" "ADDED ${path##*/}" "$(names_of "/api/v1/watch/$path?timeoutSeconds=1")"
done
expect "with a selector of another" 400 \
  "$(get "$a" '/api/v1/watch/namespaces/default?fieldSelector=metadata.name%3Dteam' -o /dev/null -w '%{http_code}')"

# A namespace that is yet to come can be watched.
get "$a" '/api/v1/namespaces/later/configmaps?watch=true&timeoutSeconds=60&labelSelector=is%3Dawaited' -N >"$TMPDIR/later" &
watching=$!
expect "with a version too" 200 "$(get "$a" "/api/v1/namespaces/later/configmaps?watch=true&timeoutSeconds=1&labelSelector=is%3Dawaited&resourceVersion=$version" \
  -o /dev/null -w '%{http_code}')"
check "it comes" as "$a" create namespace later
check "something is in it" as "$a" create -f - <<Y
{apiVersion: v1, kind: ConfigMap, metadata: {name: awaited, namespace: later, labels: {is: awaited}}}
Y
eventually "the watch has it" 30 grep -q '"name":"awaited"' "$TMPDIR/later"
kill "$watching"
