"""Which untracked files are too much for a snapshot: a pure choice."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

LIMITS = {"too-large": "gitcp.max-file-size", "over-budget": "gitcp.max-untracked-size"}
_NAMED = 3  # paths in a message


def list_excess(
    files: Iterable[tuple[str, int]], file_size: int, total_size: int
) -> Iterator[tuple[str, str]]:
    """(path, reason) of the files to leave out of (path, bytes), sizes in bytes.

    Over file_size: 'too-large'.  Of the rest the small ones go first, by size and then by
    path, until total_size is used up; the others are 'over-budget'.  The same files give
    the same answer whatever their order.
    """
    used = 0
    for size, path in sorted((size, path) for path, size in files):
        if size > file_size:
            yield path, "too-large"
        elif used + size > total_size:
            yield path, "over-budget"
        else:
            used += size


def find_limit_settings(omitted: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Of what a snapshot left out ({path, reason}) that which a limit kept out: path -> the
    setting that tells it."""
    return {i["path"]: LIMITS[i["reason"]] for i in omitted if i["reason"] in LIMITS}


def format_omission(over: Mapping[str, str]) -> str:
    """What a person is told of paths that are over a limit, by its setting."""
    paths = [f"'{path}'" for path in sorted(over)]
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    settings = ", ".join(sorted(set(over.values())))
    return f"gitcp: not kept, being over the limit: {', '.join(paths[:_NAMED])}{more} ({settings})"
