"""Show a screen that follows keys, by prompt_toolkit: the one file that knows it."""

from __future__ import annotations

import asyncio
import os
from typing import Protocol

from gitcp.text.console import escape_unprintable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.key_binding import KeyBindings

    from gitcp.text.spans import Line

_STYLES = {"": "", "bold": "bold", "reverse": "reverse", "dim": "ansibrightblack"}
# The keys with names, for some of which prompt_toolkit has bindings of its own.
_NAMED = """up down left right home end pageup pagedown tab s-tab enter escape backspace
c-b c-c c-d c-f c-n c-p c-u""".split()
# seconds: between two looks for changes; for what was drawn to appear
_LOOK = 0.5
_REST = 0.01


class Screen(Protocol):
    """What is shown; by default all of it is read before, once."""

    def draw(self, columns: int, rows: int) -> list[Line]:
        """The lines of a screen of that size; the marked row's colour is `reverse`."""

    def press(self, key: str, text: str) -> str:
        """Take a key in, by its name or its character; text: what was typed, '' for a key without a
        character.  Return why the screen is left, '' if it is not."""

    def load(self) -> bool:
        """Read one thing that the screen lacks; return whether there may be more."""
        return False

    def has_changed(self) -> bool:
        """Whether to call read_again(); asked while no key comes."""
        return False

    def read_again(self) -> None:
        """Read again what is shown."""
        return


def can_run() -> bool:
    """Whether the terminal can move its cursor."""
    return os.environ.get("TERM", "dumb") != "dumb" and os.isatty(0) and os.isatty(1)


def run_screen(screen: Screen) -> str:
    """Show a screen until a key leaves it; return what press() says then.  Raise ImportError
    without prompt_toolkit."""
    from prompt_toolkit.application import Application
    from prompt_toolkit.input.typeahead import clear_typeahead
    from prompt_toolkit.layout import Layout, Window
    from prompt_toolkit.layout.controls import FormattedTextControl

    def draw_screen() -> StyleAndTextTuples:
        size = app.output.get_size()
        parts: StyleAndTextTuples = []
        for line in screen.draw(size.columns, size.rows):
            parts += [
                (_STYLES.get(colour, f"ansi{colour}"), escape_unprintable(text))
                for text, colour in line
            ]
            parts.append(("", "\n"))
        return parts[:-1]

    pressed = asyncio.Event()
    app: Application[str] = Application(
        layout=Layout(Window(FormattedTextControl(draw_screen, show_cursor=False))),
        key_bindings=_bind_keys(screen, pressed),
        full_screen=True,
        enable_page_navigation_bindings=False,
        terminal_size_polling_interval=None,  # SIGWINCH tells of it
    )
    app.ttimeoutlen = 0.1  # seconds after which an Esc is not the beginning of an arrow key

    def begin() -> None:
        app.create_background_task(_read(app, screen, pressed))

    try:
        return app.run(pre_run=begin, handle_sigint=False)
    finally:
        clear_typeahead(app.input)  # keys behind the one that left it are for nobody


async def _read(app: Any, screen: Screen, pressed: asyncio.Event) -> None:
    """Read what the screen lacks, a part at a time between two keys, and look for changes."""
    try:
        # wait_for() may swallow the cancellation when a key comes at the same time.
        while not app.is_done:
            pressed.clear()
            await asyncio.sleep(_REST)
            while not app.is_done and screen.load():
                app.invalidate()
                await asyncio.sleep(_REST)
            app.invalidate()
            while not pressed.is_set():
                try:
                    await asyncio.wait_for(pressed.wait(), _LOOK)
                except TimeoutError:
                    if screen.has_changed():
                        screen.read_again()
                        break
    except Exception as e:
        app.exit(exception=e)


def _bind_keys(screen: Screen, pressed: asyncio.Event) -> KeyBindings:
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    def take(event: Any, name: str, text: str = "") -> None:
        result = screen.press(name, text)
        if result:
            event.app.exit(result=result)
        pressed.set()

    for name in _NAMED:
        keys.add(name)(lambda event, name=name: take(event, name))
    keys.add("<any>")(lambda event: take(event, event.data, event.data))
    keys.add("<bracketed-paste>")(lambda event: take(event, "paste", event.data))
    return keys
