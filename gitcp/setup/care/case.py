"""A case, which checks look at."""

from __future__ import annotations

import errno
from functools import cached_property

from gitcp.checkpoints import stored
from gitcp.errors import Error
from gitcp.git import decode_name
from gitcp.git.objects import Objects
from gitcp.record import session
from gitcp.record.session import others
from gitcp.record.stream import ARCHIVE, parse_tip, read_copy, read_metadata
from gitcp.record.turn import sessions
from gitcp.setup.care import space
from gitcp.text import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.checkpoints.format.orphan_rules import Ages
    from gitcp.git.repo import Repo
    from gitcp.record import Context
    from gitcp.text.record_types import Marker, State, Stream, Tip

_FORMAT = "--format=%(refname)%00%(objectname)%00%(if)%(worktreepath)%(then)held%(end)"


class Survey:
    """Everything that gitcp keeps in a repository: refs, streams, states, markers.  Each part is
    read once, when it is first needed."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self._metadata: dict[str, set[str]] = {}  # tip of a stream -> the sessions with a copy

    @cached_property
    def states(self) -> list[State]:
        """Every state, as sessions.read_state() returns it."""
        return [sessions.read_state(self.repo, name) for name in others.list_state_ids(self.repo)]

    @cached_property
    def markers(self) -> dict[str, Marker | None]:
        """session id -> marker, None for an unreadable one."""
        return {name: _read_marker(self.repo, name) for name in others.list_marked_ids(self.repo)}

    @cached_property
    def _listed(self) -> list[list[str]]:
        """[ref, oid, whether a worktree has it checked out] of each ref."""
        lines = self.repo.git.read_records("for-each-ref", _FORMAT, *space.OURS, sep=b"\n")
        return [decode_name(line).split("\0") for line in lines]

    @cached_property
    def refs(self) -> dict[str, str]:
        """ref -> oid."""
        return {ref: oid for ref, oid, _ in self._listed}

    @cached_property
    def held(self) -> set[str]:
        """The refs that a worktree has checked out."""
        return {ref for ref, _, held in self._listed if held}

    @cached_property
    def _streams(self) -> dict[str, Tip | None]:
        """ref -> tip, for each ref with a stream's name whose object is here; None if that is no
        stream."""
        self.repo.objects.ahead.fetch(self.refs.values())
        streams: dict[str, Tip | None] = {}
        for ref, oid in self.refs.items():
            if ids.parse_shadow(ref) or ref.startswith(ARCHIVE):
                try:
                    obj = self.repo.objects.read(oid)
                    if obj:
                        streams[ref] = parse_tip(ref, obj)
                except Error:
                    streams[ref] = None
        return streams

    @cached_property
    def tips(self) -> list[Tip]:
        """The streams, newest first."""
        tips = filter(None, self._streams.values())
        return sorted(tips, key=lambda tip: (tip["time"], tip["ref"]), reverse=True)

    @property
    def strangers(self) -> list[str]:
        """The branches that have the name of a stream and are not streams."""
        return [ref for ref, tip in self._streams.items() if tip is None]

    @cached_property
    def heads(self) -> set[str]:
        """The commits that are HEAD in a worktree."""
        facts = self.repo.git.read_records("worktree", "list", "--porcelain", "-z")
        return {decode_name(fact[5:]) for fact in facts if fact.startswith(b"HEAD ")}

    @cached_property
    def _numbers_by_key(self) -> dict[str, list[int]]:
        """key that may name a stream -> indexes of states, ascending."""
        numbers: dict[str, list[int]] = {}
        for number, state in enumerate(self.states):
            for key in _list_keys(state):
                numbers.setdefault(key, []).append(number)
        return numbers

    @cached_property
    def _ids_named(self) -> set[str]:
        """The ids of the streams that states and markers name."""
        named: set[str] = set()
        for marker in self.markers.values():
            if marker:
                named |= {stream["id"] for stream in marker["streams"]}
        for state in self.states:
            named |= {stream["id"] for stream in state["streams"]}
        return named

    def list_broken_refs(self) -> list[str]:
        """The refs whose object is missing."""
        return [ref for ref, oid in self.refs.items() if self.repo.objects.read(oid) is None]

    def list_states(self, tip: Tip) -> list[State]:
        """The states that name a stream, or will name it at their session's next event."""
        self.find_copy(tip, tip["session_id"])  # fills _metadata
        keys = {tip["stream"], tip["session_id"], _get_branch(tip), *self._metadata[tip["oid"]]}
        numbers = set().union(*(self._numbers_by_key.get(key, ()) for key in keys))
        possible = [self.states[number] for number in sorted(numbers)]
        return [state for state in possible if self._has_stream(state, tip)]

    def is_orphaned(self, tip: Tip) -> bool:
        """Whether neither a state nor a marker names a stream."""
        return tip["stream"] not in self._ids_named and not self.list_states(tip)

    def list_owners(self, tip: Tip) -> set[str]:
        """The sessions that have files on a stream."""
        self.find_copy(tip, tip["session_id"])  # fills _metadata
        return {*self._metadata[tip["oid"]], tip["session_id"]}

    def list_lost(self, state: State) -> list[Stream]:
        """The streams with files that a state names and no ref has."""
        known = {tip["stream"] for tip in self.tips}
        with_files = [stream for stream in state["streams"] if stream["files"]]
        return [stream for stream in with_files if stream["id"] not in known]

    def is_settled(self, tip: Tip) -> bool:
        """Whether commits have settled an orphaned stream: each of its sessions has a state that
        began with the copy on the stream, and does not name it any more."""
        readable = {
            state["session_id"]: state for state in self.states if "unreadable" not in state
        }
        for name in self.list_owners(tip):
            copy = self.find_copy(tip, name)
            state = readable.get(name)
            if not copy or not state or copy.get("started_at") != state.get("started_at"):
                return False
        return True

    def _has_stream(self, state: State, tip: Tip) -> bool:
        if any(stream["id"] == tip["stream"] for stream in state["streams"]):
            return True
        if state.get("unreadable"):
            return bool(state["session_id"] == tip["session_id"])  # it may name the stream
        copy = self.find_copy(tip, state["session_id"])
        if copy is not None:
            return bool(copy.get("revision", 0) > state.get("revision", 0))
        return _get_branch(tip) in _list_plain_names(state)

    def find_copy(self, tip: Tip, session_id: str) -> State | None:
        """The copy of a session's state on a stream; None also if objects are missing."""
        try:
            if tip["oid"] not in self._metadata:
                self._metadata[tip["oid"]] = set()
                folders = read_metadata(self.repo.objects, tip["tree"])
                self._metadata[tip["oid"]] = {path.rpartition("/")[2] for path in folders}
            if session_id not in self._metadata[tip["oid"]]:
                return None
            return read_copy(self.repo.objects, tip, session_id)
        except Error:
            return None


def _get_branch(tip: Tip) -> str:
    """The name of a stream's branch; an archive has none."""
    if tip["ref"].startswith(ARCHIVE):
        return ""
    return ids.parse_stream_name(tip["ref"])


def _list_plain_names(state: State) -> tuple[str, ...]:
    """The names of the streams of a state of the original program, which has only a base."""
    base = str(state.get("base_commit") or "")
    if len(base) < 7 or "revision" in state:
        return ()
    home = ids.hash_worktree(str(state.get("worktree_id") or ""))
    return ids.format_stream_name(base, home), base[:7]


def _list_keys(state: State) -> set[str]:
    """The keys by which the streams that a state may name are found: ids, names, its session."""
    return {state["session_id"], *_list_plain_names(state), *(s["id"] for s in state["streams"])}


def _read_marker(repo: Repo, name: str) -> Marker | None:
    try:
        return session.read_stored(repo, name)
    except Error:
        return None


class Case:
    """A repository that checks look at; a context manager that reads each part when first needed.

    secrets: search stored data for secrets.  ages: when settled things expire, None for the
    configured ages.  states: the states to check, None for all.  ctx: for the mends of sessions.
    """

    def __init__(
        self,
        repo: Repo,
        secrets: bool = False,
        ages: Ages | None = None,
        states: list[State] | None = None,
        ctx: Context | None = None,
    ) -> None:
        self.repo = repo
        self.secrets = secrets
        self.ages = ages
        self._states = states
        self._ctx = ctx
        self._objects = Objects(repo)

    @property
    def ctx(self) -> Context:
        assert self._ctx is not None
        return self._ctx

    @cached_property
    def survey(self) -> Survey:
        return Survey(self.repo)

    def renew_survey(self) -> Survey:
        """The survey, made again: something may have been repaired."""
        self.survey = Survey(self.repo)
        return self.survey

    @cached_property
    def states(self) -> list[State]:
        if self._states is None:
            return sessions.list_states(self.repo)
        return self._states

    @cached_property
    def sources(self) -> list[str]:
        """The refs that have committed checkpoints."""
        return stored.list_sources(self.repo)

    def __enter__(self) -> Case:
        self._objects.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._objects.__exit__()
        except OSError as e:
            if e.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            # What checks have built is built again; a finding names the disk.
            self.repo.objects.packs.abandon()
