"""The section of a page about what was tried and given up."""

from __future__ import annotations

from tests.support.harness import World
from tests.support.warm import run

SID = "11111111-0000-4000-8000-000000000001"


def make(world: World, *options: str) -> str:
    done = run("page", "-o", "-", *options, "HEAD", cwd=world.path)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_page_has_what_its_sessions_gave_up_if_that_is_asked_for(world: World) -> None:
    a = world.agent(SID, tools=True)
    other = world.agent("other", tools=True)
    other.turn("not of this page", {"x.txt": "x\n"})
    (world.path / "x.txt").unlink()
    a.turn("parse <b>by hand</b> with AKIAIOSFODNN7REALKEY", {"parser.txt": "by hand\n"})
    (world.path / "parser.txt").unlink()
    a.turn("too slow, use a table", {"table.txt": "table\n"})
    world.commit("table.txt")
    a.turn("one more try", {"table.txt": "chair\n"})
    other.turn("not of this page either", {"table.txt": "table\n"})
    assert "Tried and given up" not in make(world)
    text = make(world, "--abandoned")
    section = text[text.index('<section id="abandoned"') :].partition("</section>")[0]
    assert section.count("<article") == 2
    assert "one more try" in section and "not of this page" not in section
    assert "parse &lt;b&gt;by hand&lt;/b&gt; with REDACTED" in section
    assert "<code>parser.txt</code>" in section and "Then: too slow, use a table" in section
    hidden = make(world, "--abandoned", "--no-prompts")
    assert "<code>parser.txt</code>" in hidden and "too slow" not in hidden
