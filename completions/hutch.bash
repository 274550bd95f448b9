# SPDX-License-Identifier: Apache-2.0
# bash completion for hutch. A unit test compares these options with hutch's option table.

_hutch()
{
        local word=$2 before=$3 i subcommand= separator=
        COMPREPLY=()
        for ((i = 1; i < COMP_CWORD; i++)); do
                case ${COMP_WORDS[i]} in
                --) separator=$i && break ;;
                mcp | run | prove | fetch | doctor | ps | logs | version | help) [[ $subcommand ]] || subcommand=${COMP_WORDS[i]} ;;
                esac
        done

        if [[ $separator ]]; then
                # The words after `--` are the command line of another program.
                if declare -F _command_offset >/dev/null; then
                        _command_offset $((separator + 1))
                elif ((COMP_CWORD == separator + 1)); then
                        mapfile -t COMPREPLY < <(compgen -c -- "$word")
                else
                        compopt -o filenames
                        mapfile -t COMPREPLY < <(compgen -f -- "$word")
                fi
                return
        fi
        case $subcommand in
        '') mapfile -t COMPREPLY < <(compgen -W 'mcp run prove fetch doctor ps logs version help' -- "$word") && return ;;
        help) mapfile -t COMPREPLY < <(compgen -W 'mcp run prove fetch doctor ps logs version help' -- "$word") && return ;;
        fetch) mapfile -t COMPREPLY < <(compgen -W ' --list --update --verify --remove --min-age --network-allow --timeout --verbose --status-fd --help' -- "$word") && return ;;
        doctor) mapfile -t COMPREPLY < <(compgen -W ' --json --help' -- "$word") && return ;;
        ps | logs) mapfile -t COMPREPLY < <(compgen -W '--json' -- "$word") && return ;;
        version) return ;;
        esac
        [[ $word == = ]] && word=
        [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD - 2]}

        # Each option has a space before it, so that the test finds whole options.
        case " $before" in
        ' --ro' | ' --rw' | ' --ro-try' | ' --rw-try' | ' --volume' | ' --file' | ' -f' | ' --unsafe-grant' | ' --env-file' | ' --log' | ' --pin' | ' --protect' | ' --hide' | ' --seccomp' | ' --template' | ' -t')
                compopt -o filenames
                mapfile -t COMPREPLY < <(compgen -f -- "$word")
                ;;
        ' --cwd' | ' --overlay')
                compopt -o filenames
                mapfile -t COMPREPLY < <(compgen -d -- "$word")
                ;;
        ' --env' | ' -e') mapfile -t COMPREPLY < <(compgen -e -- "$word") ;;
        ' --require') mapfile -t COMPREPLY < <(compgen -W 'landlock cgroup memory pids cpus' -- "$word") ;;
        ' --allow-userns') mapfile -t COMPREPLY < <(compgen -W 'full' -- "$word") ;;
        ' --fetch') mapfile -t COMPREPLY < <(compgen -W 'auto never always' -- "$word") ;;
        ' --proc') mapfile -t COMPREPLY < <(compgen -W 'none' -- "$word") ;;
        ' --network-allow' | ' --network-deny' | ' --host-port' | ' --publish' | ' --persist' | ' --allow-tool' | ' --deny-tool' | ' --max-message' | ' --timeout' | ' --stop-grace' | ' --mount' | ' --tmpfs' | ' --status-fd' | ' --memory' | ' --cpus' | ' --pids' | ' --disk') ;;
        *)
                mapfile -t COMPREPLY < <(compgen -W ' --template --ro --rw --ro-try --rw-try --volume --mount --tmpfs --file --no-auto-grant --unsafe-grant --overlay --protect --no-protect --hide --env --env-file --network-allow --network-deny --host-port --publish --log --fetch --persist --allow-tool --deny-tool --pin --pin-accept --deny-sampling --deny-elicitation --deny-roots --max-message --log-arguments --explain --cwd --timeout --stop-grace --raw-stdout --memory --cpus --pids --disk --require --seccomp --allow-userns --proc --status-fd --dry-run --json --verbose --help -- ' -- "$word")
                ;;
        esac
}
complete -F _hutch hutch
