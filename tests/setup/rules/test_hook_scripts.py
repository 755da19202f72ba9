"""The sh text of the git hooks, and reading hooks that are there."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

import pytest

from gitcp.hook import VERDICT, WITH_STDIN
from gitcp.setup import hook_texts
from tests.support.installed import write
from tests.support.paths import TOP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.setup.hook_texts import Chain

PATHS = [("/usr/bin/python3", "/x/gitcp/entry.py"), ("/a b/it's", '/ünï/$(x)`y`"z\n/entry.py')]
CHAINS: list[Chain | None] = [
    None,
    {"suffix": ".pre-entire", "shell": "bash", "mark": ""},
    {"suffix": ".before-gitcp", "shell": "", "mark": "# It calls what LEFTHOOK wrote."},
    {"suffix": ".before-gitcp", "shell": "sh", "mark": f"# ID: {'0f' * 16}"},
]
HUSKY = '#!/usr/bin/env sh\n. "$(dirname "$0")/h"'


@pytest.mark.parametrize("hook", hook_texts.WRITTEN)
def test_every_script_is_sh_and_is_known_again(hook: str) -> None:
    for baked, chain in itertools.product(PATHS, CHAINS):
        text = hook_texts.build_script(hook, *baked, chain)
        checked = subprocess.run(["sh", "-n"], input=text.encode(), capture_output=True)
        assert (checked.returncode, checked.stderr) == (0, b"")
        assert hook_texts.is_ours(text) and not hook_texts.is_entire_hook(text)
        assert hook_texts.is_untouched(hook, text) and hook_texts.parse_program(text) == baked
        assert hook_texts.parse_chain(text) == chain or chain is None
        assert hook_texts.remove_ours(hook, text, chained=False) is None


def test_the_paths_are_data_to_the_shell(tmp_path: Path) -> None:
    text = hook_texts.build_script("post-commit", *PATHS[1])
    shown = text.partition("theirs()")[0] + 'printf "%s|%s" "$py" "${work%/*}/entry.py"\n'
    out = subprocess.run(["sh", "-c", shown], capture_output=True, check=True, cwd=tmp_path)
    assert tuple(out.stdout.decode().split("|")) == PATHS[1]


def test_the_file_that_hooks_source_knows_the_signs_of_tools() -> None:
    text = (TOP / "gitcp/hooks.sh").read_text()
    assert all(sign in text for sign in hook_texts.TOOLS)
    assert all(f"\n{hook}) " in text for hook in hook_texts.WRITTEN)
    assert all(str(status) in text for status in hook_texts.CANNOT)


def test_an_edited_script_is_seen_to_be_edited() -> None:
    text = hook_texts.build_script("post-commit", *PATHS[0]).replace("py=", "py='' py=")
    assert hook_texts.is_ours(text) and not hook_texts.is_untouched("post-commit", text)


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("#!/bin/sh\ngit lfs push --stdin $*\n", hook_texts.LFS),
        ('#!/bin/sh\ngit lfs pre-push "$@"\n', hook_texts.LFS),
        (
            '#!/bin/sh\ncommand -v git-lfs >/dev/null || exit 2\ngit lfs post-merge "$@"',
            hook_texts.LFS,
        ),
        ('#!/bin/sh\nmake\ngit lfs pre-push "$@"\n', ""),
    ],
)
def test_a_hook_of_git_lfs_is_known_if_it_has_nothing_else(text: str, tool: str) -> None:
    assert hook_texts.find_tool(text) == tool


@pytest.mark.parametrize(
    ("hook", "shell"),
    [
        ("#!/bin/sh\necho hi\n", ""),
        ("#!/bin/sh\ncd $(dirname $0)\n", ""),
        ("#!/bin/bash\nrun $(basename $0)\n", "bash"),
        ("#!/bin/sh\nrun ${0##*/} $0\n", "sh"),
        (HUSKY, "sh"),
        ("#!/usr/bin/env python3\nbasename $0\n", ""),
        ("", ""),
    ],
)
def test_a_shell_script_that_looks_at_its_name_is_sourced(hook: str, shell: str) -> None:
    assert hook_texts.choose_chain(hook) == {
        "suffix": ".before-gitcp",
        "shell": shell,
        "mark": "",
    }


@pytest.mark.parametrize("chained", [True, False])
def test_lines_that_somebody_wrote_round_ours_stay(chained: bool) -> None:
    text = (
        "#!/bin/sh\necho before\n" + hook_texts.build_script("pre-push", *PATHS[0])[10:] + "after\n"
    )
    left = hook_texts.remove_ours("pre-push", text, chained)
    assert left is not None and not hook_texts.is_ours(left)
    assert left.startswith("#!/bin/sh\necho before\n") and left.endswith("after\n")
    assert ("before-gitcp" in left) == chained


def test_a_hook_of_somebody_else_has_nothing_of_ours() -> None:
    assert hook_texts.remove_ours("pre-push", HUSKY, chained=True) == HUSKY
    assert hook_texts.is_entire_hook(
        "#!/bin/sh\n# Entire CLI hooks\nentire hooks git post-commit\n"
    )


@pytest.mark.parametrize("hook", hook_texts.HOOKS)
def test_the_line_to_add_fails_nothing_where_gitcp_is_missing(hook: str, tmp_path: Path) -> None:
    line = hook_texts.build_line(hook)
    done = subprocess.run(
        ["/bin/sh", "-eu", "-c", line], env={"PATH": str(tmp_path)}, capture_output=True, check=True
    )
    assert done.stderr == b""


@pytest.mark.parametrize("status", [0, 1, 3, 127])
@pytest.mark.parametrize("hook", hook_texts.HOOKS)
def test_the_line_to_add_hands_on_what_git_says_and_stops_at_a_verdict(
    hook: str, status: int, tmp_path: Path
) -> None:
    write(tmp_path / "gitcp-hook", f'#!/bin/sh\necho "$@"; cat\nexit {status}\n')
    script = f"{hook_texts.build_line(hook)}\necho after\n"
    argv = ["/bin/sh", "-eu", "-c", script, "hook", "argument"]
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(argv, env=env, input="refs\n", capture_output=True, text=True)
    given = "refs\n" if hook in WITH_STDIN else ""
    assert done.stdout == f"{hook} argument\n{given}" + ("" if status == 3 else "after\n")
    assert done.returncode == (1 if status == VERDICT else 0)
