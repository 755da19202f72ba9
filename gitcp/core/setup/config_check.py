"""Check a configuration for invalid values and unknown keys."""

from __future__ import annotations

from gitcp import pipelines
from gitcp.core import config_table
from gitcp.errors import Error
from gitcp.start import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Bad = tuple[str, str, str]  # key, value, what is wrong with it

_GITS = {"push"}  # git's sections with keys like gitcp's
_QUOTE = '"'
_CLOSE = 0.7  # how alike two names are of which one may be meant by the other


def list_complaints(
    values: Mapping[str, Sequence[str]], events: Iterable[str] = tuple(pipelines.DEFAULT)
) -> list[Bad]:
    """What is wrong with the values of a configuration (key -> its values, the strongest last),
    sorted by key.  events: those that may have a pipeline."""
    bad: list[Bad] = []
    for key in sorted(values):
        about = find_key(key, events)
        if about:
            many = about.get("many")
            for text in values[key] if many else values[key][-1:]:
                if why := config_table.find_complaint(about, text) or _check_pipeline(about, text):
                    bad.append((key, text, f"{why}; {_describe_default(about)}"))
        elif meant := suggest_key(key, events):
            bad.append((key, values[key][-1], f"no such key: did you mean '{meant}'?"))
        elif key.startswith("gitcp."):
            bad.append((key, values[key][-1], "no such key"))
    return bad


def find_key(key: str, events: Iterable[str]) -> config_table.Key | None:
    """The entry of a key as git names it; None for none."""
    if key in config_table.KEYS:
        return config_table.KEYS[key]
    if key.startswith(config_table.LABELS):
        return config_table.LABEL
    known = any(key == f"gitcp.{event}.pipeline" for event in events)
    return config_table.PIPELINE if known else None


def suggest_key(key: str, events: Iterable[str]) -> str:
    """The key that a name may stand for that is none, '' where nothing is like it: a name of
    another section counts only where its own part is one of ours."""
    section, _, name = key.rpartition(".")
    if section in _GITS:
        return ""
    every = [*config_table.KEYS, *(f"gitcp.{event}.pipeline" for event in events)]
    plain = {_normalise(one): one for one in every}
    if same := plain.get(_normalise(key)) or plain.get(_normalise(f"gitcp.{key}")):
        return same
    if section != "gitcp" and not section.startswith("gitcp."):
        ours = f"gitcp.{name}" in config_table.KEYS and _compare_names(section, "gitcp") >= _CLOSE
        return f"gitcp.{name}" if ours else ""
    best = max(every, key=lambda word: _compare_names(_normalise(key), _normalise(word)))
    return best if _compare_names(_normalise(key), _normalise(best)) >= _CLOSE else ""


def find_line(text: str, key: str, value: str) -> int:
    """The number of the line of a configuration file that sets a key to a value, 0 where none
    is seen to: the last one, for it counts."""
    section, last = "", 0
    for number, whole in enumerate(text.splitlines(), 1):
        line = whole.strip()
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
