"""What older versions of gitcp left is read, and gone on from, as they did it themselves.

The commands that read print the same records, and may print more keys and say it in other words.
They leave every ref and state as it was.  What a session and a commit then put into the store is
the same, byte for byte, but for ids and times; of a version before LATEST, what was in the store
stays there.
"""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.frozen import make
from tests.frozen.scenes import SCENES, Day
from tests.support.paths import TOP

# Hooks answer and write as this version did; older ones lack what came since.
LATEST = "900b4fec"
# Kinds of findings: the hooks name the programs of today, which judge those of Entire.
OF_PROGRAMS = ("changed-hook", "entire")
# type of a record -> its keys that are sentences for people
WORDS = {"point": ("message",), "finding": ("reason", "remedy")}
_PROMISED = ("refs/heads/entire/checkpoints/v1:", "refs/entire/checkpoints/")
ALL = sorted(make.FROZEN.glob("*/*.tar.xz"))


@pytest.fixture(params=ALL, ids=lambda path: f"{path.parent.name}-{path.name.split('.')[0]}")
def frozen(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Day, dict[str, Any]]:
    """A repository as an older version left it, and what that version answered."""
    _need_jj(request.param.name)
    with tarfile.open(request.param) as tar:
        day = make.unpack(tar, tmp_path, TOP)
    kept = json.loads((tmp_path / "answers.json").read_text())
    return day, {**kept, "version": request.param.parent.name}


def _need_jj(name: str) -> None:
    if name.startswith("jujutsu") and not (TOP / "build" / "jj" / "jj").exists():
        pytest.skip("jj is not installed: .ci/get-jj provides one")


def test_each_scene_is_kept_of_each_version() -> None:
    kept = {(path.parent.name, path.name.split(".")[0]) for path in ALL}
    versions = {version for version, _ in kept}
    assert len(versions) >= 2 and kept == {(v, scene) for v in versions for scene in SCENES}
    assert sum(path.stat().st_size for path in ALL) < 1_500_000


def test_reading_finds_what_the_older_version_found(frozen: tuple[Day, dict[str, Any]]) -> None:
    day, kept = frozen
    before = day.git("for-each-ref"), _read_states(day)
    found = make.describe_reads(day)
    for command, (status, out, said) in kept["reads"].items():
        read = [_parse(found[command][1]), _parse(out)]
        ours, theirs = map(_leave_out, read)
        assert bool(found[command][2]) == bool(said), command
        if [ours, theirs] == read:
            assert found[command][0] == status, command
        assert len(ours) == len(theirs), command
        for our, their in zip(ours, theirs, strict=True):
            assert _take(our, their) == their, command
    assert (day.git("for-each-ref"), _read_states(day)) == before


def _parse(lines: str) -> list[Any]:
    return [json.loads(line) for line in lines.splitlines()]


def _leave_out(records: list[Any]) -> list[Any]:
    """Records without the findings about programs, also inside the record of a status."""
    kept = [record for record in records if record.get("kind") not in OF_PROGRAMS]
    return [
        {**record, "findings": _leave_out(record["findings"])} if "findings" in record else record
        for record in kept
    ]


def _read_states(day: Day) -> dict[str, bytes]:
    folder = day.repo / ".git" / "entire-sessions"
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.json"))}


def _take(ours: Any, theirs: Any) -> Any:
    """Of our value what theirs has: a record may have got more keys, and say it in other words."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        words = WORDS.get(theirs.get("type", ""), ())
        ours = {**ours, **{key: theirs[key] for key in words if ours.get(key) and key in theirs}}
        return {key: _take(ours[key], theirs[key]) for key in theirs if key in ours}
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [_take(our, their) for our, their in zip(ours, theirs, strict=True)]
    return ours


@pytest.mark.thorough
def test_what_comes_next_is_what_would_have_come(frozen: tuple[Day, dict[str, Any]]) -> None:
    day, kept = frozen
    before = [line for line in make.describe_store(day) if line.startswith(_PROMISED)]
    after = make.describe_after(day)
    if kept["version"] == LATEST:
        assert after["answers"] == kept["after"]["answers"]
        assert after["store"] == kept["after"]["store"]
    assert not Counter(before) - Counter(after["store"])


@pytest.mark.thorough
@pytest.mark.parametrize("scene", SCENES)
def test_hooks_answer_what_they_answered(scene: str, tmp_path: Path) -> None:
    _need_jj(scene)
    day = Day(tmp_path / "day", TOP)
    try:
        SCENES[scene](day)
    finally:
        day.close()
    with tarfile.open(make.FROZEN / LATEST / f"{scene}.tar.xz") as tar:
        file = tar.extractfile("answers.json")
        assert file
        kept = json.load(file)
    assert [make.level(make.place(answer, day)) for answer in day.answers] == kept["answers"]
