"""A history as people have it: formatters, moves, vendored files, merges, squashes of a forge; few
commits linked, transcripts of megabytes, some of them missing.  Made once by `git fast-import`."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from bench.history import (
    LINES,
    START,
    STEP,
    V1,
    build_checkpoint,
    checkpoint_id,
    file,
    import_stream,
    session_id,
)
from bench.history import commit as store_commit
from bench.repos import CACHE, git

COMMITS, FOLDERS, IN_A_FOLDER, VENDORED = 2_000, 100, 15, 200
LINKED, MISSING = 10, 7  # one commit in so many is linked; of these one in so many lacks its text
LARGEST = 3 << 20  # bytes of a transcript
PEOPLE = ("Ada Example <ada@example.com>", "Bo Example <bo@example.com>", "Cy Example <cy@x.org>")
FORGE = "Forge <noreply@forge.example>"
_VERBS = "read write find list parse build merge split count check load store send close".split()
_NOUNS = "row column page entry value range result header record token cache user file".split()
_LINES = (
    "const {a} = await {v}{b}(options.{c});",
    "if (!{a}) {{",
    "return {v}{b}({a}, {n});",
    "}}",
    "for (const {a} of {c}s) {{",
    "// {v} the {a} of each {c} before the {b}",
    "{a}.push({{ {c}, {b}: {n} }});",
    "throw new Error(`no {a} in ${{{c}}}`);",
    "",
)


def everyday(commits: int = COMMITS) -> Path:
    """A bare repository of so many commits on its main branch, the merged ones beside them."""
    path = CACHE / f"everyday-{commits}"
    if not (path / "made").exists():
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        git(path, "init", "-q", "--bare", "-b", "main", "--template=", ".")
        made = _History()
        import_stream(path, made.stream(commits))
        (path / "made").unlink()
        _drop_objects(path, made.missing)
        git(path, "update-ref", "-d", "refs/heads/side")
        (path / "made").touch()
    return path


def _drop_objects(path: Path, oids: set[str]) -> None:
    """Pack everything else anew, as a filtered clone has it."""
    listing = ("git", "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    listed = subprocess.check_output(listing, cwd=path, text=True).split()
    kept = "".join(f"{oid}\n" for oid in listed if oid not in oids).encode()
    old = list((path / "objects" / "pack").iterdir())
    packing = ("git", "pack-objects", "-q", "objects/pack/pack")
    subprocess.run(packing, cwd=path, input=kept, check=True, stdout=subprocess.DEVNULL)
    for one in old:
        one.unlink()


class _History:
    """Writes the stream, and notes which blobs are missing."""

    def __init__(self) -> None:
        self.missing: set[str] = set()
        self._chance = random.Random(1)
        self._files: dict[str, list[str]] = {}
        self._mark = 0

    def stream(self, commits: int) -> Iterator[bytes]:
        for n in range(FOLDERS * IN_A_FOLDER):
            name = f"src/part{n // IN_A_FOLDER:03}/{self._name()}{n}.ts"
            self._files[name] = [line for _ in range(4) for line in self._function()]
        yield self._commit("main", 0, "feat: begin", self._files)
        for n in range(1, commits):
            if n == commits // 2:
                yield self._commit("main", n, "chore: vendor the grid", self._vendor())
            elif n % 60 == 0:
                yield self._commit("main", n, "refactor: move a part", *self._move())
            elif n % 40 == 0:
                yield self._commit("main", n, "style: format a part", self._format())
            elif n % 25 == 0:
                yield from self._merge(n)
            elif n % LINKED == LINKED - 1:
                yield from self._link(n)
            else:
                yield self._commit("main", n, self._message(n), self._edit(1 + n % 4))

    def _merge(self, n: int) -> Iterator[bytes]:
        start = self._mark
        theirs = self._edit(2)
        yield self._commit("side", n, self._message(n), theirs, parent=start)
        side = self._mark
        others = [path for path in self._files if path not in theirs]
        yield self._commit("main", n, self._message(n), self._edit(2, others), parent=start)
        yield self._commit("main", n, f"Merge branch 'side' ({n})", theirs, merged=side)

    def _link(self, n: int) -> Iterator[bytes]:
        """A commit of a session, and its checkpoint."""
        path, checkpoint = self._chance.choice([*self._files]), checkpoint_id(n)
        lines = self._files[path]
        at = self._chance.randint(0, len(lines))
        lines[at : at + 4] = [self._line() for _ in range(LINES)]
        message = f"feat: {self._name()}\n\nEntire-Checkpoint: {checkpoint}\n"
        yield self._commit("main", n, message, {path: lines})
        told = f"Checkpoint: {checkpoint}\n\nEntire-Session: {session_id(n)}\n"
        yield store_commit(V1, n, told)
        stored = build_checkpoint(n, checkpoint, path, _join(lines), at + 1, self._talk(n))
        for name, content in stored.items():
            yield file(f"{checkpoint[:2]}/{checkpoint[2:]}/{name}", content)
            if name.endswith("full.jsonl") and n // LINKED % MISSING == 0:
                head = b"blob %d\0" % len(content)
                self.missing.add(hashlib.sha1(head + content, usedforsecurity=False).hexdigest())

    def _talk(self, n: int) -> bytes:
        """The answers of a session: most are short, some have megabytes."""
        size = LARGEST if n // LINKED % 8 == 0 else self._chance.randint(20_000, 200_000)
        said = bytearray()
        while len(said) < size:
            text = "\n".join(self._line() for _ in range(40))
            message = {"role": "assistant", "content": [{"type": "text", "text": text}]}
            told = {"type": "assistant", "sessionId": session_id(n), "message": message}
            said += json.dumps(told).encode() + b"\n"
        return bytes(said)

    def _edit(self, count: int, among: list[str] | None = None) -> dict[str, list[str]]:
        changed = {}
        for path in self._chance.sample(among or [*self._files], count):
            lines = self._files[path]
            at = self._chance.randint(0, len(lines))
            lines[at : at + self._chance.randint(0, 9)] = self._function()
            changed[path] = lines
        return changed

    def _format(self) -> dict[str, list[str]]:
        """A folder whose indentation becomes twice or half as wide."""
        changed = self._choose_folder()
        for lines in changed.values():
            wide = any(line.startswith("    ") for line in lines)
            for number, line in enumerate(lines):
                code = line.lstrip(" ")
                depth = len(line) - len(code)
                lines[number] = " " * (depth // 2 if wide else depth * 2) + code
        return changed

    def _move(self) -> tuple[dict[str, list[str]], list[str]]:
        """(the files of a folder at their new place, their old paths)."""
        gone = self._choose_folder()
        new = {p.replace("/part", "/moved/part", 1): lines for p, lines in gone.items()}
        for path in gone:
            del self._files[path]
        self._files |= new
        return new, [*gone]

    def _vendor(self) -> dict[str, list[str]]:
        names = (f"vendor/grid/{self._name()}{n}.ts" for n in range(VENDORED))
        return {name: [x for _ in range(30) for x in self._function()] for name in names}

    def _choose_folder(self) -> dict[str, list[str]]:
        folder = self._chance.choice([*self._files]).rpartition("/")[0]
        return {p: lines for p, lines in self._files.items() if p.startswith(f"{folder}/")}

    def _message(self, n: int) -> str:
        squash = f" (#{n})" if n % 10 < 7 else ""
        by = "\n\nCo-Authored-By: Claude <noreply@anthropic.com>" if n % 5 == 0 else ""
        return f"fix({self._chance.choice(_NOUNS)}): {self._name()}{squash}{by}\n"

    def _function(self) -> list[str]:
        body = [f"  {self._line()}" for _ in range(self._chance.randint(3, 11))]
        return [f"export function {self._name()}(options: Options) {{", *body, "}", ""]

    def _line(self) -> str:
        a, b, c = self._chance.choices(_NOUNS, k=3)
        verb, number = self._chance.choice(_VERBS), self._chance.randint(1, 99)
        return self._chance.choice(_LINES).format(a=a, b=b.title(), c=c, v=verb, n=number)

    def _name(self) -> str:
        return self._chance.choice(_VERBS) + "".join(self._chance.choices(_NOUNS, k=2)).title()

    def _commit(
        self,
        branch: str,
        n: int,
        message: str,
        files: dict[str, list[str]],
        gone: list[str] | None = None,
        parent: int = 0,
        merged: int = 0,
    ) -> bytes:
        self._mark += 1
        person, text, when = PEOPLE[n % 3], message.encode(), f"{START + n * STEP} +0000"
        committer = FORGE if "(#" in message else person
        head = f"commit refs/heads/{branch}\nmark :{self._mark}\nauthor {person} {when}\n"
        head += f"committer {committer} {when}\ndata {len(text)}\n"
        parents = f"from :{parent}\n" if parent else ""
        parents += f"merge :{merged}\n" if merged else ""
        deletions = "".join(f"D {path}\n" for path in gone or ())
        changes = [file(path, _join(lines)) for path, lines in files.items()]
        return b"".join(
            [head.encode(), text, b"\n", parents.encode(), deletions.encode(), *changes]
        )


def _join(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
