"""The page for everybody: what a screen reader is hostile, and whether its colours can be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, product
from pathlib import Path
from typing import Any

import pytest

from tests.page.browser import needs_browser, opened
from tests.support.checkpoints import git
from tests.support.paths import TOP

CSS = (TOP / "gitcp/store/page/page.css").read_text()
# What is read stands on the paper or in a box; what is only seen stands on them, or is crossed by
# the paper's colour (a tick in a turn's block).
GROUNDS = ("paper", "box")
AUTHORS = ("person", "unknown", *(f"s{n}" for n in range(8)))
READ = ("ink", "soft", "link", "put", "took", *AUTHORS)
SEEN = ("edge", *AUTHORS)


def scheme(name: str) -> dict[str, str]:
    """The colours of the page in the light or the dark, as its own style sets them."""
    first, dark = CSS.partition("@media (prefers-color-scheme: dark)")[::2]
    texts = [first] if name == "light" else [first, dark.partition("} }")[0]]
    return dict(chain(*(re.findall(r"--(\w+): (#[0-9a-f]{6});", text) for text in texts)))


def luminance(colour: str) -> float:
    """Of `#rrggbb`, by WCAG 2."""
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_measured_as_the_guidelines_say() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("name", ["light", "dark"])
def test_every_text_can_be_read_and_every_mark_be_seen(name: str) -> None:
    """AA: 4.5 for what is read, 3 for what is only seen."""
    colours = scheme(name)
    assert set(colours) == {*GROUNDS, *READ, *SEEN}, "a colour that nobody measures"
    wanted = [(READ, 4.5), (SEEN, 3.0)]
    poor = [
        f"{one} on {ground}: {contrast(colours[one], colours[ground]):.2f}"
        for names, least in wanted
        for one, ground in product(names, GROUNDS)
        if contrast(colours[one], colours[ground]) < least
    ]
    assert poor == []


def test_a_colour_is_used_by_its_name_alone() -> None:
    rules = re.sub(r":root \{[^}]*\}", "", CSS)
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b|rgb\(|hsl\(|opacity", rules)


def nodes(browser: Any) -> Iterator[tuple[str, str]]:
    """(role, name) of whatever the browser tells a screen reader, in the page's order."""
    tree = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})
    for node in tree["nodes"]:
        if not node.get("ignored"):
            yield node["role"]["value"], node.get("name", {}).get("value", "")


@needs_browser
def test_a_screen_reader_is_told_landmarks_headings_and_names(hostile: Path, browser: Any) -> None:
    opened(browser, "HEAD")
    seen = list(nodes(browser))
    landmarks = [n for n in seen if n[0] in ("banner", "navigation", "main", "contentinfo")]
    assert [role for role, _ in landmarks] == ["banner", "navigation", "main", "contentinfo"]
    assert ("navigation", "Sections") in seen
    regions = [name for role, name in seen if role == "region"]
    assert regions == ["Timeline", "Commits", "Turns", "Files"]
    headings = [name for role, name in seen if role == "heading"]
    assert headings[0].endswith(": HEAD") and set(regions) <= set(headings)
    assert ("searchbox", "Search") in seen and any(role == "status" for role, _ in seen)
    assert any(role == "article" for role, _ in seen)
    bar = next(name for role, name in seen if role in ("image", "img"))
    assert re.fullmatch(r"(.+ \d+)(, .+ \d+)*", bar), "the lines by author, in words"


@needs_browser
def test_all_that_can_be_reached_has_a_name(hostile: Path, browser: Any) -> None:
    opened(browser, "HEAD")
    for one in browser.find_elements("css selector", "details > summary"):
        one.click()
    reached = ("link", "button", "DisclosureTriangle", "searchbox", "textbox", "image", "img")
    seen = [node for node in nodes(browser) if node[0] in reached]
    assert {"link", "DisclosureTriangle"} <= {role for role, _ in seen}
    assert [node for node in seen if not node[1].strip()] == []
    commit = f"commit-{git('rev-parse', 'HEAD')}"
    for name in ("turn", commit):
        links = browser.find_elements("css selector", f"#timeline a[href^='#{name}']")
        assert links and all(link.get_attribute("aria-label") for link in links)


@needs_browser
def test_light_and_dark_follow_the_system(hostile: Path, browser: Any) -> None:
    opened(browser, "HEAD")
    for name in ("light", "dark"):
        feature = [{"name": "prefers-color-scheme", "value": name}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": feature})
        paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        shown = "#" + "".join(f"{int(n):02x}" for n in re.findall(r"\d+", paper)[:3])
        assert shown == scheme(name)["paper"]
