"""Commits with the sessions behind them: one pass of `git log`, one `cat-file --batch`."""

from __future__ import annotations

import json
import re
import tempfile
from itertools import starmap

from gitcp.agents.reading import conversation
from gitcp.checkpoints import (
    format,
    heads,
    links,
    listing,
    notes,
    recorded_edits,
    redactor,
    writing,
)
from gitcp.checkpoints import stored as checkpoints
from gitcp.checkpoints.format import schema
from gitcp.checkpoints.share import places, sync
from gitcp.errors import Error, GitError, InputError
from gitcp.git import Running, commit_message, decode_name, encode_name, refs
from gitcp.git.objects import (
    Lookup,
    Objects,
    build_finder,
    cat_file,
    find_tree,
    object_lists,
    parse_commit,
    parse_ident,
    read_commit,
    read_tree,
)
from gitcp.git.objects.object_lists import build_log_args, read_names
from gitcp.git.objects.reading import run_tasks, split_windows, spread_batches
from gitcp.lines import edit_lines, prompt_lines, tallies, tally
from gitcp.record import journal, stream
from gitcp.record.journal import credit
from gitcp.record.session import others
from gitcp.record.stream import stream_list
from gitcp.record.turn.sessions import (
    add_stored,
    build_records,
    list_temporary,
    pick_id,
    read_state,
)
from gitcp.text import console, line_credit, term, value_class
from gitcp.text import ids as ids_
from gitcp.text.ids import SESSION_KEY, build_change
from gitcp.text.json import ensure_object
from gitcp.text.short_ids import is_named, list_named
from gitcp.text.spans import abbreviate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from typing import TypeVar

    from gitcp.checkpoints.format.schema import Part
    from gitcp.checkpoints.stored import SessionEntry, StoredCheckpoint
    from gitcp.git.objects import Changes
    from gitcp.git.objects.reading import Steps
    from gitcp.git.repo import Repo
    from gitcp.lines.prompt_lines import CommitLines, PromptLines
    from gitcp.record.journal.line_kinds import Edit
    from gitcp.text.record_types import Drawn, Record, Tip

    Converted = TypeVar("Converted")
    _Fields = tuple[bytes, bytes, bytes]

_KEYS = "oid tree parents author email date day time message".split()
# Only the message and the note may have newlines; no field has a NUL.
_FORMAT = "%H%n%T%n%P%n%aN%n%aE%n%aI%n%as%n%ct%n%s%x00%B%x00%N%x00"
_LOG = f"log --no-color --no-show-signature --no-notes --notes={notes.REF} --format={_FORMAT}"
_WINDOW = 64  # commits whose checkpoints are read at once
# Commits in the first batch, which is small so that the first line comes soon, and in others;
# batches before worker processes are started.
_FIRST = 8
_BATCH = 256
_ALONE = 8


def list_commits(
    repo: Repo,
    revisions: Sequence[str],
    options: Sequence[str] = (),
    paths: Sequence[str] = (),
    *,
    counted: bool = False,
) -> Iterator[Record]:
    """A commit record for each commit of the revisions (none: HEAD), in the order of git log.

    options: of git log, such as ALL; paths: only commits that change one of them.  counted: with
    the lines of commits that have sessions.  checkpoints: the ids of the last trailer block, then
    of the note, each with its sessions, or `missing` if it is not stored here.  Raises Error for
    an unknown revision.
    """
    return map_commits(repo, iter, revisions, options, paths, counted=counted)


def map_commits(
    repo: Repo,
    convert: Callable[[Iterator[Record]], Iterator[Converted]],
    *chosen: Sequence[str],
    counted: bool = False,
) -> Iterator[Converted]:
    """The values that convert() makes of the records of list_commits().

    Several processes share a long history: spread_batches() must be able to send the values.
    """

    def begin(objects: Objects) -> Callable[[list[_Fields]], list[Converted]]:
        store = _Store(repo, counted)
        return lambda batch: list(convert(store.read_records(batch)))

    with Objects(repo):
        batches = split_windows(_read_fields(repo, *chosen), _FIRST, _BATCH)
        parts = spread_batches(repo.objects, batches, begin, _ALONE)
        for part in term.iterate_counted("reading commits", parts):
            yield from part


def list_bare_commits(repo: Repo, *chosen: Sequence[str]) -> Iterator[Record]:
    """The commits of list_commits(), with the ids of their checkpoints alone, and how each is
    linked: also `text`, which is a link if the commit has something of it, and `mention`."""
    return starmap(_parse_commit, _read_fields(repo, *chosen))


def _read_fields(
    repo: Repo, revisions: Sequence[str], options: Sequence[str] = (), paths: Sequence[str] = ()
) -> Iterator[_Fields]:
    """(header, message, note) of each commit, by git log."""
    args = build_log_args(options, revisions, paths)
    fields: list[bytes] = []
    try:
        # Flush each commit: the next one may take git long to find.
        running = repo.git.start(*_LOG.split(), *args, env={"GIT_FLUSH": "1"})
        for field in running.stream_records():
            fields.append(field)
            if len(fields) == 3:
                yield fields[0], fields[1], fields[2]
                fields = []
    except GitError as e:
        raise e.shorten() from None


def _parse_commit(head: bytes, message: bytes, note: bytes) -> Record:
    # git ends the commit before with a newline.
    fields = decode_name(head.lstrip(b"\n")).split("\n")
    commit: Record = {"type": "commit", **dict(zip(_KEYS, fields, strict=True))}
    commit["parents"] = commit["parents"].split()
    commit["time"] = int(commit["time"] or 0)
    linked = links.list_links(message, note)
    if "text" in linked.values():
        standing = commit_message.find_standing(message)
        for checkpoint_id, how in linked.items():
            if how == "text" and checkpoint_id not in standing:
                linked[checkpoint_id] = "mention"
    commit["checkpoints"] = [{"checkpoint_id": i, "linked": how} for i, how in linked.items()]
    return commit


def count_lines(counter: tallies.Counter, oids: Sequence[str]) -> dict[str, object]:
    """commit -> the key `lines` of its record: what it adds and removes, by author.  What lacks is
    not told here."""
    with console.Collected():
        counted = counter.count(oids)
    return {oid: counts.build_lines() for oid, counts in counted.items()}


class _Store:
    """Reads many checkpoints of the permanent store at a time."""

    def __init__(self, repo: Repo, counted: bool = False) -> None:
        """counted: whether the records get the lines of commits."""
        self._repo = repo
        self._refs: list[str] | None = None
        self._places = checkpoints.Places(repo)
        self._counter: tallies.Counter | None = None
        if counted:
            self._counter = tallies.Counter(repo)
        self._heads = heads.Heads(repo)
        self._parts: dict[str, list[Part]] = {}  # of the checkpoints of the last commits

    def read_records(self, batch: list[_Fields]) -> Iterator[Record]:
        """The records of commits, with the stored details of each checkpoint."""
        windows = (list(starmap(_parse_commit, part)) for part in split_windows(batch, _WINDOW))
        tasks = run_tasks(self._repo.objects, map(self._add_sessions, windows))
        if self._counter is None:
            for window in tasks:
                yield from window
            return
        records = []
        for window in tasks:
            records.extend(window)
        linked = [record["oid"] for record in records if record["checkpoints"]]
        lines_by_oid = count_lines(self._counter, linked)
        for record in records:
            if record["oid"] in lines_by_oid:
                record["lines"] = lines_by_oid[record["oid"]]
        yield from records

    def _add_sessions(self, window: list[Record]) -> Steps[list[Record]]:
        """Add the stored details of each checkpoint to the records of commits."""
        names = [c["checkpoint_id"] for commit in window for c in commit["checkpoints"]]
        loaded = yield from self._load_checkpoints(list(dict.fromkeys(names)))
        stored = yield from self._gather_details(loaded)
        for commit in window:
            commit["checkpoints"] = [
                link
                for link in commit["checkpoints"]
                if self._is_link(commit["oid"], link["linked"], loaded.get(link["checkpoint_id"]))
            ]
            for link in commit["checkpoints"]:
                link.update(stored.get(link["checkpoint_id"], {"missing": True}))
                if len(link.get("sessions", ())) > 1:
                    self._leave_out_others(commit["oid"], link, loaded[link["checkpoint_id"]])
        return window

    def _leave_out_others(self, oid: str, link: Record, checkpoint: StoredCheckpoint) -> None:
        """Leave out the sessions of a checkpoint of which the commit has nothing."""
        here = recorded_edits.select_sessions(self._repo.objects, oid, checkpoint)
        parts = self._parts[link["checkpoint_id"]]
        own = [part for part in parts if part["session_id"] in here]
        if len(own) < len(parts):
            link["contents"] = schema.fold_tasks(own)
            link["sessions"] = [part["session_id"] for part in link["contents"]]

    def _is_link(self, oid: str, how: str, checkpoint: StoredCheckpoint | None) -> bool:
        """Whether an id in the message or the note of a commit is a link, by where it stands."""
        if how == "text" and checkpoint:
            return recorded_edits.is_linked_by_content(self._repo.objects, oid, checkpoint)
        return how in ("trailer", "note")

    def _load_checkpoints(self, ids: list[str]) -> Steps[dict[str, StoredCheckpoint]]:
        stored: dict[str, StoredCheckpoint] = {}
        loader = listing.Loader(self._repo.objects, skip_summary=True)
        if ids and self._refs is None:
            self._refs = checkpoints.list_places(self._repo)
        trouble: dict[str, list[Error]] = {name: [] for name in ids}
        for ref in self._refs or ():
            left = [name for name in ids if name not in stored]
            if not left:
                break
            yield self._places.list_unread_shards(left, ref)
            placed = {n: self._places.find_tree(ref, n, trouble[n]) for n in left}
            trees = {name: tree for name, tree in placed.items() if tree}
            yield from loader.read_ahead(trees.values())
            for name, tree in trees.items():
                if tree in loader.trees or self._is_tree(tree):
                    stored[name] = loader.load(name, checkpoints.find_holding_ref(ref, name), tree)
                else:
                    trouble[name].append(Error(f"checkpoint '{name}': missing tree '{tree}'"))
        for error in (e for name in ids if name not in stored for e in trouble[name]):
            console.warn_lacking(str(error), console.ABSENT)
        return stored

    def _is_tree(self, oid: str) -> bool:
        obj = self._repo.objects.read(oid)
        return obj is not None and obj[1] == "tree"

    def _gather_details(self, stored: dict[str, StoredCheckpoint]) -> Steps[dict[str, Record]]:
        """id -> what the record of a commit has of a checkpoint."""
        parts = {
            name: [schema.build_part(entry["metadata"]) for entry in checkpoint["sessions"]]
            for name, checkpoint in stored.items()
        }
        yield from self._read_prompts(stored, parts)
        for name, checkpoint in stored.items():
            self._heads.add(parts[name], checkpoint["sessions"])
        self._parts = parts
        details = {}
        for name, checkpoint in stored.items():
            contents = schema.fold_tasks(parts[name])
            strategies = [format.get_text(checkpoint["summary"], "strategy")]
            strategies += [str(part.get("strategy") or "") for part in contents]
            details[name] = {
                "strategy": next(filter(None, strategies), ""),
                "sessions": [part["session_id"] for part in contents],
                "contents": contents,
            }
            if checkpoint["lacks"]:
                details[name]["lacks"] = list(dict.fromkeys(checkpoint["lacks"]))
        return details

    def _read_prompts(
        self, stored: dict[str, StoredCheckpoint], parts: dict[str, list[Part]]
    ) -> Steps[None]:
        """Read prompt.txt of the sessions whose metadata does not name one prompt of a person."""
        silent = [
            (checkpoint, entry, part)
            for name, checkpoint in stored.items()
            for entry, part in zip(checkpoint["sessions"], parts[name], strict=True)
            if len(part["asked"]) != 1
        ]
        files = [entry["files"] for _, entry, _ in silent]
        if silent:
            yield [f[format.PROMPT][1] for f in files if format.PROMPT in f]
        for checkpoint, entry, part in silent:
            reader = checkpoints.Parts(self._repo.objects, checkpoint["checkpoint_id"])
            prompts = reader.read_prompts(entry["files"], entry["directory"])
            part["asked"] = schema.choose_prompts(part["asked"], prompts)
            checkpoint["lacks"] += reader.damage.lacks


# The data of lanes in a terminal: git's own graph, and the turns of sessions by the journal.
_GRAPH = "log --graph --no-color --no-show-signature --no-notes --format=%x01%H"


def read_graph(
    repo: Repo, revisions: Sequence[str], options: Sequence[str], paths: Sequence[str]
) -> dict[str, Drawn]:
    """oid -> (the graph before the commit, the rows of graph below it), newest first."""
    args = build_log_args(options, revisions, paths)
    graph: dict[str, Drawn] = {}
    below: list[str] = []
    try:
        for line in repo.git.read_records(*_GRAPH.split(), *args, sep=b"\n"):
            before, mark, oid = decode_name(line).partition("\1")
            if mark:
                below = []
                graph[oid] = (before, below)
            else:
                below.append(before)
    except GitError as e:
        raise e.shorten() from None
    return graph


_CHANGES = "log --no-show-signature --no-notes --format=%x01%H"


def read_changes(
    repo: Repo, formats: Sequence[str], *chosen: Sequence[str]
) -> Iterator[tuple[str, list[str]]]:
    """(oid, the lines that git log prints about its changes) of each commit that list_commits()
    lists; formats: such as -p and --stat."""
    revisions, options, paths = chosen
    args = build_log_args([*formats, *options], revisions, paths)
    oid = ""
    lines = list[str]()
    try:
        for line in repo.git.stream_records(*_CHANGES.split(), *args, sep=b"\n"):
            if line[:1] == b"\1":  # no line of a patch begins so
                if oid:
                    yield oid, lines
                oid = line[1:].decode()
                lines = []
            else:
                lines.append(decode_name(line))
        if oid:
            yield oid, lines
    except GitError as e:
        raise e.shorten() from None


_COUNTED = "log --no-walk=unsorted --stdin --shortstat --no-show-signature --format=%x01%H"
_COUNT = rb"(\d+) (insertion|deletion)"


def count_changes(
    repo: Repo, oids: Sequence[str], paths: Sequence[str] = ()
) -> dict[str, tuple[int, int]]:
    """The lines that each of these commits adds and removes, in paths (none: in all); of a merge,
    and where git cannot tell, none."""
    listed = "\n".join(oids).encode() + b"\n"
    args: list[str | bytes] = [*_COUNTED.split(), "--", *map(encode_name, paths)]
    counted: dict[str, tuple[int, int]] = {}
    oid = ""
    try:
        for row in repo.git.stream_records(*args, sep=b"\n", stdin=listed):
            if row[:1] == b"\1":
                oid = row[1:].decode()
            elif row:
                found = {kind: int(count) for count, kind in re.findall(_COUNT, row)}
                counted[oid] = found.get(b"insertion", 0), found.get(b"deletion", 0)
    except GitError:
        return {}
    return counted


def list_lanes(repo: Repo, session_ids: Sequence[str]) -> list[Record]:
    """A lane {session_id, turns, calls, lines} for each of the sessions with open work; times in
    seconds since 1970, lines by author.  The last lane is the person's, whose calls are edits."""
    lines = journal.read_journal(repo)
    edits = credit.list_open_edits(lines)
    changes = _list_changes(repo, edits)
    credits = edit_lines.Edits(repo.objects, lines).credit_paths(changes).values()
    working = {edit.author[:2] for edit in edits}
    lanes = []
    for name in session_ids:
        own = []
        spans = []
        for call in credit.list_calls(lines):
            opening = call.opening
            if call.session == name and (name, opening.turn) in working:
                own.append(opening)
                spans.append(_Span(opening.turn, opening.at, call.end or opening.at))
        for edit in edits:
            if edit.author[0] == name:
                spans.append(_Span(edit.author[1], edit.at, edit.at))
        turns = _unite_spans(spans)
        if turns:
            agent = line_credit.compute_attribution(name, credits)["lines_added"]["agent"]
            times = [opening.at / 1e9 for opening in own]
            lanes.append(_build_lane(name, turns, times, {"agent": agent}))
    people = line_credit.compute_attribution("", credits)["lines_added"]
    if lanes and (people["person"] or people["unknown"]):
        times = [edit.at / 1e9 for edit in edits if not edit.author[0]]
        lanes.append(_build_lane("person", [], times, {**people, "agent": 0}))
    return lanes


def _build_lane(name: str, turns: object, calls: object, lines: dict[str, int]) -> Record:
    return {"session_id": name, "turns": turns, "calls": calls, "lines": lines}


def _list_changes(repo: Repo, edits: Sequence[Edit]) -> Changes:
    """The changes that the edits made to HEAD's files."""
    head = Lookup(repo.objects, find_tree(repo.objects, refs.read_head(repo)))
    newest = {edit.path: edit.after for edit in edits}
    return {
        path: build_change(head(path), entry)
        for path, entry in newest.items()
        if head(path) != entry
    }


@value_class
class _Span:
    """When a call or an edit of a turn began and ended, in ns."""

    turn: str
    start: int
    end: int


def _unite_spans(parts: Iterable[_Span]) -> list[tuple[float, float]]:
    """(start, end) of each turn, in seconds since 1970, by the calls and edits in it."""
    spans: dict[str, tuple[float, float]] = {}
    for part in parts:
        start = part.start / 1e9
        end = part.end / 1e9
        span = spans.get(part.turn, (start, end))
        spans[part.turn] = (min(span[0], start), max(span[1], end))
    return sorted(spans.values())


# Resolving a name to a commit, a checkpoint or a session.
_HEX = frozenset("0123456789abcdef")
_STORED = (
    "Checkpoint: ",
    "Finalize transcript for Checkpoint: ",
    "Follow lines of Checkpoint: ",
)


@value_class
class Subject:
    """What a name means.

    kind: "commit", "temporary", "checkpoint" or "session"; '' for a point.  key: the oid or id."""

    kind: str
    key: str


class Unknown(Error):
    """A name that no commit, checkpoint or session has."""


def resolve_name(repo: Repo, name: str) -> Subject:
    """Resolve a revision of git, or the beginning of the id of a checkpoint or a session.

    A full checkpoint id goes before a commit whose id begins so.  Raises Unknown for an unknown
    name, and Error with a list for an ambiguous one.
    """
    if not name or any(c < " " for c in name):
        raise InputError(f"not a name: {name!a}")
    if ids_.is_checkpoint_id(name) and checkpoints.find_checkpoint(repo, name):
        return Subject("checkpoint", name)
    commit = _find_commit(repo, name)
    if commit:
        return _identify_commit(repo.objects, commit)
    subject = find_recorded(repo, name)
    if subject is None and name == "HEAD":
        raise Error("there is no commit yet")
    if subject is None:
        raise Unknown(f"no such commit, checkpoint or session: '{name}'")
    return subject


def find_recorded(repo: Repo, name: str, *, every: bool = False) -> Subject | None:
    """The checkpoint or session whose id begins with name; None if there is none.

    Sessions with a state go before those that are only stored, unless every is set.  Raises Error
    with a list for an ambiguous name.
    """
    checkpoint_ids = listing.find_matching_ids(repo, name)
    sessions = list_named(name, others.list_state_ids(repo))
    if every:
        sessions = sorted({*sessions, *_list_stored(repo, name)})
    if name not in (*checkpoint_ids, *sessions) and len(checkpoint_ids) + len(sessions) > 1:
        raise Error(f"ambiguous name '{name}': {' '.join([*checkpoint_ids, *sessions][:20])}")
    if sessions:
        return Subject("session", sessions[0])
    if checkpoint_ids:
        return Subject("checkpoint", checkpoint_ids[0])
    stored = _list_stored(repo, name)
    if stored:
        return Subject("session", pick_id(name, stored))
    return None


def find_temporary(repo: Repo, name: str) -> str | None:
    """The oid of a temporary checkpoint; None for another name, or a committed checkpoint's id.
    Raises Error for an ambiguous name."""
    if not name or any(c < " " for c in name):
        raise InputError(f"not a name: {name!a}")
    try:
        if ids_.is_checkpoint_id(name) and checkpoints.find_checkpoint(repo, name):
            return None
    except Error:
        return None  # a damaged committed one, which its reader reports
    commit = _find_commit(repo, name)
    if commit is None:
        return None
    subject = _identify_commit(repo.objects, commit)
    if subject.kind != "temporary":
        return None
    return subject.key


def _find_commit(repo: Repo, name: str) -> str | None:
    """The oid of a commit by git's rules; None if there is none."""
    commit = repo.objects.read(f"{name}^{{commit}}")
    if commit:
        return commit[0]
    if len(name) < 4 or not _HEX.issuperset(name):
        return None
    oids = repo.git.read_records("rev-parse", f"--disambiguate={name}", sep=b"\n")
    if len(oids) > 1:
        kinds = repo.git.run("cat-file", "--batch-check", stdin=b"\n".join(oids) + b"\n")[1]
        commits = [line.split()[0].decode() for line in kinds.splitlines() if b" commit " in line]
        if commits:
            ids_.pick_match("commit", name, commits)
    return None


def _identify_commit(objects: Objects, oid: str) -> Subject:
    message = objects.need(oid, "commit").partition(b"\n\n")[2].decode(errors="replace")
    subject = message.partition("\n")[0]
    if stream.find_trailer(message, SESSION_KEY):
        last = subject.rpartition(" ")[2]
        if subject.startswith(_STORED) and ids_.is_checkpoint_id(last):
            return Subject("checkpoint", last)
        return Subject("temporary", oid)
    return Subject("commit", oid)


def _list_stored(repo: Repo, name: str) -> list[str]:
    found: list[str] = []
    for checkpoint in listing.list_checkpoints(repo, skip_summary=True):
        for session in checkpoint["sessions"]:
            if is_named(session["session_id"], name):
                found.append(session["session_id"])
    return found


# Summaries of a committed checkpoint's sessions, by the command of gitcp.summarize.
#
# Only a person's command runs it, never a hook: it may cost money and send data elsewhere.
_SUMMARY_SECONDS = 300


def summarize_sessions(repo: Repo, checkpoint_id: str, force: bool) -> Iterator[str]:
    """Summarize the sessions of a checkpoint that have no summary, or all with force; yield the id
    of each when its summary is stored.

    Raises Error if the command fails or prints no summary.
    """
    checkpoint = checkpoints.read_checkpoint(repo, checkpoint_id)
    for entry in checkpoint["sessions"]:
        session = checkpoints.read_session(repo.objects, checkpoint, entry["index"])
        metadata = session.metadata
        if (metadata.get("summary") and not force) or not session.transcript:
            continue
        start = metadata.get("checkpoint_transcript_start")
        start = start if isinstance(start, int) else 0
        dialogue = conversation.list_entries(session.transcript, start)
        request = schema.build_request(metadata.get("files_touched") or (), dialogue)
        summary = _redact_summary(repo, schema.parse_summary(_ask_model(repo, request)))
        session_id = session.session_id
        data: writing.SessionData = {"session_id": session_id}
        data["metadata"] = {"summary": summary}
        subject = f"Update summary for checkpoint {checkpoint_id} (session: {session_id})"
        writing.write_sessions(repo, [(checkpoint_id, data)], subject=subject)
        yield session_id


def write_prose(repo: Repo, request: str) -> str:
    """The model's answer to a request, as redacted text.  Raises Error if the command fails."""
    printed = _ask_model(repo, request)
    return redactor.redact_text(repo, schema.parse_prose(printed)).strip()


def _redact_summary(repo: Repo, summary: dict[str, object]) -> dict[str, object]:
    """Redact a summary: a model may repeat a secret, or join pieces of it."""
    data = redactor.get_redactor(repo).redact_document(json.dumps(summary).encode())
    redacted: dict[str, object] = json.loads(data)
    return redacted


def _ask_model(repo: Repo, request: str) -> str:
    """The output of gitcp.summarize for a request on its standard input, run outside of the
    repository."""
    command = repo.config.get_option("gitcp.summarize")
    term.show_line("waiting for the model")
    env = {k: v for k, v in repo.git.env.items() if not k.startswith("GIT_")}
    with tempfile.TemporaryDirectory() as folder:
        argv = ("sh", "-c", f'cd "$1" && {command}', "sh", folder)
        try:
            _, out = Running(argv, env, True).finish(request.encode(), limit=_SUMMARY_SECONDS)
            term.hide_progress()
        except GitError as e:
            raise Error(f"'{command}' failed: {e.complaint}") from None
    return out.decode(errors="replace")


def read_records(repo: Repo, name: str) -> list[Record]:
    """read_subject() of a name; raises Error also as resolve_name() does."""
    return read_subject(repo, resolve_name(repo, name))


def read_subject(repo: Repo, subject: Subject, lazy: bool = False) -> list[Record]:
    """The checkpoints of a commit, or a checkpoint, or a session with its turns.

    Transcripts are bytes.  lazy: the checkpoints of a session are an iterator that reads one at a
    time.  Raises Error for a commit without a checkpoint."""
    kind = subject.kind
    key = subject.key
    if kind == "commit":
        return read_linked(repo, key)
    if kind == "checkpoint":
        return read_committed(repo, [key])
    if kind == "temporary":
        return [read_temporary(repo, key)]
    if key in others.list_state_ids(repo):
        states_here = [read_state(repo, key)]
    else:
        states_here = []
    sessions = build_records(states_here, list_temporary(repo))
    sessions = add_stored(repo, sessions, session_id=key)
    turns = [(session, _read_turns(repo, session)) for session in sessions]
    return [{**session, "checkpoints": part if lazy else list(part)} for session, part in turns]


def _read_turns(repo: Repo, session: Record) -> Iterator[Record]:
    """The checkpoints of a session with `asked`, its prompts, and `files`: path -> 'added',
    'modified' or 'deleted', or '' for a committed one.

    An unreadable checkpoint has neither.  Checkpoints that a rewind wrote are left out.
    """
    chains = stream_list.read_chains(repo, stream.list_tips(repo))
    temporary = {}
    for chain in chains.values():
        for step in chain:
            temporary[step["oid"]] = step
    committed = [one["checkpoint_id"] for one in session["checkpoints"] if one["checkpoint_id"]]
    carriers = listing.find_carriers(repo, committed)
    known_heads = heads.Heads(repo)
    for checkpoint in session["checkpoints"]:
        if checkpoint["message"] == stream.FOLLOWED:
            continue
        try:
            more = _read_turn(repo, session["session_id"], checkpoint, temporary, known_heads)
        except Error:
            more = {}
        commits = carriers.get(checkpoint["checkpoint_id"]) or [""]
        yield {**checkpoint, **more, "commit": commits[0]}


def _read_turn(
    repo: Repo,
    session_id: str,
    checkpoint: Record,
    temporary: dict[str, Record],
    known_heads: heads.Heads,
) -> Record:
    if checkpoint["checkpoint_id"]:
        stored = checkpoints.read_checkpoint(repo, checkpoint["checkpoint_id"])
        entry = checkpoints.pick_session(stored, session_id)
        asked = checkpoints.Parts(repo.objects, stored["checkpoint_id"]).read_prompts(
            entry["files"], entry["directory"]
        )
        part = schema.build_part(entry["metadata"], asked)
        known_heads.add([part], [entry])
        return {"asked": part["asked"], "files": dict.fromkeys(part["files"], "")}
    step = stream_list.read_details(repo.objects, temporary[checkpoint["oid"]])
    return {"asked": [step["prompt"]] if step["prompt"] else [], "files": step["files"]}


class NoSession(Error):
    """No session is behind a commit.  oid: of the commit.  author: who wrote it instead."""

    def __init__(self, lines: CommitLines) -> None:
        self.oid = lines.counts.oid
        self.author = lines.other
        super().__init__(f"no session is behind commit '{abbreviate(self.oid)}'")


def find_newest_with_session(repo: Repo, oid: str) -> str:
    """The newest commit in the history of a commit that is linked to a checkpoint by its message;
    '' for none."""
    args = ["--format=%H", "--no-show-signature", "--no-notes", "-E"]
    grep = ["--regexp-ignore-case", commit_message.GREP]
    for line in repo.git.stream_records("log", *args, *grep, oid, sep=b"\n"):
        named = line.decode()
        if listing.list_linked(repo.objects, named):
            return named
    return ""


def read_linked(repo: Repo, oid: str) -> list[Record]:
    """The checkpoints behind a commit (full oid): those that it is linked to, then those of other
    sessions that wrote lines of it, as a person moves them.

    They are as read_committed() makes them, with this commit alone.  Raises NoSession if no session
    is behind it, Error if no checkpoint that it is linked to is here."""
    names = listing.list_ids(repo, oid)
    here = [name for name in names if checkpoints.find_checkpoint(repo, name)]
    if names and not here:
        absent = f"the conversation of {abbreviate(oid)} is not here"
        raise Error(f"{absent}: 'gitcp fetch' may bring it")
    lines = prompt_lines.read_commits(repo, [oid])[oid]
    behind = _Behind(repo)
    for name in here:
        behind.add_linked(name, lines)
    behind.add_others(lines)
    if not behind.records:
        raise NoSession(lines)
    for name in names:
        if name not in here:
            absent_one = {"type": "checkpoint", "checkpoint_id": name}
            behind.records.append({**absent_one, "linked": True, "missing": True})
    return behind.records


def read_committed(repo: Repo, ids: list[str]) -> list[Record]:
    """A record for each checkpoint id: that of list-checkpoints, with its commits on any branch,
    each with `lines` and `files` (path -> session or a word of WHO -> added lines), and contents:
    each session's part, prompts, transcript (bytes), linked_turns, the turns {turn_id, number,
    prompt} that made the commit's files, and `wrote`, what its prompts wrote of the first commit
    (PromptLines.build_turn())."""
    behind = _Behind(repo)
    carrying = listing.find_carriers(repo, ids)
    for name in ids:
        behind.add_whole(name, carrying[name])
    return behind.records


class _Behind:
    """Reads the checkpoints behind commits into records."""

    def __init__(self, repo: Repo) -> None:
        self.records: list[Record] = []
        self._repo = repo
        self._heads = heads.Heads(repo)
        self._told: set[str] = set()  # the sessions in the records

    def add_whole(self, name: str, oids: Sequence[str]) -> None:
        """Add a checkpoint with the commits that carry it, and all of its sessions."""
        checkpoint = checkpoints.read_checkpoint(self._repo, name)
        told = prompt_lines.read_commits(self._repo, oids)
        lines = [told[oid] for oid in oids if oid in told]
        sessions = {entry["session_id"] for entry in checkpoint["sessions"]}
        self._add(checkpoint, lines, sessions, linked=True)

    def add_linked(self, name: str, lines: CommitLines) -> None:
        """Add a checkpoint that a commit is linked to, with its sessions of which the commit has
        something."""
        checkpoint = checkpoints.read_checkpoint(self._repo, name)
        sessions = recorded_edits.select_sessions(self._repo.objects, lines.counts.oid, checkpoint)
        for prompt in lines.prompts:
            sessions.add(prompt.session_id)
        self._add(checkpoint, [lines], sessions, linked=True)

    def add_others(self, lines: CommitLines) -> None:
        """Add the newest checkpoint, if it is here, of each session that wrote lines of a commit
        and is in no record yet."""
        names: dict[str, set[str]] = {}
        for prompt in lines.prompts:
            if prompt.session_id not in self._told:
                names.setdefault(prompt.session_id, set()).update(prompt.checkpoints)
        sessions: dict[str, set[str]] = {}  # by checkpoint
        stored: dict[str, StoredCheckpoint] = {}
        for session_id, ids in names.items():
            newest = self._find_newest(session_id, ids)
            if newest is not None:
                name = newest["checkpoint_id"]
                stored[name] = newest
                sessions.setdefault(name, set()).add(session_id)
        for name, checkpoint in stored.items():
            self._add(checkpoint, [lines], sessions[name], linked=False)

    def _find_newest(self, session_id: str, ids: Iterable[str]) -> StoredCheckpoint | None:
        """The checkpoint of a session whose conversation goes furthest, of those that are here."""
        newest: StoredCheckpoint | None = None
        newest_time = ""
        for name in sorted(ids):
            try:
                checkpoint = checkpoints.read_checkpoint(self._repo, name)
                entry = checkpoints.pick_session(checkpoint, session_id)
            except Error:
                continue
            time = str(entry["metadata"].get("created_at") or "")
            if newest is None or time > newest_time:
                newest = checkpoint
                newest_time = time
        return newest

    def _add(
        self,
        checkpoint: StoredCheckpoint,
        lines: Sequence[CommitLines],
        sessions: Collection[str],
        *,
        linked: bool,
    ) -> None:
        """Add the record of a checkpoint with some of its sessions.  lines: of its commits, of
        which the sessions tell of the first.  linked: whether they name it."""
        names = read_names(self._repo, {one.counts.oid for one in lines})
        commits = []
        for one in lines:
            oid = one.counts.oid
            commit = parse_commit(oid, self._repo.objects.need(oid, "commit"))
            told = {"lines": one.counts.build_lines(), "files": one.counts.map_files()}
            subject = commit["message"].partition("\n")[0]
            time = parse_ident(commit["committer"])[1]
            shown = {"oid": oid, "author": names[oid], "time": time, "message": subject}
            commits.append({**shown, **told})
        contents = []
        for entry in checkpoint["sessions"]:
            if entry["session_id"] not in sessions:
                continue
            self._told.add(entry["session_id"])
            content = checkpoints.read_session(self._repo.objects, checkpoint, entry["index"])
            sent = heads.list_sent(content)
            part = schema.build_part(content.metadata, sent)
            more = {
                "hash": content.hash,
                "tasks": content.tasks,
                "transcript": content.transcript,
                "prompts": sent,
            }
            wrote = self._list_wrote(checkpoint, entry, lines)
            turns = {
                "linked_turns": _list_linked_turns(content.metadata),
                "wrote": [prompt.build_turn() for prompt in wrote],
                "model": tally.find_model(content.metadata.get("turns")),
            }
            self._heads.add([part], [entry])
            contents.append({"index": entry["index"], **part, **more, **turns})
        listed = listing.build_record(checkpoint)
        listed |= {"linked": linked, "commits": commits, "contents": contents}
        self.records.append(listed)

    def _list_wrote(
        self, checkpoint: StoredCheckpoint, entry: SessionEntry, lines: Sequence[CommitLines]
    ) -> list[PromptLines]:
        """What the prompts of a session wrote of the first commit."""
        wrote: list[PromptLines] = []
        for one in lines[:1]:
            wrote = [prompt for prompt in one.prompts if prompt.session_id == entry["session_id"]]
            wrote += self._list_unwritten(wrote, one.counts.oid, checkpoint, entry)
        return wrote

    def _list_unwritten(
        self,
        wrote: Sequence[PromptLines],
        oid: str,
        checkpoint: StoredCheckpoint,
        entry: SessionEntry,
    ) -> list[PromptLines]:
        """Add to what prompts wrote the files that a commit (full oid) changed to what the session
        left, without a line of it: those that it deleted, and those of which it has no lines, as a
        binary one.  Return the further prompts that did."""
        left = recorded_edits.parse_edits({**checkpoint, "sessions": [entry]})
        for prompt in wrote:
            for path in prompt.files:
                left.pop(path, None)
        changes = _find_changes(self._repo.objects, oid, left)
        linked = {str(turn["turn_id"]): turn for turn in _list_linked_turns(entry["metadata"])}
        causes = schema.build_part(entry["metadata"])["files"]
        by_turn = {prompt.turn_id: prompt for prompt in wrote}
        further: list[PromptLines] = []
        for path, (_, _, _, new) in changes.items():
            if new != left[path]["oid"]:
                continue
            turn_id = causes[path]["turn_id"]
            if turn_id not in by_turn:
                number = linked.get(turn_id, {}).get("number")
                prompt = prompt_lines.PromptLines(
                    entry["session_id"], turn_id, number, causes[path]["prompt"]
                )
                by_turn[turn_id] = prompt
                further.append(prompt)
            if new is None:
                by_turn[turn_id].deleted.append(path)
            else:
                by_turn[turn_id].files[path] = 0
        return further


def _find_changes(objects: Objects, oid: str, paths: Iterable[str]) -> Changes:
    """The changes that a commit (full oid) makes to those of the paths that it changes."""
    commit = read_commit(objects, oid)
    changes: Changes = {}
    if commit is None:
        return changes
    find_old = build_finder(objects, "".join(commit["parents"][:1]))
    find_new = build_finder(objects, oid)
    for path in paths:
        old = find_old(path)
        new = find_new(path)
        if old != new:
            changes[path] = build_change(old, new)
    return changes


def _list_linked_turns(metadata: Record) -> list[Record]:
    """The turns in a session's metadata, by number; [] in data of the original program."""
    turns = ensure_object(metadata.get("turns"))
    rows = [{"turn_id": name, **ensure_object(turn)} for name, turn in turns.items()]
    return sorted(rows, key=lambda row: n if isinstance(n := row.get("number"), int) else 0)


def read_temporary(repo: Repo, oid: str) -> Record:
    """The record of a temporary checkpoint (read-stream) with its agent, turn id, transcript
    (bytes) and `start`, the line where the turn's part of the transcript begins."""
    commit = parse_commit(oid, repo.objects.need(oid, "commit"))
    message = commit["message"]
    tip: Tip = {
        "ref": "",
        "oid": oid,
        "tree": commit["tree"],
        "stream": stream.find_trailer(message, "Gitcp-Stream") or oid[:12],
        "base": stream.find_trailer(message, "Base-Commit"),
        "session_id": stream.find_trailer(message, SESSION_KEY),
        "time": 0,
    }
    (step, *_) = stream_list.read_chains(repo, [tip])[""]
    detailed = stream_list.read_details(repo.objects, step)
    del detailed["ref"]
    entry = Lookup(repo.objects, tip["tree"])(stream.METADATA + tip["session_id"])
    if entry:
        files = read_tree(repo.objects, entry[1])
    else:
        files = {}
    parts = checkpoints.Parts(repo.objects, oid[:12])
    state = parts.read_json(files, "", "state", stream.NAME)
    return {
        **detailed,
        "agent": state.get("agent_type", ""),
        "turn_id": state.get("turn_id", ""),
        "start": state.get("checkpoint_transcript_start", 0),
        "transcript": parts.read_transcript(files),
    }


# Fetching missing checkpoints from where they are sent when a person asks for one.
_SECONDS = 5.0


def fetch_missing(repo: Repo, name: str, depth: int = 1, *, offline: bool = False) -> None:
    """Fetch the store if it lacks the checkpoint of name, a checkpoint or a commit, and objects of
    it that a partial clone left out.

    depth: the number of first parents that are searched for a commit with a checkpoint.  Messages
    go to standard error.  Each fetch takes 5 seconds at most.  offline: nothing is fetched.
    """
    if offline:
        cat_file.forbid_fetch(repo)
        return
    _fetch_store(repo, name, depth)
    remote = cat_file.find_remote(repo)
    if remote:
        _fetch_parts(repo, remote, name, depth)


def _fetch_parts(repo: Repo, remote: str, name: str, depth: int) -> None:
    names = _list_ids(repo, name, depth)
    stored = (checkpoints.find_checkpoint(repo, id_) for id_ in names)
    trees = [place[1] for place in stored if place]
    if not trees or not cat_file.lacks_objects(repo, trees):
        return
    console.tell(f"fetching transcripts from '{remote}'")
    if not cat_file.fetch_missing(repo, remote, trees, _SECONDS, walk=True):
        cat_file.forbid_fetch(repo)
        repo.objects.close()  # a git that runs may fetch
        console.warn_lacking(f"'{remote}' did not answer in {_SECONDS:g} seconds")


def _fetch_store(repo: Repo, name: str, depth: int) -> None:
    lacking = _list_lacking(repo, name, depth)
    if not lacking:
        return
    for place in places.list_sources(repo):
        console.tell(f"fetching checkpoints from '{place.label}'")
        try:
            sync.fetch_store(repo, place, _SECONDS, lacking)
        except Error as e:
            console.warn_lacking(str(e))
            continue
        lacking = _list_lacking(repo, name, depth)
        if not lacking:
            return
        what = f"checkpoint{'s' if len(lacking) > 1 else ''} {' '.join(lacking)}"
        console.tell(f"'{place.label}' does not have {what}: perhaps it was not pushed yet")


def _list_lacking(repo: Repo, name: str, depth: int) -> list[str]:
    """The ids of the checkpoints of name that are not stored here."""
    names = _list_ids(repo, name, depth)
    return [id_ for id_ in names if checkpoints.find_checkpoint(repo, id_) is None]


def _list_ids(repo: Repo, name: str, depth: int) -> list[str]:
    """A checkpoint's own id, or the ids on a commit or on the nearest first parent that has any."""
    if ids_.is_checkpoint_id(name):
        return [name]
    try:
        subject = resolve_name(repo, name)
    except Error:
        return []
    if subject.kind != "commit":
        return []
    oid = subject.key
    commits = [oid]
    if depth > 1:
        commits = object_lists.list_commits(repo, "--first-parent", f"--max-count={depth}", oid)
    linked = (listing.list_ids(repo, commit) for commit in commits)
    return next(filter(None, linked), [])
