# SPDX-License-Identifier: Apache-2.0
# fish completion for hutch. A unit test compares these options with hutch's option table.

function __hutch_in_options
    set --local words (commandline -opc)
    contains -- $words[2] mcp run prove; and not contains -- -- $words
end

# The words after `--` are the command line of another program.
function __hutch_command
    set --local words (commandline -opc) (commandline -ct)
    set --local separator (contains --index -- -- $words)
    complete -C (string join ' ' -- $words[(math $separator + 1)..-1])
end

# In a word such as --cwd=dir only the part after the equals sign is a path.
function __hutch_directories
    __fish_complete_directories (string replace --regex -- '^--[a-z-]+=' '' (commandline -ct))
end

complete -c hutch -f
complete -c hutch -n 'not __fish_seen_subcommand_from mcp run prove fetch doctor ps logs version help' -a mcp -d 'run a stdio MCP server in a sandbox'
complete -c hutch -n 'not __fish_seen_subcommand_from mcp run prove fetch doctor ps logs version help' -a run -d 'run any command in the same sandbox'
complete -c hutch -n 'not __fish_seen_subcommand_from mcp run prove fetch doctor ps logs version help' -a prove -d 'try to get out of a sandbox with these options'
complete -c hutch -n 'not __fish_seen_subcommand_from mcp run prove fetch doctor ps logs version help' -a fetch -d 'download packages once, in a sandbox'
complete -c hutch -n 'not __fish_seen_subcommand_from mcp run prove fetch doctor ps logs version help' -a doctor -d 'show what this machine can enforce'
complete -c hutch -n 'not __fish_seen_subcommand_from mcp run prove fetch doctor ps logs version help' -a ps -d 'list the sandboxes that are running'
complete -c hutch -n 'not __fish_seen_subcommand_from mcp run prove fetch doctor ps logs version help' -a logs -d 'show how the last runs of a server went'
complete -c hutch -n 'not __fish_seen_subcommand_from mcp run prove fetch doctor ps logs version help' -a version -d 'show the version'
complete -c hutch -n 'not __fish_seen_subcommand_from mcp run prove fetch doctor ps logs version help' -a help -d 'show this help, or that of a subcommand'
complete -c hutch -n '__fish_seen_subcommand_from help' -a 'mcp run prove fetch doctor ps logs version help'
complete -c hutch -n '__fish_seen_subcommand_from ps logs; and not __hutch_in_options' -l json -d 'write a JSON array'

complete -c hutch -n __hutch_in_options -l template -s t -r -F -d 'sandbox template'
complete -c hutch -n __hutch_in_options -l ro -r -F -d 'grant for reading'
complete -c hutch -n __hutch_in_options -l rw -r -F -d 'grant for reading and writing'
complete -c hutch -n __hutch_in_options -l ro-try -r -F -d 'as --ro, if the path exists'
complete -c hutch -n __hutch_in_options -l rw-try -r -F -d 'as --rw, if the path exists'
complete -c hutch -n __hutch_in_options -l volume -r -F -d 'grant SRC at DST'
complete -c hutch -n __hutch_in_options -l mount -x -d 'grant or memory in the syntax of container engines'
complete -c hutch -n __hutch_in_options -l tmpfs -x -d 'empty directory in memory'
complete -c hutch -n __hutch_in_options -l file -s f -r -F -d 'copy LOCAL in at REMOTE'
complete -c hutch -n __hutch_in_options -l no-auto-grant -d 'do not grant what the command names'
complete -c hutch -n __hutch_in_options -l unsafe-grant -r -F -d 'permit a grant that voids the sandbox'
complete -c hutch -n __hutch_in_options -l overlay -x -a '(__hutch_directories)' -d 'grant a directory and discard changes'
complete -c hutch -n __hutch_in_options -l protect -r -F -d 'keep a path in a writable grant read-only'
complete -c hutch -n __hutch_in_options -l no-protect -d 'make .git/hooks and other protected names writable'
complete -c hutch -n __hutch_in_options -l hide -r -F -d 'hide a path, or what matches a pattern'
complete -c hutch -n __hutch_in_options -l env -s e -x -a '(set -nx)' -d 'set or pass on a variable'
complete -c hutch -n __hutch_in_options -l env-file -r -F -d 'set the variables of a file'
complete -c hutch -n __hutch_in_options -l network-allow -x -d 'permit destinations'
complete -c hutch -n __hutch_in_options -l network-deny -x -d 'refuse destinations that would be permitted'
complete -c hutch -n __hutch_in_options -l host-port -x -d 'make a port of your 127.0.0.1 reachable inside'
complete -c hutch -n __hutch_in_options -l publish -x -d 'make a port of the command reachable on your 127.0.0.1'
complete -c hutch -n __hutch_in_options -l log -r -F -d 'append lines of JSON: lookups, connections, calls'
complete -c hutch -n __hutch_in_options -l fetch -x -a 'auto never always' -d 'fetch missing packages first'
complete -c hutch -n __hutch_in_options -l persist -x -d 'keep the home directory between runs'
complete -c hutch -n __hutch_in_options -l allow-tool -x -d 'permit the tools of that name or pattern'
complete -c hutch -n __hutch_in_options -l deny-tool -x -d 'hide and refuse tools'
complete -c hutch -n __hutch_in_options -l pin -r -F -d 'refuse tools that changed since the first use'
complete -c hutch -n __hutch_in_options -l pin-accept -d 'record the current definitions of tools'
complete -c hutch -n __hutch_in_options -l deny-sampling -d 'refuse requests to the client\'s model'
complete -c hutch -n __hutch_in_options -l deny-elicitation -d 'refuse questions to you'
complete -c hutch -n __hutch_in_options -l deny-roots -d 'do not tell the client\'s directories'
complete -c hutch -n __hutch_in_options -l max-message -x -d 'refuse longer messages'
complete -c hutch -n __hutch_in_options -l log-arguments -d 'also log the arguments of calls'
complete -c hutch -n __hutch_in_options -l explain -d 'tell the model what the network refused'
complete -c hutch -n __hutch_in_options -l cwd -x -a '(__hutch_directories)' -d 'working directory inside'
complete -c hutch -n __hutch_in_options -l timeout -x -d 'end the sandbox after this time'
complete -c hutch -n __hutch_in_options -l stop-grace -x -d 'wait this long after end of input before SIGTERM'
complete -c hutch -n __hutch_in_options -l raw-stdout -d 'pass on every byte of stdout'
complete -c hutch -n __hutch_in_options -l memory -x -d 'most memory'
complete -c hutch -n __hutch_in_options -l cpus -x -d 'most processor time, in processors'
complete -c hutch -n __hutch_in_options -l pids -x -d 'most processes and threads'
complete -c hutch -n __hutch_in_options -l disk -x -d 'most data in memory file systems'
complete -c hutch -n __hutch_in_options -l require -x -a 'landlock cgroup memory pids cpus' -d 'refuse to start where this is not enforced'
complete -c hutch -n __hutch_in_options -l seccomp -r -F -d 'another system call filter'
complete -c hutch -n __hutch_in_options -l allow-userns -f -a full -d 'let the command create user namespaces'
complete -c hutch -n __hutch_in_options -l proc -x -a none -d 'do not mount /proc'
complete -c hutch -n __hutch_in_options -l status-fd -x -d 'write JSON lines about the sandbox to this descriptor'
complete -c hutch -n __hutch_in_options -l dry-run -d 'describe the sandbox as JSON and run nothing'
complete -c hutch -n __hutch_in_options -l json -d 'write the result of prove as JSON'
complete -c hutch -n __hutch_in_options -l verbose -s v -d 'list what is granted, and why'
complete -c hutch -n __hutch_in_options -l help -s h -d 'show the help'
complete -c hutch -n '__fish_seen_subcommand_from fetch' -l list -d 'list fetched packages'
complete -c hutch -n '__fish_seen_subcommand_from fetch' -l update -d 'fetch again'
complete -c hutch -n '__fish_seen_subcommand_from fetch' -l verify -d 'compare with the recorded digests'
complete -c hutch -n '__fish_seen_subcommand_from fetch' -l remove -x -d 'remove fetched packages'
complete -c hutch -n '__fish_seen_subcommand_from fetch' -l status-fd -x -d 'write JSON lines to this descriptor'
complete -c hutch -n '__fish_seen_subcommand_from fetch' -l min-age -x -d 'take no version younger than this'
complete -c hutch -n '__fish_seen_subcommand_from fetch' -l network-allow -x -d 'permit more destinations'
complete -c hutch -n '__fish_seen_subcommand_from fetch' -l timeout -x -d 'end the fetch after this time'
complete -c hutch -n '__fish_seen_subcommand_from fetch' -l verbose -s v -d 'show more'
complete -c hutch -n '__fish_seen_subcommand_from fetch' -l help -s h -d 'show the help'
complete -c hutch -n '__fish_seen_subcommand_from doctor' -l json -d 'write JSON for a program to read'
complete -c hutch -n '__fish_seen_subcommand_from doctor' -l help -s h -d 'show the help'
complete -c hutch -n 'contains -- -- (commandline -opc)' -a '(__hutch_command)'
