# SPDX-License-Identifier: Apache-2.0
"""`hutch run` on a terminal is as if hutch were not there."""
import os
import re
import signal
import termios

import pytest
from harness import PYTHON, command_line, descendants, wait_until
from terminal import Terminal

OUTER_SHELL = ["bash", "--norc", "--noprofile", "-i"]
READY = "echo rea''dy; "  # what is echoed when it is typed differs from what it prints


@pytest.fixture
def on_terminal(hutch):
    """on_terminal(*words): `hutch WORDS` on a terminal of its own."""
    opened = []

    def start(*words, argv=None):
        terminal = Terminal(argv or hutch.argv(*words), {**hutch.environment, "PS1": "outer> "}, hutch.directory)
        opened.append(terminal)
        return terminal

    yield start
    for terminal in opened:
        terminal.__exit__()


def test_control_c_once_ends_the_command_with_130(on_terminal):
    # exec: a shell that is about to start its command may miss the signal, with hutch and without
    terminal = on_terminal("run", "--", "sh", "-c", READY + "exec sleep 300")
    terminal.expect("ready")
    terminal.type("\x03")
    assert terminal.wait(5) == 130


def test_control_backslash_ends_it_with_131(on_terminal):
    terminal = on_terminal("run", "--", "sh", "-c", READY + "exec sleep 300")
    terminal.expect("ready")
    terminal.type("\x1c")
    assert terminal.wait(5) == 131


def test_a_command_that_handles_control_c_gets_it_exactly_once_and_goes_on(on_terminal):
    script = ("import os, signal, sys\ncount = 0\ndef handle(*_):\n    global count; count += 1; os.write(1, b'count %d\\n' % count)\n"
              "signal.signal(signal.SIGINT, handle)\nos.write(1, b'ready\\n')\nline = sys.stdin.readline()\nprint('total', count, line)\nsys.exit(count + 20)")
    terminal = on_terminal("run", "--", PYTHON, "-c", script)
    terminal.expect("ready")
    terminal.type("\x03")
    terminal.expect("count 1")
    terminal.type("end\n")
    terminal.expect("total 1 end")
    assert terminal.wait(5) == 21


def test_the_terminal_is_a_terminal_inside(on_terminal):
    terminal = on_terminal("run", "--", "sh", "-c", "tty && test -t 0 && test -t 1 && test -t 2 && echo to the tty >/dev/tty && ps -o tty= -p $$")
    assert terminal.wait() == 0, terminal.seen
    assert "to the tty" in terminal.seen and "not a tty" not in terminal.seen


def test_window_size_changes_reach_the_program(on_terminal):
    script = ("import os, signal\ndef show(*_): os.write(1, b'size %d %d\\n' % os.get_terminal_size(0))\n"
              "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])\nshow()\nsignal.sigwait([signal.SIGWINCH])\nshow()")
    terminal = on_terminal("run", "--", PYTHON, "-c", script)
    terminal.expect("size 80 24")
    terminal.resize(50, 132)
    terminal.expect("size 132 50")
    assert terminal.wait() == 0


def test_job_control_in_a_shell_inside(on_terminal):
    terminal = on_terminal("run", "--", *OUTER_SHELL)
    terminal.type("PS1=in''ner\n")
    terminal.expect("inner")
    assert "no job control" not in terminal.seen and "cannot set terminal" not in terminal.seen
    terminal.type("sleep 301\n")
    wait_until(lambda: any("sleep 301" in name for name in descendants(terminal.process.pid).values()), what="the job")
    terminal.type("\x1a")
    terminal.expect("Stopped")
    terminal.type("jobs; bg; fg\n")
    terminal.expect("sleep 301")
    terminal.expect("sleep 301 &")
    terminal.expect("sleep 301\r\n")
    wait_until(lambda: "sleep" in command_line(terminal.foreground_group()), what="the job in the foreground")
    terminal.type("\x03")
    terminal.expect("inner")  # the prompt: the shell has the terminal again
    terminal.type("echo status=$? alive\n")
    terminal.expect("status=130 alive")
    terminal.type("exit 9\n")
    assert terminal.wait() == 9


def stopped(pid):
    return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "T"


def test_control_z_stops_it_and_the_shell_brings_it_back(on_terminal, hutch):
    terminal = on_terminal(argv=OUTER_SHELL)
    terminal.expect("outer> ")
    script = "import signal, sys\nprint('rea' + 'dy', flush=True)\nprint('g' + 'ot', sys.stdin.readline(), flush=True)\nsys.exit(6)"
    (hutch.directory / "script.py").write_text(script)
    terminal.type(f"{hutch.path} run -- {PYTHON} script.py\n")
    terminal.expect("ready")
    terminal.type("\x1a")
    terminal.expect("Stopped")
    terminal.expect("outer> ")
    assert terminal.foreground_group() == terminal.process.pid
    # nothing of the sandbox's command runs on while the job is stopped
    assert all(stopped(pid) for pid, name in descendants(terminal.process.pid).items() if "script.py" in name and not name.startswith("hutch-"))
    terminal.type("fg\n")
    terminal.expect("script.py\r\n")
    terminal.type("a line\n")
    terminal.expect("got a line")
    terminal.expect("outer> ")
    terminal.type("echo status=$?\n")
    terminal.expect("status=6")
    terminal.type("exit\n")
    terminal.wait()


def test_stopped_and_continued_in_the_background(on_terminal, hutch):
    terminal = on_terminal(argv=OUTER_SHELL)
    terminal.expect("outer> ")
    (hutch.directory / "script.py").write_text("import time\nprint('rea' + 'dy', flush=True)\ntime.sleep(0.5)\nprint('fin' + 'ished')\n")
    terminal.type(f"{hutch.path} run -- {PYTHON} script.py\n")
    terminal.expect("ready")
    terminal.type("\x1a")
    terminal.expect("Stopped")
    terminal.type("bg\n")
    terminal.expect("finished")
    terminal.type("\nwait; echo over''all\n")
    terminal.expect("overall")
    terminal.type("exit\n")
    terminal.wait()


def test_bytes_cannot_be_pushed_into_the_callers_terminal(on_terminal):
    script = ("import fcntl, termios, errno\nfor number in (0x5412, 0x541C):\n    try: fcntl.ioctl(0, number, b'\\x03'); print('pu' + 'shed', hex(number))\n"
              "    except OSError as error: print('refused', errno.errorcode[error.errno])\n")
    terminal = on_terminal("run", "--", PYTHON, "-c", script)
    assert terminal.wait() == 0
    assert terminal.seen.count("refused EPERM") == 2 and "pushed" not in terminal.seen, terminal.seen


@pytest.mark.parametrize("ending", ["exit 0", "kill -9 $$", "kill -9 1; kill -TERM $$"])
def test_modes_and_foreground_group_are_given_back(on_terminal, hutch, ending):
    terminal = on_terminal(argv=OUTER_SHELL)
    terminal.expect("outer> ")
    terminal.type("stty -a >before; cat before | head -1\n")
    terminal.expect("baud")
    terminal.expect("outer> ")
    terminal.type(f"{hutch.path} run -- sh -c 'stty raw -echo; {ending}'; stty -a >after; echo rest''ored\n")
    terminal.expect("restored")
    terminal.expect("outer> ")
    assert terminal.foreground_group() == terminal.process.pid
    if ending != "exit 0":  # a program that ends by itself may leave the modes as it likes, as without hutch
        assert (hutch.directory / "after").read_text() == (hutch.directory / "before").read_text()
    terminal.type("\x15exit\n")
    terminal.wait()


def test_a_timeout_gives_the_terminal_back(on_terminal):
    terminal = on_terminal("run", "--timeout", "2", "--", "sh", "-c", READY + "read go; stty raw -echo; sleep 300")
    terminal.expect("ready")
    before = terminal.modes()[:4]
    terminal.type("\n")
    wait_until(lambda: terminal.modes()[:4] != before, what="the other modes")
    assert terminal.wait(8) == 124
    assert terminal.modes()[:4] == before


def test_the_window_is_closed(on_terminal):
    terminal = on_terminal("run", "--", "sh", "-c", READY + "exec sleep 300")
    terminal.expect("ready")
    terminal.hang_up()
    assert terminal.wait(6) in (128 + signal.SIGHUP, -signal.SIGHUP)


def test_output_piped_while_the_input_is_a_terminal(on_terminal, hutch):
    terminal = on_terminal(argv=["sh", "-c", f"{hutch.path} run -- sh -c 'test -t 0; echo in=$?; test -t 1; echo out=$?' | cat"])
    terminal.expect("in=")
    assert terminal.wait() == 0
    assert re.search(r"out=1", terminal.seen)


def test_the_window_is_closed_under_a_server_that_ignores_it(on_terminal):
    """The kernel signals a hang-up to the foreground group alone, which is not hutch's: it must notice by itself."""
    terminal = on_terminal("run", "--", "sh", "-c", "trap '' HUP; " + READY + "while :; do sleep 0.1; done")
    terminal.expect("ready")
    terminal.hang_up()
    assert terminal.wait(6) in (128 + signal.SIGHUP, -signal.SIGHUP)


@pytest.mark.parametrize("command", ["run -- sleep 0.3 &", "run -- /nowhere &", "run --timeout 1 -- sleep 60 &"])
def test_a_background_job_leaves_the_terminal_to_the_shell(on_terminal, hutch, command):
    terminal = on_terminal(argv=OUTER_SHELL)
    terminal.expect("outer> ")
    terminal.type(f"{hutch.path} {command}\n")
    terminal.expect("outer> ")
    terminal.type("stty intr ^K; wait; echo ali''ve\n")
    terminal.expect("alive")
    terminal.expect("outer> ")
    assert terminal.foreground_group() == terminal.process.pid
    terminal.type("stty -a | grep -c 'intr = ^K'\n")
    terminal.expect("1\r\n")  # the modes that the shell's user set meanwhile stay
    terminal.type("exit\n")
    terminal.wait()


def test_the_output_of_the_callers_terminal_cannot_be_stopped_for_good(on_terminal):
    script = "import termios\ntry: termios.tcflow(1, termios.TCOOFF); print('stop' + 'ped')\nexcept termios.error as error: print('refused', error.args[0])"
    terminal = on_terminal("run", "--", PYTHON, "-c", script)
    terminal.expect("refused 1")
    assert terminal.wait() == 0
