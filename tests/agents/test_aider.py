"""Aider, recorded by `gitcp run`: what its history says of the run."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from gitcp.agents.aider.history import read_lines
from tests.support.harness import World
from tests.support.paths import BIN

BEGUN = "\n# aider chat started at 2026-11-23 01:30:33\n\n> aider --model x  \n> Aider v0.86.2  \n"
RUN = """\
> Main model: openai/gpt-4o with diff edit format  

#### Add hello.py  
#### and no more  
> hello.py  
> Add file to the chat? (Y)es/(N)o/(D)on't ask again [Yes]: y  

I will add it.

hello.py
```python
print('hello')
```

> Tokens: 2.6k sent, 1.1k cache write, 512 cache hit, 30 received. Cost: $0.0006 message.  
> Applied edit to hello.py  
> Commit 4c2de63 I will add it.

The rest of the message.
"""  # noqa: W291
# The agent: it edits and commits as aider does, and writes its history.
AIDER = f"""#!/bin/sh
cat >>.aider.chat.history.md <<'END'
{BEGUN}{RUN}
END
echo "print('hello')" >hello.py
git add hello.py
git commit -q -m 'I will add it' -m 'Co-authored-by: aider (openai/gpt-4o) <aider@aider.chat>'
"""


def called(line: dict[str, Any]) -> str:
    return str(line.get("text") or line.get("tool", {}).get("input_paths"))


def test_a_history_tells_prompts_answers_edits_and_tokens() -> None:
    lines: list[dict[str, Any]] = [{**line} for line in read_lines(BEGUN + RUN).lines]
    assert [line["kind"] for line in lines] == ["prompt", "answer", "usage", "call", "result"]
    assert lines[0]["text"] == "Add hello.py\nand no more"
    assert lines[1]["text"].startswith("I will add it.") and lines[1]["text"].endswith("```")
    counts = [lines[2][f"{what}_tokens"] for what in ("input", "cache_creation", "output")]
    assert (lines[2]["model"], counts) == ("openai/gpt-4o", [2600, 1100, 30])
    assert lines[3]["tool"]["input_paths"] == ["hello.py"]


@pytest.mark.parametrize("text", ["", "# aider chat started at now\n", "> Tokens: few  \n", "\n\n"])
def test_a_history_that_tells_nothing_has_no_words(text: str) -> None:
    assert not [line for line in read_lines(text).lines if line["kind"] != "usage"]


def test_what_aider_does_under_gitcp_run_is_linked_with_its_prompts_and_tokens(
    world: World,
) -> None:
    program = world.home / "aider"
    program.write_text(AIDER)
    program.chmod(0o755)
    world.write(".aider.chat.history.md", BEGUN + "\n#### An earlier run  \n\nDone.\n")
    world.write(".git/info/exclude", ".aider*\n")
    world.gitcp("run", str(program), "--message", "Add hello.py")
    assert len(world.ids("HEAD")) == 1
    text = world.gitcp("show", "--full", "HEAD")
    assert "  > Add hello.py\n" in text and "  said: I will add it." in text
    assert "An earlier run" not in text
    assert "\n> Add hello.py\n" in world.gitcp("why", "hello.py:1")
    sums = world.gitcp("stats", "HEAD~1..HEAD")
    assert "30 out" in sums
    assert "gitcp run aider" in world.gitcp("enable", "--agent=aider")


def test_a_secret_in_the_history_is_not_in_the_copy_that_stays(world: World) -> None:
    token = "ghp_" + "a1B2" * 9
    program = world.home / "aider"
    program.write_text(AIDER.replace("and no more", f"with {token}"))
    program.chmod(0o755)
    world.write(".git/info/exclude", ".aider*\n")
    world.gitcp("run", str(program), "--message", "Add hello.py")
    [copy] = (world.path / ".git/gitcp/exports/aider").iterdir()
    assert "Add hello.py" in copy.read_text() and "REDACTED" in copy.read_text()
    assert token in (world.path / ".aider.chat.history.md").read_text()
    assert token not in copy.read_text()


def test_a_commit_of_aiders_own_is_told_the_prompt_and_the_model_at_once(world: World) -> None:
    before, _, after = RUN.partition("> Commit ")
    program = world.home / "aider"
    program.write_text(f"""#!/bin/sh
cat >>.aider.chat.history.md <<'END'
{BEGUN}{before}
END
echo "print('hello')" >hello.py
git add hello.py
git commit -q -m 'I will add it'
git log -1 --format=%B >../said
{sys.executable} {BIN / "gitcp"} show --full HEAD >../shown
cat >>.aider.chat.history.md <<'END'
> Commit {after}

#### And again  

> Tokens: 1k sent, 10 received.  
END
""")  # noqa: W291
    program.chmod(0o755)
    world.write(".git/info/exclude", ".aider*\n")
    world.git("config", "gitcp.disclose", "Assisted-by")
    world.gitcp("run", str(program), "--message", "Add hello.py")
    assert "Assisted-by: Aider (openai/gpt-4o)" in (world.path.parent / "said").read_text()
    shown = (world.path.parent / "shown").read_text()
    assert "  > Add hello.py\n" in shown and "I will add it." in shown
    text = world.gitcp("show", "--full", "HEAD")
    assert "  > And again\n" in text and text.count("  > Add hello.py\n") == 1
    assert "40 out" in world.gitcp("stats", "HEAD~1..HEAD")
