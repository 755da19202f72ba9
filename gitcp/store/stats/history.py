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

_MARK, _FIELDS = b"\x02", 4  # counts of changed lines begin with a digit or a dash
_FORMAT = "--format=%x02%H%x00%ad%x00%B%x00%N"
_LOG = f"""log -z --numstat --no-renames --date=short --no-color --no-show-signature --no-notes
--notes={notes.REF}""".split()


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
    fields: list[bytes] = []
    files: dict[str, tuple[int, int]] = {}
    try:
        for token in repo.git.stream(*_LOG, _FORMAT, *options, "--end-of-options", *where):
            if fields and len(fields) < _FIELDS:
                fields.append(token)
            elif token.startswith(_MARK):
                if fields:
                    yield _commit(evidence, fields, files)
                fields, files = [token.removeprefix(_MARK)], {}
            elif token.strip():
                added, removed, path = token.lstrip(b"\n").split(b"\t", 2)
                files[text(path)] = _count(added), _count(removed)
    except GitError as e:
        raise Error(e.complaint.removeprefix("fatal: ").partition("\n")[0]) from None
    if fields:
        yield _commit(evidence, fields, files)


def _count(number: bytes) -> int:
    return int(number) if number.isdigit() else 0


def _commit(evidence: Evidence, fields: list[bytes], files: dict[str, tuple[int, int]]) -> Commit:
    oid, day, message, note = fields
    ids = list(links.carried(message, note))
    named = [*ids, *links.buried(message, note)]
    parts = [part for name in named for part in evidence.stored(name)]
    evidence.forget()
    linked = bool(ids or parts)
    return {"oid": text(oid), "day": text(day), "files": files, "linked": linked, "parts": parts}
