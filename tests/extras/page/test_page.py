"""The page as a file: what it names, where it goes, of what it can be made."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from gitcp.cmd.extras.page import gather_page
from gitcp.extras.page import drawing, gather, highlight
from gitcp.git.objects import reading
from gitcp.git.repo import Repo
from gitcp.text.short_ids import shorten_id
from tests.extras.page.browser import page
from tests.extras.page.hostile import SECRET, SESSION, A
from tests.extras.page.sample import CHANGED, build_page
from tests.lines.blame.recorded_lines import linked
from tests.support.checkpoints import git
from tests.support.paths import BIN, TOP
from tests.support.warm import run

ASSETS = TOP / "gitcp" / "extras" / "page" / "assets"


class Tags(HTMLParser):
    """The names of the elements of a page, and of their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names, self.keys = set[str](), set[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.keys |= {name for name, _ in attrs}


def test_the_page_is_one_file_that_names_nothing_to_fetch_and_holds_no_secret(
    shown: Path, full: Path
) -> None:
    for path in (shown, full):
        text = path.read_text()
        [link] = re.findall(r"https?:[^\s\"']+", text)
        place = (
            r"https://github\.com/x/%3Cb%3E%27%22%26/blob/[0-9a-f]{40}/a%3Cb%20onload%3Dx%3E\.py"
        )
        assert re.fullmatch(place, link), "the only link is to the file at its forge"
        assert {"svg", "button", "table"} <= (tags := Tags(text)).names
        assert not tags.names & {"img", "iframe", "object", "link"}
        assert {name for name in tags.keys if name in ("style", "src") or name[:2] == "on"} == set()
        assert SECRET not in text
        assert text.index("Content-Security-Policy") < text.index("<style>") < text.index("<script")
        policy = text.replace("&#39;", "'")
        assert "default-src 'none'; base-uri 'none'; form-action 'none'" in policy
        assert "connect-src 'none'" in policy


def test_the_conversation_is_there_if_it_is_asked_for(shown: Path, full: Path) -> None:
    for path, is_there in ((shown, False), (full, True)):
        text = path.read_text()
        for words in ("And a second prompt", "Done.", "&lt;u&gt;Edit", "claude -r"):
            assert (words in text) is is_there, words
        assert "def f():" in re.sub("</?[bsi]>", "", text) and "a&lt;b onload" in text
        assert "The agent said:" in text, "what led to the edit is always there"


def test_every_link_within_the_page_leads_to_a_place(full: Path) -> None:
    text = full.read_text()
    links = re.findall(r'href="?#([\w-]+)', text)
    assert {"f0", "talks"} < set(links)
    for link in links:
        assert len(re.findall(f'id="?{link}\\b[^-]', text)) == 1, link


def test_a_page_is_small(tmp_path: Path) -> None:
    said = build_page().format_html("0")
    silent = build_page(with_prompts=False).format_html("0")
    assert CHANGED > 100
    assert len(silent.encode()) / CHANGED <= 250
    assert len(said.encode()) / CHANGED <= 600
    parts = [re.findall(f"(?s)<{tag}>(.*?)</{tag}>", said)[0] for tag in ("style", "script")]
    assert sum(map(len, parts)) <= 40_000
    words = re.findall("(?s)<p>(.*?)</p>", said)
    assert words and max(map(len, words)) < 2200, "prompts and words are cut"


def test_it_goes_into_a_pipe_and_does_not_take_its_place(hostile: Path) -> None:
    pipe = hostile / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        try:
            assert page("-o", "pipe", "HEAD").returncode == 0
            assert reader.communicate()[0].startswith(b"<!")
        finally:
            reader.kill()  # it waits for a writer
    assert pipe.is_fifo()


def test_a_file_that_cannot_be_written_is_named_as_the_person_did(hostile: Path) -> None:
    (hostile / "folder").mkdir(exist_ok=True)
    for name, why in {
        "missing/x.html": "No such file or directory",
        "folder": "Is a directory",
    }.items():
        done = page("-o", name, "HEAD")
        assert done.returncode == 128
        assert done.stderr == f"fatal: cannot write '{hostile}/{name}': {why}\n"


@pytest.mark.thorough
def test_at_a_terminal_it_says_how_far_it_is(hostile: Path) -> None:
    master, slave = pty.openpty()
    os.set_blocking(master, False)
    argv = [sys.executable, str(BIN / "gitcp"), "page", "-o", "x.html", "HEAD"]
    env = {**os.environ, "GIT_PROGRESS_DELAY": "0"}
    subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=slave, check=True, env=env)
    seen = os.read(master, 65536).decode()
    assert "reading the lines of 1 commits" in seen and "files: 0 of 1" in seen
    assert seen.endswith("\x1b[K"), "nothing of it stays"


def test_prompts_answers_and_transcripts_are_left_out_where_others_see_it(hostile: Path) -> None:
    text = page("-o", "-", "--no-prompts", "HEAD").stdout
    for words in ("second prompt", "Done.", "Please", "&lt;u&gt;Edit", 'id="talks"', "said:"):
        assert words not in text, words
    assert "&lt;/script>&lt;script>" in text and SECRET not in text, "the code is shown"
    assert f"<span class=pr>Claude Code {shorten_id(SESSION)}</span>" in text
    assert page("-o", "-", "--no-prompts", "--full", "HEAD").returncode == 129


def test_a_checkpoint_a_session_and_a_range_are_meant_and_nothing_else(hostile: Path) -> None:
    for name in (A, SESSION[:8], "HEAD~1..HEAD", "HEAD"):
        shown = page("-o", "-", name).stdout
        assert "<h1 title=" in shown and 'id="commits"' not in shown, name
    assert page("-o", "-").stdout.partition('id="commits"')[2].count("<li>") == 3
    for name, words in (("nothing", "nothing"), ("HEAD..HEAD", "no commits")):
        done = page("-o", "x.html", name)
        assert (done.returncode, done.stdout) == (128, "") and words in done.stderr
        assert not (hostile / "x.html").exists()


def test_a_page_is_called_by_its_commit_or_its_branch(hostile: Path) -> None:
    def name(*wanted: str) -> str:
        titles: list[str] = re.findall("<title>(.*)</title>", page("-o", "-", *wanted).stdout)
        return titles[0]

    for subject in ("first thing", "second thing"):
        git("commit", "-q", "--allow-empty", "-m", subject)
    assert name("HEAD") == "second thing"
    assert name("HEAD~2..HEAD") == "second thing, and 1 more"
    branch = git("symbolic-ref", "--short", "HEAD")
    git("switch", "-q", "-c", "topic")
    git("commit", "-q", "--allow-empty", "-m", "of the topic")
    git("commit", "-q", "--allow-empty", "-m", "of it, too")
    for wanted in (f"{branch}..HEAD", f"{branch}..", f"{branch}...topic"):
        assert name(wanted) == "topic", wanted


def test_a_session_is_not_taken_for_one_whose_id_begins_like_it(hostile: Path) -> None:
    (hostile / "other").write_text("other\n")
    git("add", "-A")
    git("commit", "-q", "-m", "other work")
    linked("c" * 12, f"{SESSION}-again", "other", None)
    shown = page("-o", "-", f"{SESSION}-again").stdout
    assert "other work" in shown and 'id="commits"' not in shown
    assert "other work" not in page("-o", "-", A).stdout
    assert "other work" not in page("-o", "-", SESSION).stdout


def test_without_a_library_one_line_says_how_to_get_it(hostile: Path) -> None:
    code = (
        "import sys; sys.modules['jinja2'] = None; sys.argv = ['gitcp', 'page', '-o', '-'];"
        "from gitcp import __main__; sys.exit(__main__.main())"
    )
    env = {**os.environ, "PYTHONPATH": str(BIN.parent)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 128
    assert done.stderr == (
        f"fatal: gitcp page needs cmarkgfm, Jinja2 and Pygments: make -C {BIN.parent} setup\n"
    )


def test_its_scripts_are_short_and_make_no_markup() -> None:
    scripts = [path.read_text() for path in ASSETS.glob("*.js")]
    assert len(scripts) == 2
    for script in scripts:
        assert script.count("\n") < 200
        for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("):
            assert word not in script
    assert "fetch(" not in (ASSETS / "page.js").read_text()
    template = (ASSETS / "page.html").read_text()
    assert not re.search(r"\son\w+=|\sstyle=|\bsrc=|\|\s*safe", template)


def test_what_is_longer_than_256_kib_stays_plain() -> None:
    line = "def f(): pass  # a comment"
    assert highlight.highlight_lines("a.py", [line], [(0, 1)])[0][0] == ["k", "def"]
    many = [line] * (highlight.LARGEST // (len(line) + 1) + 1)
    assert highlight.LARGEST == 256 * 1024
    assert highlight.highlight_lines("a.py", many, [(0, len(many))]) == [[["", line]]] * len(many)
    assert highlight.highlight_lines("a.nothing-known", [line, ""], [(0, 2)]) == [[["", line]], []]


TOLD = {
    "a.ts": ["/* one", "two */ let a = 1", "`text", "more` + 1", "x(`a${1}`)", "y('src/**/*.ts')"],
    "a.py": ['"""one', "two", '"""', "def f(): pass", 'x = """a"""', "class A: pass"],
    "a.html": ["<!-- one", "two", "three -->", "<b>x</b>"],
    "a.hs": ["{- one", "two", "-}", "f = 1 -- two"],
    "a.go": ["/*", "func no() {", "*/", "func f() {", "}", "/* a */ var a = 1"],
}


@pytest.mark.parametrize("path", TOLD)
def test_lines_that_are_shown_have_the_colours_that_they_have_in_the_whole_file(path: str) -> None:
    lines = [line for text in TOLD[path] for line in (text, *["let x = 1"] * 5)]
    whole = highlight.highlight_lines(path, lines, [(0, len(lines))])
    assert any(kind for row in whole for kind, _ in row)
    for first in range(len(lines)):
        rows = highlight.highlight_lines(path, lines, [(first, first + 2)])
        assert rows[first : first + 2] == whole[first : first + 2], first


def test_of_a_file_only_what_is_shown_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    span = highlight._highlight_span

    def note(lexer: Any, texts: list[str]) -> Any:
        read.extend(texts)
        return span(lexer, texts)

    monkeypatch.setattr(highlight, "_highlight_span", note)
    lines = [f"a = {n}" for n in range(1000)]
    highlight.highlight_lines("a.py", lines, [(300, 310), (700, 710)])
    assert read == lines[300:310] + lines[700:710]


@pytest.mark.thorough
def test_one_process_draws_the_same_page_as_several(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(60):
        name = repo / f"{number}.py"
        name.write_text("".join(f"def f{n}(): return '{number}'\n" for n in range(20)))
    git("add", "."), git("commit", "-q", "-m", "many")
    monkeypatch.setattr(drawing, "_BATCH", 100)
    started, pages, start = list[Any](), list[str](), reading._start_workers

    def note(*args: Any) -> Any:
        started.append(start(*args))
        return started[-1]

    monkeypatch.setattr(reading, "_start_workers", note)
    for processors in ({0}, {0, 1, 2}):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, at=processors: at, raising=False)
        pages.append(gather_page(Repo.find_here(), "HEAD").format_html("0"))
        shutil.rmtree(repo / ".git/gitcp/cache")
        assert any(started) == (len(processors) > 1)
    assert pages[0] == pages[1] and "59.py" in pages[1]


def test_without_a_file_the_page_is_where_no_commit_takes_it_and_only_its_owner_reads_it(
    hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("worktree", "add", "-q", "-b", "beside", str(tmp_path / "a # tree"))
    for top in (hostile, tmp_path / "a # tree"):
        before = git("status", "--porcelain", "--ignored", cwd=top)
        (tmp_path / "browser").write_text(f'#!/bin/sh\necho "$1" >{tmp_path}/shown\n')
        (tmp_path / "browser").chmod(0o755)
        monkeypatch.setenv("BROWSER", f"{tmp_path}/browser %s")
        done = run("page", "--open", "HEAD", cwd=top)
        path = Path(done.stdout.removesuffix("\n"))
        assert done.returncode == 0 and "Count further" in path.read_text(), done
        assert (
            path == Path(git("rev-parse", "--absolute-git-dir", cwd=top)) / "gitcp/cache/page.html"
        )
        assert path.stat().st_mode & 0o777 == 0o600
        assert git("status", "--porcelain", "--ignored", cwd=top) == before
        assert (tmp_path / "shown").read_text().strip() == path.as_uri()


def test_open_shows_the_page_in_the_browser_of_the_person(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, shown = tmp_path / "browser", tmp_path / "shown"
    browser.write_text(f'#!/bin/sh\necho "$1" >{shown}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    done = run("page", "--open", "-o", str(tmp_path / "p.html"), cwd=repo)
    assert done.returncode == 0, done.stderr
    assert shown.read_text().strip() == f"file://{tmp_path / 'p.html'}"


def test_without_a_browser_the_page_is_written_and_its_place_told(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").symlink_to(str(shutil.which("git")))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("BROWSER", raising=False)
    path = tmp_path / "p.html"
    done = run("page", "--open", "-o", str(path), cwd=repo)
    assert (done.returncode, done.stdout) == (128, f"{path}\n")
    assert done.stderr == "fatal: no browser could be opened\n" and path.exists()


def test_texts_are_redacted_together_as_each_alone(repo: Path) -> None:
    here = Repo.find(str(repo))
    redact = gather.make_redaction(here, gather.open_kept(here, "clean"))
    texts = ["plain", f"use {SECRET} now", "", "half \udcff", "x" * 3000]
    together = redact(texts)
    assert together == [one for text in texts for one in redact([text])]
    assert SECRET not in together[1] and together[0] == "plain"
