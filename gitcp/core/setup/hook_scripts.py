"""The sh text of each git hook: no Python starts unless a marker says it could matter.

Tested facts behind every line: git.md §5.  What stood in the hook's place before is called
too, and its refusal is the hook's; our own part never fails what git does.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class Chain(TypedDict):
        """What a hook calls besides us: a file beside it, run by git's rules or sourced."""

        suffix: str  # its name is the hook's and this
        shell: str  # '' to run it; a shell's name to have $0 stay the hook's own name


MARKER = "# gitcp hook 1"
END = "# gitcp hook end"
BACKUP = ".before-gitcp"

_HEAD = """\
{marker}
# Taken out by 'gitcp disable --uninstall'.
py={py} entry={entry}
d=${{GIT_DIR:-.git}} next=${{0%/*}}/{hook}{suffix}
[ -d "$d" ] || d=$(git rev-parse --git-dir 2>/dev/null) || d=/nonexistent
c=${{GIT_COMMON_DIR:-$d}}
if [ -f "$d/commondir" ]; then
	read -r c <"$d/commondir" || :
	case $c in /*) ;; *) c=$d/$c ;; esac
fi
any() {{
	[ -z "${{GITCP_ACTIVE-}}" ] && [ ! -e "$c/gitcp/off" ] || return 1
	for f do [ ! -e "$f" ] || return 0; done
	return 1
}}
run() {{
	if [ -x "$py" ] && [ -f "$entry" ]; then "$py" -I -S "$entry" "$@"
	elif command -v gitcp-hook >/dev/null 2>&1; then gitcp-hook "$@"
	fi || :
}}
feed() {{ [ -z "${{in-}}" ] || printf '%s\\n' "$in" 2>/dev/null; }}
theirs() {{ [ ! -x "$next" ] || {call} "$@"; }}
"""
_BODY = {
    "prepare-commit-msg": """\
squashed() {
	[ "${2-}" = squash ] || [ -e "$d/SQUASH_MSG" ] || [ -e "$d/rebase-merge/current-fixups" ]
}
theirs "$@" || exit $?
if any "$c"/gitcp/open/* || { squashed "$@" && any "$c/gitcp/linked"; }; then
	run prepare-commit-msg "$@" </dev/null
fi
""",
    "commit-msg": """\
only_ours() { # nothing but our trailer and what may be a comment
	found=1
	while read -r line || [ -n "$line" ]; do
		case $line in
		?' ------------------------ >8 '*) break ;;
		Entire-Checkpoint:*) found=0 ;;
		'' | [#\\;@!$%^\\&\\|:]* | Signed-off-by:*) ;;
		*) return 1 ;;
		esac
	done <"$1"
	return $found
}
theirs "$@" || exit $?
if any "$c"/gitcp/open/* "$c/gitcp/linked" && [ -r "${1-}" ] &&
	{ [ -e "$d/gitcp/template" ] || only_ours "$1"; }; then
	run commit-msg "$@" </dev/null
fi
""",
    "post-commit": """\
if any "$c"/gitcp/open/*; then run post-commit "$@" </dev/null; fi
theirs "$@"
""",
    "post-rewrite": """\
if any "$c/gitcp/linked" || { [ "${1-}" = rebase ] && any "$c"/gitcp/open/*; }; then
	in=$(cat)
	feed | run post-rewrite "$@"
	feed | theirs "$@"
else
	theirs "$@"
fi
""",
    "pre-push": """\
if any "$c/gitcp/unpushed"; then
	in=$(cat)
	feed | theirs "$@" || exit $?
	feed | run pre-push "$@"
else
	theirs "$@"
fi
""",
}
HOOKS = tuple(_BODY)


def script(hook: str, py: str, entry: str, chain: Chain | None = None) -> str:
    """The text of a git hook.

    py and entry are absolute: the interpreter and gitcp/entry.py.  Where they are gone,
    `gitcp-hook` is looked for on PATH, and without that nothing is done.
    """
    chain = chain or {"suffix": BACKUP, "shell": ""}
    suffix, shell = chain["suffix"], chain["shell"]
    call = f'{shell} -c \'. "${{0%/*}}/{hook}{suffix}"\' "$0"' if shell else '"$next"'
    head = _HEAD.format(
        marker=MARKER, py=_quote(py), entry=_quote(entry), hook=hook, suffix=suffix, call=call
    )
    return f"#!/bin/sh\n{head}{_BODY[hook]}{END}\n"


def lines_to_add(hook: str) -> str:
    """The line that does our part in a hook script which is not ours to write."""
    stdin = "" if hook == "post-rewrite" else " </dev/null"
    return f'! command -v gitcp-hook >/dev/null || gitcp-hook {hook} "$@"{stdin} || :'


def _quote(path: str) -> str:
    return "'" + path.replace("'", "'\\''") + "'"
