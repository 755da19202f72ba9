"""Markdown as plain lists: what a text would like to be more than text stays text."""

from __future__ import annotations

from typing import Any

import pytest

from gitcp.extras.page.markdown import LARGEST_TEXT, TAGS, parse_markdown
from tests.extras.page.hostile import HOSTILE


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a **b** `c`", [["p", {}, ["a ", ["strong", {}, ["b"]], " ", ["code", {}, ["c"]]]]]),
        ("<b>x</b>", [["p", {}, ["<b>x</b>"]]]),
        ("```\n<i>&lt;\n```", [["pre", {}, [["code", {}, ["<i>&lt;\n"]]]]]),
        ("[x](javascript:y)", [["p", {}, [["a", {}, ["x"]]]]]),
        ("[x](https://a/<b)", [["p", {}, [["a", {"href": "https://a/%3Cb"}, ["x"]]]]]),
        ("![alt](https://a/b.png)", [["p", {}, ["[image: alt]"]]]),
        ("- [x] done", [["ul", {}, [["li", {}, ["☑ done"]]]]]),
        ("\ufdd0", []),
        ("", []),
    ],
)
def test_a_text_becomes_a_tree_of_known_tags(text: str, tree: Any) -> None:
    def flat(nodes: Any) -> Any:
        kept = [n if isinstance(n, str) else [n[0], n[1], flat(n[2])] for n in nodes]
        return [one for one in kept if not isinstance(one, str) or one.strip("\n")]

    assert flat(parse_markdown(text)) == flat(tree)


def test_no_text_names_a_tag_or_an_address_of_its_own() -> None:
    seen: list[Any] = []

    def walk(nodes: Any) -> None:
        for node in nodes:
            if not isinstance(node, str):
                seen.append(node[:2])
                walk(node[2])

    for text in (HOSTILE, f"> {HOSTILE}", f"```\n{HOSTILE}\n```", "> " * 3000 + "deep"):
        walk(parse_markdown(text))
    assert {tag for tag, _ in seen} <= TAGS and all(given == {} for _, given in seen)
    assert parse_markdown("*" * (LARGEST_TEXT + 1))[0][0] == "pre"
