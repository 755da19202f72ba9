"""Play the scenes with a commit's programs, and keep what they leave.

usage: python -m tests.frozen.make <commit> [<scene>...]

For each scene tests/data/frozen/<commit>/ gets a tar of the repository and the home, with
answers.json: what the hooks answered, what the commands that read print, and what a session and a
commit that come later leave in the store.  The latter two are asked after the folder was moved, as
the tests move it.
"""

from __future__ import annotations

import io
import json
import lzma
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from gitcp.record.session import get_machine_id
from tests.frozen import scenes
from tests.frozen.scenes import SCENES, Day
from tests.support.paths import DATA, TOP

FROZEN = DATA / "frozen"
READS = (
    "status --json",
    "log --json",
    "sessions --json",
    "show --json HEAD",
    "why --json app.py:1,9",
    "blame --json app.py",
    "stats --json",
    "fsck --json",
    "rewind --list --json",
)
# How the interpreter and the checkout of the tests are called in what is kept.
_HERE = {"/frozen/python": sys.executable, "/frozen/checkout": str(TOP)}
KEPT = ("refs/heads/entire", "refs/entire", "refs/notes", "refs/gitcp")
# What no two runs have in common.
_VARYING = (
    (r"\b[0-9a-f]{64}\b", "<sha256>"),
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uuid>"),
    (r"\b[0-9a-f]{40}\b", "<oid>"),
    (r"\b[0-9a-f]{2}/(?:[0-9a-f]{10}|[0-9a-f]{12})\b", "<checkpoint>"),
    (r"\b[0-9a-f]{2}/[0-9a-f]{38}\b", "<oid>"),
    (r"\b[0-9a-f]{7,12}\b", "<id>"),
    (r"\bmsg_[0-9a-f]{8}\b", "<message>"),
    (r"\b20\d\d-\d\d-\d\d[T-]\d[\d:.-]*\d(?:Z|\+00:00)?", "<time>"),
    (r"\b\d{10,}\b", "<number>"),
    (r'("(?:pid|start)": ?)"?\d+"?', r"\1<number>"),
)


def level(text: str) -> str:
    """The text with a mark in place of whatever differs from run to run."""
    for pattern, mark in _VARYING:
        text = re.sub(pattern, mark, text)
    # The files of a checkpoint come out of a set.
    return re.sub(r'(?<="files":)\{("[^"{}]+":\[[^\]]*\],?)*\}', _sort_files, text)


def _sort_files(found: re.Match[str]) -> str:
    return "{" + ",".join(sorted(re.findall(r'"[^"]+":\[[^\]]*\]', found[0]))) + "}"


def place(text: str, day: Day) -> str:
    """The text without the names of the folders and of the machine where it happened."""
    for folder, name in day.names.items():
        text = text.replace(folder, name)
    return re.sub(r'("host\\*": ?\\*")[^"\\]*', r"\1", text)


def describe_reads(day: Day) -> dict[str, tuple[int, str, str]]:
    """What each command that reads answers: command -> (status, output, messages)."""
    found = {}
    for command in READS:
        status, out, said = day.gitcp(*command.split())
        found[command] = status, place(out, day), place(said, day)
    return found


def describe_store(day: Day) -> list[str]:
    """The messages and files below gitcp's refs, each with marks for what varies, sorted."""
    lines = []
    for ref in day.git("for-each-ref", "--format=%(refname)", *KEPT).split():
        name = level(place(ref, day))
        for message in day.git("log", "-z", "--format=%an <%ae>%n%B", ref).split("\0"):
            lines.append(f"{name}: {level(place(message, day))}")
        for path in day.git("ls-tree", "-r", "-z", "--name-only", ref).split("\0"):
            if path:
                data = day.git("cat-file", "blob", f"{ref}:{path}")
                lines.append(f"{name}:{level(place(path, day))} {level(place(data, day))}")
    return sorted(lines)


def describe_after(day: Day) -> dict[str, list[str]]:
    """What hooks answer when a session goes on, and what is in the store then."""
    day.answers.clear()
    try:
        scenes.go_on(day)
    finally:
        day.close()
    answers = [level(place(answer, day)) for answer in day.answers]
    return {"answers": answers, "store": describe_store(day)}


def unpack(tar: tarfile.TarFile, top: Path, programs: Path) -> Day:
    """A repository as a version left it, moved here with its home, hooks and machine."""
    tar.extractall(top, filter="tar")
    names = json.loads((top / "names.json").read_text())
    moves = {names["top"]: str(top), names["programs"]: str(programs), **_HERE}
    gone = time.time_ns() - (top / "names.json").stat().st_mtime_ns
    for path in _list_texts(top):
        _move(path, moves)
        # How old a file is tells whether somebody is at work.
        os.utime(path, ns=(path.stat().st_mtime_ns + gone,) * 2)
    day = Day(top, programs)
    day.names[names["top"]] = "/top"  # in objects
    return day


def _list_texts(top: Path) -> list[Path]:
    """The files that may be texts: all but objects."""
    files = [path for path in top.rglob("*") if path.is_file() and not path.is_symlink()]
    return [path for path in files if "objects" not in path.parts]


def _move(path: Path, moves: dict[str, str]) -> None:
    """Name the folders and the machine of today in a file of text."""
    data = path.read_bytes()
    if b"\0" in data:
        return
    moved = re.sub(rb'"host":"[^"]*"', f'"host":"{get_machine_id()}"'.encode(), data)
    for old, new in moves.items():
        moved = moved.replace(old.encode(), new.encode())
    if moved != data:
        times = path.stat().st_atime_ns, path.stat().st_mtime_ns
        path.write_bytes(moved)
        os.utime(path, ns=times)


def freeze(day: Day, scene: str, to: Path) -> None:
    """Play a scene, and keep in the folder `to` what it leaves and what follows elsewhere."""
    try:
        SCENES[scene](day)
    finally:
        day.close()
    scenes.leave_out(day.top)
    names = {"top": str(day.top), "programs": str(day.programs)}
    (day.top / "names.json").write_text(json.dumps(names))
    for path in _list_texts(day.top):
        _move(path, {here: name for name, here in _HERE.items()})
    left = io.BytesIO()
    with tarfile.open(fileobj=left, mode="w") as tar:
        for path in sorted(day.top.iterdir()):
            tar.add(path, path.name)
    left.seek(0)
    with tarfile.open(fileobj=left) as tar:
        moved = unpack(tar, day.top.parent / f"{scene}-moved", day.programs)
    kept = {
        "answers": [level(place(answer, day)) for answer in day.answers],
        "reads": describe_reads(moved),
        "after": describe_after(moved),
    }
    data = json.dumps(kept, indent=1).encode()
    left.seek(0, io.SEEK_END)
    left.seek(0)
    with tarfile.open(fileobj=left, mode="a") as tar:
        entry = tarfile.TarInfo("answers.json")
        entry.size = len(data)
        tar.addfile(entry, io.BytesIO(data))
    (to / f"{scene}.tar.xz").write_bytes(lzma.compress(left.getvalue(), preset=9))


def main(commit: str, *names: str) -> None:
    """Freeze the scenes as a commit's programs play them."""
    oid = subprocess.check_output(["git", "rev-parse", commit], cwd=TOP, text=True).strip()
    to = FROZEN / oid[:8]
    to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="frozen-") as folder:
        programs = Path(folder) / "programs"
        files = subprocess.check_output(["git", "archive", oid], cwd=TOP)
        with tarfile.open(fileobj=io.BytesIO(files)) as tar:
            tar.extractall(programs, filter="data")
        for name in names or SCENES:
            freeze(Day(Path(folder) / name, programs), name, to)


if __name__ == "__main__":
    main(*sys.argv[1:])
