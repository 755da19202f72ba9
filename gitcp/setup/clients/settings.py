"""Adds and removes the hook entries of a client's settings, and leaves everything else.

The shape is the client's FORM:

    nested       {"hooks": {event: [{"matcher", "hooks": [{"type", "command", "timeout"}]}]}}
    commented    the same in a file that may have comments
    cursor       {"version": 1, "hooks": {event: [{"matcher", "command"}]}}
    copilot      {"version": 1, "hooks": {event: [{"type", "matcher", "bash"}]}}
    windsurf     {"hooks": {event: [{"matcher", "command"}]}}; also Crush's
    vs-code      {"hooks": {event: [{"type", "command"}]}}
    antigravity  {"gitcp": {event: [...]}}, with entries as nested for tools, else as vs-code
"""

from __future__ import annotations

import json
import re
import shlex

from gitcp.errors import InputError
from gitcp.setup.clients import json_text
from gitcp.setup.hook_texts import CANNOT
from gitcp.text import value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Settings = dict[str, Any]
    Hook = tuple[str, str | None, int | None]


def build_entries(
    hooks: Iterable[Hook], command: Callable[[str], str], form: str
) -> list[tuple[str, Settings]]:
    """(client's event, entry to append to its list) for each of a client's HOOKS.

    command: client's event -> command line.  form: the client's FORM.
    """
    return [
        (event, _build_entry(form, event, matcher, time, command(event)))
        for event, matcher, time in hooks
    ]


def _build_entry(
    form: str, event: str, matcher: str | None, timeout: int | None, command: str
) -> Settings:
    matched: Settings = {} if matcher is None else {"matcher": matcher}
    if form == "antigravity":
        matched = {"matcher": "*"}
    if form in ("cursor", "windsurf"):
        return {**matched, "command": command}
    if form == "vs-code" or (form == "antigravity" and "Tool" not in event):
        return {"type": "command", "command": command}
    if form == "copilot":
        return {"type": "command", **matched, "bash": command}
    hook: Settings = {"type": "command", "command": command}
    if timeout is not None:
        hook["timeout"] = timeout
    return {**matched, "hooks": [hook]}


def find_removable(
    settings: Settings, is_removable: Callable[[str], bool], form: str = "nested"
) -> tuple[str | int, ...] | None:
    """The path of the next item to remove, None if there is none: a hook, or the largest item all
    hooks of which are to be removed.  is_removable: whether to remove the hook with a command."""
    root = _get_root(form)
    events = _get_events(settings, form)
    for event, entries in events.items():
        for number, entry in enumerate(entries):
            removable = [is_removable(get_command(hook)) for hook in get_hooks(entry)]
            if not any(removable):
                continue
            if not all(removable):
                return root, event, number, "hooks", removable.index(True)
            if len(entries) > 1:
                return root, event, number
            return (root, event) if len(events) > 1 else (root,)
    return None


def list_commands(settings: Settings, form: str = "nested") -> list[tuple[str, str]]:
    """Each (client's event, command) that is installed, in order."""
    named = [(each.event, get_command(each.hook)) for each in list_hooks(settings, form)]
    return [(event, command) for event, command in named if command]


@value_class
class InstalledHook:
    """A hook in a client's settings."""

    event: str  # the client's
    entry: Any  # which may have more hooks
    hook: Any


def list_hooks(settings: Settings, form: str = "nested") -> list[InstalledHook]:
    """Each hook, in order."""
    found: list[InstalledHook] = []
    for event, entries in _get_events(settings, form).items():
        for entry in entries:
            for hook in get_hooks(entry):
                found.append(InstalledHook(event, entry, hook))
    return found


def _get_root(form: str) -> str:
    return "gitcp" if form == "antigravity" else "hooks"


def _get_events(settings: Settings, form: str) -> dict[str, list[Any]]:
    events = settings.get(_get_root(form), {})
    if not isinstance(events, dict) or not all(isinstance(e, list) for e in events.values()):
        raise InputError(f"'{_get_root(form)}' in the client's settings is not an object of lists")
    return events


def get_hooks(entry: object) -> list[Any]:
    """The hooks that an entry nests, or the entry itself."""
    nested = None
    if isinstance(entry, dict):
        nested = entry.get("hooks")
    if isinstance(nested, list):
        return nested
    return [entry] if get_command(entry) else []


def get_command(hook: object) -> str:
    """The command line of a hook; "" without one."""
    command = None
    if isinstance(hook, dict):
        command = hook.get("command") or hook.get("bash")
    return command if isinstance(command, str) else ""


_OURS = r"(?:\bgitcp-hook|\bgitcp hook|/gitcp/entry\.py'?)\s+{agent}\s+[\w.]+\s*$"
_ON_PATH = "command -v gitcp-hook >/dev/null 2>&1"
# sh is named, since not every client runs commands with it: $0 is the interpreter, $1 the entry
# point.
# A Python that does not find the entry point would exit 2, which refuses the call.
_EXIT_UNLESS_CANNOT = f"s=$?; case $s in {'|'.join(map(str, CANNOT))}) ;; *) exit $s;; esac"
_RUN_OWN_OR_PATH = (
    f'if [ -x "$0" ] && [ -f "$1" ]; then "$0" -I -S "$@"; {_EXIT_UNLESS_CANNOT}; fi; '
    f'shift; if {_ON_PATH}; then gitcp-hook "$@"; {_EXIT_UNLESS_CANNOT}; fi; %s'
)
_ENTIRES = re.compile(r"\bentire(?:/main\.go)?['\"]? hooks [a-z-]+ ")


def is_entires_command(command: str) -> bool:
    """Whether a hook's command is Entire's
    (doc/formats.md "The original program")."""
    return bool(_ENTIRES.search(command))


def make_own_test(agent: str) -> Callable[[str], bool]:
    """A test whether the command of a hook is gitcp's own for an agent."""
    pattern = re.compile(_OURS.format(agent=re.escape(agent)))
    return lambda command: bool(pattern.search(command))


def make_own_command(py: str, entry: str, agent: str, notice: str = "") -> Callable[[str], str]:
    """client's event -> the command for a file of the person's own.

    py, entry: absolute paths of Python and of the entry point.  If one is gone, or Python cannot
    start, the command runs gitcp-hook of PATH.  If there is none, or it cannot start either, it
    prints the notice at the start of a session, and does nothing at other events; its status is 0.
    """

    def format_command(event: str) -> str:
        last = ""
        if event.lower() == "sessionstart":
            last = notice.strip()
        absent = "exit 0"
        if last:
            absent = f"echo {shlex.quote(last)}"
        words = ("sh", "-c", _RUN_OWN_OR_PATH % absent, py, entry, agent, event)
        return f"exec {' '.join(map(shlex.quote, words))}"

    return format_command


def make_shared_command(agent: str) -> Callable[[str], str]:
    """client's event -> the command for a file that other people get, too: it does nothing without
    gitcp."""
    return lambda event: f"! {_ON_PATH} || exec gitcp-hook {agent} {event}"


def make_plain_command(py: str, entry: str, agent: str) -> Callable[[str], str]:
    """client's event -> the command without variables, for a client that expands them itself."""
    py = shlex.quote(py)
    entry = shlex.quote(entry)
    exists = f"[ -x {py} ] && [ -f {entry} ]"
    return lambda event: (
        f"{exists} && exec {py} -I -S {entry} {agent} {event}; {make_shared_command(agent)(event)}"
    )


def parse_programs(command: str) -> list[str]:
    """The files that a command of make_own_command() needs; [] for any other command."""
    if not command.startswith("exec sh -c "):
        return []
    try:
        return shlex.split(command)[-4:-2]
    except ValueError:
        return []


def install(
    text: str | None,
    agent: str,
    hooks: Iterable[Hook],
    command: Callable[[str], str],
    form: str = "nested",
) -> str:
    """The settings with an agent's hooks in its form.  text: None without a file.

    Raises InputError if the text is not a JSON object, or its hooks have another shape.
    """
    new = "{}\n" if text is None else text
    is_own = make_own_test(agent)
    entries = build_entries(hooks, command, form)
    root = _get_root(form)
    complete = {root: {event: [entry] for event, entry in entries}}
    if _list_own(parse(new, form), is_own, form) == _list_own(complete, is_own, form):
        return new
    new = remove(new, is_own, form)
    if form in ("cursor", "copilot") and "version" not in parse(new, form):
        new = json_text.add_value(new, ("version",), 1)
    for event, entry in entries:
        has_list = event in parse(new, form).get(root, {})
        new = json_text.add_value(new, (root, event), entry if has_list else [entry])
    return new


def remove(text: str, is_removable: Callable[[str], bool], form: str = "nested") -> str:
    """The settings without the removable hooks; raises InputError as install() does."""
    while True:
        path = find_removable(parse(text, form), is_removable, form)
        if not path:
            break
        text = json_text.cut_value(text, path)
    return text


def parse(text: str, form: str = "nested") -> Settings:
    """The object of a settings file; raises InputError for anything else or a repeated key."""
    return json_text.parse(text, comments=form == "commented")


def _list_own(parsed: Settings, is_own: Callable[[str], bool], form: str) -> list[str]:
    """gitcp's hooks in the settings, as sorted texts to compare."""
    return sorted(
        json.dumps([each.event, each.entry.get("matcher"), each.hook], sort_keys=True)
        for each in list_hooks(parsed, form)
        if is_own(get_command(each.hook))
    )
