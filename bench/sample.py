"""A store of real checkpoints, each many times over in other words, made once."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench.history import V1, commit, file, import_stream
from bench.repos import CACHE, git
from bench.session import TOP

_BUNDLE = TOP / "tests" / "data" / "entire" / "v1-sample.bundle"
_WORD = re.compile(rb"(?<![\\\w])[a-z]{7,}")
_FEW = 24  # of so many words one reads otherwise in each copy


def sampled(count: int) -> Path:
    """A bare repository with so many checkpoints of the sizes of the real ones, each of sessions
    of its own and carried by a commit."""
    path = CACHE / f"sample-{count}"
    if not (path / "made").exists():
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        git(path, "init", "-q", "--bare", "-b", "main", "--template=", ".")
        git(path, "fetch", "-q", str(_BUNDLE), f"{V1}:refs/bench/real")
        import_stream(path, _stream(path, count))
        git(path, "update-ref", "-d", "refs/bench/real")
    return path


def transcripts(path: Path) -> int:
    """How many bytes the transcripts of a store have."""
    listed = subprocess.check_output(["git", "ls-tree", "-r", "-l", V1], cwd=path, text=True)
    rows = (line.split() for line in listed.splitlines())
    return sum(int(size) for _, _, _, size, name in rows if "/full.jsonl" in name)


def _stream(path: Path, count: int) -> Iterator[bytes]:
    real = _checkpoints(path)
    for n in range(count):
        name, files = real[n % len(real)]
        new = hashlib.sha256(b"%d" % n).hexdigest()[:12]
        ids = {name: new, **{old: f"{n:08x}{old[8:]}" for old in _sessions(files)}}
        yield commit("refs/heads/main", n, f"Change {n}\n\nEntire-Checkpoint: {new}\n")
        yield commit(V1, n, f"Checkpoint: {new}\n")
        for inside, data in files.items():
            yield file(f"{new[:2]}/{new[2:]}/{inside}", _reworded(data, n // len(real), ids))


def _checkpoints(path: Path) -> list[tuple[str, dict[str, bytes]]]:
    """(id, path in it -> content) of the real checkpoints."""
    listed = subprocess.check_output(
        ["git", "ls-tree", "-r", "refs/bench/real"], cwd=path, text=True
    )
    files: dict[str, dict[str, bytes]] = {}
    for line in listed.splitlines():
        head, name = line.split("\t")
        first, second, inside = name.split("/", 2)
        oid = head.split()[2]
        data = subprocess.check_output(["git", "cat-file", "blob", oid], cwd=path)
        files.setdefault(first + second, {})[inside] = data
    return list(files.items())


def _sessions(files: dict[str, bytes]) -> set[str]:
    pattern = re.compile(rb'"session_?[iI]d": ?"([0-9a-f-]{36})"')
    return {match.decode() for data in files.values() for match in pattern.findall(data)}


def _reworded(data: bytes, copy: int, ids: dict[str, str]) -> bytes:
    """A file of a copy: ids replaced, and some words given an end of the copy's own."""
    for old, new in ids.items():
        data = data.replace(old.encode(), new.encode())
    return _WORD.sub(partial(_word, copy), data) if copy else data


def _word(copy: int, match: re.Match[bytes]) -> bytes:
    word = match.group()
    return word if zlib.crc32(word) % _FEW else b"%b%c" % (word, ord("a") + copy % 26)
