"""Lists the conversation of a transcript for people, of any agent.

The agent is recognised by the shape of the transcript: its name in stored data may be wrong.
"""

from __future__ import annotations

from gitcp.agents.reading.items import list_items
from gitcp.core.message import prompts
from gitcp.core.transcript import apply_patch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Entry = tuple[str, str]  # "User", "Assistant" or "Tool", and the text

# The first of these keys in a call's input describes it.
_TELLING = """input_paths file_path filePath notebook_path path absolute_path command commands cmd
pattern query url description prompt message subject name""".split()
_ROLES = {"prompt": "User", "answer": "Assistant"}


def list_entries(data: bytes, start: int = 0) -> Iterator[Entry]:
    """(role, text) of the messages from item `start` on (Scan's items), in order.

    A call of a tool is `Name: detail` on one line.  Lines that are not JSON are skipped.
    """
    for item in list_items(data, start=start):
        if item["kind"] == "call":
            yield _format_call(item["name"], item["given"])
        elif item["kind"] in _ROLES:
            yield _ROLES[item["kind"]], item["text"]


def list_turn_entries(data: bytes, number: int) -> list[Entry]:
    """The messages in the turn of a session's prompt, counted from 1; [] without one."""
    spoken: list[Entry] = []
    prompts_seen = 0
    for role, text in list_entries(data):
        prompts_seen += role == "User"
        if prompts_seen == number:
            spoken.append((role, text))
    return spoken


def _format_call(name: str, arguments: object) -> Entry:
    detail = ""
    if isinstance(arguments, str):
        paths = apply_patch.list_paths(arguments)
        detail = " ".join(paths) if paths else arguments
    elif isinstance(arguments, dict):
        values = (arguments.get(key) for key in _TELLING)
        value = next((v for v in values if v), "")
        detail = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    detail = prompts.replace_surrogates(" ".join(detail.split()))
    return "Tool", f"{name}: {detail}" if detail else name
