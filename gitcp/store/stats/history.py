"""The commits of a range with what they changed and the checkpoints behind them, as they come."""

from __future__ import annotations

from gitcp.core.message import links
from gitcp.errors import Error, GitError
from gitcp.record import raw, text
from gitcp.store.git import notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitcp.core.stats.sums import Commit
    from gitcp.repo import Repo
    from gitcp.store.blame.evidence import Evidence

    # The fields of _FORMAT; path -> lines added and removed; path -> oid.
    Raw = tuple[list[bytes], dict[str, tuple[int, int]], dict[str, str]]

_MARK, _FIELDS = b"\x02", 5  # counts of changed lines begin with a digit or a dash
_WINDOW = 256  # commits whose checkpoints are read at once
_FORMAT = "--format=%x02%H%x00%P%x00%ad%x00%B%x00%N"
_LOG = f"""log -z --raw --no-abbrev --numstat --no-renames --date=short --no-color
--no-show-signature --no-notes --notes={notes.REF}""".split()


def commits(
    repo: Repo,
    evidence: Evidence,
    revisions: Sequence[str],
    paths: Sequence[str],
    options: Sequence[str] = (),
) -> Iterator[Commit]:
    """The commits of the revisions (none: HEAD) that change something in paths.

    options: of git log that choose commits.  Merges count nothing: what they bring was counted
    where it was made.  Raises Error in git's words for what is no revision.
    """
    where = [*map(raw, revisions), b"--", *map(raw, paths)]
    window: list[Raw] = []
    for one in _raw(repo, where, options):
        window.append(one)
        if len(window) == _WINDOW:
            yield from _with_parts(evidence, window)
            window = []
    yield from _with_parts(evidence, window)


def limit(commit: Commit, paths: Sequence[str]) -> bool:
    """Let a commit have its files below paths (none: all) alone; whether there are any."""
    files = {path: counts for path, counts in commit["files"].items() if below(path, paths)}
    commit["files"] = files
    return bool(files) or not paths


def below(path: str, paths: Sequence[str]) -> bool:
    """Whether a path is one of paths, or in one of these directories; none: it is."""
    return not paths or any(one in (".", path) or path.startswith(f"{one}/") for one in paths)


def _raw(repo: Repo, where: Sequence[bytes], options: Sequence[str]) -> Iterator[Raw]:
    one: Raw = ([], {}, {})
    oid = b""
    try:
        for token in repo.git.stream(*_LOG, _FORMAT, *options, "--end-of-options", *where):
            fields, files, oids = one
            if oid:  # of what was named before, the path
                oids[text(token)], oid = text(oid), b""
            elif fields and len(fields) < _FIELDS:
                fields.append(token)
            elif token.startswith(_MARK):
                if fields:
                    yield one
                one = ([token.removeprefix(_MARK)], {}, {})
            elif (entry := token.lstrip(b"\n")).startswith(b":"):
                oid = entry.split(b" ")[3]
            elif entry:
                added, removed, path = entry.split(b"\t", 2)
                files[text(path)] = _count(added), _count(removed)
    except GitError as e:
        raise Error(e.complaint.removeprefix("fatal: ").partition("\n")[0]) from None
    if one[0]:
        yield one


def _count(number: bytes) -> int:
    return int(number) if number.isdigit() else 0


def _with_parts(evidence: Evidence, window: Sequence[Raw]) -> Iterator[Commit]:
    """The commits of a window with what is recorded of them, read all at once."""
    named = [links.named(message, note) for (_, _, _, message, note), *_ in window]
    evidence.prefetch_attested(text(fields[0]) for fields, *_ in window)
    evidence.recorded.prefetch(one for ids, buried in named for one in (*ids, *buried))
    for (ids, buried), (fields, files, oids) in zip(named, window, strict=True):
        parts = [part for one in (*ids, *buried) for part in evidence.recorded.of(one)]
        parts = evidence.proven(text(fields[0]), parts)
        yield {
            "oid": text(fields[0]),
            "parents": text(fields[1]).split(),
            "day": text(fields[2]),
            "files": files,
            "oids": oids,
            "linked": bool(ids or parts),
            "parts": parts,
            "attested": evidence.attested(text(fields[0]), files),
        }
    evidence.forget()
