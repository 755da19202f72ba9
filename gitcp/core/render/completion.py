"""What bash, zsh and fish need to complete our commands, as text."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypedDict

    class Command(TypedDict):
        """A command's summary, (names such as -n and --number, help) of each option, and the words
        that its arguments may be, as far as they are known."""

        summary: str
        options: list[tuple[list[str], str]]
        words: list[str]

    Commands = Mapping[str, Command]

SHELLS = ("bash", "zsh", "fish")

_BASH = """\
_gitcp() {{
	local word=${{COMP_WORDS[COMP_CWORD]}} command=${{COMP_WORDS[0]##*/}} options= words=
	COMPREPLY=()
	if [[ $command == gitcp ]]; then
		if ((COMP_CWORD == 1)); then
			COMPREPLY=($(compgen -W '{names}' -- "$word"))
			return
		fi
		command=gitcp-${{COMP_WORDS[1]}}
	fi
	case $command in
{cases}
	gitcp-help) COMPREPLY=($(compgen -W '{names}' -- "$word")); return ;;
	esac
	[[ $word == -* ]] && words=$options
	COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _gitcp gitcp {programs}
"""
_ZSH = """\
#compdef gitcp {programs}
local -a commands options known
commands=(
{described}
)
local command=${{words[1]:t}}
if [[ $command == gitcp ]]; then
	if ((CURRENT == 2)); then
		_describe command commands
		return
	fi
	command=gitcp-$words[2]
fi
case $command in
{cases}
gitcp-help) _describe command commands; return ;;
esac
if [[ $PREFIX == -* ]]; then
	compadd -- $options
elif (($#known)); then
	compadd -- $known
else
	_files
fi
"""


def script(shell: str, commands: Commands) -> str:
    """The completions for one of SHELLS; commands by name, without `gitcp-`."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands)


def _bash(commands: Commands) -> str:
    cases = "\n".join(
        f"\tgitcp-{name}) options='{' '.join(_options(command))}'{_bash_words(command)} ;;"
        for name, command in commands.items()
    )
    return _BASH.format(
        names=" ".join([*commands, "help"]), cases=cases, programs=_programs(commands)
    )


def _zsh(commands: Commands) -> str:
    cases = "\n".join(
        f"gitcp-{name}) options=({' '.join(_options(command))})"
        f"{' known=(' + ' '.join(command['words']) + ')' if command['words'] else ''} ;;"
        for name, command in commands.items()
    )
    lines = [f"{name}:{command['summary']}" for name, command in commands.items()]
    described = "\n".join(f"\t{_quoted(line)}" for line in lines)
    return _ZSH.format(programs=_programs(commands), described=described, cases=cases)


def _fish(commands: Commands) -> str:
    lines = []
    for name, command in commands.items():
        about = _quoted(command["summary"])
        lines.append(f"complete -c gitcp -n __fish_use_subcommand -x -a {name} -d {about}")
        for names, help_text in command["options"]:
            option = f"{' '.join(map(_fish_option, names))} -d {_quoted(help_text)}"
            lines.append(f"complete -c gitcp -n '__fish_seen_subcommand_from {name}' {option}")
            lines.append(f"complete -c gitcp-{name} {option}")
        if words := " ".join(command["words"]):
            listed = f"-x -a {_quoted(words)}"
            lines.append(f"complete -c gitcp -n '__fish_seen_subcommand_from {name}' {listed}")
            lines.append(f"complete -c gitcp-{name} {listed}")
    return "\n".join(lines) + "\n"


def _bash_words(command: Command) -> str:
    return f" words='{' '.join(command['words'])}'" if command["words"] else ""


def _fish_option(name: str) -> str:
    return f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"


def _options(command: Command) -> list[str]:
    return [name for names, _ in command["options"] for name in names]


def _programs(names: Iterable[str]) -> str:
    return " ".join(f"gitcp-{name}" for name in names)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "'\\''") + "'"
