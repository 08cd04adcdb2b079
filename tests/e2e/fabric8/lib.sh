# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced after ../lib.sh. `fabric8 PROGRAM ARGUMENTS...` runs a program of this folder with the client of pom.xml, which Maven has
# put into the upstream's cache.
# shellcheck source=tests/upstream/go-env.sh
. "$zoo_root/tests/upstream/go-env.sh"

fabric8_folder=$zoo_root/tests/e2e/fabric8

# fetch_client: prints the folder with the client's packages.
fetch_client() (
  target=$zoo_cache/fabric8-$(sha256sum <"$fabric8_folder/pom.xml" | cut -c1-16)
  mkdir -p "$zoo_cache"
  exec 9>"$zoo_cache/fabric8.lock"
  flock 9
  if [[ ! -d $target ]]; then
    rm -rf "$target.part"
    mvn -B -q -f "$fabric8_folder/pom.xml" "-Dmaven.repo.local=$zoo_cache/maven" dependency:copy-dependencies -DincludeScope=runtime \
      "-DoutputDirectory=$target.part" >&2 && mv "$target.part" "$target" || exit 1
  fi
  echo "$target"
)

fabric8_packages=$(fetch_client) || { failed "get the client" <<<"Maven could not"; exit 1; }
fabric8() { java -XX:TieredStopAtLevel=1 -cp "$fabric8_packages/*" "$fabric8_folder/$1" "${@:2}"; }
