"""Read an existing git hook: who wrote it, what it calls, and gitcp's part of it."""

from __future__ import annotations

import re

from gitcp.core.setup.hook_scripts import BACKUP, END, LEFTHOOK, MARKER, TOOLS, build_script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.setup.hook_scripts import Chain

ENTIRE_BACKUP = ".pre-entire"
OWN = "/"  # stands for the suffix of the file that husky's hook calls
_LEGACY = ".legacy"  # pre-commit's
_ENTIRE_MARKER = "# Entire CLI hooks"
_HUSKY = '. "$(dirname "$0")/h"'
_QUOTED = r"'((?:[^']|'\\'')*)'"
_BAKED = re.compile(rf"^py={_QUOTED} (?:work|entry)={_QUOTED}$", re.M)
_NEXT = re.compile(r" next=\$\{0%/\*\}/[a-z-]+((?:\.[a-z-]+)+)$", re.M)
_CALL = re.compile(r" (\w+) -c '\. ")
_VERSION = re.compile(r"/python(\d+\.\d+)$")
_LIBRARY = re.compile(r"/lib/python(\d+\.\d+)/")
_SHELL = re.compile(r"#! ?/(?:usr/)?bin/(?:env )?(\w*sh)\b")


def choose_chain(hook: str) -> Chain:
    """How to call a hook that is renamed.  A shell script that reads its own name (husky) is
    sourced, so that its name stays the same."""
    shell = _SHELL.match(hook)
    by_name = "$0" in hook and any(sign in hook for sign in ("basename", "##*/", "husky", ")/h"))
    by = shell[1] if shell and by_name else ""
    return {"suffix": BACKUP, "shell": by, "lefthook": find_tool(hook) == "lefthook"}


def is_ours(text: str) -> bool:
    """Whether a hook file has gitcp's part, or the beginning of it."""
    return any(line == MARKER for line in text.splitlines())


def is_whole(text: str) -> bool:
    """Whether a hook file has gitcp's whole part."""
    return is_ours(text) and END in text.splitlines()


def is_entire_hook(text: str) -> bool:
    """Whether a hook file is the original program's (doc/formats.md "The original program")."""
    return _ENTIRE_MARKER in text.splitlines()


def find_tool(text: str) -> str:
    """The name of the tool that wrote a hook file; '' for none that is known."""
    names = ("pre-commit", "Entire", "lefthook", "husky")
    signs = (*TOOLS, _HUSKY)
    return next((name for name, sign in zip(names, signs, strict=True) if sign in text), "")


def parse_program(text: str) -> tuple[str, str] | None:
    """The interpreter and the entry that one of our scripts starts."""
    match = _BAKED.search(text) if is_ours(text) else None
    if match is None:
        return None
    py, work = (quoted.replace("'\\''", "'") for quoted in match.groups())
    return py, work.rpartition("/")[0] + "/entry.py"


def is_upgraded(py: str, entry: str) -> bool:
    """Whether an interpreter, links followed, is of another version than the place of entry."""
    version, home = _VERSION.search(py), _LIBRARY.search(entry)
    return bool(version and home and version[1] != home[1])


def is_same_tool(text: str, other: str) -> bool:
    """Whether two hook files are equal or written by the same tool."""
    return text == other or find_tool(text) == find_tool(other) != ""


def choose_suffix(hook: str, text: str) -> str:
    """The suffix under which our script belongs, by what stands in the hook's place: '' mostly.

    pre-commit calls what it finds as `.legacy`, and overwrites that when it finds another's
    hook in its own place.  To post-rewrite it does not pass on what git says.
    """
    return _LEGACY if TOOLS[0] in text and hook != "post-rewrite" else ""


def is_called(hook: str, text: str, suffix: str) -> bool:
    """Whether a tool's hook calls the file beside it with that suffix."""
    return suffix != "" and (hook + suffix in text or (suffix == _LEGACY and TOOLS[0] in text))


def is_ours_called(hook: str, text: str, beside: dict[str, str]) -> bool:
    """Whether our part of a hook runs: by our script, one that it calls, or the added line.

    beside: the files in the hooks directory that have the hook's name and a suffix, by suffix;
    under OWN what husky's hook calls.
    """
    called = [suffix for suffix in beside if suffix and hook + suffix in text]
    texts = [text, *(beside.get(s, "") for s in [*called, choose_suffix(hook, text), OWN])]
    lines = (f"gitcp-hook {hook}", f"gitcp hook {hook}")
    return any(is_whole(one) or any(line in one for line in lines) for one in texts)


def parse_chain(text: str) -> Chain | None:
    """What one of our scripts chains; None when it is not as we write it."""
    next_hook, call = _NEXT.search(text), _CALL.search(text)
    if next_hook is None:
        return None
    by = call[1] if call else ""
    return {"suffix": next_hook[1], "shell": by, "lefthook": LEFTHOOK in text}


def is_untouched(hook: str, text: str) -> bool:
    """Whether one of our scripts is as this version writes it, whatever paths are baked in."""
    program, chain = parse_program(text), parse_chain(text)
    return bool(program and chain and text == build_script(hook, *program, chain))


def remove_ours(hook: str, text: str, chained: bool) -> str | None:
    """A hook that others changed, without gitcp's lines; None if it has no other line.

    chained: the former hook is still beside it, and is called.
    """
    before, start, rest = text.partition(MARKER + "\n")
    _, end, after = rest.partition(END + "\n")
    if not start or not end:
        return text
    chain = parse_chain(text)
    if not (before + after).replace("#!/bin/sh", "").strip():
        return None
    line = ""
    if chained and chain:
        path = '"${0%/*}"/' + hook + chain["suffix"]
        line = f'[ ! -x {path} ] || {path} "$@" || exit $?\n'
    return before + line + after
