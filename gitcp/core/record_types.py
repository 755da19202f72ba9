"""The shapes of stored data and of the records that pass between rooms.

Nothing imports this module at run time.  A shape that a single function uses is defined beside
it.  gitcp-formats(5) describes the keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NotRequired, TypedDict

# Decoded JSON, as stages pass it on.  A function of core declares the keys it reads by a TypedDict.
Record = dict[str, Any]
Stage = Callable[[Iterable[Record]], Iterable[Record]]
Finding = dict[str, Any]  # type, kind (the code), severity, subject, reason, and facts

# Objects of git.
Entry = tuple[str, str]  # mode as git prints it ("100644"), oid
Version = Entry | None  # None: nothing is there
Entries = dict[str, Version]  # by path
Tree = dict[str, Entry]  # by name


class Commit(TypedDict):
    """A parsed commit; message: the text after the header's empty line."""

    oid: str
    tree: str
    parents: list[str]
    author: str
    committer: str
    message: str


# Payloads of an agent's client.
class Tool(TypedDict):
    """A tool call; id is "" if the client gives none (Gemini)."""

    name: str
    id: str
    kind: str  # write (names its paths), shell, mcp, task, todo, read, other (may write)
    input_paths: list[str]  # absolute paths that its input says it will write
    failed: bool
    background: NotRequired[bool]  # it runs on after its end event
    background_id: NotRequired[str]  # the client's name of the background task
    duration_ms: NotRequired[int]  # run time, without the time a person took to approve it
    interrupted: NotRequired[bool]
    command: NotRequired[str]
    output: NotRequired[str]  # of a shell, as much as the client reports, at most 64 Ki characters
    edits: NotRequired[list[tuple[str, str, bool]]]  # of one path: old, new, whether everywhere
    content: NotRequired[str]  # the whole content it writes to one path
    original: NotRequired[str]  # the content it found there
    todos: NotRequired[list[dict[str, Any]]]
    subagent_type: NotRequired[str]
    description: NotRequired[str]
    agent_id: NotRequired[str]  # the subagent that it started


class Event(TypedDict):
    """A hook call in gitcp's words; an event called unknown has the first three keys alone."""

    type: str
    event: str
    agent: str
    session_id: NotRequired[str]
    cwd: NotRequired[str]
    came: NotRequired[int]  # arrival, ns since 1970, in a process that takes more than one event
    notification: NotRequired[bool]  # the client wrote the prompt, to report background tasks
    ended_tasks: NotRequired[list[dict[str, str]]]  # id, tool_use_id, status: the reported tasks
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
    tools: NotRequired[list[Tool]]  # the calls of a response, if the client reports them together


class Usage(TypedDict):
    """Tokens, and calls of the model; subagent_tokens: the usage of its subagents."""

    input_tokens: int
    cache_creation_tokens: int
    cache_read_tokens: int
    output_tokens: int
    api_call_count: int
    subagent_tokens: NotRequired[Usage]


class Scan(TypedDict):
    """The facts of a transcript, as far as it has been read.

    items: number of lines (Gemini: of messages).  bytes: the settled prefix; a later scan takes
    the bytes after it and this scan as previous (Gemini: 0, each scan reads everything).
    prompts: the person's, cleaned.  written: paths as the agent named them, each once.
    subagents: their ids.  skipped: lines that should be JSON and are not.
    model: of the newest answer, if the client's events do not name it.
    last_identifier: of the newest message that has one.  carry: state for a continued scan.
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
    """A process of a machine.  start: clock ticks since boot, '' where reading it is costly."""

    pid: int
    start: str
    boot_id: str
    host: str


# The session.
class File(TypedDict):
    """The entry that a session last wrote to a path; oid '': the session deleted the path."""

    oid: str
    mode: str
    turn_id: NotRequired[str]


class Stream(TypedDict):
    """A stream as a state names it.  files: the paths with open edits.  They are read from the
    journal (store.journal.work) and not stored in the state's file."""

    id: str
    ref: str
    base_commit: str
    files: dict[str, File]


class Verdict(TypedDict):
    """The stream that a turn continues.  verdict: none, continue, reset, restore or new; ref, tip:
    of the stream it applies to."""

    verdict: str
    ref: str
    tip: str
    reason: str


class State(TypedDict, total=False):
    """A session, <common>/entire-sessions/<id>.json; other keys are preserved."""

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
    tasks: dict[str, dict[str, Any]]  # tool use id -> a running subagent
    ended_tasks: dict[str, dict[str, Any]]  # likewise, ended and not yet in a checkpoint
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
    tokens_before: Usage  # used in its transcript before the session began
    agent_process: Process | None
    multisession_warned: dict[str, Any]
    resumed: bool  # until its next prompt
    late_calls: bool  # calls of an ended turn still run
    visits: list[str]  # ids of other worktrees in which it has open edits
    over_limit: dict[str, str]  # path -> the setting that keeps it out of checkpoints
    unstored: list[str]  # its new files over a limit that no commit has yet
    tool_events: bool  # its client reports tool calls
    unreadable: str  # why its file cannot be read


class Marker(TypedDict):
    """The keys that a commit hook reads of a session with open edits (store.session.markers)."""

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
    """The newest commit of a stream.  base: full oid, or the digits in the stream's name."""

    ref: str
    oid: str
    tree: str
    stream: str
    base: str
    session_id: str
    time: int


# The journal.
Writer = tuple[str, str, str]  # of an edit: session, turn, tool use; or PERSON; or UNKNOWN
JournalLine = dict[str, Any]  # core.credit.entries lists the kinds
