"""The tables of a dataset of facts: columns, types and units.  Any change needs a new VERSION.

gitcp-facts(5) and share/gitcp/schema/facts.json describe them as well.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    Column = tuple[str, str, str]  # name, type, meaning

VERSION = 1
TEXT, INTEGER, NUMBER, FLAG = "text", "integer", "number", "flag"

_COMMIT: tuple[Column, ...] = (
    ("repository", TEXT, "the name under which the repository was exported"),
    ("month", TEXT, "the month of time, YYYY-MM in UTC"),
    ("commit", TEXT, "the full object name of the commit"),
    ("time", INTEGER, "the author date, in seconds since 1970-01-01 UTC"),
)
_SESSION: tuple[Column, ...] = (
    ("checkpoint", TEXT, "the id of the checkpoint"),
    ("session", TEXT, "the id of the session"),
)
_WHO: tuple[Column, ...] = (
    ("agent", INTEGER, "added lines that sessions wrote"),
    ("person", INTEGER, "added lines that the person wrote"),
    ("unknown", INTEGER, "added lines whose author the checkpoint does not know"),
    ("unrecorded", INTEGER, "added lines from a time when nothing was recorded"),
)
TABLES: dict[str, tuple[Column, ...]] = {
    "commits": (
        *_COMMIT,
        ("author", TEXT, "the name of the author"),
        ("mail", TEXT, "the mail address of the author"),
        ("team", TEXT, "the team of that address in .gitcp.toml, or empty"),
        ("change", TEXT, "the merge that brought it to the main line, or the commit itself"),
        ("merge", FLAG, "the commit has several parents; the merged commits count its lines"),
        ("linked", FLAG, "the commit names a checkpoint"),
        ("attested", TEXT, "the agent that a commit without a checkpoint names, or empty"),
        ("added", INTEGER, "lines that the commit adds; null with --light, as all that follow"),
        ("removed", INTEGER, "lines that the commit removes"),
        *_WHO,
        ("removed_agent", INTEGER, "removed lines that sessions removed"),
        ("removed_person", INTEGER, "removed lines that the person removed"),
    ),
    "checkpoints": (
        *_COMMIT,
        ("checkpoint", TEXT, "the id of a checkpoint that the commit names"),
        ("branch", TEXT, "the branch on which it was made, or empty"),
        ("sessions", INTEGER, "the number of its sessions"),
    ),
    "sessions": (
        *_COMMIT,
        *_SESSION,
        ("agent", TEXT, "the name of the agent"),
        ("model", TEXT, "the model of its last turn in the checkpoint, or empty"),
        ("turns", INTEGER, "the number of its turns in the checkpoint"),
        (
            "input_tokens",
            INTEGER,
            "input outside the cache, since the session's previous checkpoint",
        ),
        ("cache_creation_tokens", INTEGER, "input that was written to the cache"),
        ("cache_read_tokens", INTEGER, "input that was read from the cache"),
        ("output_tokens", INTEGER, "output"),
        ("api_calls", INTEGER, "requests to the model"),
        ("usd", NUMBER, "the price in US dollars by that day's price list, null if unknown"),
    ),
    "turns": (
        *_COMMIT,
        *_SESSION,
        ("number", INTEGER, "the number of the prompt in the session, from 1"),
        ("turn", TEXT, "the id of the turn, or empty if no line has it"),
        ("model", TEXT, "the model, or empty"),
        ("begun", INTEGER, "its beginning, in seconds since 1970-01-01 UTC, null if unknown"),
        ("calls", INTEGER, "the number of its tool calls"),
        ("prompt_length", INTEGER, "the length of its prompt in characters"),
        ("prompt", TEXT, "the redacted prompt; null without --text"),
    ),
    "calls": (
        *_COMMIT,
        *_SESSION,
        ("number", INTEGER, "the number of the prompt in the session, from 1"),
        ("call", TEXT, "the client's id of the call, or empty"),
        ("tool", TEXT, "the name of the tool"),
        ("begun", INTEGER, "its beginning, in seconds since 1970-01-01 UTC, null if unknown"),
        ("failed", FLAG, "the client reported a failure"),
    ),
    "files": (
        *_COMMIT,
        ("path", TEXT, "the path of the file; of a deleted file the former path"),
        ("added", INTEGER, "lines that the commit adds to it"),
        ("removed", INTEGER, "lines that the commit removes from it"),
        *_WHO,
    ),
    "authored_lines": (
        *_COMMIT,
        ("path", TEXT, "the file"),
        ("first", INTEGER, "the first line of the run in the commit's version, from 1"),
        ("lines", INTEGER, "the number of lines in the run"),
        ("who", TEXT, "session, person, unknown or unrecorded"),
        ("agent", TEXT, "of a session's line: the agent"),
        ("model", TEXT, "of a session's line: the model"),
        ("session", TEXT, "of a session's line: the session"),
        ("turn", TEXT, "of a session's line: the id of the turn"),
        ("call", TEXT, "of a session's line: the id of the tool call, or empty"),
        ("checkpoint", TEXT, "of a session's line: the checkpoint that says so"),
    ),
    "survival": (
        *_COMMIT,
        ("event", TEXT, "born: the commit adds lines of an agent; gone: it removes such lines"),
        ("lines", INTEGER, "the number of lines"),
        ("agent", TEXT, "the agent that wrote them"),
        ("model", TEXT, "its model"),
        ("born", INTEGER, "the day on which they were added, in seconds since 1970-01-01 UTC"),
        ("born_month", TEXT, "the month of that day, YYYY-MM"),
        ("age", INTEGER, "the days from born to the commit, at least 0"),
        ("taker", TEXT, "of lines that are gone: who removed them, agent, person or unknown"),
    ),
}
