"""What core.sharedRepository asks for: what several people use is shared, what one said is not."""

import os
import stat
from pathlib import Path

import pytest

from gitcp.git.files import open_file, read_file
from gitcp.git.private_files import compute_shared_mode
from tests.support.checkpoints import git
from tests.support.harness import Agent, World

PRIVATE = ("entire-sessions/*", "gitcp/transcript/*", "gitcp/turn/*", "gitcp/kept/*")


@pytest.mark.parametrize(
    ("setting", "file", "folder"),
    [
        ("", 0o600, 0o700),
        ("umask", 0o600, 0o700),
        ("false", 0o600, 0o700),
        ("0", 0o600, 0o700),
        ("group", 0o660, 0o2770),
        ("true", 0o660, 0o2770),
        ("1", 0o660, 0o2770),
        ("All", 0o664, 0o2775),
        ("2", 0o664, 0o2775),
        ("0640", 0o640, 0o2750),
        ("0600", 0o600, 0o700),
        ("0666", 0o666, 0o2777),
        ("nonsense", 0o600, 0o700),
    ],
)
def test_the_mode_is_what_git_makes_of_it(setting: str, file: int, folder: int) -> None:
    assert compute_shared_mode(setting, stat.S_IFREG | 0o600) == file
    assert compute_shared_mode(setting, stat.S_IFDIR | 0o700) == folder
    assert compute_shared_mode(setting, stat.S_IFREG | 0o400) == file & ~0o222
    program = (file | (file & 0o444) >> 2) & 0o777 | 0o100
    assert compute_shared_mode(setting, stat.S_IFREG | 0o700) == program


def test_what_several_people_use_is_shared_and_what_a_person_said_is_not(tmp_path: Path) -> None:
    world = World(tmp_path / "shared", tmp_path / "home")
    git("init", "-q", "--shared=group", str(world.path))
    before = os.umask(0o077)
    try:
        world.gitcp("enable", "--agent", "claude-code", "--checkpoints", "none")
        agent = world.agent("session-a")
        agent.turn("write", {"one.py": "one\n", "two.py": "two\n"})
        world.commit("one.py")
    finally:
        os.umask(before)
        world.close()
    place = world.path / ".git"
    private = {path for pattern in PRIVATE for path in place.glob(pattern)}
    assert {path.parent.name for path in private} >= {"entire-sessions", "transcript"}
    assert not [path for path in private if path.stat().st_mode & 0o077]
    shared = [
        *(place / "gitcp").glob("open/*"),
        *(place / "gitcp").glob("lock/*"),
        *(place / "gitcp" / name for name in ("linked", "journal", "installed/manifest.json")),
        *(place / "objects/pack").iterdir(),
        *(path for path in (place / "refs").rglob("*") if path.is_file()),
        *(path for path in (place / "hooks").iterdir() if path.suffix == ""),
    ]
    assert len(shared) > 20
    assert not [path for path in shared if not path.stat().st_mode & 0o040]
    folders = [place / "entire-sessions", place / "gitcp"]
    folders += [path for path in (place / "gitcp").rglob("*") if path.is_dir()]
    assert not [path for path in folders if path.stat().st_mode & 0o2070 != 0o2070]


def test_the_files_of_another_person_are_left_alone(world: World, a: Agent) -> None:
    """Who is not allowed to read them does not take them for damaged."""
    if os.geteuid():
        return  # only root can be two persons
    a.turn("write", {"one.py": "one\n"})
    child = os.fork()
    if not child:
        os._exit(_look_as_another(world.path))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not (world.path / ".git/gitcp/corrupt").exists()


def _look_as_another(place: Path) -> int:

    os.chdir(place / ".git/entire-sessions")
    os.setgid(54321)
    os.setuid(54321)
    try:
        open_file("session-a.json")
    except PermissionError:
        return 0 if read_file("session-a.json") is None else 2
    return 1
