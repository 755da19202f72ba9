"""Lists the streams, live, suffixed and archived, with their sessions and verdicts, and the
checkpoints of each, newest first."""

from __future__ import annotations

from gitcp.checkpoints import format
from gitcp.errors import Error
from gitcp.git import decode_name, refs
from gitcp.git.objects import (
    Lookup,
    compare_trees,
    find_tree,
    parse_commit,
    parse_ident,
    read_commit,
)
from gitcp.git.records import encode_lines
from gitcp.record import session
from gitcp.record.stream import (
    ARCHIVE,
    METADATA,
    PREFIXES,
    catch_up_state,
    find_trailer,
    holds_lost_work,
    list_refs,
    list_tips,
    read_changes,
    read_metadata,
    read_tips,
)
from gitcp.record.stream.verdict import is_orphaned
from gitcp.text import ids, value_class
from gitcp.text.ids import SESSION_KEY, STRATEGY_KEY, TASK_KEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Entry, Record, State, Tip


@value_class
class StreamCommit:
    """A commit of a stream.  parent: '' where the stream begins; time: in s since 1970."""

    oid: str
    parent: str
    tree: str
    time: int
    message: str


@value_class
class StreamName:
    """What a stream's ref tells.  kind: live, suffix or archived; worktree: its hash, '' for an old
    name without one."""

    kind: str
    worktree: str

    def is_here(self, repo: Repo) -> bool:
        """Whether the stream is of this worktree, as far as the ref tells."""
        return self.worktree in ("", repo.worktree_hash)


@value_class
class Newest:
    """The records of the newest streams, and how many others there are."""

    records: list[Record]
    left_out: int


def recall_state(repo: Repo, session_id: str) -> State | None:
    """The state of a session; None for an unknown one.

    A newer copy on its stream wins: a process was killed between the ref and the state.  A lost or
    damaged file is rebuilt from the copies and the marker.  The caller holds the session's lock.
    """
    head = refs.read_base(repo)
    return catch_up_state(repo, session_id, session.load_state(repo, session_id), head)


_FORMAT = "--format=%H%x00%P%x00%T%x00%ct%x00%B%x00%x00"
_FEW = 300  # checkpoints that are read in less time than git takes to start
_LOG = ("log", "--no-show-signature", "--no-notes", "--no-color", _FORMAT, "--stdin")


def list_streams(repo: Repo, states: Iterable[State]) -> list[Record]:
    """A record of type "stream" for every stream, newest first.

    states: those of all sessions, from which the files and decisions come.  Of many streams git
    reads the refs, the tips and the checkpoints, each by one process.
    """
    return _build_records(repo, list_tips(repo), states)


def list_newest(repo: Repo, states: Iterable[State], limit: int) -> Newest:
    """The records of the newest streams, at most limit."""
    names = list_refs(repo)
    if len(names) > limit:
        names = list_refs(repo, newest_first=True)
    tips = read_tips(repo.objects, names[:limit])
    return Newest(_build_records(repo, tips, states), len(names[limit:]))


def _build_records(repo: Repo, tips: list[Tip], states: Iterable[State]) -> list[Record]:
    states_by_stream: dict[str, list[State]] = {}
    for state in states:
        for stream in {stream["id"] for stream in state["streams"]}:
            states_by_stream.setdefault(stream, []).append(state)
    chains = read_chains(repo, tips)
    records = []
    for tip in tips:
        named = states_by_stream.get(tip["stream"], [])
        record = _build_record(repo.objects, tip, len(chains[tip["ref"]]), named)
        if not named and _is_settled(repo, tip):
            record["settled"] = True
        records.append(record)
    return records


def _is_settled(repo: Repo, tip: Tip) -> bool:
    """Whether commits have everything of a stream: 'gitcp clean' will remove it."""
    return is_orphaned(repo, tip) and not holds_lost_work(repo, tip)


def _build_record(objects: Objects, tip: Tip, count: int, states: list[State]) -> Record:
    place = parse_ref(tip["ref"])
    sessions = {path.removeprefix(METADATA) for path in read_metadata(objects, tip["tree"])}
    sessions.update(state["session_id"] for state in states)
    on_it = [state for state in states if get_current(state) == tip["stream"]]
    decisions = list(filter(None, map(_build_decision, on_it)))
    return {
        "type": "stream",
        "id": tip["stream"],
        "ref": tip["ref"],
        "oid": tip["oid"],
        "base_commit": tip["base"],
        "worktree": place.worktree,
        "kind": place.kind,
        "sessions": sorted(sessions),
        "checkpoints": count,
        "time": tip["time"],
        "files": _list_files(objects, tip, states),
        "decisions": decisions,
    }


def parse_ref(ref: str) -> StreamName:
    """What a stream's ref tells."""
    parsed = ids.parse_shadow(ref)
    worktree = ""
    if parsed:
        worktree = parsed["worktree"] or ""
    if ref.startswith(ARCHIVE):
        return StreamName("archived", worktree)
    if parsed and parsed["suffix"] is not None:
        return StreamName("suffix", worktree)
    return StreamName("live", worktree)


def get_current(state: State) -> str:
    """The id of the stream that a session is on; '' without one."""
    if state["streams"]:
        return str(state["streams"][-1]["id"])
    return ""


def _list_files(objects: Objects, tip: Tip, states: list[State]) -> list[str]:
    """The unsettled paths of a stream; all its paths if no state names it."""
    is_named = False
    paths: set[str] = set()
    for state in states:
        for stream in state["streams"]:
            if stream["id"] == tip["stream"]:
                is_named = True
                paths.update(stream["files"])
    if is_named:
        return sorted(paths)
    try:
        return sorted(read_changes(objects, tip))
    except Error:  # its base is gone
        return []


def _build_decision(state: State) -> Record:
    verdict = state.get("last_verdict")
    if not isinstance(verdict, dict):
        return {}
    words = {key: str(verdict.get(key, "")) for key in ("verdict", "reason")}
    return {"session_id": state["session_id"], **words}


def find_stream(repo: Repo, name: str) -> Tip:
    """The stream named by a ref, full or short, or by an id or a prefix of it.

    Raises Error if there is none, or several, which it lists.
    """
    tips = list_tips(repo)
    starts = ("", "refs/", "refs/heads/", *PREFIXES)
    full_names = {start + name for start in starts}
    full_names |= {prefix + ids.parse_stream_name(name) for prefix in PREFIXES}
    matches = [tip for tip in tips if tip["ref"] in full_names or tip["stream"] == name]
    if name and not matches:
        matches = [tip for tip in tips if tip["stream"].startswith(name)]
    ids.pick_match("stream", name, list(dict.fromkeys(tip["ref"] for tip in matches)))
    return matches[0]


def read_chains(repo: Repo, tips: Iterable[Tip]) -> dict[str, list[Record]]:
    """ref -> the records of its checkpoints, newest first.

    A stream ends at a commit that names no session, such as a person's commit on which the
    original program began a stream.
    """
    tips = list(tips)
    if not tips:
        return {}
    steps = _read_steps(repo, [tip["oid"] for tip in tips])
    chains = {}
    for tip in tips:
        chains[tip["ref"]] = [_describe_step(tip, step) for step in _walk_down(steps, tip)]
    return chains


def find_newest(repo: Repo, session_id: str) -> Record | None:
    """The newest checkpoint of a session on any stream; None without one."""
    steps: list[Record] = []
    for chain in read_chains(repo, list_tips(repo)).values():
        steps.extend(step for step in chain if step["session_id"] == session_id)
    return max(steps, key=lambda step: int(step["time"]), default=None)


def _read_steps(repo: Repo, oids: list[str]) -> dict[str, StreamCommit]:
    """oid -> step, from the tips of streams on; git reads them if they are many."""
    steps: dict[str, StreamCommit] = {}
    for tip in oids:
        oid = tip
        while oid and oid not in steps:
            step = _peek_step(repo.objects, oid)
            if step is None or len(steps) == _FEW:
                return _log_steps(repo, oids)
            steps[oid] = step
            oid = step.parent
    return steps


def _peek_step(objects: Objects, oid: str) -> StreamCommit | None:
    """A step that is read without git; None if git has to read it."""
    obj = objects.peek(oid)
    if obj is None or obj[1] != "commit":
        return None
    _, _, data = obj
    commit = parse_commit(oid, data)
    parent = ""
    if commit["parents"] and find_trailer(commit["message"], SESSION_KEY):
        parent = commit["parents"][0]
    _, time = parse_ident(commit["committer"])
    return StreamCommit(oid, parent, commit["tree"], time, commit["message"])


def _log_steps(repo: Repo, oids: list[str]) -> dict[str, StreamCommit]:
    """_read_steps() by one `git log`."""
    _, out = repo.git.run(*_LOG, stdin=encode_lines(oids))
    steps: dict[str, StreamCommit] = {}
    for item in decode_name(out).split("\0\0\n"):
        if item:
            oid, parents, tree, time, message = item.split("\0", 4)
            steps[oid] = StreamCommit(oid, parents.partition(" ")[0], tree, int(time or 0), message)
    return steps


def _walk_down(steps: dict[str, StreamCommit], tip: Tip) -> Iterator[StreamCommit]:
    step = steps.get(tip["oid"])
    while step and find_trailer(step.message, SESSION_KEY):
        yield step
        step = steps.get(step.parent)


def _describe_step(tip: Tip, step: StreamCommit) -> Record:
    message = step.message
    task = find_trailer(message, TASK_KEY)
    return {
        "type": "checkpoint",
        "oid": step.oid,
        "ref": tip["ref"],
        "stream": tip["stream"],
        "parent": step.parent,
        "tree": step.tree,
        "base_commit": find_trailer(message, "Base-Commit") or tip["base"],
        "session_id": find_trailer(message, SESSION_KEY),
        "strategy": find_trailer(message, STRATEGY_KEY),
        "time": step.time,
        "message": message.partition("\n")[0],
        "is_task_checkpoint": bool(task),
        "tool_use_id": task.rpartition("/")[2],
    }


def read_details(objects: Objects, checkpoint: Record) -> Record:
    """A checkpoint's record with its prompt and files: path -> 'added', 'modified' or 'deleted'.

    The files changed since the previous checkpoint, or since the base commit for a stream's first
    one.  Changes that came with a new base are left out.
    """
    lookup = Lookup(objects, checkpoint["tree"])
    folder = METADATA + checkpoint["session_id"]
    prompt_entry = lookup(f"{folder}/{format.PROMPT}")
    prompts = ""
    if prompt_entry:
        prompts = decode_name(objects.need(prompt_entry[1], "blob"))
    base = find_tree(objects, checkpoint["base_commit"])
    parent = None
    if checkpoint["parent"]:
        parent = read_commit(objects, checkpoint["parent"])
    old_base = ""
    if parent:
        old_base = find_trailer(parent["message"], "Base-Commit")
    has_moved = old_base not in ("", checkpoint["base_commit"])
    previous = base
    if checkpoint["parent"]:
        previous = find_tree(objects, checkpoint["parent"])
    base_lookup = Lookup(objects, base)
    files: dict[str, str] = {}
    for path, old, new in compare_trees(objects, previous, checkpoint["tree"]):
        if path.startswith(".entire/") or (has_moved and base_lookup(path) == new):
            continue
        files[path] = _name_change(old, new)
    return {**checkpoint, "prompt": prompts.rpartition(format.SEPARATOR)[2], "files": files}


def _name_change(old: Entry | None, new: Entry | None) -> str:
    if old is None:
        return "added"
    if new is None:
        return "deleted"
    return "modified"
