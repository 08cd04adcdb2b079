# SPDX-License-Identifier: Apache-2.0
# fish completion of zooctl; the words come from `zooctl __complete`.
function __zooctl_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l lines ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
    for line in $lines
        switch $line
            case ':file'
                __fish_complete_path (string replace -r '^--[^=]*=' '' -- "$current")
            case ':dir'
                __fish_complete_directories (string replace -r '^--[^=]*=' '' -- "$current")
            case ':none'
            case '*'
                echo $line
        end
    end
end
complete -c zooctl -f -a '(__zooctl_complete)'
