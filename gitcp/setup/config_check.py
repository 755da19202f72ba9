"""Check a configuration of git for invalid values and unknown keys of gitcp."""

from __future__ import annotations

import difflib

from gitcp import commands
from gitcp.errors import Error
from gitcp.git import config_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Bad = tuple[str, str, str]  # key, value, what is wrong with it

_GITS = {"push"}  # git's sections with keys like gitcp's
_QUOTE = '"'
_CLOSE = 0.7  # similarity of two names from which one may be meant by the other


def list_complaints(values: Mapping[str, Sequence[str]]) -> list[Bad]:
    """The complaints about a configuration (key -> its values, the strongest last), sorted by
    key."""
    bad: list[Bad] = []
    for key, texts in sorted(values.items()):
        row = find_key(key)
        if row:
            for text in texts if row.get("many") else texts[-1:]:
                why = find_complaint(row, text)
                if why:
                    bad.append((key, text, f"{why}; {_describe_default(row)}"))
        elif meant := suggest_key(key):
            bad.append((key, texts[-1], f"no such key: did you mean '{meant}'?"))
        elif key.startswith("gitcp."):
            bad.append((key, texts[-1], "no such key"))
    return bad


def find_key(key: str) -> config_table.Key | None:
    """The entry of a key, spelled as git does; None for an unknown key."""
    if key in config_table.KEYS:
        return config_table.KEYS[key]
    if key.startswith(config_table.LABELS):
        return config_table.LABEL
    is_pipeline = any(key == f"gitcp.{event}.pipeline" for event in config_table.EVENTS)
    return config_table.PIPELINE if is_pipeline else None


def find_complaint(row: config_table.Key, text: str) -> str:
    """What is wrong with a value of a key, '' for a valid one."""
    return config_table.find_complaint(row, text) or _check_pipeline(row, text)


def list_keys() -> list[str]:
    """The keys of the table, and those of pipelines."""
    return [*config_table.KEYS, *(f"gitcp.{event}.pipeline" for event in config_table.EVENTS)]


def suggest_key(key: str) -> str:
    """The key that may be meant by an unknown name, '' if none is like it.  A name in a section
    like `gitcp` counts only if its last part is that of a key."""
    section, _, name = key.rpartition(".")
    if section in _GITS:
        return ""
    plain_key = _normalise(key)
    by_plain = {_normalise(candidate): candidate for candidate in list_keys()}
    same = by_plain.get(plain_key) or by_plain.get(f"gitcp{plain_key}")
    if same:
        return same
    if section != "gitcp" and not section.startswith("gitcp."):
        ours = f"gitcp.{name}" in config_table.KEYS and _compare_names(section, "gitcp") >= _CLOSE
        return f"gitcp.{name}" if ours else ""
    best = max(by_plain, key=lambda plain: _compare_names(plain_key, plain))
    if _compare_names(plain_key, best) >= _CLOSE:
        return by_plain[best]
    return ""


def find_line(text: str, key: str, value: str) -> int:
    """The number of the last line of a configuration file that sets a key to a value; without
    one, of the first that sets the key; 0 for none."""
    section = ""
    last = 0
    for number, full_line in enumerate(text.splitlines(), 1):
        line = full_line.strip()
        if line.startswith("["):
            head, _, line = line[1:].partition("]")
            first, _, second = head.partition(" ")
            section = f"{first.lower()}.{second.strip().strip(_QUOTE)}".rstrip(".")
        variable, _, text_set = line.partition("=")
        same = text_set.strip().strip(_QUOTE) == value
        if f"{section}.{variable.strip().lower()}" == key and (same or not last):
            last = number
    return last


def _describe_default(row: config_table.Key) -> str:
    if row["kind"] == "pattern":
        return row["without"]
    if row["kind"] == "pipeline":
        return "the built-in pipeline runs"
    return f"the default holds{': ' + row['default'] if row['default'] else ''}"


def _check_pipeline(row: config_table.Key, text: str) -> str:
    if row["kind"] != "pipeline" or text.strip() in ("", "default"):
        return ""
    try:
        commands.parse_pipeline(text)
    except Error as e:
        return str(e)
    return ""


def _normalise(key: str) -> str:
    """A key in lower case, without separators."""
    return key.lower().replace("-", "").replace("_", "").replace(".", "")


def _compare_names(word: str, other: str) -> float:
    return difflib.SequenceMatcher(None, word, other).ratio()
