"""The page for everybody: what a screen reader is told, and whether its colours can be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.extras.page.browser import needs_browser, show
from tests.support.paths import TOP

pytestmark = pytest.mark.thorough

CSS = (TOP / "gitcp/extras/page/assets/page.css").read_text()
# What is read stands on the paper or in a box, code on lines that came or went too; what is only
# seen stands on the paper or in a box.
GROUNDS = ("paper", "box")
CODE = ("came", "went")
AUTHORS = ("person", *(f"s{n}" for n in range(8)))
WRITTEN = ("ink", "soft", "put", "took", "word", "quote")
SEEN = ("line",)
DECOR = ("edge",)  # parts one thing from the next, and says nothing
_PAIR = re.compile(r"--(\w+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);")


def scheme(name: str) -> dict[str, str]:
    """The colours of the page in the light or the dark."""
    return {key: pair[name == "dark"] for key, *pair in _PAIR.findall(CSS)}


def luminance(colour: str) -> float:
    """Of `#rrggbb`, by WCAG 2."""
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(color: str, other: str) -> float:
    light, dark = sorted((luminance(color), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_measured_as_the_guidelines_say() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("name", ["light", "dark"])
def test_every_text_can_be_read_and_every_mark_be_seen(name: str) -> None:
    """AA: 4.5 for what is read, 3 for what is only seen."""
    colours = scheme(name)
    assert set(colours) == {*GROUNDS, *CODE, *AUTHORS, *WRITTEN, *SEEN, *DECOR}
    wanted = [
        (("ink", "soft", "word", "quote"), (*GROUNDS, *CODE), 4.5),
        ((*WRITTEN, *AUTHORS), GROUNDS, 4.5),
        (SEEN, GROUNDS, 3.0),
    ]
    poor = [
        f"{one} on {ground}: {contrast(colours[one], colours[ground]):.2f}"
        for names, grounds, least in wanted
        for one, ground in product(names, grounds)
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
def test_a_screen_reader_is_given_landmarks_headings_and_names(full: Path, browser: Any) -> None:
    show(browser, full)
    seen = list(nodes(browser))
    roles = [role for role, _ in seen]
    for landmark in ("banner", "main", "contentinfo", "complementary"):
        assert roles.count(landmark) == 1, landmark
    assert ("navigation", "Page") in seen and ("complementary", "Files") in seen
    assert "Conversation" in [name for role, name in seen if role == "region"]
    headings = [name for role, name in seen if role == "heading"]
    assert headings[0].startswith("<b></script>") and "Conversation" in headings
    assert any("a<b onload=x>.py" in name for name in headings)
    bar = next(name for role, name in seen if role in ("image", "img"))
    assert re.fullmatch(r"\d+ lines? by agents, \d+ not recorded, \d+ by people", bar)
    reached = ("link", "button", "DisclosureTriangle", "checkbox", "image", "img")
    assert [node for node in seen if node[0] in reached and not node[1].strip()] == []


@needs_browser
def test_light_and_dark_follow_the_system_until_somebody_chooses(shown: Path, browser: Any) -> None:
    show(browser, shown)
    paper = "return getComputedStyle(document.body).backgroundColor"

    def seen() -> str:
        numbers = re.findall(r"\d+", browser.execute_script(paper))
        return "#" + "".join(f"{int(n):02x}" for n in numbers[:3])

    for name, other in (("light", "dark"), ("dark", "light")):
        feature = [{"name": "prefers-color-scheme", "value": name}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": feature})
        assert seen() == scheme(name)["paper"]
        browser.find_element("id", "theme").click()
        assert seen() == scheme(other)["paper"]
        browser.execute_script("delete document.documentElement.dataset.theme")
