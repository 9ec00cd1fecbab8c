# SPDX-License-Identifier: LGPL-2.1-or-later
# Completion of starpu-tic for bash: commands and options are those that its help tells.

_starpu_tic_options() { # COMMAND
    "$1" "${@:2}" --help 2>/dev/null | grep -oE -- '(^|[^a-z-])--[a-z][a-z-]+' | grep -oE -- '--[a-z-]+' |
        sort -u
}

_starpu_tic() {
    local tool=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} i
    local command=${COMP_WORDS[1]}

    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$tool" --help 2>/dev/null |
            sed -n 's/^  \([a-z][a-z]*\)  *[A-Z].*/\1/p') --help --version" -- "$current")
        return
    fi
    for ((i = 2; i < COMP_CWORD; i++)); do # behind -- there is a program, with arguments of its own
        if [ "${COMP_WORDS[i]}" = -- ]; then
            if declare -F _command_offset >/dev/null; then
                _command_offset $((i + 1))
            else
                mapfile -t COMPREPLY < <(compgen -c -- "$current")
            fi
            return
        fi
    done
    case $before in
    --protocol) mapfile -t COMPREPLY < <(compgen -W "tic sel tic+sel off" -- "$current") ;;
    --type) mapfile -t COMPREPLY < <(compgen -W "float int uint" -- "$current") ;;
    *)
        if [[ $current == -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "$(_starpu_tic_options "$tool" "$command")" -- "$current")
        else
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
        fi
        ;;
    esac
}
complete -F _starpu_tic starpu-tic
