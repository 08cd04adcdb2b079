# SPDX-License-Identifier: Apache-2.0
# bash completion of zooctl; the words come from `zooctl __complete`.
_zooctl() {
  local line candidates=() ending=
  local words=("${COMP_WORDS[@]:1:COMP_CWORD}") current
  # bash breaks words at "="; zooctl gets them whole again.
  if declare -F _get_comp_words_by_ref >/dev/null; then
    local cword
    _get_comp_words_by_ref -n '=:' -w words -i cword
    words=("${words[@]:1:cword}")
  fi
  ((${#words[@]})) || words=("")
  current=${words[${#words[@]}-1]}
  while IFS= read -r line; do
    case $line in
      :*) ending=$line ;;
      *) candidates+=("${line%%$'\t'*}") ;;
    esac
  done < <("${COMP_WORDS[0]/#\~/$HOME}" __complete "${words[@]}" 2>/dev/null)
  COMPREPLY=("${candidates[@]}")
  case $current in
    --*=*) COMPREPLY=("${COMPREPLY[@]#"${current%%=*}="}"); current=${current#*=} ;;
  esac
  case $ending in
    :file) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    :dir) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
  esac
}
complete -F _zooctl zooctl
