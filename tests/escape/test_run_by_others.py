# SPDX-License-Identifier: Apache-2.0
"""What programs outside obey or start, of a project and of the person's own home."""
import pytest

PROJECT = [".gemini/settings.json", ".codex/config.toml", ".kiro/settings/mcp.json", ".roo/mcp.json", ".amazonq/mcp.json", ".continue/config.yaml",
           ".opencode/plugin/a.js", "opencode.json", ".zed/tasks.json", ".devcontainer/devcontainer.json", ".idea/workspace.xml"]
RUN = [".local/lib", ".nvm", ".pyenv/shims", ".volta/bin", ".asdf", ".rustup", ".local/share/uv/tools", ".local/share/pnpm", ".config/mise", ".direnvrc",
       ".config/sway", ".local/share/dbus-1/services", ".vscode/extensions", ".emacs", ".gdbinit"]
SECRET = [".pgpass", ".my.cnf", ".vault-token", ".config/github-copilot", ".config/op", ".cache/huggingface/token", ".s3cfg", ".Xauthority", ".kiro",
          ".config/sops/age"]


@pytest.mark.parametrize("name", PROJECT)
def test_a_client_or_editor_of_the_project_obeys_nothing_new(attempt, hutch, name):
    file = hutch.directory / "project" / name
    file.parent.mkdir(parents=True)
    file.write_text("{}")
    attempt("import sys\nopen(sys.argv[1], 'w').write('EVIL')\nprint('GOT-OUT')\n", "--rw", hutch.directory / "project", arguments=[file],
            reset=lambda: file.write_text("{}"))
    assert file.read_text() == "{}"


@pytest.mark.parametrize("name", PROJECT)
def test_what_a_client_would_obey_is_reported_when_it_is_new(hutch, name):
    project = hutch.directory / "project"
    project.mkdir()
    done = hutch("run", "--rw", project, "--", "/bin/sh", "-c", f"mkdir -p $(dirname {project}/{name}); echo > {project}/{name}")
    assert done.status == 0 and f"{project / name.split('/')[0]} was created during the run" in done.err, done


@pytest.mark.parametrize("name", RUN + SECRET)
def test_what_the_person_runs_is_not_granted_for_writing(hutch, name):
    (hutch.home / name).mkdir(parents=True)
    for place in name, name.split("/")[0]:
        done = hutch("run", "--rw", hutch.home / place, "--", "true")
        assert done.status == 125 and "refusing to grant" in done.err, done


@pytest.mark.parametrize("name", SECRET)
def test_what_opens_something_else_is_not_granted(hutch, name):
    (hutch.home / name).mkdir(parents=True)
    done = hutch("run", "--ro", hutch.home / name, "--", "true")
    assert done.status == 125 and "refusing to grant" in done.err, done
