"""Complete command lines: scripts for bash, zsh and fish that ask gitcp, and the candidates for the
last word."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitcp.commands import Row

    Candidates = dict[str, str]  # word -> what it is, in a few words, or ""

SHELLS = ("bash", "zsh", "fish")
_BASH = """\
_gitcp() {{
	local line
	COMPREPLY=()
	while IFS= read -r line; do
		COMPREPLY+=("${{line%%$'\\t'*}}")
	done < <(gitcp completion --words -- "${{COMP_WORDS[@]:0:COMP_CWORD+1}}" 2>/dev/null)
}}
complete -o default -F _gitcp {programs}
"""
# A file on fpath is run as the function that it defines; else the script is sourced.
_ZSH = """\
#compdef {programs}
_gitcp() {{
	local -a lines
	lines=("${{(@f)$(gitcp completion --words -- "${{(@)words[1,CURRENT]}}" 2>/dev/null)}}")
	if [[ -n $lines ]]; then
		lines=("${{(@)lines//:/\\\\:}}")
		lines=("${{(@)lines/$'\\t'/:}}")
		_describe gitcp lines
	else
		_files
	fi
}}
if [[ ${{funcstack[1]-}} == _gitcp ]]; then
	_gitcp "$@"
else
	(( $+functions[compdef] )) || {{ autoload -Uz compinit && compinit }}
	compdef _gitcp {programs}
fi
"""
_FISH = """\
function __gitcp_words
	gitcp completion --words -- (commandline -opc) (commandline -ct) 2>/dev/null
	or __fish_complete_path (commandline -ct)
end
for program in {programs}
	complete -c $program -f -a '(__gitcp_words)'
end
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
# What a person's shell runs at its start, and the file for that; bash 3.2 sources no pipe.
STARTS = {
    "bash": ('eval "$(gitcp completion bash)"', "~/.bashrc"),
    "zsh": ("source <(gitcp completion zsh)", "~/.zshrc"),
    "fish": ("gitcp completion fish | source", "~/.config/fish/config.fish"),
}
# The kind of a value, by its name in the usage, or by its option.
_KINDS = {
    "--agent": "agent",
    "--checkpoints": "remote",
    "--turn": "",
    "--tool": "",
    "<agent>": "agent",
    "<client>": "agent",
    "<session>": "session",
    "<id>": "recorded",
    "<name>": "recorded",
    "<key>": "key",
    "<branch>": "branch",
    "<remote>": "remote",
    **dict.fromkeys(("<point>", "<good>", "<bad>"), "point"),
    "<ref>": "ref",
    "<stream>": "ref",
    **dict.fromkeys("<commit> <revision> <range> <old> <new> <tree-ish>".split(), "commit"),
}
_DESCRIBED = ("agent", "key")  # kinds that say of each choice what it is


def format_script(shell: str, commands: Iterable[str]) -> str:
    """The completions for one of SHELLS; commands by name, without `gitcp-`."""
    programs = " ".join(["gitcp", *(f"gitcp-{name}" for name in commands)])
    return _SCRIPTS[shell].format(programs=programs)


def split_words(words: Sequence[str]) -> list[str]:
    """The words after `gitcp`; `gitcp-log` becomes `log`, and `--agent`, `=`, `c`, as bash splits
    it, becomes `--agent`, `c`."""
    program, *typed = words
    name = program.rpartition("/")[2]
    if name.startswith("gitcp-"):
        typed = [name.removeprefix("gitcp-"), *typed]
    joined: list[str] = []
    for number, word in enumerate(typed):
        option, equals, value = word.partition("=")
        if word == "=" and number:
            if number == len(typed) - 1:
                joined += [""]
        elif option.startswith("--") and equals:
            joined += [option, value]
        else:
            joined.append(word)
    return joined


def list_candidates(rows: Sequence[Row], words: Sequence[str]) -> tuple[Candidates, str]:
    """(the candidates for the last word by the command's rows; the kind of further ones that only
    the repository has, or "").  words: those after the command's name."""
    options = {name: row for row in rows for name in row[0] if name.startswith("-")}
    *before, last = words
    valued = {name for name, (_, settings) in options.items() if "metavar" in settings}
    if "--" not in before:
        if before and before[-1] in valued:
            return _list_values(options[before[-1]])
        if last.startswith("-"):
            return {name: str(settings["help"]) for name, (_, settings) in options.items()}, ""
    if "--" in before:
        end = before.index("--")
    else:
        end = len(before)
    count = len(before[end + 1 :])  # of the arguments before the last word
    for previous, word in zip(["", *before], before[:end], strict=False):
        count += not word.startswith("-") and previous not in valued
    arguments = [row for row in rows if not row[0][0].startswith("-")]
    for row in arguments[count : count + 1] or arguments[-1:]:
        if count < len(arguments) or row[1].get("nargs") in ("*", "+"):
            return _list_values(row)
    return {}, ""


def _list_values(row: Row) -> tuple[Candidates, str]:
    names, settings = row
    kinds = [_KINDS[name] for name in (*names, str(settings["metavar"])) if name in _KINDS]
    choices = {word: "" for word in settings.get("choices") or () if isinstance(word, str)}
    kind = next(iter(kinds), "")
    return choices, kind if not choices or kind in _DESCRIBED else ""
