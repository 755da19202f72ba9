"""The check before a push: nothing that looks like a secret leaves on gitcp's account.

What gitcp stores is redacted already; this looks at what is new to a remote again, with the
rules of today, and at what another program put onto the branch.
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

_DOCUMENT = 4 << 20  # bytes: a larger one is no program's, and is not taken apart
_LINES = ("full.jsonl", "full.log", ".jsonl")
_EXAMPLES = 3
_PIECE = 1 << 19  # bytes of files that are searched together
_WINDOW = 1024  # files that go together
# What a partial clone left with its remote is no news to anybody there, and not fetched for this.
_NEW = ("rev-list", "--objects", "--filter=object:type=blob", "--missing=allow-promisor")
# Whole worktrees, with files that were never committed; what else of ours is for this machine.
_OURS = ("refs/heads/entire/", "refs/gitcp/", "refs/entire/")
_STORE = frozenset({"refs/heads/entire/checkpoints/v1", "refs/heads/entire/sessions"})


class Withheld(Error):
    """What was to be sent holds a secret."""


def refuse_secrets(
    repo: Repo,
    objects: Objects,
    tips: Mapping[str, str],
    places_known: Mapping[str, str],
    limit: float,
) -> None:
    """Raise Withheld naming the places of secrets in what tips have and known have not (ref ->
    oid); what was searched once is known, too, as long as the rules are the same.  Raises Error
    where a hook, which a `git push` waits for, has searched for more than limit seconds.

    gitcp.push-check=false switches the check off.
    """
    if not repo.config.get_option("gitcp.push-check"):
        return
    rules = redaction.hash_rules(repo)
    searched = destination.read_searched(repo, rules)
    there = [*places_known.values(), *searched.values()]
    end = None if deadline.count_seconds_left() is None else time.monotonic() + limit
    secrets = list(islice(find_secrets(repo, objects, tips.values(), there, end), _EXAMPLES + 1))
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
    places_known: Iterable[str],
    end: float | None = None,
) -> Iterator[tuple[str, str]]:
    """(path on the branch, rule) of each blob with a secret in it; a blob is told of once.

    Raises Error where there is more to search at the time end, of time.monotonic().
    """
    places_known = [*places_known]
    gone = objects.list_absent(places_known)
    there = [oid for oid in places_known if oid not in gone]
    redactor = redaction.get_redactor(repo)

    def begin(objects: Objects) -> Callable[[list[bytes]], list[tuple[str, str]]]:
        return lambda lines: list(_search_files(redactor, _read_files(objects, lines), end))

    names = encode_lines([*tips, *(f"^{oid}" for oid in there)])
    new = repo.git.stream_records(*_NEW, "--stdin", sep=b"\n", stdin=names)
    for secrets in spread_batches(objects, split_windows(new, _WINDOW), begin):
        yield from secrets


def _search_files(
    redactor: Redactor, files: Iterable[File], end: float | None
) -> Iterator[tuple[str, str]]:
    for piece in _group_files(files):
        if piece and end is not None and time.monotonic() > end:
            raise Error("too much to search for secrets before 'git push': 'gitcp push' sends it")
        yield from _find_in_files(
            redactor, piece if len(piece) == 1 else _choose_suspects(redactor, piece)
        )


def _read_files(objects: Objects, lines: Iterable[bytes]) -> Iterator[File]:
    """The files that git names, `<oid> <path>`: one in memory."""
    named = (line.partition(b" ") for line in lines)
    blobs = [(oid.decode(), path) for oid, _, path in named if path]
    for (_, path), obj in zip(blobs, objects.read_each(oid for oid, _ in blobs), strict=True):
        if obj:
            yield decode_name(path), obj[2]


def _group_files(files: Iterable[File]) -> Iterator[list[File]]:
    """The files, as many together as are searched at once: a large one is alone."""
    piece: list[File] = []
    size = 0
    for file in files:
        if size + len(file[1]) > _PIECE:
            yield piece
            piece, size = [], 0
        piece.append(file)
        size += len(file[1])
    yield piece


def _choose_suspects(redactor: Redactor, piece: list[File]) -> list[File]:
    return [piece[number] for number in redactor.find_suspects([data for _, data in piece])]


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
    """(local ref, its oid, remote ref) of what git tells a pre-push hook; no deletions."""
    words = (line.split(" ") for line in lines)
    return [(w[0], w[1], w[2]) for w in words if len(w) == 4 and w[1].strip("0")]


def judge_push(
    repo: Repo, sent: Iterable[tuple[str, str, str]], remote: str, is_target: bool
) -> Record | None:
    """What to say of a push of which git itself carries shadow branches, refs of ours for this
    machine, or the store to another repository than its destination: a record of type refuse,
    with gitcp.push-check=warn one of type say; None where it carries none.

    is_target: whether the push, to remote, goes to the destination.
    """
    refs = [ref for ref, _, _ in sent if ref.startswith(_OURS)]
    private = [ref for ref in refs if not _is_store(ref) and _is_private(ref)]
    strays = [] if is_target else [ref for ref in refs if _is_store(ref)]
    if private:
        what = f"whole worktrees, files never committed among them: {_shorten_refs(private)}"
    elif strays:
        what = f"transcripts to '{remote}', which is not their destination: {_shorten_refs(strays)}"
    else:
        return None
    message = f"this push sends {what}"
    if repo.config.get_option("gitcp.push-check") == "warn":
        return {"type": "say", "message": f"warning: {message}"}
    advice = "push branches by name, or set gitcp.push-check=warn"
    return {"type": "refuse", "message": f"fatal: {message}; {advice}"}


def _is_store(ref: str) -> bool:
    return ref in _STORE or ref.startswith(f"{CHECKPOINTS}/")


def _is_private(ref: str) -> bool:
    """Whether a ref is a stream's or another of ours: a person may have branches beside them."""
    return not ref.startswith("refs/heads/") or parse_shadow(ref) is not None


def _shorten_refs(refs: list[str]) -> str:
    more = f" and {len(refs) - _EXAMPLES} more" if len(refs) > _EXAMPLES else ""
    return f"{', '.join(ref.removeprefix('refs/heads/') for ref in refs[:_EXAMPLES])}{more}"
