"""The refs and tips of streams: the shadow branches, visible or hidden, and their archives.

A stream's id (trailer Gitcp-Stream) stays when its ref moves.  A stream of the original program
has no id; the first 12 digits of its tip are used instead.
"""

from __future__ import annotations

from gitcp import memory, trace
from gitcp.core.git import ids
from gitcp.core.upkeep import shapes
from gitcp.errors import Error, Foreign
from gitcp.record import decode_lines, decode_name
from gitcp.store.git import private, refs
from gitcp.store.git.commit import parse_commit, parse_ident
from gitcp.store.git.tree import TREE, Lookup, compare_trees, find_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitcp.core.record_types import Entry, Tip
    from gitcp.repo import Repo
    from gitcp.store.git.cat_file import Object
    from gitcp.store.git.objects import Objects


ARCHIVE = ids.ARCHIVE
PREFIXES = (ids.BRANCHES, ids.HIDDEN)
METADATA = ".entire/metadata/"
_FOREIGN: dict[str, frozenset[str]] = memory.get_table("foreign")
# Subjects of checkpoints that no turn made: after a commit, and after a step.
CARRIED = "carry forward: uncommitted session files"
FOLLOWED = "rewind: the files as they are now"


def get_prefix(repo: Repo) -> str:
    """The prefix of new streams' refs, by gitcp.streams-hidden.  By default they are hidden in a
    repository of jj, which would make bookmarks of branches."""
    hidden = repo.config.get_option("gitcp.streams-hidden")
    if hidden is None:
        hidden = bool(repo.jj_root)
    return ids.HIDDEN if hidden else ids.BRANCHES


def read_foreign(repo: Repo) -> frozenset[str]:
    """The person's branches that are named like streams."""
    if repo.common not in _FOREIGN:
        _FOREIGN[repo.common] = frozenset(
            private.read_words(repo.join_shared("foreign"), shapes.is_ref)
        )
    return _FOREIGN[repo.common]


def add_foreign(repo: Repo, ref: str) -> None:
    """Note a branch as the person's: <common>/gitcp/foreign has a full ref on each line."""
    _FOREIGN[repo.common] = read_foreign(repo) | {ref}
    private.write_words(repo, repo.join_shared("foreign"), sorted(_FOREIGN[repo.common]))


def build_ref(repo: Repo, base: str, suffix: int | None = None, worktree: str = "") -> str:
    """The full ref of the stream of base in a worktree, by its hash; in this one by default.

    It has seven digits of the base, and more if the person has a branch of that name.  A ref with
    a suffix always has seven.
    """
    foreign = read_foreign(repo) if suffix is None else frozenset[str]()
    for digits in range(7, len(base) + 1):
        name = ids.format_stream_name(base, worktree or repo.worktree_hash, suffix, digits)
        if foreign.isdisjoint(prefix + name for prefix in PREFIXES):
            break
    return get_prefix(repo) + name


def get_lock_name(repo: Repo, ref: str) -> str:
    """The name of the lock for the streams of a ref's worktree; of this one if the ref names
    none."""
    parsed = ids.parse_shadow(ref)
    return f"stream-{(parsed and parsed['worktree']) or repo.worktree_hash}"


def build_message(
    subject: str, session_id: str, base: str, stream: str, trailers: Sequence[str] = ()
) -> str:
    """The message of a session's checkpoint on a stream, made on the commit base (full oid).

    trailers: replace the trailer that names the session's directory.
    """
    lines = [
        *(trailers or [f"Entire-Metadata: {METADATA}{session_id}"]),
        f"Entire-Session: {session_id}",
        "Entire-Strategy: manual-commit",
        f"Base-Commit: {base}",
        f"Gitcp-Stream: {stream}",
    ]
    return "\n".join([subject, "", *lines])


def find_trailer(message: str, key: str) -> str:
    """The last value of a trailer in a checkpoint's message; '' without one."""
    _, separator, tail = message.rpartition(f"\n{key}: ")
    return tail.partition("\n")[0].strip() if separator else ""


def read_tip(objects: Objects, ref: str) -> Tip | None:
    """The tip of ref, or of the ref of that name with the other of PREFIXES; None without both.

    Raises Foreign if ref is not a stream: it is the person's.
    """
    trace.append_note("tip", ref)
    if obj := objects.read(ref):
        return parse_tip(ref, obj)
    if not ref.startswith(PREFIXES):
        return None
    prefix = ids.BRANCHES if ref.startswith(ids.HIDDEN) else ids.HIDDEN
    moved_ref = prefix + ids.parse_stream_name(ref)
    try:
        return parse_tip(moved_ref, obj) if (obj := objects.read(moved_ref)) else None
    except Foreign:
        return None


def peek_tip(objects: Objects, ref: str) -> Tip | None:
    """read_tip(); None also if it cannot be read, or is the person's."""
    try:
        return read_tip(objects, ref)
    except Error:
        return None


def parse_tip(ref: str, obj: Object) -> Tip:
    """The tip of ref from its object; raises Foreign as read_tip() does."""
    oid, kind, data = obj
    message = decode_name(data) if kind == "commit" else ""
    session = find_trailer(message, "Entire-Session")
    if not session:
        raise Foreign(f"'{ref}' is not a stream of checkpoints")
    commit = parse_commit(oid, data)
    return {
        "ref": ref,
        "oid": oid,
        "tree": commit["tree"],
        "stream": find_trailer(message, "Gitcp-Stream") or oid[:12],
        "base": find_trailer(message, "Base-Commit")
        or ids.parse_stream_name(ref).partition("-")[0],
        "session_id": session,
        "time": parse_ident(commit["committer"])[1],
    }


def list_tips(repo: Repo, objects: Objects, *patterns: str) -> list[Tip]:
    """The tips of the streams below the patterns, by default of all, newest first."""
    return read_tips(objects, list_refs(repo, *patterns))


def list_refs(repo: Repo, *patterns: str, newest_first: bool = False) -> list[str]:
    """The refs below the patterns that are named like streams.  newest_first: sort them by their
    commits, if git has all of these."""
    existing = refs.drop_empty_patterns(repo, patterns or (*PREFIXES, ARCHIVE))
    if not existing:
        return []
    argv = ["for-each-ref", "--format=%(refname)", *existing]
    sort = ["--sort=-committerdate"] if newest_first else []
    status, out = repo.git.run(argv[0], *sort, *argv[1:], ok=(0, 128))
    if status:
        _, out = repo.git.run(*argv)
    return [ref for ref in decode_lines(out) if ref.startswith(ARCHIVE) or ids.parse_shadow(ref)]


def read_tips(objects: Objects, refs: Iterable[str]) -> list[Tip]:
    """The tips of the refs that are streams, newest first."""
    tips = [tip for ref in refs if (tip := peek_tip(objects, ref))]
    return sorted(tips, key=lambda t: (t["time"], t["ref"]), reverse=True)


def read_changes(objects: Objects, tip: Tip) -> dict[str, Entry | None]:
    """path -> entry, None if deleted, of what the tip's tree changed of its base; without
    `.entire/`."""
    changes = compare_trees(objects, find_tree(objects, tip["base"]), tip["tree"])
    return {path: entry for path, _, entry in changes if not path.startswith(".entire/")}


def read_metadata(objects: Objects, tree: str) -> dict[str, Entry]:
    """path -> tree entry of each session's metadata directory on a stream."""
    folder = Lookup(objects, tree).read_folder(METADATA.rstrip("/"))
    return {METADATA + name: e for name, e in folder.items() if e[0] == TREE}


def list_sessions(objects: Objects, tip: Tip) -> set[str]:
    """The sessions on a stream."""
    try:
        folders = read_metadata(objects, tip["tree"])
    except Error:
        folders = {}  # the tree is gone
    return {tip["session_id"], *(path.rpartition("/")[2] for path in folders)}
