"""Many sessions that left work behind: a hook reads the markers of those it is about."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from gitcp.git import files
from gitcp.git.repo import Repo
from gitcp.record import session
from gitcp.record.session import others
from tests.link.test_commit_files import crowd
from tests.support.harness import World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.text.record_types import File

CODE = "def add(a, b):\n    return a + b\n"
MANY = session.MOST + 8


@pytest.fixture
def left(world: World) -> World:
    """MANY sessions and session-old left work behind, and another one has been spoken to."""
    old = world.agent("session-old")
    old.turn("long ago", {"old.py": CODE})
    crowd(world, MANY, "idle")
    world.agent("session-a").turn("now", {"new.py": CODE + "# new\n"})
    return world


def away(world: World) -> set[str]:
    """The sessions whose markers are put aside."""
    folder = world.path / ".git/gitcp/open" / session.RESTING
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def sign(repo: Repo) -> dict[str, str]:
    """Every session that has a marker, with what that says."""
    return {m["session_id"]: m["phase"] for m in others.read_markers(repo)}


def test_where_there_are_many_those_at_rest_are_put_aside(left: World) -> None:
    assert "session-old" in away(left)
    assert "session-a" not in away(left)
    assert len(left.open()) == MANY + 2
    repo = Repo.find(str(left.path))
    assert others.list_marked_ids(repo) == left.open() == sorted(sign(repo))


def test_few_stay_where_they_are(world: World) -> None:
    for name in ("session-a", "session-b"):
        world.agent(name).turn("now", {f"{name}.py": CODE})
    assert not (world.path / ".git/gitcp/open" / session.RESTING).exists()


def test_a_commit_of_what_one_of_them_left_is_linked_to_it(left: World) -> None:
    [one] = left.commit("old.py")
    assert "session-old" in left.committed(one)
    assert "session-a" not in left.committed(one)
    assert "session-old" not in left.open(), "all of its work is settled"
    left.git("fsck", "--no-dangling")


def test_a_commit_of_a_file_of_theirs_that_was_moved_is_linked_to_it(left: World) -> None:
    (left.path / "old.py").rename(left.path / "moved.py")
    [one] = left.commit("moved.py")
    assert "session-old" in left.committed(one)


def test_a_commit_is_linked_where_all_of_them_are_put_aside(left: World) -> None:
    left.commit("new.py")
    assert os.listdir(left.path / ".git/gitcp/open") == [session.RESTING]
    assert left.commit("old.py")


def test_a_session_that_speaks_again_is_among_the_others_again(left: World) -> None:
    old = left.agent("session-old")
    old.prompt("go on")
    assert "session-old" not in away(left)
    assert old.state["phase"] == "active"
    old.write("old.py", CODE * 2)
    old.stop()
    [one] = left.commit("old.py")
    assert old.sid in left.committed(one)


def test_the_stream_of_one_of_them_goes_on_where_its_file_is_changed_again(left: World) -> None:
    b = left.agent("session-b")
    b.turn("more of it", {"old.py": CODE * 2})
    assert b.verdict == "continue"
    assert not left.archives


def test_a_hook_reads_none_that_it_is_not_about(
    left: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are: what is read are those not put aside, and the one concerned."""
    repo, read = Repo.find(str(left.path)), list[str]()
    others.list_marked_ids(repo)
    session._PARSED.clear()
    load = files.load_json

    def noted(path: str, shape: dict[str, object]) -> object:
        read.append(os.path.basename(path))
        return load(path, shape)

    monkeypatch.setattr(files, "load_json", noted)
    near = session.read_concerned(repo)
    assert sorted(read) == [m["session_id"] for m in near] == session.list_recent_ids(repo)
    assert len(read) < 4
    session.read_concerned(repo, ["stale-003"])
    assert read[-1] == "stale-003"
    assert not {"stale-001", "stale-002"} & set(read)


def test_one_that_a_kill_left_twice_is_there_once_and_goes_for_good(left: World) -> None:
    repo = Repo.find(str(left.path))
    folder = Path(session.get_resting_folder(repo))
    marker = json.loads((folder / "stale-001").read_text())
    files.write_private(
        repo,
        repo.join_shared("open", "stale-001"),
        json.dumps({**marker, "phase": "ended"}).encode(),
    )
    assert [m["phase"] for m in others.read_markers(repo) if m["session_id"] == "stale-001"] == [
        "ended"
    ]
    session.forget_marker(repo, "stale-001")
    assert "stale-001" not in others.list_marked_ids(repo)


def test_a_session_at_work_or_locked_is_not_put_aside(left: World) -> None:
    repo = Repo.find(str(left.path))
    for n, phase in enumerate(["active", "idle", "idle"]):
        folder = Path(session.get_resting_folder(repo))
        marker = json.loads((folder / f"stale-{n:03d}").read_text()) | {"phase": phase}
        files.write_private(
            repo, repo.join_shared("open", f"stale-{n:03d}"), json.dumps(marker).encode()
        )
    for n in range(MANY):
        files.write_private(
            repo, repo.join_shared("open", f"more-{n}"), _rename(marker, f"more-{n}")
        )
    with others.held_state(repo, ["stale-001"]):
        others.put_away(repo)
    assert {"stale-000", "stale-001"} <= set(session.list_recent_ids(repo))
    assert "stale-002" not in session.list_recent_ids(repo)


def _rename(marker: dict[str, object], name: str) -> bytes:
    return json.dumps({**marker, "session_id": name}).encode()


def test_whatever_comes_and_goes_each_marker_is_seen_as_it_is(left: World) -> None:
    """Against a plain table of what each marker should say."""
    repo, chance = Repo.find(str(left.path)), random.Random(19)
    known = {one: session.read_stored(repo, one) for one in others.list_marked_ids(repo)}
    names = sorted(known)[:12]
    for step in range(200):
        name = chance.choice(names)
        match chance.randrange(4):
            case 0:
                session.forget_marker(repo, name)
                known.pop(name, None)
            case 1:
                others.put_away(repo)
            case _:
                state = others.peek_state(repo, name) or session.make_state(repo, name, "", "")
                state["phase"] = chance.choice(["idle", "active"])
                state["base_commit"] = f"{chance.randrange(3)}" * 40
                state["first_prompt"] = "x" * 9 * step  # files of a moment differ in size
                state["streams"] = [{"id": "a" * 12, "ref": REF, "base_commit": "", "files": FILES}]
                session.write_marker(repo, state)
                known[name] = session.build_marker(state)
        assert {
            one: session.read_stored(repo, one) for one in others.list_marked_ids(repo)
        } == known
        near = {m["session_id"] for m in session.read_concerned(repo, names[:3])}
        assert near == known.keys() & {*names[:3], *session.list_recent_ids(repo)}


REF = "refs/heads/entire/1111111-e3b0c4"
FILES: dict[str, File] = {"x.py": {"oid": "1" * 40, "mode": "100644", "turn_id": ""}}
