"""Check a configuration for invalid values and unknown keys."""

from __future__ import annotations

from gitcp import pipelines
from gitcp.core import config_table
from gitcp.errors import Error
from gitcp.start import stdlib

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
        if about := find_key(key):
            for text in texts if about.get("many") else texts[-1:]:
                if why := config_table.find_complaint(about, text) or _check_pipeline(about, text):
                    bad.append((key, text, f"{why}; {_describe_default(about)}"))
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
    is_pipeline = any(key == f"gitcp.{event}.pipeline" for event in pipelines.DEFAULT)
    return config_table.PIPELINE if is_pipeline else None


def suggest_key(key: str) -> str:
    """The key that may be meant by an unknown name, '' if none is like it.  A name in a section
    like `gitcp` counts only if its last part is that of a key."""
    section, _, name = key.rpartition(".")
    if section in _GITS:
        return ""
    plain_key = _normalise(key)
    keys = [*config_table.KEYS, *(f"gitcp.{event}.pipeline" for event in pipelines.DEFAULT)]
    by_plain = {_normalise(candidate): candidate for candidate in keys}
    if same := by_plain.get(plain_key) or by_plain.get(f"gitcp{plain_key}"):
        return same
    if section != "gitcp" and not section.startswith("gitcp."):
        ours = f"gitcp.{name}" in config_table.KEYS and _compare_names(section, "gitcp") >= _CLOSE
        return f"gitcp.{name}" if ours else ""
    best = max(by_plain, key=lambda plain: _compare_names(plain_key, plain))
    return by_plain[best] if _compare_names(plain_key, best) >= _CLOSE else ""


def find_line(text: str, key: str, value: str) -> int:
    """The number of the last line of a configuration file that sets a key to a value; without
    one, of the first that sets the key; 0 for none."""
    section, last = "", 0
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


def _describe_default(about: config_table.Key) -> str:
    if about["kind"] == "pattern":
        return about["without"]
    if about["kind"] == "pipeline":
        return "the built-in pipeline runs"
    return f"the default holds{': ' + about['default'] if about['default'] else ''}"


def _check_pipeline(about: config_table.Key, text: str) -> str:
    if about["kind"] != "pipeline" or text.strip() in ("", "default"):
        return ""
    try:
        pipelines.parse_pipeline(text)
    except Error as e:
        return str(e)
    return ""


def _normalise(key: str) -> str:
    """A key in lower case, without separators."""
    return key.lower().replace("-", "").replace("_", "").replace(".", "")


def _compare_names(word: str, other: str) -> float:
    return stdlib.difflib.SequenceMatcher(None, word, other).ratio()
