"""Each key of a committed checkpoint's metadata, declared once (gitcp-formats(5)).

The rows give the order of keys in the store, what readers accept, and what `show --json`, a merge
of two clones and `forget` do with a key.  `make generate` writes the manual's table and
share/gitcp/schema/record.json from them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Shape = Any  # a kind; [the shape of each item]; {key: shape}, "*" for all other keys

# Kinds of values, in the words of a complaint.
TEXT = "a text"
NAME = "a name"
COUNT = "a count"
NUMBER = "a number"
FLAG = "a boolean"
SESSION_ID = "a session's id"
LIST = "a list"
OBJECT = "an object"
RANGE = "a range of lines"
ANY = "anything"
OPTIONAL = "a name or null"

USAGE: dict[str, Shape] = {
    **dict.fromkeys("input_tokens cache_creation_tokens cache_read_tokens".split(), NUMBER),
    **dict.fromkeys("output_tokens api_call_count".split(), NUMBER),
}
USAGE["subagent_tokens"] = USAGE  # select_conforming() does not follow a value deeper than it is
_SUMMARY = {
    **dict.fromkeys(("intent", "outcome"), TEXT),
    "friction": [TEXT],
    "open_items": [TEXT],
    "learnings": {
        "repo": [TEXT],
        "workflow": [TEXT],
        "code": [{"path": NAME, "line": COUNT, "finding": TEXT}],
    },
}
_PARTS = dict.fromkeys("agent others person unknown".split(), NUMBER)
_ATTRIBUTION = {
    **dict.fromkeys("agent_lines agent_removed human_added human_modified".split(), NUMBER),
    **dict.fromkeys("human_removed total_committed agent_percentage".split(), NUMBER),
    **dict.fromkeys(("lines_added", "lines_removed"), _PARTS),
}
_FILE: dict[str, Shape] = {
    **dict.fromkeys("oid mode turn_id".split(), NAME),
    "prompt": TEXT,
    "turns": [NAME],
    "before": ANY,
}
_TURN = {"number": COUNT, "prompt": TEXT, "model": NAME}
_TOOL = {"model": NAME, "agent": NAME}
_STEP: dict[str, Shape] = {
    **dict.fromkeys("id kind parent position target head branch".split(), NAME),
    "reason": TEXT,
    "effects": [
        dict.fromkeys("stash index head branch note checkpoint ref file old new".split(), OPTIONAL)
        | {"commits": [OPTIONAL], "intents": [TEXT]}
    ],
    "targets": [NAME],
    "raw": OBJECT,
}


class Key:
    """A key of a session's metadata: its shape, what is done with it, its meaning, and the present
    key if it is a former one.

    What is done, in words:
    needed    fsck complains if it is missing
    summary   also a key of the checkpoint's summary
    taken     which takes it from the first session that has it
    only      of the summary alone
    shown     in the contents of `show --json`
    kept      stays when the session is forgotten
    plain     ids, paths and words of gitcp's own, which are no secret unless a format says so
    first     a session that is written again keeps the first value; of two clones as any value
    earliest  likewise; of two clones the earlier time stays
    union     a list; of two values the items of both
    keys      an object; a session that is written again has the keys of both
    sum       a usage; a session that is written again has the sum
    """

    __slots__ = ("meaning", "name", "present", "shape", "words")

    def __init__(
        self, name: str, shape: Shape, words: str, meaning: str, present: str = ""
    ) -> None:
        self.name = name
        self.shape = shape
        self.meaning = meaning
        self.present = present
        self.words = frozenset(words.split())


# Those of the original program, in its order; in the store the others follow.
ORIGINAL = (
    Key("cli_version", NAME, "summary taken kept plain", "the version of the program"),
    Key("checkpoint_id", NAME, "needed summary kept", "the checkpoint"),
    Key("session_id", SESSION_ID, "needed kept", "the session"),
    Key("strategy", NAME, "needed summary taken shown kept plain first", "how it was recorded"),
    Key("created_at", NAME, "needed shown kept plain earliest", "when it was first written"),
    Key("branch", NAME, "summary taken shown kept plain", "the branch that HEAD was on"),
    Key("checkpoints_count", COUNT, "needed summary", "the number of temporary checkpoints"),
    Key("files_touched", [NAME], "summary plain union", "the paths of the commit's files"),
    Key("sessions", LIST, "needed summary only", "for each session the paths of its files"),
    Key("agent", NAME, "kept plain", "the name of the agent"),
    Key("turn_id", NAME, "shown plain", "the last turn"),
    Key("is_task", FLAG, "shown", "true for the work of a subagent"),
    Key("tool_use_id", NAME, "shown", "the call that started the subagent"),
    Key("transcript_identifier_at_start", NAME, "plain", "the transcript's entry before the part"),
    Key("checkpoint_transcript_start", COUNT, "shown", "the transcript's lines before the part"),
    Key("transcript_lines_at_start", COUNT, "", "", present="checkpoint_transcript_start"),
    Key("token_usage", USAGE, "summary shown", "the tokens of the session"),
    Key("summary", _SUMMARY, "shown", "what the session was about, by a model"),
    Key("initial_attribution", _ATTRIBUTION, "shown", "whose the lines of the commit are"),
    Key("transcript_path", NAME, "shown plain", "the agent's own transcript"),
)
OWN = (
    Key("token_usage_delta", USAGE, "shown sum", "the tokens since the session's last commit"),
    Key("files", {"*": _FILE}, "keys", "the facts of each path"),
    Key("turns", {"*": _TURN}, "plain keys", "the facts of each turn"),
    Key("tools", {"*": _TOOL}, "plain keys", "the facts of each call of a subagent"),
    Key("tasks", [NAME], "kept plain union", "the subagents with files below tasks/"),
    Key("omitted", LIST, "shown plain", "what the snapshot left out"),
    Key("commit", NAME, "shown plain", "the commit, if it was linked without a trailer"),
    Key("kind", NAME, "", "imported, if gitcp-import(1) made it"),
    Key("coarse", FLAG, "", "true if only time and files linked it"),
    Key("model", NAME, "", "the model, if it is known for the session alone"),
    Key("forgotten", NAME, "shown", "when gitcp-forget(1) took the content out"),
    Key("compact_transcript_start", COUNT, "", "the lines of transcript.jsonl before the part"),
    Key("agents", ANY, "plain", "", present="agent"),
    Key("steps_count", COUNT, "", "", present="checkpoints_count"),
    Key("transcript_uuid_at_start", NAME, "plain", "", present="transcript_identifier_at_start"),
)
_ALL = (*ORIGINAL, *OWN)


def list_keys(word: str, rows: Sequence[Key] = _ALL) -> list[str]:
    """The keys of which a word is said, in order."""
    return [row.name for row in rows if word in row.words]


SESSION_ORDER = [row.name for row in ORIGINAL if "only" not in row.words]
SUMMARY_ORDER = list_keys("summary")
TEXTS = [row.name for row in _ALL if row.shape in (NAME, SESSION_ID)]
FORMER = {row.name: row.present for row in _ALL if row.present}
# Of the JSON in a checkpoint, of the copy of a session's state in a temporary one, and of a step of
# the undo log.
SHAPES = {
    "root": {row.name: row.shape for row in _ALL},  # in the legacy layout it is a session's, too
    "session": {row.name: row.shape for row in _ALL if "only" not in row.words},
    "lines": {"*": [{"oid": NAME, "ranges": [RANGE], "others": [RANGE]}]},
    "state": {"agent_type": NAME, "turn_id": NAME, "checkpoint_transcript_start": COUNT},
    "step": _STEP,
}
