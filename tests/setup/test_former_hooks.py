"""Hooks of git that a former gitcp wrote: they work with this one, until that replaces them."""

from __future__ import annotations

import pytest

from gitcp.git.files import hash_bytes
from gitcp.setup.hook_texts import parse_program
from tests.support import warm
from tests.support.harness import World
from tests.support.installed import HOOKS, write
from tests.support.screens import ALL_WELL

FORMER = """\
#!/bin/sh
# gitcp hook 1
# Taken out by 'gitcp disable --uninstall'.
hook={hook} next=${{0%/*}}/{hook}.before-gitcp
py='{py}' entry='{entry}'
theirs() {{ "$next" "$@"; }}
work=${{entry%/*}}/hooks.sh
[ -r "$work" ] || {{ py='' work=$(gitcp-hook --sh 2>/dev/null) || :; }}
if [ -r "$work" ]; then
	. "$work"
elif [ -x "$next" ]; then # gitcp is gone
	case ${{GITCP_CHAIN-}}: in *:"$next":*) exit 0 ;; esac
	GITCP_CHAIN=${{GITCP_CHAIN-}}:$hook=$$:$next
	export GITCP_CHAIN
	theirs "$@"
fi
# gitcp hook end
"""


@pytest.mark.usefixtures("older_git")
def test_a_hook_of_seventeen_lines_works_until_doctor_replaces_it(world: World) -> None:
    folder = world.path / ".git/hooks"
    manifest = world.path / ".git/gitcp/installed/manifest.json"
    record, today = manifest.read_text(), {hook: (folder / hook).read_text() for hook in HOOKS}
    for hook, text in today.items():
        program = parse_program(text)
        assert program
        former = FORMER.format(hook=hook, py=program[0], entry=program[1])
        write(folder / hook, former)
        record = record.replace(hash_bytes(text.encode()), hash_bytes(former.encode()))
    manifest.write_text(record)
    write(folder / "post-commit.before-gitcp", "#!/bin/sh\necho once >>ran\n")
    for number in (1, 2):
        world.agent("s0").turn("edit", {"a.txt": f"{number}\n"})
        world.commit("a.txt")
        assert world.ids("HEAD") and world.read("ran") == "once\n" * number
        found = warm.run("doctor", cwd=world.path)
        if number == 1:
            said = f"{', '.join(HOOKS)} in '{folder}' were written by an older gitcp"
            assert found.returncode and said in found.stdout
            assert warm.run("doctor", "--fix", cwd=world.path).returncode == 0
            assert {hook: (folder / hook).read_text() for hook in HOOKS} == today
        else:
            assert (found.returncode, found.stdout) == (0, ALL_WELL)
