# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced. Processes in the background by files that name them: pid and start time, which together name one process for
# good, whatever pids are given out again later.

# The kernel's start time of a process; fails when there is none, or only its remains. Where threads of it are still ending, it has its
# ports and files, although proc(5) says "Z" of its first one.
start_time() {
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  stat=${stat##*) }
  # shellcheck disable=SC2086 # the fields are to be split
  set -- $stat
  [[ $1 != Z || ${18} -gt 1 ]] && echo "${20}"
}

# remember FILE PID
remember() { printf '%s\n%s\n' "$2" "$(start_time "$2")" >"$1"; }

# running FILE: prints the pid while the very process that was remembered still runs.
running() {
  local pid started
  { read -r pid && read -r started; } 2>/dev/null <"$1" || return 1
  [[ $(start_time "$pid") == "$started" ]] && echo "$pid"
}

# finish SECONDS FILE...: ends these with TERM, after so many seconds with KILL, waits until they are gone, and removes
# the files.
finish() {
  local file pid left end=$((SECONDS + $1))
  shift
  for file in "$@"; do pid=$(running "$file") && kill "$pid" 2>/dev/null; done
  while :; do
    left=
    for file in "$@"; do
      pid=$(running "$file") || continue
      left=1
      ((SECONDS >= end)) && kill -KILL "$pid" 2>/dev/null
    done
    [[ -z $left ]] && break
    sleep 0.05
  done
  rm -f "$@"
}
