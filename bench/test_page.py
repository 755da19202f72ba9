"""A page of 2,000 commits, 500 turns and 20 MB of transcript: made in 10 s, usable in 1 s.

What happens in the browser is timed by its own clock, from the navigation on, and by what its main
thread has worked until then, which says the same on a machine that is busy; the frames of a scroll
through all of it tell whether it is smooth (16.7 ms at 60 a second).
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bench.session import quietly
from tests.extras.page.browser import needs_browser, page, started
from tests.lines.blame.recorded_lines import linked

SESSIONS, TURNS, SIZE, COMMITS = 10, 50, 20_000_000, 2000
GROUP = "a page of 2,000 commits, 500 turns, 20 MB of transcript (made: 10 s; usable: 1 s)"
EVERY = f"HEAD~{SESSIONS + COMMITS}..HEAD"
SOURCE = sorted(Path(__file__).parents[1].glob("gitcp/**/*.py"))
WATCH = """
new MutationObserver(() => {
  const { ready, whole } = document.documentElement?.dataset || {};
  if (ready && !window.usable) window.usable = performance.now();
  if (whole !== undefined && !window.searchable) window.searchable = performance.now();
}).observe(document, { subtree: true, attributes: true });
"""
CLOCK = """
const paint = performance.getEntriesByName("first-contentful-paint")[0];
return [paint ? paint.startTime : 0, window.usable, window.searchable];
"""
SCROLL = """
const done = arguments[0], gaps = [];
let most = 0;
let last = performance.now();
function step(now) {
  gaps.push(now - last);
  most = Math.max(most, document.getElementsByTagName("*").length);
  last = now;
  scrollBy(0, innerHeight / 2);
  if (gaps.length < 200) requestAnimationFrame(step);
  else done([gaps.slice(1).sort((a, b) => a - b), most]);
}
requestAnimationFrame(step);
"""


def transcript(path: Path, session: int) -> None:
    """TURNS prompts with what came of them: calls, results of some kilobytes, an answer."""
    rng = random.Random(session)
    texts = [text for source in SOURCE if len(text := source.read_text()) > 3000]
    least = SIZE // SESSIONS // TURNS
    with path.open("w") as file:
        for turn in range(TURNS):
            written, when = 0, session * 100_000 + turn * 600
            written += file.write(_line("user", f"Do part {turn} of {session}", when))
            while written < least:
                text, call = rng.choice(texts), f"toolu_{rng.getrandbits(64):x}"
                at = {"file_path": f"file{rng.randrange(30):03}.py"}
                use = {"type": "tool_use", "id": call, "name": "Read", "input": at}
                result = {"type": "tool_result", "tool_use_id": call, "content": text}
                when += 1
                written += file.write(_line("assistant", [use], when))
                written += file.write(_line("user", [result], when))
            file.write(_line("assistant", [{"type": "text", "text": "Done."}], when))


def _line(role: str, content: Any, second: int) -> str:
    day, rest = divmod(second, 86_400)
    stamp = f"2026-01-{day + 1:02d}T{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}.000Z"
    message = {"role": role, "content": content}
    return json.dumps({"type": role, "timestamp": stamp, "message": message}) + "\n"


@pytest.fixture(scope="module")
def place(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A commit a session, each with ten files."""
    os.chdir(template)
    quietly("git", "config", "user.name", "x", cwd=template)
    quietly("git", "config", "user.email", "x@example.com", cwd=template)
    for n in range(SESSIONS):
        for m in range(10):
            file = template / f"file{n * 10 + m:03}.py"
            file.write_text(SOURCE[n * 10 + m].read_text() or "pass\n")
        quietly("git", "add", "-A", cwd=template)
        quietly("git", "commit", "-q", "-m", f"part {n}", cwd=template)
        live = tmp_path_factory.mktemp("live") / "session.jsonl"
        transcript(live, n)
        session = f"{n:08x}-1111-4222-8333-444444444444"
        ranges = [[1, 20, "t1", None], [21, 60, "person", None]]
        linked(f"{n:012x}", session, f"file{n * 10:03}.py", ranges, "", live)
    script = "".join(map(_small_commit, range(COMMITS)))
    subprocess.run(["git", "fast-import", "--quiet"], input=script.encode(), check=True)
    quietly("git", "checkout", "-q", "many", cwd=template)
    return template


def _small_commit(n: int) -> str:
    """What `git fast-import` makes a commit of, on the branch `many`."""
    text = "".join(f"value_{n // 40}_{k} = {k * n}\n" for k in range(20))
    return (
        f"commit refs/heads/many\ncommitter x <x@example.com> {1_790_000_000 + n * 60} +0000\n"
        f"data <<.\nSmall {n}\n.\n{'' if n else 'from refs/heads/main^0' + chr(10)}"
        f"M 100644 inline many/f{n % 40}.py\ndata <<.\n{text}.\n"
    )


@pytest.mark.benchmark(group=GROUP)
def test_making_it(benchmark: Any, place: Path) -> None:
    os.chdir(place)
    done = benchmark.pedantic(lambda: page("-o", "page.html", EVERY), rounds=1)
    assert done.returncode == 0, done.stderr
    benchmark.extra_info["bytes"] = (place / "page.html").stat().st_size


def worked(browser: Any) -> float:
    """Seconds of a processor that the page's main thread has had."""
    metrics = browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))


@needs_browser
def test_by_the_browsers_own_clock(
    place: Path, capsys: pytest.CaptureFixture[str], sealed: None
) -> None:
    os.chdir(place)
    assert page("-o", "page.html", EVERY).returncode == 0
    size = (place / "page.html").stat().st_size
    with started(Path(os.environ["HOME"])) as browser:
        browser.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        usable = []
        for _ in range(3):
            browser.get("about:blank")
            before = worked(browser)
            browser.get(f"file://{place}/page.html")
            assert browser.find_element("css selector", "html[data-whole]")
            work = worked(browser) - before
            usable.append([*browser.execute_script(CLOCK), work])
        assert browser.execute_script("return files.length") >= SESSIONS * 10
        browser.set_script_timeout(60)
        gaps, most = browser.execute_async_script(SCROLL)
    with capsys.disabled():
        paint, ready, searchable, work = sorted(usable, key=lambda times: times[1])[1]
        print(
            f"\n{size / 1e6:.1f} MB: painted after {paint:.0f} ms, usable after {ready:.0f},"
            f" searchable after {searchable:.0f}; {work:.2f} s of work"
        )
        print(
            f"scrolled: median frame {gaps[len(gaps) // 2]:.1f} ms, longest {gaps[-1]:.1f} ms,"
            f" at most {most} elements"
        )
