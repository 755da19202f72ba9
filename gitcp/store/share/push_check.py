"""The check before a push: gitcp sends nothing that looks like a secret.

What gitcp stores is redacted already.  The check searches what is new to a remote again, by
today's rules, and what another program put onto the branch.
"""

from __future__ import annotations

import time
from itertools import islice

from gitcp.core.git.ids import CHECKPOINTS, parse_shadow
from gitcp.errors import Error
from gitcp.process import deadline
from gitcp.record import decode_name, encode_lines
from gitcp.store.git.prefetch import split_windows
from gitcp.store.git.spread import spread_batches
from gitcp.store.v1 import destination, redaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from gitcp.core.record_types import Record
    from gitcp.core.redact.redactor import Redactor
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    File = tuple[str, bytes]  # its path on the branch, its content

_DOCUMENT = 4 << 20  # bytes; a larger JSON document is searched as text
_LINES = ("full.jsonl", "full.log", ".jsonl")
_EXAMPLES = 3
_PIECE = 1 << 19  # bytes of files that are searched together
_WINDOW = 1024  # files that one process takes at once
# An object that a partial clone lacks is on the remote already.
_NEW = ("rev-list", "--objects", "--filter=object:type=blob", "--missing=allow-promisor")
# Streams, which have whole worktrees with files that were never committed, and local refs.
_OURS = ("refs/heads/entire/", "refs/gitcp/", "refs/entire/")
_STORE = frozenset({"refs/heads/entire/checkpoints/v1", "refs/heads/entire/sessions"})


class Withheld(Error):
    """What was to be pushed has a secret."""


def refuse_secrets(
    repo: Repo,
    objects: Objects,
    tips: Mapping[str, str],
    remote_tips: Mapping[str, str],
    limit: float,
) -> None:
    """Raise Withheld, which names the files, if tips have secrets that remote_tips (both ref ->
    oid) do not have.  What was searched before by the same rules is not searched again.  Raises
    Error if a hook has searched for more than limit seconds.

    gitcp.push-check=false switches the check off.
    """
    if not repo.config.get_option("gitcp.push-check"):
        return
    rules = redaction.hash_rules(repo)
    searched = destination.read_searched(repo, rules)
    known = [*remote_tips.values(), *searched.values()]
    end = None if deadline.count_seconds_left() is None else time.monotonic() + limit
    secrets = list(islice(find_secrets(repo, objects, tips.values(), known, end), _EXAMPLES + 1))
    if not secrets:
        destination.set_searched(repo, rules, {**searched, **tips})
    else:
        more = " and more" if len(secrets) > _EXAMPLES else ""
        listed = ", ".join(f"{rule} in '{path}'" for path, rule in secrets[:_EXAMPLES])
        raise Withheld(f"not pushed: what looks like a secret is stored: {listed}{more}")


def find_secrets(
    repo: Repo,
    objects: Objects,
    tips: Iterable[str],
    excluded: Iterable[str],
    end: float | None = None,
) -> Iterator[tuple[str, str]]:
    """Yield (path on the branch, rule) once for each blob with a secret that tips reach and the
    excluded commits do not.

    Raises Error if the search is not done at the time end, of time.monotonic().
    """
    excluded = [*excluded]
    absent = objects.list_absent(excluded)
    redactor = redaction.get_redactor(repo)

    def begin(objects: Objects) -> Callable[[list[bytes]], list[tuple[str, str]]]:
        return lambda lines: list(_search_files(redactor, _read_files(objects, lines), end))

    revisions = encode_lines([*tips, *(f"^{oid}" for oid in excluded if oid not in absent)])
    new = repo.git.stream_records(*_NEW, "--stdin", sep=b"\n", stdin=revisions)
    for secrets in spread_batches(objects, split_windows(new, _WINDOW), begin):
        yield from secrets


def _search_files(
    redactor: Redactor, files: Iterable[File], end: float | None
) -> Iterator[tuple[str, str]]:
    for piece in _group_files(files):
        if piece and end is not None and time.monotonic() > end:
            raise Error("too much to search for secrets before 'git push': 'gitcp push' sends it")
        contents = [data for _, data in piece]
        suspects = redactor.find_suspects(contents) if len(piece) > 1 else range(len(piece))
        yield from _find_in_files(redactor, [piece[i] for i in suspects])


def _read_files(objects: Objects, lines: Iterable[bytes]) -> Iterator[File]:
    """Yield the files of git's lines `<oid> <path>`, with one in memory."""
    named = (line.partition(b" ") for line in lines)
    blobs = [(oid.decode(), path) for oid, _, path in named if path]
    for (_, path), obj in zip(blobs, objects.read_each(oid for oid, _ in blobs), strict=True):
        if obj:
            yield decode_name(path), obj[2]


def _group_files(files: Iterable[File]) -> Iterator[list[File]]:
    """Yield lists of files of _PIECE bytes at most; a larger file is alone."""
    piece: list[File] = []
    size = 0
    for file in files:
        if size + len(file[1]) > _PIECE:
            yield piece
            piece, size = [], 0
        piece.append(file)
        size += len(file[1])
    yield piece


def _find_in_files(redactor: Redactor, files: Iterable[File]) -> Iterator[tuple[str, str]]:
    for path, data in files:
        document = path.endswith(".json") and len(data) < _DOCUMENT
        kind = "jsonl" if _is_lines(path) else "document" if document else "text"
        if hits := redactor.find(data, kind=kind):
            yield path, hits[0][0]


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
