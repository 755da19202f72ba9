"""The check before a push: gitcp sends nothing that looks like a secret.

What gitcp stores is redacted already.  The check searches what is new to a remote again, by
today's rules, and what another program put onto the branch (gitcp.store.share.withheld).
"""

from __future__ import annotations

import time

from gitcp.core.git.ids import CHECKPOINTS, parse_shadow
from gitcp.errors import Error
from gitcp.record import decode_name, encode_lines
from gitcp.store.git.prefetch import split_windows
from gitcp.store.git.spread import spread_batches
from gitcp.store.v1 import redaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gitcp.core.record_types import Record
    from gitcp.core.redact.redactor import Redactor
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    Hit = tuple[str, str, str]  # the oid of a blob, its path in the tree of a tip, the rule
    File = tuple[str, str, bytes]  # its oid, its path on the branch, its content

_DOCUMENT = 4 << 20  # bytes; a larger JSON document is searched as text
_LINES = ("full.jsonl", "full.log", ".jsonl")
_EXAMPLES = 3
_PIECE = 1 << 19  # bytes of files that are searched together
_WINDOW = 1024  # files that one process takes at once
# An object that a partial clone lacks is on the remote already.
_NEW = ("rev-list", "--objects", "--filter=object:type=blob", "--missing=allow-any")
# Streams, which have whole worktrees with files that were never committed, and local refs.
_OURS = ("refs/heads/entire/", "refs/gitcp/", "refs/entire/")
_STORE = frozenset({"refs/heads/entire/checkpoints/v1", "refs/heads/entire/sessions"})


_OWN = ("metadata.json", "lines.json")


def find_secrets(
    repo: Repo,
    objects: Objects,
    tips: Iterable[str],
    excluded: Iterable[str],
    end: float | None = None,
    selects: Callable[[str], object] | None = None,
    *,
    stored: bool = True,
) -> Iterator[Hit]:
    """Yield once each blob with a secret that tips reach and the excluded commits do not.

    selects: whether a path is searched.  stored: the trees are those of the store, where gitcp's
    own documents are checked by what their fields hold.  Raises Error if the search is not done at
    the time end, of time.monotonic().
    """
    excluded = [*excluded]
    absent = objects.list_absent(excluded)
    redactor = redaction.get_redactor(repo)

    def begin(objects: Objects) -> Callable[[list[bytes]], list[Hit]]:
        def find(lines: list[bytes]) -> list[Hit]:
            return list(_search_files(redactor, _read_files(objects, lines, selects), end, stored))

        return find

    revisions = encode_lines([*tips, *(f"^{oid}" for oid in excluded if oid not in absent)])
    new = repo.git.stream_records(*_NEW, "--stdin", sep=b"\n", stdin=revisions)
    for secrets in spread_batches(objects, split_windows(new, _WINDOW), begin):
        yield from secrets


def _search_files(
    redactor: Redactor, files: Iterable[File], end: float | None, stored: bool
) -> Iterator[Hit]:
    for piece in _group_files(files):
        if piece and end is not None and time.monotonic() > end:
            raise Error("too much to search for secrets before 'git push': 'gitcp push' sends it")
        contents = [data for _, _, data in piece]
        suspects = redactor.find_suspects(contents) if len(piece) > 1 else range(len(piece))
        yield from _find_in_files(redactor, [piece[i] for i in suspects], stored)


def _read_files(
    objects: Objects, lines: Iterable[bytes], selects: Callable[[str], object] | None
) -> Iterator[File]:
    """Yield the files of git's lines `<oid> <path>`, with one in memory."""
    named = (line.partition(b" ") for line in lines)
    blobs = [(oid.decode(), decode_name(path)) for oid, _, path in named if path]
    blobs = [blob for blob in blobs if selects is None or selects(blob[1])]
    for (oid, path), obj in zip(blobs, objects.read_each(oid for oid, _ in blobs), strict=True):
        if obj:
            yield oid, path, obj[2]


def _group_files(files: Iterable[File]) -> Iterator[list[File]]:
    """Yield lists of files of _PIECE bytes at most; a larger file is alone."""
    piece: list[File] = []
    size = 0
    for file in files:
        if size + len(file[2]) > _PIECE:
            yield piece
            piece, size = [], 0
        piece.append(file)
        size += len(file[2])
    yield piece


def _find_in_files(redactor: Redactor, files: Iterable[File], stored: bool) -> Iterator[Hit]:
    for oid, path, data in files:
        if hits := redactor.find(data, kind=_choose_kind(path, len(data), stored)):
            yield oid, path, hits[0][0]


def _choose_kind(path: str, size: int, stored: bool) -> str:
    """How the content of a file is searched, as Redactor.find() has it."""
    if _is_lines(path):
        return "jsonl"
    if not path.endswith(".json") or size >= _DOCUMENT:
        return "text"
    return "own" if stored and path.rpartition("/")[2] in _OWN else "document"


def _is_lines(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith(_LINES[:2]) or name.endswith(_LINES[2])


def parse_updates(lines: Iterable[str]) -> list[tuple[str, str, str]]:
    """(local ref, its oid, remote ref) of each line of a pre-push hook, without deletions."""
    words = (line.split(" ") for line in lines)
    return [(w[0], w[1], w[2]) for w in words if len(w) == 4 and w[1].strip("0")]


def judge_push(
    repo: Repo, sent: Iterable[tuple[str, str, str]], remote: str, is_target: bool
) -> Record | None:
    """A record of type refuse, with gitcp.push-check=warn of type say, for a `git push` that sends
    shadow branches, local refs of gitcp, or the store to another repository than its destination;
    None for any other push.

    is_target: whether the push, to remote, goes to the destination.
    """
    refs = [ref for ref, _, _ in sent if ref.startswith(_OURS)]
    private = [ref for ref in refs if not _is_store(ref) and _is_private(ref)]
    strays = [] if is_target else [ref for ref in refs if _is_store(ref)]
    if private:
        sends = f"whole worktrees, files never committed among them: {_shorten_refs(private)}"
    elif strays:
        refs_named = _shorten_refs(strays)
        sends = f"transcripts to '{remote}', which is not their destination: {refs_named}"
    else:
        return None
    message = f"this push sends {sends}"
    if repo.config.get_option("gitcp.push-check") == "warn":
        return {"type": "say", "message": f"warning: {message}"}
    advice = "push branches by name, or set gitcp.push-check=warn"
    return {"type": "refuse", "message": f"fatal: {message}; {advice}"}


def _is_store(ref: str) -> bool:
    return ref in _STORE or ref.startswith(f"{CHECKPOINTS}/")


def _is_private(ref: str) -> bool:
    """Whether a ref is a stream or another ref of gitcp, not a person's branch below entire/."""
    return not ref.startswith("refs/heads/") or parse_shadow(ref) is not None


def _shorten_refs(refs: list[str]) -> str:
    more = f" and {len(refs) - _EXAMPLES} more" if len(refs) > _EXAMPLES else ""
    return f"{', '.join(ref.removeprefix('refs/heads/') for ref in refs[:_EXAMPLES])}{more}"
