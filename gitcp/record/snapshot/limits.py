"""Which untracked files are too large for a snapshot."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


LIMITS = {"too-large": "gitcp.max-file-size", "over-budget": "gitcp.max-untracked-size"}
_MOST = 3  # paths in a message


def list_excess(
    files: Iterable[tuple[str, int]], file_size: int, total_size: int
) -> Iterator[tuple[str, str]]:
    """Yield (path, reason) of the files, (path, bytes) each, to leave out; sizes in bytes.

    A file over file_size is 'too-large'.  The others are taken by size, the smallest first, then
    by path; a file with which they exceed total_size is 'over-budget'.
    """
    sized = [(size, path) for path, size in files]
    sizes = [size for size, _ in sized]
    if sum(sizes) <= total_size and max(sizes, default=0) <= file_size:
        return
    used = 0
    for size, path in sorted(sized):
        if size > file_size:
            yield path, "too-large"
        elif used + size > total_size:
            yield path, "over-budget"
        else:
            used += size


def find_limit_settings(omitted: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """The omitted files, {path, reason}, that exceed a limit: path -> the setting of the limit."""
    return {i["path"]: LIMITS[i["reason"]] for i in omitted if i["reason"] in LIMITS}


def format_omission(over: Mapping[str, str]) -> str:
    """The message about files over a limit; over: path -> the setting of the limit."""
    paths = [f"'{path}'" for path in sorted(over)]
    more = ""
    if len(paths) > _MOST:
        more = f" and {len(paths) - _MOST} more"
    settings = ", ".join(sorted(set(over.values())))
    return f"gitcp: not kept, being over the limit: {', '.join(paths[:_MOST])}{more} ({settings})"
