"""What is hashed in process where attributes apply has the id that `git hash-object` gives: kinds
of attributes, of settings and of places for them, with contents of all kinds, new or in the index.

A quick run tries a sample of the configurations, `make stress` all."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from gitcp.git.repo import Repo
from gitcp.record.snapshot import scan, through_git
from gitcp.text.record_types import Entry

SAMPLE = 1 if os.environ.get("LONG") else 24  # of so many configurations one is tried
LF = b"".join(b"line %d\n" % number for number in range(20))
CRLF = LF.replace(b"\n", b"\r\n")
MOST = 1 << 20  # bytes of a file that is hashed in process
CONTENTS = {
    "empty": b"",
    "lf": LF,
    "no-final": b"abc",
    "cr-at-end": b"abc\r",
    "lone-cr": b"a\rb\rc\n",
    "cr-crlf": b"a\r\r\nb\n",
    "crlf": CRLF,
    "mixed": LF + CRLF,
    "crlf-no-final": b"a\r\nb",
    "only-crlf": b"\r\n",
    "lf-cr": b"a\n\rb\n\r",
    "nul": b"a\0b\n",
    "nul-crlf": b"a\0b\r\nc\r\n",
    "ctrl-z": LF + b"\x1a",
    "ctrl-z-crlf": CRLF + b"\x1a",
    "unprintable": b"\x7f\x01\x02" * 50 + b"\n",
    "unprintable-crlf": b"\x7f\x01\x02" * 50 + b"\r\n",
    "binary": bytes(range(256)) * 4,
    "id": b"$Id$\n",
    "id-expanded": b"x $Id: abc $ y\n",
    "id-crlf": b"$Id: abc $\r\n",
    "utf16": "a\nb\n".encode("utf-16"),
    "utf16-le": "\ufeffa\r\nb\n".encode("utf-16-le"),
    "bom": "\ufeffa\nb\n".encode(),
    "latin1": b"\xe4\xf6\n",
    "latin1-crlf": b"\xe4\xf6\r\n",
    "most": b"x" * (MOST - 1) + b"\n",
    "more": b"x" * MOST + b"\n",
    "most-crlf": b"x" * (MOST - 2) + b"\r\n",
    "more-crlf": b"x" * (MOST - 1) + b"\r\n",
    "crlf-over-the-edge": b"x" * (MOST - 1) + b"\r\ny\n",
    "pointer-of-lfs": b"version https://git-lfs.github.com/spec/v1\noid sha256:"
    + b"0" * 64
    + b"\nsize 5\n",
}
# What the index and HEAD have of a file.
STORED = {"new": None, "was-lf": LF, "was-crlf": CRLF, "was-cr": b"a\rb\r", "was-nul": b"a\0\r\n"}
ENDS = ".t", ".o"
ATTRIBUTES = {
    "none": None,
    "text": "* text",
    "auto": "* text=auto",
    "-text": "* -text",
    "!text": "* !text",
    "eol=crlf": "* eol=crlf",
    "eol=lf": "* eol=lf",
    "auto eol=crlf": "* text=auto eol=crlf",
    "auto eol=lf": "* text=auto eol=lf",
    "text eol=crlf": "* text eol=crlf",
    "text eol=lf": "* text eol=lf",
    "-text eol=crlf": "* -text eol=crlf",
    "binary": "* binary",
    "crlf": "* crlf",
    "-crlf": "* -crlf",
    "crlf=input": "* crlf=input",
    "ident": "* ident",
    "-ident": "* -ident",
    "auto and ident": "* text=auto\n*.t ident",
    "lfs": "*.t filter=lfs diff=lfs merge=lfs -text",
    "filter": "*.t filter=up",
    "-filter": "*.t -filter",
    "unknown filter": "*.t filter=nope",
    "auto and filter": "* text=auto\n*.t filter=tail",
    "utf-16": "*.t working-tree-encoding=UTF-16",
    "utf-16le": "*.t text working-tree-encoding=UTF-16LE-BOM",
    "latin1": "*.t text working-tree-encoding=latin1",
    "macro": "[attr]my text eol=crlf\n*.t my",
    "macro of ident": "[attr]my ident\n*.t my",
    "macro of a filter": "[attr]my filter=up text\n*.t my",
    "macro of an encoding": "[attr]my working-tree-encoding=UTF-16\n*.t my",
    "macro in a macro": "[attr]a ident\n[attr]b a text\n*.t b",
    "-binary": "*.t binary\nnew*.t -binary text",
    "quoted": '"new*.t" text=auto\n# a comment filter\n',
    "bom": "\ufeff* text=auto eol=crlf",
    "crlf in the file": "* text=auto\r\n*.t eol=crlf\r\n",
    "a bad value": "* text=AUTO eol=CRLF",
    "of diffs alone": "* diff=x merge=y whitespace=z",
}
SETTINGS: Sequence[Mapping[str, str]] = (
    {},
    {"core.autocrlf": "true"},
    {"core.autocrlf": "input"},
    {"core.eol": "crlf"},
    {"core.autocrlf": "true", "core.eol": "lf", "core.safecrlf": "true"},
    {"core.autocrlf": "true", "core.safecrlf": "warn"},
    {"core.autocrlf": "input", "core.safecrlf": "true"},
    {"core.autocrlf": "false", "core.eol": "crlf", "core.safecrlf": "true"},
)
FILTERS = {
    "filter.up.clean": "tr a-z A-Z",
    "filter.lfs.clean": 'sh -c "printf lfs; sha1sum"',
    "filter.lfs.required": "true",
    "filter.tail.clean": "tail -n 2",
}
# Where the attributes are: place -> the file, in the repository or, with ~, in the home directory.
PLACES = {
    "root": ".gitattributes",
    "above": "sub/.gitattributes",
    "beside": "sub/deep/.gitattributes",
    "info": ".git/info/attributes",
    "person's": "~/.config/git/attributes",
    "configured": "~/attrs",
    "configured, relative": "my.attrs",
    "configured, with a prefix": "~/attrs.not-there",
    "a link": "real.attrs",
    "a tree": "in-a-tree",
}
CONFIGURED = {
    "configured": "~/attrs",
    "configured, relative": "my.attrs",
    "configured, with a prefix": "%(prefix)/nowhere",
}
UNKNOWN = "configured, with a prefix", "a tree"  # what git reads there is not known here


class Case(NamedTuple):
    attributes: str
    settings: int
    place: str


def list_cases() -> list[Case]:
    cases = []
    for attributes in ATTRIBUTES:
        for settings in range(len(SETTINGS)):
            cases.append(Case(attributes, settings, "root"))
    for place in PLACES:
        if place == "root":
            continue
        for attributes in ("auto eol=crlf", "text", "ident", "lfs", "utf-16", "macro", "none"):
            for settings in range(3):
                cases.append(Case(attributes, settings, place))
    return cases


def write_text(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, newline="")


def place_attributes(case: Case) -> None:
    """Write the attributes of a case, and the setting that names their file."""
    rules = ATTRIBUTES[case.attributes]
    if rules is None:
        return
    if case.place == "beside":
        write_text(Path(".gitattributes"), "*.o text=auto\n*.t -text\n")
    if case.place == "a link":
        Path(".gitattributes").symlink_to("real.attrs")
    name = PLACES[case.place]
    path = Path(os.environ["HOME"], name[2:]) if name.startswith("~") else Path(name)
    write_text(path, rules + "\n")
    if case.place in CONFIGURED:
        run("config", "core.attributesFile", CONFIGURED[case.place])
    if case.place == "a tree":
        oid = run("hash-object", "-w", "--no-filters", name).strip()
        tree = run("mktree", stdin=f"100644 blob {oid}\t.gitattributes\n".encode()).strip()
        run("config", "attr.tree", tree)


def run(*args: str, stdin: bytes = b"", ok: Sequence[int] = (0,)) -> str:
    done = subprocess.run(["git", *args], input=stdin, capture_output=True)
    assert done.returncode in ok, done.stderr
    return done.stdout.decode()


def write_files(folder: str) -> list[str]:
    """Put each content under a name for each of STORED, which is in the index and HEAD; return
    their paths."""
    rows = []
    paths = []
    for state, stored in STORED.items():
        oid = ""
        if stored is not None:
            oid = run("hash-object", "-w", "--no-filters", "--stdin", stdin=stored).strip()
        for content in CONTENTS:
            for end in ENDS:
                path = f"{folder}{state}-{content}{end}"
                paths.append(path)
                if oid:
                    rows.append(f"100644 {oid}\t{path}\n")
    run("update-index", "--index-info", stdin="".join(rows).encode())
    run("commit", "-q", "--no-verify", "-m", "stored")
    for path in paths:
        content = path.rpartition(".")[0].rpartition("/")[2]
        for state in STORED:
            content = content.removeprefix(f"{state}-")
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(CONTENTS[content])
    return paths


def ask_git(paths: list[str]) -> list[str]:
    """The id that git gives to each file; '' where it cannot convert one."""
    as_git = ("-c", "core.safecrlf=false", "hash-object")
    out = run(*as_git, "--stdin-paths", stdin="\n".join(paths).encode() + b"\n", ok=(0, 128))
    oids = out.split()
    if len(oids) == len(paths):
        return oids
    return [run(*as_git, path, ok=(0, 128)).strip() for path in paths]


@pytest.mark.thorough
@pytest.mark.parametrize("case", list_cases()[::SAMPLE], ids=str)
def test_what_is_hashed_in_process_has_the_id_that_git_gives_it(
    repo: Path, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(repo.parent / "home"))
    folder = "sub/deep/" if case.place in ("above", "beside") else ""
    paths = write_files(folder)
    for key, value in {**FILTERS, **SETTINGS[case.settings]}.items():
        run("config", key, value)
    place_attributes(case)
    left_to_git: set[str] = set()

    def keep_from_git(work: object, asked: list[str], *_: object) -> dict[str, str | None]:
        left_to_git.update(asked)
        return {}

    monkeypatch.setattr(through_git, "hash_files", keep_from_git)
    entries: dict[str, Entry | None] = scan.read_paths(Repo.find(), paths, write=False)
    in_process = [path for path in paths if path not in left_to_git]
    ours = {path: entry[1] for path, entry in entries.items() if entry and path in in_process}
    theirs = dict(zip(paths, ask_git(paths), strict=True))
    assert ours == {path: theirs[path] for path in in_process}
    for path in paths:
        assert must_ask(case, Path(path).read_bytes()) == (path in left_to_git), path


def must_ask(case: Case, data: bytes) -> bool:
    """Whether git is asked about a file with data."""
    rules = ATTRIBUTES[case.attributes]
    if rules is not None and case.place in UNKNOWN:
        return True
    if rules is None and SETTINGS[case.settings].get("core.autocrlf", "false") == "false":
        return False
    if any(word in (rules or "") for word in ("filter", "ident", "encoding")):
        return True
    return len(data) > MOST or b"\r\n" in data
