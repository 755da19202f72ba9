"""The shapes of what is stored and handed from room to room, in one place to look them up.

Only type checkers and people read this: nothing imports it when it runs.  What a single function
makes or takes stands beside it; the keys and their history are in gitcp-formats(5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NotRequired, TypedDict

# What stages hand on: decoded JSON.  A function of core says by a TypedDict what it needs of it.
Record = dict[str, Any]
Stage = Callable[[Iterable[Record]], Iterable[Record]]
Finding = dict[str, Any]  # type, kind (the code), severity, subject, reason, and facts

# What git has.
Entry = tuple[str, str]  # mode as git prints it ("100644"), oid
Version = Entry | None  # None: nothing is there
Entries = dict[str, Version]  # by path
Tree = dict[str, Entry]  # by name


class Commit(TypedDict):
    """A commit taken apart; message is what follows the header's empty line."""

    oid: str
    tree: str
    parents: list[str]
    author: str
    committer: str
    message: str


# What an agent's client tells.
class Tool(TypedDict):
    """A tool call; id is "" where the client gives none (Gemini)."""

    name: str
    id: str
    kind: str  # write (names its paths), shell, mcp, task, todo, read, other (may write)
    input_paths: list[str]  # absolute; what its input says it will write
    failed: bool
    background: NotRequired[bool]  # it goes on after its end event
    background_id: NotRequired[str]  # by which the client speaks of it afterwards
    duration_ms: NotRequired[int]  # what it took, a person's thinking time left out
    interrupted: NotRequired[bool]
    command: NotRequired[str]
    output: NotRequired[str]  # of a shell, as far as its client tells, at most 64 Ki characters
    edits: NotRequired[list[tuple[str, str, bool]]]  # of one path: old, new, whether everywhere
    content: NotRequired[str]  # all that it writes into one path
    original: NotRequired[str]  # what it has found there
    todos: NotRequired[list[dict[str, Any]]]
    subagent_type: NotRequired[str]
    description: NotRequired[str]
    agent_id: NotRequired[str]  # the subagent that it started


class Event(TypedDict):
    """A hook call in our words; of an event called unknown only the first three keys."""

    type: str
    event: str
    agent: str
    session_id: NotRequired[str]
    cwd: NotRequired[str]
    came: NotRequired[int]  # ns since 1970, to a process that takes more than one event
    notification: NotRequired[bool]  # the prompt is the client's, of a background task
    ended_tasks: NotRequired[list[dict[str, str]]]  # id, tool_use_id, status: what it tells of
    background_tasks: NotRequired[list[dict[str, str]]]  # id, status, command: left running
    model: NotRequired[str]
    agent_id: NotRequired[str]  # the subagent in which it happened
    agent_type: NotRequired[str]
    turn: NotRequired[str]
    transcript_path: NotRequired[str]  # the session's
    agent_transcript_path: NotRequired[str]  # the subagent's
    prompt: NotRequired[str]
    source: NotRequired[str]
    reason: NotRequired[str]
    last_message: NotRequired[str]
    tool: NotRequired[Tool]
    tools: NotRequired[list[Tool]]  # of a whole response, where the client tells only that


class Usage(TypedDict):
    """Tokens, and calls of the model; subagent_tokens is what its subagents used."""

    input_tokens: int
    cache_creation_tokens: int
    cache_read_tokens: int
    output_tokens: int
    api_call_count: int
    subagent_tokens: NotRequired[Usage]


class Scan(TypedDict):
    """What a transcript says, as far as it has been read.

    items: its lines (Gemini: messages).  bytes: how many of them are settled; a later scan
    may be given only what follows, with this one as previous (Gemini: 0, always the whole).
    prompts: the person's, cleaned, and written: paths as the agent named them, each once.  usage,
    subagents (their ids), skipped (lines that should be JSON and are not): of everything read.
    model: of the newest answer, where a client's events do not tell.  last_identifier: of the
    newest message that has one.  carry: what a continued scan has to know.
    """

    items: int
    bytes: int
    skipped: int
    prompts: list[str]
    written: list[str]
    usage: Usage | None
    model: NotRequired[str]
    subagents: list[str]
    last_identifier: str | None
    last_timestamp: str | None
    carry: dict[str, Any]


class Process(TypedDict):
    """A process of a machine.  start: clock ticks since boot, '' where the platform does not
    tell cheaply."""

    pid: int
    start: str
    boot_id: str
    host: str


# The session.
class File(TypedDict):
    """What a session last wrote to a path; oid '': it deleted it."""

    oid: str
    mode: str
    turn_id: NotRequired[str]


class Stream(TypedDict):
    """A stream as a state names it.  files: the paths whose work no commit has settled, as the
    journal has them (store.journal.work): no file of a state does."""

    id: str
    ref: str
    base_commit: str
    files: dict[str, File]


class Verdict(TypedDict):
    """Of a turn's start.  verdict: none, continue, reset, restore or new; ref, tip: of what."""

    verdict: str
    ref: str
    tip: str
    reason: str


class State(TypedDict, total=False):
    """A session, <common>/entire-sessions/<id>.json; keys that are not here are kept."""

    session_id: str
    agent_type: str
    cli_version: str
    strategy: str
    phase: str  # idle, active, ended
    revision: int  # counts the times it was saved
    started_at: str
    ended_at: str
    last_interaction_time: str
    worktree_path: str
    worktree_id: str  # git's name of a linked worktree
    transcript_path: str
    transcript_identifier_at_start: str
    checkpoint_transcript_start: int  # lines that committed checkpoints have
    first_prompt: str
    base_commit: str
    attribution_base_commit: str
    turn_id: str
    prompt_id: str  # the client's own name of the turn
    turns: dict[str, dict[str, Any]]  # turn id -> number, prompt, model
    tasks: dict[str, dict[str, Any]]  # tool use id -> a subagent that runs
    ended_tasks: dict[str, dict[str, Any]]  # the same of one that no checkpoint holds yet
    streams: list[Stream]  # the last one is where the session is
    files_touched: list[str]
    checkpoint_count: int
    shadow_ref: str
    shadow_branch_suffix: int
    should_reset_shadow_branch: bool
    verdict: Verdict
    last_verdict: Verdict
    last_checkpoint_id: str
    turn_checkpoint_ids: list[str]
    pending_finalize: dict[str, Any]
    token_usage: Usage
    tokens_at_condensation: Usage
    tokens_before: Usage  # what its transcript tells of the time before it began
    agent_process: Process | None
    multisession_warned: dict[str, Any]
    resumed: bool  # until its next prompt
    late_calls: bool  # calls of an ended turn still run
    visits: list[str]  # ids of other worktrees in which it has open edits
    over_limit: dict[str, str]  # path -> the setting that keeps it out of checkpoints
    tool_events: bool  # its client tells of tool calls
    unreadable: str  # why its file says nothing


class Marker(TypedDict):
    """What a commit hook needs of a session that has unsettled work (store.session.markers)."""

    session_id: str
    agent_type: str
    worktree_path: str
    worktree_id: str
    phase: str
    base_commit: str
    agent_process: Process | None
    prompt: str
    count: int
    tool_events: bool
    visits: NotRequired[list[str]]  # ids of other worktrees in which it has open edits
    streams: list[dict[str, Any]]  # id, ref


class Tip(TypedDict):
    """The newest commit of a stream.  base: full oid, or as far as the name tells it."""

    ref: str
    oid: str
    tree: str
    stream: str
    base: str
    session_id: str
    time: int


# The journal: who wrote what.
Writer = tuple[str, str, str]  # of an edit: session, turn, tool use; PERSON, or UNKNOWN
JournalLine = dict[str, Any]  # its kinds: core.credit.entries
