"""Streams: the shadow branches, wherever they lie, and their archives, found and told apart.

A stream is named by its id (trailer Gitcp-Stream); its ref moves, the id stays.  Data of
the original program has no id: the first 12 digits of the tip stand for it.
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
PLACES = (ids.BRANCHES, ids.HIDDEN)
METADATA = ".entire/metadata/"
_FOREIGN: dict[str, frozenset[str]] = memory.get_table("foreign")
# Subjects of checkpoints that no turn made: after a commit, and after a step back or forth.
CARRIED = "carry forward: uncommitted session files"
FOLLOWED = "rewind: the files as they are now"


def get_zeros(repo: Repo) -> str:
    """The oid that stands for 'no commit yet'."""
    return "0" * (64 if repo.algo == "sha256" else 40)


def get_home(repo: Repo) -> str:
    """Where streams have their refs in this repository: gitcp.streams-hidden, where it is not set
    whether jj would make bookmarks of branches."""
    hidden = repo.config.get_option("gitcp.streams-hidden")
    return PLACES[bool(repo.jj_root) if hidden is None else hidden]


def read_foreign(repo: Repo) -> frozenset[str]:
    """The branches of the person's that are named like streams, and left alone."""
    if repo.common not in _FOREIGN:
        _FOREIGN[repo.common] = frozenset(
            private.read_words(repo.join_shared("foreign"), shapes.is_ref)
        )
    return _FOREIGN[repo.common]


def add_foreign(repo: Repo, ref: str) -> None:
    """Leave this name alone from now on; <common>/gitcp/foreign has a full ref a line."""
    _FOREIGN[repo.common] = read_foreign(repo) | {ref}
    private.write_words(repo, repo.join_shared("foreign"), sorted(_FOREIGN[repo.common]))


def build_ref(repo: Repo, base: str, suffix: int | None = None, worktree: str = "") -> str:
    """The full ref of the stream of base in this worktree, or the one with that hash: a name
    with more digits of the base where a branch of the person's has it.  Of suffixes the next
    number is free."""
    taken = read_foreign(repo) if suffix is None else frozenset[str]()
    for digits in range(7, len(base) + 1):
        name = ids.format_stream_name(base, worktree or repo.worktree_hash, suffix, digits)
        if taken.isdisjoint(place + name for place in PLACES):
            break
    return get_home(repo) + name


def get_lock_name(repo: Repo, ref: str) -> str:
    """The lock under which the streams of a ref's worktree change; this one's where its name
    does not tell."""
    parsed = ids.parse_shadow(ref)
    return f"stream-{(parsed and parsed['worktree']) or repo.worktree_hash}"


def build_message(
    subject: str, session_id: str, base: str, stream: str, about: Sequence[str] = ()
) -> str:
    """The message of a checkpoint of a session on a stream, upon the commit base (full oid).

    about: trailers of what it is of besides, in place of the one that names the session's
    directory.
    """
    lines = [
        *(about or [f"Entire-Metadata: {METADATA}{session_id}"]),
        f"Entire-Session: {session_id}",
        "Entire-Strategy: manual-commit",
        f"Base-Commit: {base}",
        f"Gitcp-Stream: {stream}",
    ]
    return "\n".join([subject, "", *lines])


def find_trailer(message: str, key: str) -> str:
    """The last value of key in a message of ours, '' without one."""
    _, separator, rest = message.rpartition(f"\n{key}: ")
    return rest.partition("\n")[0].strip() if separator else ""


def read_tip(objects: Objects, ref: str) -> Tip | None:
    """The tip of ref, or of the branch of its name in the other place; None without both.

    Raises Error when ref is not a stream: it is the person's, and never touched.
    """
    trace.append_note("tip", ref)
    if obj := objects.read(ref):
        return parse_tip(ref, obj)
    other = next((PLACES[1 - i] for i in (0, 1) if ref.startswith(PLACES[i])), "")
    moved = other + ids.parse_stream_name(ref)
    try:
        return parse_tip(moved, obj) if other and (obj := objects.read(moved)) else None
    except Foreign:
        return None


def parse_tip(ref: str, obj: Object) -> Tip:
    """What read_tip() returns of the object that ref is at."""
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
    """Every stream below the patterns (default: all branches and archives), newest first.

    One for-each-ref; refs that are not streams are left out.
    """
    return read_tips(objects, list_refs(repo, *patterns))


def list_refs(repo: Repo, *patterns: str, newest_first: bool = False) -> list[str]:
    """The refs below the patterns that have the name of a stream; newest_first: by their commits,
    where git has them all."""
    there = refs.drop_empty_patterns(repo, patterns or (*PLACES, ARCHIVE))
    if not there:
        return []
    argv = ["for-each-ref", "--format=%(refname)", *there]
    sort = ["--sort=-committerdate"] if newest_first else []
    status, out = repo.git.run(argv[0], *sort, *argv[1:], ok=(0, 128))
    if status:
        _, out = repo.git.run(*argv)
    return [ref for ref in decode_lines(out) if ref.startswith(ARCHIVE) or ids.parse_shadow(ref)]


def read_tips(objects: Objects, refs: Iterable[str]) -> list[Tip]:
    """The tips of those refs that are streams, newest first."""
    tips = []
    for ref in refs:
        try:
            tip = read_tip(objects, ref)
        except Error:
            continue
        if tip:
            tips.append(tip)
    return sorted(tips, key=lambda t: (t["time"], t["ref"]), reverse=True)


def read_recorded(objects: Objects, tip: Tip) -> dict[str, Entry | None]:
    """What a stream's tip records: path -> entry, None for a path it deletes.

    The difference of the tip's tree to its base, without `.entire/`.
    """
    changes = compare_trees(objects, find_tree(objects, tip["base"]), tip["tree"])
    return {path: now for path, _, now in changes if not path.startswith(".entire/")}


def read_metadata(objects: Objects, tree: str) -> dict[str, Entry]:
    """The metadata directory of every session on a stream: path -> tree entry."""
    folder = Lookup(objects, tree).read_folder(METADATA.rstrip("/"))
    return {METADATA + name: e for name, e in folder.items() if e[0] == TREE}


def list_sessions(objects: Objects, tip: Tip) -> set[str]:
    """The sessions that a stream has something of."""
    try:
        folders = read_metadata(objects, tip["tree"])
    except Error:
        folders = {}  # of a tree that is gone nothing else is known
    return {tip["session_id"], *(path.rpartition("/")[2] for path in folders)}
