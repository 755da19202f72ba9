"""The table of configuration keys: kind of value, default and meaning of each.

An invalid value is ignored: the default is used, and find_complaint() says what is wrong.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NotRequired, TypedDict

    class Key(TypedDict):
        """kind: size, number, flag, word, words, text, trailer, pattern, command, persons or
        pipeline.  default: as in a configuration file, '' if another rule decides.  values: all
        values of a word, or the values of a flag besides yes and no.  least, most: of a number.
        many: the key may have several values.  without: the effect of a pattern that is not
        valid."""

        kind: str
        default: str
        meaning: str
        values: NotRequired[tuple[str, ...]]
        least: NotRequired[int]
        most: NotRequired[int]
        many: NotRequired[bool]
        without: NotRequired[str]


YES = ("true", "yes", "on", "1")
_NO = ("false", "no", "off", "0", "")
_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_MOST = 1 << 50
KEYS: dict[str, Key] = {
    "gitcp.max-file-size": {
        "kind": "size",
        "default": "10m",
        "meaning": "an untracked file larger than this is left out of checkpoints",
    },
    "gitcp.max-untracked-size": {
        "kind": "size",
        "default": "500m",
        "meaning": "the largest untracked files are left out if all together exceed this",
    },
    "gitcp.redact": {
        "kind": "pattern",
        "default": "",
        "many": True,
        "meaning": "a regular expression of a secret, besides the built-in ones",
        "without": "no prompt and no transcript is stored until it can be read",
    },
    "gitcp.redact-allow": {
        "kind": "pattern",
        "default": "",
        "many": True,
        "meaning": "a regular expression; a finding in which it matches is not a secret",
        "without": "it is left out",
    },
    "gitcp.redact-personal": {
        "kind": "persons",
        "default": "",
        "meaning": "which personal data is redacted: email,phone,address,ip,name:<file>",
        "without": "no prompt and no transcript is stored until it can be read",
    },
    "gitcp.images": {
        "kind": "word",
        "default": "keep",
        "values": ("keep", "drop", "apart"),
        "meaning": "what becomes of pictures in a transcript: stored in it, dropped, or kept apart",
    },
    "gitcp.streams": {
        "kind": "word",
        "default": "overlap",
        "values": ("overlap", "suffix"),
        "meaning": "what happens to a stream whose work was dismissed",
    },
    "gitcp.streams-hidden": {
        "kind": "flag",
        "default": "",
        "meaning": "keep streams outside of the branches; by default only in repositories of jj",
    },
    "gitcp.suffix-match": {
        "kind": "word",
        "default": "fuzzy",
        "values": ("fuzzy", "exact"),
        "meaning": "with streams=suffix, whether white space counts when lines are looked for",
    },
    "gitcp.enable-multisession-warning": {
        "kind": "flag",
        "default": "false",
        "meaning": "refuse a session's first prompt once when others have work here",
    },
    "gitcp.disable-multisession-warning": {
        "kind": "flag",
        "default": "",
        "meaning": "the former key, with the opposite value",
    },
    "gitcp.archive-expire": {
        "kind": "number",
        "default": "30",
        "meaning": "the age in days at which 'gitcp clean' proposes archived streams",
    },
    "gitcp.max-edits": {
        "kind": "size",
        "default": "256m",
        "meaning": "how many bytes the edits of all sessions may take",
    },
    "gitcp.state-expire": {
        "kind": "number",
        "default": "7",
        "meaning": "the age in days at which 'gitcp clean' proposes states of settled sessions",
    },
    "gitcp.link": {
        "kind": "word",
        "default": "always",
        "values": ("always", "trailer", "ask", "note"),
        "meaning": "how a commit is linked: by a trailer, with -m after a question, or by a note",
    },
    "gitcp.disclose": {
        "kind": "trailer",
        "default": "",
        "meaning": "the trailer that names agent and model in a commit that has their work",
    },
    "gitcp.say": {
        "kind": "flag",
        "default": "true",
        "meaning": "whether a commit at a terminal tells to which sessions it was linked",
    },
    "gitcp.tell-abandoned": {
        "kind": "flag",
        "default": "false",
        "meaning": "whether a prompt that names a file tells its agent what was given up there",
    },
    "gitcp.look-budget": {
        "kind": "number",
        "default": "20",
        "meaning": "milliseconds that a look at the worktree may take around a shell call",
    },
    "gitcp.loss-budget": {
        "kind": "number",
        "default": "50",
        "meaning": "milliseconds that a look at the files a shell call discards may take",
    },
    "gitcp.max-transcript-size": {
        "kind": "size",
        "default": "256m",
        "least": 1,
        "meaning": "how much of a session's transcript is kept",
    },
    "gitcp.workspace": {
        "kind": "text",
        "default": "",
        "many": True,
        "meaning": "a directory below which recap and sessions look for repositories",
    },
    "gitcp.summarize": {
        "kind": "command",
        "default": "claude --print --output-format json --model sonnet --setting-sources ''",
        "meaning": "the command that summarizes a session",
    },
    "gitcp.git-timeout": {
        "kind": "number",
        "default": "60",
        "least": 1,
        "most": 86400,
        "meaning": "how many seconds one call of git may take in a hook",
    },
    "gitcp.hook-timeout": {
        "kind": "number",
        "default": "120",
        "least": 1,
        "most": 86400,
        "meaning": "how many seconds a hook may take",
    },
    "gitcp.guard": {
        "kind": "word",
        "default": "",
        "values": ("off", "warn", "deny"),
        "meaning": "what happens when two sessions would write the same file",
    },
    "gitcp.guard-wait": {
        "kind": "number",
        "default": "20",
        "most": 86400,
        "meaning": "how many seconds a tool call waits for another one",
    },
    "gitcp.session-trailers": {
        "kind": "words",
        "default": "Claude-Session-Id",
        "many": True,
        "meaning": "the trailers by which a commit names its session",
    },
    "gitcp.strategy": {
        "kind": "word",
        "default": "manual-commit",
        "values": ("manual-commit", "auto-commit", "shadow", "dual"),
        "meaning": "whether a turn is kept as a checkpoint or as a commit",
    },
    "gitcp.external-agents": {
        "kind": "flag",
        "default": "false",
        "meaning": "whether adapters on PATH are run; read only from files that git does not track",
    },
    "gitcp.remote": {
        "kind": "text",
        "default": "",
        "meaning": "a URL that gets the permanent store at each push, or none: it stays here",
    },
    "gitcp.place": {
        "kind": "text",
        "default": "",
        "many": True,
        "meaning": "a URL, as git resolves it, to which a push also sends the permanent store",
    },
    "gitcp.store": {
        "kind": "word",
        "default": "",
        "values": ("branch", "refs"),
        "meaning": "whether checkpoints go onto one branch or each into a ref of its own",
    },
    "gitcp.sign": {
        "kind": "flag",
        "default": "",
        "meaning": "whether commits of the permanent store are signed; else as commit.gpgSign",
    },
    "gitcp.import": {
        "kind": "word",
        "default": "tell",
        "values": ("tell", "auto"),
        "meaning": "whether conversations that no hook heard of are told of, or imported at once",
    },
    "gitcp.prices": {
        "kind": "text",
        "default": "",
        "meaning": "a file of what the tokens of models cost, for gitcp stats --cost",
    },
    "gitcp.page-forge": {
        "kind": "word",
        "default": "auto",
        "values": ("auto", "github", "gitlab", "gitea", "none"),
        "meaning": "which forge a page's links are for; auto tells it by the remote's address",
    },
    "gitcp.ai-notes": {
        "kind": "flag",
        "default": "false",
        "meaning": "write who wrote which line under refs/notes/ai",
    },
    "gitcp.push": {
        "kind": "flag",
        "default": "true",
        "meaning": "whether 'git push' also sends the permanent store",
    },
    "gitcp.share-abandoned": {
        "kind": "flag",
        "default": "false",
        "meaning": "whether summaries of what was given up are sent and fetched with checkpoints",
    },
    "gitcp.push-check": {
        "kind": "flag",
        "default": "true",
        "values": ("warn", "refuse"),
        "meaning": "whether what is sent is searched for secrets first",
    },
    "gitcp.push-timeout": {
        "kind": "number",
        "default": "30",
        "most": 86400,
        "meaning": "how many seconds sending may take",
    },
}
LABEL: Key = {
    "kind": "pattern",
    "default": "",
    "meaning": "a regular expression of what is redacted under this label",
    "without": "no prompt and no transcript is stored until it can be read",
}
LABELS = "gitcp.redact-label."  # the prefix of the keys of labels
PERSONS = ("email", "phone", "address", "ip")  # values of gitcp.redact-personal besides name:<file>
# event -> the module of gitcp/events that has its built-in pipeline
EVENTS = {
    # of agents
    "session-start": "session_start",
    "turn-start": "turn_start",
    "tool-start": "tool_call",
    "tool-end": "tool_call",
    "subagent-start": "tool_call",
    "subagent-end": "tool_call",
    "todo": "tool_call",
    "compact": "tool_call",
    "turn-end": "turn_end",
    "session-end": "session_end",
    # of git
    "prepare-commit-msg": "commits",
    "commit-msg": "commits",
    "post-commit": "commits",
    "post-checkout": "post_checkout",
    "post-rewrite": "post_rewrite",
    "pre-push": "pre_push",
}
PIPELINE: Key = {
    "kind": "pipeline",
    "default": "default",
    "many": True,
    "meaning": "what runs at an event: stages separated by '|'",
}


def read_value(key: str, texts: list[str]) -> Any:
    """The value of a key for which these texts are configured: an int, a bool or a text.

    The last text counts.  If there is none or it is not valid, return the default, else None.
    """
    spec = KEYS[key]
    if texts and not find_complaint(spec, texts[-1]):
        return _read(spec, texts[-1])
    if spec["default"]:
        return _read(spec, spec["default"])
    return None


def _read(spec: Key, text: str) -> Any:
    word = text.lower()
    if spec["kind"] in ("size", "number"):
        return _parse_number(word)
    if spec["kind"] == "flag" and word not in spec.get("values", ()):
        return word in YES
    if spec["kind"] in ("word", "flag"):
        return word
    return text


def _parse_number(word: str) -> int | None:
    unit = _UNITS.get(word[-1:], 1)
    digits = word if unit == 1 else word[:-1]
    fits = digits.isascii() and digits.isdecimal() and len(digits) < 20
    return int(digits) * unit if fits else None


def find_complaint(spec: Key, text: str) -> str:
    """What a value of the key must be, for a text that is not valid; '' for a valid one."""
    kind = spec["kind"]
    word = text.lower()
    values = spec.get("values", ())
    if kind == "word":
        if word in values:
            return ""
        return f"must be {_format_choices(values)}"
    if kind == "flag":
        fits = word in (*YES, *_NO, *values)
        if fits:
            return ""
        return f"must be {_format_choices(('true', 'false', *values))}"
    if kind in ("size", "number"):
        return _check_range(spec, _parse_number(word))
    if kind == "trailer":
        fits = text.replace("-", "").isalnum() and text.isascii() and text[0] != "-"
        if fits:
            return ""
        return "must be the name of a trailer, letters, digits and dashes"
    if kind == "persons":
        fits = all(name in PERSONS or name.startswith("name:") for name in split_list(text))
        if fits:
            return ""
        return f"must be of {', '.join(PERSONS)} and name:<file>"
    return _check_pattern(text) if kind == "pattern" else ""


def split_list(text: str) -> list[str]:
    """The words of a list separated by commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def _check_range(spec: Key, number: int | None) -> str:
    what = "a number"
    if spec["kind"] == "size":
        what = "a size such as 10m"
    least = spec.get("least", 0)
    most = spec.get("most", _MOST)
    if number is None:
        return f"must be {what}"
    if number < least:
        return f"must be at least {least}"
    if number > most:
        return f"must be at most {most}"
    return ""


def _check_pattern(text: str) -> str:
    import re

    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError) as e:
        return f"must be a regular expression: {e}"
    return ""


def _format_choices(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


MANUAL = "manual-commit"
AUTO = "auto-commit"
