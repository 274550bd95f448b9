# SPDX-License-Identifier: Apache-2.0
"""What the real shells offer for the last word of a line, with the completions of this tree loaded and nothing of the
account's own settings. It starts no command of a line; a shell that does not answer is killed."""
import contextlib
import functools
import os
import re
import shlex
import subprocess

from harness import TREE
from terminal import Terminal

COMPLETIONS = TREE / "completions"
BASH_COMPLETION = "/usr/share/bash-completion/bash_completion"

# Splits as readline does: `=` is a word of its own.
BASH = r"""
{setup}
source {script}
complete -p hutch >/dev/null || exit 3
compopt() {{ [[ $1 == -o && $2 == filenames ]]; }}  # only while readline asks
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE=$LINE COMP_POINT=${{#LINE}} COMP_TYPE=9
_hutch hutch "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD - 1]}}"
printf '%s\0' "${{COMPREPLY[@]}}"
"""


def environment(directory):
    return {"PATH": "/usr/bin:/bin", "HOME": str(directory), "LANG": "C.UTF-8", "TERM": "xterm", "EXPORTED_ONE": "1"}


def ask_bash(line, directory, with_library=True):
    words = [part for word in line.split(" ") for part in re.split("(=)", word)] if "=" in line else line.split(" ")
    words = [word for i, word in enumerate(words) if word or i == len(words) - 1]
    setup = f"source {BASH_COMPLETION}" if with_library else ""
    done = subprocess.run(["bash", "--norc", "--noprofile", "-c", BASH.format(setup=setup, script=shlex.quote(str(COMPLETIONS / "hutch.bash"))), "bash", *words],
                          env={**environment(directory), "LINE": line}, cwd=directory, capture_output=True, stdin=subprocess.DEVNULL, timeout=30)
    assert done.returncode == 0 and not done.stderr, done
    return {name.decode().rstrip() for name in done.stdout.split(b"\0") if name}


def ask_bare_bash(line, directory):
    return ask_bash(line, directory, with_library=False)


def ask_fish(line, directory):
    done = subprocess.run(["fish", "--no-config", "-c", f"source {COMPLETIONS}/hutch.fish; complete -C $argv[1]", line],
                          env=environment(directory), cwd=directory, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=30)
    assert done.returncode == 0 and not done.stderr, done
    return {name.split("\t")[0].split("=", 1)[-1].rstrip("/") for name in done.stdout.splitlines()}


ZSH = r"""PROMPT=; unsetopt prompt_sp prompt_cr; setopt no_list_beep; LISTMAX=0; fpath=({directory} $fpath)
autoload -Uz compinit; compinit -D -u; zstyle ':completion:*' list-packed no; zstyle ':completion:*' menu no; zstyle ':completion:*' format '' 
finish() {{ print -r -- $'\n'"<en""d>"; BUFFER= }}; zle -N finish; bindkey '^T' list-choices; bindkey '^G' finish
print "<rea""dy>"
"""


@contextlib.contextmanager
def open_zsh(directory):
    """One shell for all lines: most of its time goes into its start. The terminal is wide and high: nothing is cut and nothing asked."""
    with Terminal(["zsh", "-f", "-i"], environment(directory), directory, rows=4000, columns=400) as terminal:
        terminal.type(ZSH.format(directory=shlex.quote(str(COMPLETIONS))))
        terminal.expect("<ready>", 10)
        yield functools.partial(ask_zsh, terminal)


def ask_zsh(terminal, line):
    """Types the line, lists the choices, and leaves an empty line behind."""
    terminal.type("\x15" + line)
    terminal.type("\x14\x07")
    text = terminal.expect("<end>", 5)
    text = re.sub(r"\x1b\[\d*A.*", "\n", text)  # up again, where the line is written once more
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r|\x08", "", text)
    found = set()
    for row in text.split("\n"):
        if not row.rstrip().endswith(line.rstrip()):
            found |= {name.strip().rstrip("/@*") for name in re.split(r"\s{2,}", row.split("  -- ")[0]) if name.strip()}
    return found


def one_each(ask):
    """A shell for each line."""
    return lambda directory: contextlib.nullcontext(functools.partial(ask, directory=directory))


# {shell: what opens it in a directory, and yields a function of the line}
SHELLS = {"bash": one_each(ask_bash), "bash without its library": one_each(ask_bare_bash), "zsh": open_zsh, "fish": one_each(ask_fish)}
PROGRAMS = {name: name.split(" ")[0] for name in SHELLS}


def installed(shell):
    program = PROGRAMS[shell]
    return os.path.exists(f"/usr/bin/{program}") and (shell != "bash" or os.path.exists(BASH_COMPLETION))
