#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway http net translate
# fabric8's Java client (fabric8/Fabric8.java), of the version in fabric8/pom.xml, with its default HTTP client and its default
# watch, which is a WebSocket. Maven puts it into the upstream's cache.
# timeout: 900
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/upstream/go-env.sh
. "$zoo_root/tests/upstream/go-env.sh"

folder=$zoo_root/tests/e2e/fabric8

# fetch_client: prints the folder with the client's packages.
fetch_client() (
  target=$zoo_cache/fabric8-$(sha256sum <"$folder/pom.xml" | cut -c1-16)
  mkdir -p "$zoo_cache"
  exec 9>"$zoo_cache/fabric8.lock"
  flock 9
  if [[ ! -d $target ]]; then
    rm -rf "$target.part"
    mvn -B -q -f "$folder/pom.xml" "-Dmaven.repo.local=$zoo_cache/maven" dependency:copy-dependencies -DincludeScope=runtime \
      "-DoutputDirectory=$target.part" >&2 && mv "$target.part" "$target" || exit 1
  fi
  echo "$target"
)

packages=$(fetch_client) || { failed "get the client" <<<"Maven could not"; exit 1; }
start_zood
new_tenant id
eventually "the namespace has its ServiceAccount" 30 as "$id" get serviceaccount default
if java -XX:TieredStopAtLevel=1 -cp "$packages/*" "$folder/Fabric8.java" "$TMPDIR/$id.kubeconfig"; then
  passed "fabric8's client"
else
  failed "fabric8's client" <<<"see above"
fi
# The client falls back to plain HTTP where it is answered 200: no watch shall be one.
expect "its watches are WebSockets" 101 "$(ctl audit "$id" --verb watch --since 1h --limit 1000 -o json | jq -r ".items[].code | select(. != 404)" | sort -u)"
