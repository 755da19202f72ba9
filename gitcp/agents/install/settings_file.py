"""A client's settings file as text: our hooks put in or taken out, every other byte kept.

A text that needs no change comes back as it is, so that a second run changes nothing.
"""

from __future__ import annotations

import json
import re

from gitcp.agents.install import json_text, settings
from gitcp.core.setup.hook_scripts import CANNOT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gitcp.agents.install.settings import Hook, Settings

_OURS = r"(?:\bgitcp-hook|\bgitcp hook|/gitcp/entry\.py'?)\s+{agent}\s+[\w.]+\s*$"
_THERE = "command -v gitcp-hook >/dev/null 2>&1"
# As sh has it, which not every client runs a command by: $0 is the interpreter, $1 the entry.
_EITHER = (
    'if [ -x "$0" ] && [ -f "$1" ]; then "$0" -I -S "$@"; s=$?; '
    f"case $s in {'|'.join(map(str, CANNOT))}) ;; *) exit $s;; esac; fi; "
    'shift; %s; exec gitcp-hook "$@"'
)
_ENTIRES = re.compile(r"\bentire(?:/main\.go)?['\"]? hooks [a-z-]+ ")


def is_entires(command: str) -> bool:
    """Whether a hook's command is the original program's
    (doc/formats.md "The original program")."""
    return bool(_ENTIRES.search(command))


def ours(agent: str) -> Callable[[str], bool]:
    """What tells whether a hook's command is one of ours for an agent."""
    pattern = re.compile(_OURS.format(agent=re.escape(agent)))
    return lambda command: bool(pattern.search(command))


def own_command(py: str, entry: str, agent: str, lost: str = "") -> Callable[[str], str]:
    """client's event -> the command for a file of the person's own; the paths are absolute.

    Where they are gone, or Python cannot begin, gitcp-hook is looked for on PATH; where that is
    not there either, the start of a session prints lost.  Without the test a Python that cannot
    find entry would exit 2, with which a hook refuses.
    """
    from shlex import quote

    def command(event: str) -> str:
        last = lost.strip() if event.lower() == "sessionstart" else ""
        absent = f"{{ echo {quote(last)}; exit 0; }}" if last else "exit 0"
        words = ("sh", "-c", _EITHER % f"{_THERE} || {absent}", py, entry, agent, event)
        return f"exec {' '.join(map(quote, words))}"

    return command


def shared_command(agent: str) -> Callable[[str], str]:
    """client's event -> the command for a file that other people get too: who does not have
    gitcp is not bothered."""
    return lambda event: f"! {_THERE} || exec gitcp-hook {agent} {event}"


def programs(command: str) -> list[str]:
    """The files that one of own_command's needs, [] for any other."""
    from shlex import split

    try:
        words = split(command)
    except ValueError:
        return []
    return words[-4:-2] if words[:3] == ["exec", "sh", "-c"] else []


def install(
    text: str | None,
    agent: str,
    hooks: Iterable[Hook],
    command: Callable[[str], str],
    form: str = "nested",
) -> str:
    """The settings with an agent's hooks, nested in its form; text None is no file yet.

    Raises InputError when text is not an object of JSON, or its hooks are not what they
    should be.
    """
    new, mine = "{}\n" if text is None else text, ours(agent)
    wanted = settings.additions(hooks, command, form)
    alone = {"hooks": {event: [entry] for event, entry in wanted}}
    if _entries(parse(new, form), mine) == _entries(alone, mine):
        return new
    new = remove(new, mine, form)
    if form in ("cursor", "copilot") and "version" not in parse(new, form):
        new = json_text.add(new, ("version",), 1)
    for event, entry in wanted:
        there = event in parse(new, form).get("hooks", {})
        new = json_text.add(new, ("hooks", event), entry if there else [entry])
    return new


def remove(text: str, mine: Callable[[str], bool], form: str = "nested") -> str:
    """The settings without the hooks that are mine; InputError as for install()."""
    while path := settings.surplus(parse(text, form), mine):
        text = json_text.cut(text, path)
    return text


def parse(text: str, form: str = "nested") -> Settings:
    """The object of a settings file; InputError when it is none, or has a key twice."""
    return json_text.parse(text, comments=form == "commented")


def _entries(parsed: Settings, mine: Callable[[str], bool]) -> list[str]:
    """What is ours in the settings, in a form to compare."""
    return sorted(
        json.dumps([event, entry.get("matcher"), hook], sort_keys=True)
        for event, entry, hook in settings.listed(parsed)
        if mine(settings.command_of(hook))
    )
