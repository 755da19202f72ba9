"""The page for other eyes: a screen reader, another browser, another screen."""

from __future__ import annotations

import base64
import json
import os
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.extras.page.browser import needs_browser, show
from tests.support.paths import TOP

pytestmark = pytest.mark.thorough

AXE = TOP / "build" / "tools" / "axe.min.js"
# What of the page is looked at, and how to get there from its top.
STATES = {
    "top": "",
    "why": "move(1); here.open = true",
    "talk": "location.hash = document.querySelector('.hh p a').hash; openTalk()",
    "keys": "document.getElementById('keys').showPopover()",
}
WIDTHS, SCHEMES = (360, 800, 1280), ("light", "dark")
HEIGHT, COLUMNS = 900, 32  # pixels of a screen, of its small picture's width
LOOKS = TOP / "tests" / "data" / "screens" / "page.json"
BACK = """location.hash = ""; document.activeElement.blur();
document.getElementById("keys").hidePopover();
document.querySelectorAll("details").forEach((one) => { one.open = false; }); scrollTo(0, 0);"""
RUN = "const done = arguments[0]; axe.run(document).then((all) => done(all.violations))"
# The larger parts that are seen, by name, with their left and right ends in tenths of the screen.
PARTS = """
const seen = [];
for (const part of document.querySelectorAll("nav, section, aside, header")) {
  const box = part.getBoundingClientRect();
  const height = Math.min(box.bottom, innerHeight) - Math.max(box.top, 0);
  if (!box.width || height < 40 || !part.checkVisibility()) continue;
  const ends = [box.left, box.right].map((x) => Math.round(10 * x / innerWidth));
  seen.push(`${part.localName}#${part.id.replace(/-.*/, "")} ${ends.join("-")}`);
}
return [...new Set(seen)].sort();
"""


def look_at(browser: Any, width: int, scheme: str) -> None:
    """Let the browser have a screen of a width, and what its person prefers."""
    metrics = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    preferred = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": preferred})


@needs_browser
@pytest.mark.skipif(not AXE.exists(), reason="no axe-core: .ci/get-axe")
def test_axe_finds_nothing(full: Path, browser: Any) -> None:
    findings = {}
    show(browser, full)
    assert browser.find_element("css selector", "html[data-whole]")
    browser.execute_script(AXE.read_text())
    for width, scheme in ((1280, "light"), (360, "dark")):
        look_at(browser, width, scheme)
        for state, way in STATES.items():
            browser.execute_script(BACK + way)
            for one in browser.execute_async_script(RUN):
                where = [str(node["target"]) for node in one["nodes"]][:3]
                findings[state, width, one["id"]] = where
    assert findings == {}


@needs_browser
def test_it_looks_as_it_did_on_each_screen(full: Path, browser: Any) -> None:
    """By its parts, and by pictures so small that no font shows in them; LOOKS=1 makes them."""
    show(browser, full)
    assert browser.find_element("css selector", "html[data-whole]")
    looks: dict[str, Any] = {}
    for width in WIDTHS:
        for scheme in SCHEMES:
            look_at(browser, width, scheme)
            for state, way in STATES.items():
                browser.execute_script(BACK + way)
                parts = browser.execute_script(PARTS)
                look = {"parts": parts, "picture": take_picture(browser, width)}
                looks[f"{state} {width} {scheme}"] = look
    if os.environ.get("LOOKS"):
        LOOKS.write_text(json.dumps(looks, indent=1) + "\n")
    known = json.loads(LOOKS.read_text())
    assert {name: look["parts"] for name, look in looks.items()} == {
        name: look["parts"] for name, look in known.items()
    }
    differ = {
        name: far
        for name, look in looks.items()
        if (far := distance(look["picture"], known[name]["picture"])) > 1.5
    }
    assert differ == {}


def take_picture(browser: Any, width: int) -> str:
    """What is on the screen in COLUMNS times as many rows of gray as have room: a digit of 16
    for each, dark to light."""
    clip = {"x": 0, "y": 0, "width": width, "height": HEIGHT, "scale": COLUMNS / width}
    top = browser.execute_script("return scrollY")
    asked = {"clip": {**clip, "y": top}, "captureBeyondViewport": False}
    data = browser.execute_cdp_cmd("Page.captureScreenshot", asked)["data"]
    return "".join(f"{gray // 16:x}" for gray in grays(base64.b64decode(data)))


def distance(color: str, other: str) -> float:
    """How far two pictures are apart on average, in sixteenths from black to white."""
    pairs = list(zip(color, other, strict=False))
    return sum(abs(int(a, 16) - int(b, 16)) for a, b in pairs) / max(1, len(pairs))


def grays(png: bytes) -> list[int]:
    """The pixels of a PNG of 8 bits a channel, by rows from the top."""
    at, data, width, channels = 8, b"", 0, 3
    while at < len(png):
        size, kind = int.from_bytes(png[at : at + 4], "big"), png[at + 4 : at + 8]
        body = png[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, channels = int.from_bytes(body[:4], "big"), {2: 3, 6: 4}[body[9]]
        data += body if kind == b"IDAT" else b""
        at += size + 12
    raw, step, above = zlib.decompress(data), width * channels, bytearray(width * channels)
    pixels = []
    for start in range(0, len(raw), step + 1):
        row = bytearray(raw[start + 1 : start + 1 + step])
        for i in range(step):
            left = row[i - channels] if i >= channels else 0
            corner = above[i - channels] if i >= channels else 0
            row[i] = (row[i] + _predict(raw[start], left, above[i], corner)) & 255
        pixels += [sum(row[i : i + 3]) // 3 for i in range(0, step, channels)]
        above = row
    return pixels


def _predict(way: int, left: int, up: int, corner: int) -> int:
    if way == 4:
        guess = left + up - corner
        near = (abs(guess - left), abs(guess - up), abs(guess - corner))
        return (left, up, corner)[near.index(min(near))]
    return (0, left, up, (left + up) // 2)[way]
