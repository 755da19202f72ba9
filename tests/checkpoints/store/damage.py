"""A checkpoint with one thing wrong: what a careless program, a bad disk or a stranger stores."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from tests.support.checkpoints import V1

BLOB, LINK, SUBMODULE = "100644", "120000", "160000"
SESSION, TEXT = "s-aaaa", b"hello\nthere\nbig\nworld\n"  # of the checkpoint that is damaged
Files = dict[str, tuple[str, bytes]]  # by path in the checkpoint; of a submodule the oid
Place = tuple[str | int, ...]  # the keys on the way to a value of a JSON document

_METADATA = "metadata.json"
_DEEP = 3  # keys on the way to the deepest value that is exchanged
HUGE = 10**30
# Values that some key does not have: of each type, and in each the values that trip programs.
VALUES: dict[str, Any] = {
    "null": None,
    "true": True,
    "negative": -7,
    "huge": HUGE,
    "a fraction": 0.5,
    "infinite": float("inf"),
    "no number": float("nan"),
    "half a pair": "a\ud800b",
    "a NUL": "a\0b",
    "an option": "--output=x",
    "a way out": "../../../etc/passwd",
    "a long text": "x" * 70_000,
    "an empty text": "",
    "lines and escapes": "a\nb\x1b[31m\rc\x85",
    "a list of everything": [None, -1, HUGE, [], {}, "a\ud800", "\0", True, [[1]], 1e999],
    "a list of texts": ["x", "", "a\ud800"],
    "a list of lists": [[-5, -1, "t", "u"], [3, 1, "t", "u"], [1, HUGE, "t"], [0], [1, 2, 3, 4, 5]],
    "an object": {"": None, "a\ud800": -1, "oid": 1, "\0": {"turn_id": 5, "prompt": []}},
    "an empty object": {},
    "an empty list": [],
}
WHOLE = {
    "empty": b"",
    "no JSON": b"\x00\xff{nothing",
    "null": b"null",
    "a list": b"[1, 2]",
    "a number": b"-1e999",
    "a text": b'"\\ud800"',
    "cut off": None,
    "nested without end": b'{"a":' * 5000 + b"1" + b"}" * 5000,
    "lists without end": b"[" * 100_000,
    "twice the same key": b'{"session_id": "x", "session_id": null, "files": {}, "files": []}',
    "an empty object": b"{}",
    "a long number": b'{"checkpoints_count": ' + b"9" * 5000 + b"}",
    "NUL": b"\0" * 1000,
    "not UTF-8": b'{"branch": "\xff\xed\xa0\x80"}',
    "a long line": b"x" * 200_000,
}


def damage(files: Files) -> Iterator[tuple[str, Files]]:
    """Yield (what is wrong, the files of the damaged checkpoint) for every kind of damage."""
    yield from _damage_entries(files)
    for path, (mode, data) in files.items():
        for what, given in WHOLE.items():
            content = data[: len(data) // 2] if given is None else given
            yield f"{path}: {what}", {**files, path: (mode, content)}
        if path.endswith(".json"):
            for what, document in damage_document(json.loads(data)):
                yield f"{path}: {what}", {**files, path: (mode, dump(document))}


def _damage_entries(files: Files) -> Iterator[tuple[str, Files]]:
    folders = {path.rpartition("/")[0] for path in files} - {""}
    for path in (*files, *sorted(folders)):
        rest = {p: f for p, f in files.items() if p != path and not p.startswith(f"{path}/")}
        yield f"{path} is missing", rest
        yield f"{path} is a link", {**rest, path: (LINK, b"../../../../etc/passwd")}
        yield f"{path} is a submodule", {**rest, path: (SUBMODULE, b"1" * 40)}
        if path in folders:
            yield f"{path} is a file", {**rest, path: (BLOB, b"{}")}
        else:
            yield f"{path} is a directory", {**rest, f"{path}/x": (BLOB, b"{}")}
    own = {path: f for path, f in files.items() if path.startswith("0/")}
    for name in ("7", "00", "99999999999999999999", "0x1", "-1", "٣"):
        moved = {f"{name}/{path[2:]}": f for path, f in own.items()}
        yield (
            f"the session is in '{name}'",
            {**{p: f for p, f in files.items() if p not in own}, **moved},
        )
        yield f"the session is in '{name}', too", {**files, **moved}
    yield (
        "chunks with odd numbers",
        {
            **files,
            **{
                f"0/full.jsonl.{n}": (BLOB, b"{}\n")
                for n in ("0", "000", "1", "1000", "99999999", "x")
            },
        },
    )
    yield (
        "a compact transcript of anything",
        {
            **{p: f for p, f in files.items() if p != "0/full.jsonl"},
            "0/transcript.jsonl": (BLOB, _TRANSCRIPT),
        },
    )
    yield "a transcript of anything", {**files, "0/full.jsonl": (BLOB, _TRANSCRIPT)}
    yield "nothing but a directory", {"x": (BLOB, b"")}


def damage_document(document: Any) -> Iterator[tuple[str, Any]]:
    """Yield (what is wrong, the document) with each value of an object exchanged for each of
    VALUES, and each key left out or not a word."""
    for place in _list_places(document):
        name = "/".join(map(str, place))
        for what, value in VALUES.items():
            yield f"'{name}' is {what}", _exchange(document, place, value)
        yield f"'{name}' is left out", _exchange(document, place)
        *before, key = place
        if isinstance(key, str):
            value = _get(document, place)
            for what in ("half a pair", "a NUL", "a way out"):
                renamed = _exchange(document, place)
                yield (
                    f"'{name}' has the key {what}",
                    _exchange(renamed, (*before, VALUES[what]), value),
                )


def plant(repo: Path, checkpoint: str, step: int = 1, intact: bool = False) -> dict[str, str]:
    """Store each step-th kind of damage as a checkpoint of its own, with a commit that adds the
    file that it tells of; return what is wrong with each.  intact: without the damage."""
    source = f"{checkpoint[:2]}/{checkpoint[2:]}"
    files = read(repo, checkpoint)
    planted: dict[str, str] = {}
    store, commits = [_start_commit(V1, _git(repo, "rev-parse", V1))], list[bytes]()
    for number, (what, damaged) in enumerate(islice(damage(files), 0, None, step)):
        new = hashlib.sha1(what.encode()).hexdigest()[:12]
        at, name, session = f"{new[:2]}/{new[2:]}", f"f{number}.txt", f"s-{new}"
        planted[new] = what
        for path, (mode, data) in (files if intact else damaged).items():
            renames = {source: at, checkpoint: new, "hello.txt": name, SESSION: session}
            store.append(_write_file(f"{at}/{path}", mode, _rename(data, renames)))
        message = f"add {name}\n\nEntire-Checkpoint: {new}\n"
        parent = "" if commits else _git(repo, "rev-parse", "HEAD")
        commits.append(_start_commit("refs/heads/main", parent, message))
        commits.append(_write_file(name, BLOB, TEXT))
    stream = b"feature done\n" + b"".join([*store, *commits]) + b"done\n"
    _git(repo, "fast-import", "--quiet", "--force", "--done", stdin=stream)
    _git(repo, "reset", "-q", "--hard")
    return planted


def _rename(data: bytes, renames: dict[str, str]) -> bytes:
    for old, now in renames.items():
        data = data.replace(old.encode(), now.encode())
    return data


def store(repo: Path, checkpoint: str, files: Files) -> None:
    """Store a checkpoint with these files instead of its own."""
    at = f"{checkpoint[:2]}/{checkpoint[2:]}"
    written = [_write_file(f"{at}/{path}", *file) for path, file in files.items()]
    begun = _start_commit(V1, _git(repo, "rev-parse", V1)) + b"D %s\n" % at.encode()
    stream = b"feature done\n" + begun + b"".join(written) + b"done\n"
    _git(repo, "fast-import", "--quiet", "--force", "--done", stdin=stream)


def read(repo: Path, checkpoint: str) -> Files:
    """The files of a checkpoint."""
    tree = f"{V1}:{checkpoint[:2]}/{checkpoint[2:]}"
    return {path: (mode, data) for path, mode, data in _read_files(repo, tree)}


def _git(repo: Path, *args: str, stdin: bytes = b"") -> str:
    done = subprocess.run(["git", *args], cwd=repo, input=stdin, check=True, capture_output=True)
    return done.stdout.decode().strip()


def _read_files(repo: Path, tree: str) -> Iterator[tuple[str, str, bytes]]:
    for line in _git(repo, "ls-tree", "-r", tree).splitlines():
        head, _, path = line.partition("\t")
        mode, _, oid = head.split()
        argv = ["git", "cat-file", "blob", oid]
        yield path, mode, subprocess.run(argv, cwd=repo, check=True, capture_output=True).stdout


def _start_commit(ref: str, parent: str, message: str = "x") -> bytes:
    start = f"from {parent}\n" if parent else ""
    who = "A U Thor <author@example.com> 1800000000 +0000"
    return f"commit {ref}\ncommitter {who}\ndata {len(message)}\n{message}\n{start}".encode()


def _write_file(path: str, mode: str, data: bytes) -> bytes:
    quoted = "".join(f"\\{byte:03o}" for byte in path.encode())
    if mode == SUBMODULE:
        return f'M {mode} {data.decode()} "{quoted}"\n'.encode()
    return f'M {mode} inline "{quoted}"\ndata {len(data)}\n'.encode() + data + b"\n"


def dump(document: Any) -> bytes:
    """JSON with halves of pairs as escapes, as Python writes it."""
    return json.dumps(document).encode()


def _list_places(value: Any, at: Place = ()) -> Iterator[Place]:
    if len(at) > _DEEP:
        return
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value[:1])
        if isinstance(value, list)
        else ()
    )
    for key, inner in items:
        yield (*at, key)
        yield from _list_places(inner, (*at, key))


def _get(document: Any, place: Place) -> Any:
    for key in place:
        document = document[key]
    return document


def _exchange(document: Any, place: Place, *value: Any) -> Any:
    """A copy of a document with a value at a place, without one if none is given."""
    copy = json.loads(json.dumps(document))
    inner = _get(copy, place[:-1])
    if value:
        inner[place[-1]] = value[0]
    else:
        del inner[place[-1]]
    return copy


_TRANSCRIPT = b"\n".join(
    [
        b"not json",
        b"[]",
        b'{"type": 5}',
        b'{"type": "user", "message": null}',
        b'{"type": "user", "message": {"content": [null, 1, {"type": "text"}, {"type": []}]}}',
        b'{"type": "user", "message": {"role": "user", "content": "a\\ud800b\\u0000"}}',
        b'{"type": "user", "ts": -5, "content": [{"text": {}}]}',
        b'{"type": "assistant", "uuid": 7, "timestamp": {}, "message": {"id": [], "content": {}}}',
        b'{"type": "assistant", "message": {"usage": {"input_tokens": "x", "output_tokens": -1}}}',
        b'{"type": "assistant", "message": {"id": "m", "model": 4, "usage": {"output_tokens": 1e9},'
        b' "content": [{"type": "tool_use", "id": null, "name": 3, "input": []}]}}',
        b'{"type": "assistant", "message": {"id": "n", "content": [{"type": "tool_use", "id": "u",'
        b' "name": "Write", "input": {"file_path": "a\\u0000/\\udc00", "content": 5}}]}}',
        b'{"type": "assistant", "message": {"id": "o", "content": [{"type": "tool_use", "id": "v",'
        b' "name": "Edit", "input": {"file_path": -1, "old_string": {}, "edits": [null, {}]}}]}}',
        b'{"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": {}}]},'
        b' "toolUseResult": {"filePath": [], "structuredPatch": [{"lines": 5, "oldStart": "x"}]}}',
        b"[" * 20_000,
        b'{"a":' * 20_000,
        b'{"type": "user", "sessionId": {}, "cwd": 5, "gitBranch": [], "message": {"content": "'
        + b"y" * 9999,
    ]
)
