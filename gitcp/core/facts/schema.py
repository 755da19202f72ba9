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
    ("repository", TEXT, "the name it was exported under"),
    ("month", TEXT, "YYYY-MM of time, in UTC"),
    ("commit", TEXT, "its full object name"),
    ("time", INTEGER, "when its author made it: seconds since 1970-01-01 UTC"),
)
_SESSION: tuple[Column, ...] = (
    ("checkpoint", TEXT, "the id of the checkpoint"),
    ("session", TEXT, "the id of the session"),
)
_WHO: tuple[Column, ...] = (
    ("agent", INTEGER, "added lines that sessions wrote"),
    ("person", INTEGER, "added lines that the person wrote"),
    ("unknown", INTEGER, "added lines of which a checkpoint says nothing"),
    ("unrecorded", INTEGER, "added lines from where nothing was recorded"),
)
TABLES: dict[str, tuple[Column, ...]] = {
    "commits": (
        *_COMMIT,
        ("author", TEXT, "the name of its author"),
        ("mail", TEXT, "the address of its author"),
        ("team", TEXT, "the team of that address by .gitcp.toml, empty for none"),
        ("change", TEXT, "the commit by which it came to the main line: a merge, or itself"),
        ("merge", FLAG, "it has several parents; its lines were counted where they were made"),
        ("linked", FLAG, "it names a checkpoint"),
        ("attested", TEXT, "the agent that it names itself where no checkpoint does, else empty"),
        ("added", INTEGER, "lines that it adds; this and what follows is null with --light"),
        ("removed", INTEGER, "lines that it removes"),
        *_WHO,
        ("removed_agent", INTEGER, "removed lines that sessions removed"),
        ("removed_person", INTEGER, "removed lines that the person removed"),
    ),
    "checkpoints": (
        *_COMMIT,
        ("checkpoint", TEXT, "the id of a checkpoint that the commit names"),
        ("branch", TEXT, "the branch it was made on, empty where that is not stored"),
        ("sessions", INTEGER, "how many sessions it has"),
    ),
    "sessions": (
        *_COMMIT,
        *_SESSION,
        ("agent", TEXT, "the name of the agent"),
        ("model", TEXT, "the model of its last turn for the checkpoint, empty for an unknown one"),
        ("turns", INTEGER, "turns that the checkpoint has of it"),
        ("input_tokens", INTEGER, "input from no cache, since the session's checkpoint before"),
        ("cache_creation_tokens", INTEGER, "input that was put into a cache"),
        ("cache_read_tokens", INTEGER, "input from a cache"),
        ("output_tokens", INTEGER, "output"),
        ("api_calls", INTEGER, "calls of the model"),
        ("usd", NUMBER, "US dollars at list prices of that day, null where none is known"),
    ),
    "turns": (
        *_COMMIT,
        *_SESSION,
        ("number", INTEGER, "which prompt of the session it answers, from 1"),
        ("turn", TEXT, "the id of the turn, empty where no line names it"),
        ("model", TEXT, "its model, empty for an unknown one"),
        ("begun", INTEGER, "seconds since 1970-01-01 UTC, null where no time is known"),
        ("calls", INTEGER, "tool calls in it"),
        ("prompt_length", INTEGER, "characters of its prompt"),
        ("prompt", TEXT, "its prompt, redacted; null but for --text"),
    ),
    "calls": (
        *_COMMIT,
        *_SESSION,
        ("number", INTEGER, "which prompt of the session it is of, from 1"),
        ("call", TEXT, "the client's id of the call, empty for none"),
        ("tool", TEXT, "the name of the tool"),
        ("begun", INTEGER, "seconds since 1970-01-01 UTC, null where no time is known"),
        ("failed", FLAG, "the client says that it failed"),
    ),
    "files": (
        *_COMMIT,
        ("path", TEXT, "the file, by its path before where the commit deletes it"),
        ("added", INTEGER, "lines that the commit adds to it"),
        ("removed", INTEGER, "lines that the commit removes from it"),
        *_WHO,
    ),
    "authored_lines": (
        *_COMMIT,
        ("path", TEXT, "the file"),
        ("first", INTEGER, "the first of a run of lines in the commit's version, from 1"),
        ("lines", INTEGER, "how many lines the run has"),
        ("who", TEXT, "session, person, unknown or unrecorded"),
        ("agent", TEXT, "of a session's line: the agent"),
        ("model", TEXT, "of a session's line: the model"),
        ("session", TEXT, "of a session's line: the session"),
        ("turn", TEXT, "of a session's line: the id of the turn"),
        ("call", TEXT, "of a session's line: the id of the tool call, empty where none is known"),
        ("checkpoint", TEXT, "of a session's line: the checkpoint that says so"),
    ),
    "survival": (
        *_COMMIT,
        ("event", TEXT, "born: the commit adds lines of an agent; gone: it takes such lines away"),
        ("lines", INTEGER, "how many"),
        ("agent", TEXT, "the agent that wrote them"),
        ("model", TEXT, "its model"),
        ("born", INTEGER, "the day they were added: seconds since 1970-01-01 UTC"),
        ("born_month", TEXT, "YYYY-MM of that day"),
        ("age", INTEGER, "days from born to the commit, 0 where clocks say less"),
        ("taker", TEXT, "of lines that are gone: who took them, agent, person or unknown"),
    ),
}
