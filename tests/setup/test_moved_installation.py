"""An installation that is not what it was when gitcp was enabled: another Python, another place."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gitcp import agents
from gitcp.setup.clients import own_files
from tests.support import warm
from tests.support.harness import Agent, World
from tests.support.installed import write
from tests.support.paths import TOP

SETTINGS = ".claude/settings.local.json"


def replaced(world: World, old: str, new: str) -> None:
    """What every hook and entry that enable wrote says otherwise."""
    paths = [*world.path.glob(".git/hooks/*"), world.path / SETTINGS]
    before = [path.read_text() for path in paths]
    for path, text in zip(paths, before, strict=True):
        path.write_text(text.replace(old, new))
    assert all(
        old in text for path, text in zip(paths, before, strict=True) if "post-" in str(path)
    )


def client(agent: Agent, name: str, path: str, **payload: object) -> str:
    """Run the command that the settings have for an event, as the client does; what it printed.

    What the shell says of a Python that cannot run is no matter.
    """
    hooks = json.loads((agent.cwd / SETTINGS).read_text())["hooks"]
    about = {"session_id": agent.sid, "transcript_path": str(agent.transcript)}
    given = {**about, "cwd": str(agent.cwd), "hook_event_name": name, **payload}
    done = subprocess.run(
        ["sh", "-c", hooks[name][0]["hooks"][0]["command"]],
        cwd=agent.cwd,
        env={**os.environ, "PATH": path, "CLAUDE_PID": str(agent.pid)},
        input=json.dumps(given),
        capture_output=True,
        text=True,
    )
    said = [
        line for line in done.stderr.splitlines() if f"{agent.world.home}/bin/python" not in line
    ]
    assert (done.returncode, said) == (0, []), done
    return done.stdout


def turn(agent: Agent, path: str) -> None:
    """A turn that writes one.txt, told by the client to what its settings have."""
    client(agent, "SessionStart", path, source="startup")
    client(agent, "UserPromptSubmit", path, prompt="make it")
    agent.say({"type": "user", "message": {"role": "user", "content": "make it"}})
    agent.write("one.txt", "1\n")
    client(agent, "Stop", path, stop_hook_active=False)


def on_path(*folders: Path | str) -> str:
    return ":".join(map(str, (*folders, os.path.dirname(sys.executable), os.environ["PATH"])))


@pytest.fixture
def elsewhere(world: World, tmp_path: Path) -> World:
    """The world as a container has it: at another path, and nothing of what enable found."""
    replaced(world, str(TOP), "/nowhere")
    path = tmp_path / "workspace"
    world.path.rename(path)
    return World(path, world.home, {"PATH": on_path(TOP / "bin")}, (), world._sleepers)


def test_a_container_with_another_path_records_by_the_gitcp_on_its_path(elsewhere: World) -> None:
    turn(elsewhere.agent("s1"), elsewhere.env["PATH"])
    (checkpoint,) = elsewhere.commit("one.txt")
    assert elsewhere.committed(checkpoint)["s1"]["files_touched"] == ["one.txt"]


def test_a_container_without_gitcp_says_so_once_a_session(elsewhere: World) -> None:
    agent = elsewhere.agent("s1")
    said = client(agent, "SessionStart", "/usr/bin:/bin", source="startup")
    assert "gitcp is not installed where it was" in json.loads(said)["systemMessage"]
    assert client(agent, "UserPromptSubmit", "/usr/bin:/bin", prompt="make it") == ""
    elsewhere.env["PATH"] = "/usr/bin:/bin"
    elsewhere.git("commit", "-q", "--allow-empty", "-m", "of a person")


BROKEN = {
    "its interpreter is gone": "#!/nowhere/python\n",
    "of another system": "\x7fELF of another system\x00\n",
    "a library of it is gone": "#!/bin/sh\nexit 127\n",
    "its own modules are gone": "#!/bin/sh\nexit 1\n",
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_python_that_cannot_run_here_gives_way_to_path(world: World, what: str) -> None:
    python = world.home / "bin/python"
    replaced(world, warm.python(), str(python))
    write(python, BROKEN[what])
    world.env["PATH"] = on_path(TOP / "bin")
    turn(world.agent("s1"), world.env["PATH"])
    (checkpoint,) = world.commit("one.txt")
    assert world.committed(checkpoint)["s1"]["files_touched"] == ["one.txt"]
    assert f"start '{python}', which cannot run" in world.gitcp("status")


@pytest.mark.parametrize("what", BROKEN)
def test_where_neither_can_run_a_session_is_told_once_and_nothing_fails(
    world: World, what: str
) -> None:
    python, other = world.home / "bin/python", world.home / "path/gitcp-hook"
    replaced(world, warm.python(), str(python))
    write(python, BROKEN[what])
    write(other, BROKEN[what])
    agent, path = world.agent("s1"), f"{other.parent}:/usr/bin:/bin"
    hooks = json.loads((agent.cwd / SETTINGS).read_text())["hooks"]
    said = {}
    for event in ("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop"):
        argv = ["sh", "-c", hooks[event][0]["hooks"][0]["command"]]
        env = {**os.environ, "PATH": path}
        done = subprocess.run(argv, env=env, input="{}", capture_output=True, text=True)
        assert done.returncode == 0, done
        said[event] = done.stdout
    start = said.pop("SessionStart")
    assert "gitcp is not installed where it was" in json.loads(start)["systemMessage"]
    assert set(said.values()) == {""}
    world.env["PATH"] = path
    world.git("commit", "-q", "--allow-empty", "-m", "of a person")
    assert world.ids("HEAD") == []


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
@pytest.mark.parametrize("what", BROKEN)
def test_a_plugin_whose_python_cannot_run_tells_the_one_on_path(tmp_path: Path, what: str) -> None:
    python, plugin = tmp_path / "python", tmp_path / "plugin.mjs"
    write(python, BROKEN[what])
    baked = (str(python), str(TOP / "gitcp/entry.py"))
    (text,) = own_files.build_files(agents.get_client("opencode"), str(plugin), baked).values()
    plugin.write_bytes(text)
    write(tmp_path / "bin/gitcp-hook", f'#!/bin/sh\necho "$@" >{tmp_path}/args\ncat\nexit 2\n')
    tell = f"""import {{ Gitcp }} from {json.dumps(str(plugin))}
const hooks = await Gitcp({{ directory: "." }})
await hooks["tool.execute.before"]({{ sessionID: "s1" }}, {{}}).catch(() => console.log("no"))"""
    argv = ["node", "--input-type=module", "-e", tell]
    env = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    done = subprocess.run(argv, env=env, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("no\n", "")
    assert (tmp_path / "args").read_text() == "opencode tool.execute.before\n"


@pytest.mark.parametrize("what", [*BROKEN, "nothing is left of it"])
def test_a_script_of_cline_whose_python_cannot_run_calls_the_one_on_path(
    repo: Path, tmp_path: Path, what: str
) -> None:
    python, script = tmp_path / "python", repo / ".clinerules/hooks/PreToolUse"
    assert warm.run("enable", "--agent=cline").returncode == 0
    installed = script.read_text()
    assert warm.python() in installed
    script.write_text(installed.replace(warm.python(), str(python)))
    if what in BROKEN:
        write(python, BROKEN[what])
    write(tmp_path / "bin/gitcp-hook", '#!/bin/sh\necho given: "$@"\ncat\nexit 2\n')
    for path, answer in ((f"{tmp_path}/bin:", (2, "given: cline PreToolUse\n{}")), ("", (0, ""))):
        env = {**os.environ, "PATH": f"{path}/usr/bin:/bin"}
        done = subprocess.run([script], env=env, input="{}", capture_output=True, text=True)
        assert (done.returncode, done.stdout) == answer


def test_a_python_upgraded_in_place_still_records_and_is_told(world: World, tmp_path: Path) -> None:
    package = tmp_path / "venv/lib/python3.9/site-packages/gitcp"
    package.parent.mkdir(parents=True)
    package.symlink_to(TOP / "gitcp")
    replaced(world, str(TOP / "gitcp"), str(package))
    # The base interpreter: what was installed for the former one is not there for it.
    base = getattr(sys, "_base_executable", sys.executable)
    replaced(world, warm.python(), os.path.realpath(base))
    turn(world.agent("s1"), "/usr/bin:/bin")
    (checkpoint,) = world.commit("one.txt")
    assert world.committed(checkpoint)["s1"]["files_touched"] == ["one.txt"]
    assert "which is not the Python that gitcp was installed for" in world.gitcp("status")
