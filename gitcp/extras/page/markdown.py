"""Parse Markdown into a tree of plain lists, [tag, attributes, children], and texts."""

from __future__ import annotations

from html.parser import HTMLParser

from cmarkgfm import github_flavored_markdown_to_html as render

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = list[Any] | str

_BLOCKS = "p h1 h2 h3 h4 h5 h6 ul ol li blockquote pre hr table thead tbody tr th td"
TAGS = frozenset(f"{_BLOCKS} code em strong del br a".split())
_VOID = frozenset("hr br img input".split())
_SCHEMES = ("https://", "http://", "mailto:")
# A noncharacter in place of `<`, so that HTML in the text stays text; and its form in links.
_LESS = "\ufdd0"
_QUOTED = "%EF%B7%90"
_DEEPEST = 16  # levels; deeper nodes are added to the last one
LARGEST_TEXT = 100_000  # characters of a text that is parsed


def parse_markdown(text: str) -> list[Node]:
    """The nodes of a text.  Tags are those of TAGS; the only attribute is the `href` of an `a`,
    with a scheme of _SCHEMES.  HTML in the text is shown as text."""
    if len(text) > LARGEST_TEXT:
        return [["pre", {}, [text]]]
    tree = _Tree()
    tree.feed(render(text.replace(_LESS, "").replace("<", _LESS)))
    tree.close()
    return tree.root


class _Tree(HTMLParser):
    """Builds nodes from the renderer's HTML: those of TAGS, and all texts."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root: list[Node] = []
        self._open: list[tuple[str, list[Node]]] = [("", self.root)]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "input":
            if "checked" in attributes:
                self.handle_data("☑")
            else:
                self.handle_data("☐")
        elif tag == "img":
            self.handle_data(f"[image: {attributes.get('alt') or attributes.get('src') or ''}]")
        elif tag in TAGS:
            siblings = self._open[-1][1]
            children: list[Node] = []
            if len(self._open) > _DEEPEST:
                children = siblings
            else:
                if tag == "a":
                    link = _filter_address(attributes.get("href"))
                else:
                    link = {}
                siblings.append([tag, link, children])
            if tag not in _VOID:
                self._open.append((tag, children))

    def handle_endtag(self, tag: str) -> None:
        if len(self._open) > 1 and self._open[-1][0] == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        siblings = self._open[-1][1]
        data = data.replace(_LESS, "<")
        if data == "\n" and self._open[-1][0] not in ("pre", "code"):
            data = ""
            if siblings and isinstance(siblings[-1], str):
                data = " "
        if siblings and isinstance(siblings[-1], str):
            siblings[-1] += data
        elif data:
            siblings.append(data)


def _filter_address(href: str | None) -> dict[str, str]:
    address = (href or "").replace(_QUOTED, "%3C")
    if address.lower().startswith(_SCHEMES):
        return {"href": address}
    return {}
