"""When the first thing was recorded in a repository.

A commit that is older, and has neither link nor note, was not recorded: its lines are not looked
for in earlier commits.
"""

from __future__ import annotations

from gitcp.checkpoints.links import LINK_KEY
from gitcp.errors import GitError
from gitcp.git import decode_name
from gitcp.git.kept import Kept, make_key
from gitcp.git.objects import find_tree, object_lists
from gitcp.git.records import encode_lines
from gitcp.text import value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitcp.checkpoints.format.line_authors import Periods
    from gitcp.git.repo import Repo

NEVER = 1 << 62  # s since 1970: nothing is recorded
_NOTES = "refs/notes/"
_TIMES = "--no-show-signature", "--no-notes", "--format=%ct"
_LINKED = b"messages"  # the key of _Linked


@value_class
class _Linked:
    """The commits before tips (full oids) that name a checkpoint in their message, as far as they
    are older than `before`.  oldest: the time of the oldest, in s since 1970."""

    tips: list[str]
    before: int
    oldest: int


def find_beginning(
    repo: Repo, periods: Periods, stores: Sequence[bytes], tips: Sequence[str]
) -> int:
    """The time of the first thing recorded, in s since 1970: a period of recording, a checkpoint, a
    commit with a note, a commit before tips that names a checkpoint.

    stores: `<oid> <ref>` of the refs that have checkpoints or notes.
    """
    kept = Kept(repo, "beginning", "1")
    starts = []
    for each in periods.values():
        for start, _ in each:
            starts.append(start)
    beginning = min([_read_stored(repo, kept, stores), *starts])
    beginning = min(beginning, _read_linked(repo, kept, beginning, tips))
    kept.save()
    return beginning


def _read_stored(repo: Repo, kept: Kept, stores: Sequence[bytes]) -> int:
    """The time of the first checkpoint, or of the oldest commit with a note."""
    key = make_key("stored", sorted(stores))
    known: int | None = kept.find(key)
    if known is not None:
        return known
    checkpoints: list[str] = []
    noted: list[str] = []
    for row in stores:
        oid, _, ref = decode_name(row).partition(" ")
        if ref.startswith(_NOTES):
            tree = find_tree(repo.objects, oid)
            files = object_lists.list_files(repo.objects, tree) if tree else ()
            noted += [path.replace("/", "") for path, _ in files]
        else:
            checkpoints.append(oid)
    first = _ask_oldest(repo, ("--max-parents=0",), checkpoints)
    first = min(first, _ask_oldest(repo, ("--no-walk=unsorted", "--ignore-missing"), noted))
    kept.keep(key, first)
    return first


def _ask_oldest(repo: Repo, options: Iterable[str], names: Sequence[str]) -> int:
    """The least time of the commits that `git log` lists; NEVER for none."""
    if not names:
        return NEVER
    try:
        out = repo.git.run("log", *_TIMES, *options, "--stdin", stdin=encode_lines(names))[1]
    except GitError:
        return 0  # a part of the history is not here, or a note is not on a commit
    return min(map(int, out.split()), default=NEVER)


def _read_linked(repo: Repo, kept: Kept, before: int, tips: Sequence[str]) -> int:
    """The time of the oldest commit that names a checkpoint; of those that are not older than
    `before` nothing is asked."""
    found = kept.find(_LINKED)
    known = _Linked([], before, NEVER)
    if found is not None and found[1] >= before:
        known = _Linked(*found)
    new = [tip for tip in tips if tip not in known.tips]
    if not new:
        return known.oldest
    asked = ["-i", "-F", f"--grep={LINK_KEY}:"]
    if before < NEVER:
        asked.append(f"--before=@{before}")
    names = [*new, *(f"^{tip}" for tip in known.tips)]
    oldest = min(known.oldest, _ask_oldest(repo, asked, names))
    if oldest:
        kept.keep(_LINKED, (list(tips), known.before, oldest))
    return oldest
