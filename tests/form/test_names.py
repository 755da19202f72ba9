"""What functions are called: a verb and its object, a condition, in words of git's manual.

Properties are nouns, and so is what gitcp.library offers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.form.source import FUNCTIONS, MODULES, name, none, tree

# A verb that is missing here is added; a noun, a participle or a preposition is not.
VERBS = set(
    """abandon adapt add adopt advance align allow announce answer append apply archive ask
    assign attempt attest attribute begin bind blame blank bring build carry catch check choose
    classify clean clear clip clone close collect commit communicate compare compile complete
    compute conclude condense confirm connect continue convert copy count create credit cut decide
    decode delete deny derive describe destroy diagnose discard dismiss distrust
    divide do draw drop dump edit embed enable encode end enforce ensure erase escape exclude
    exec expand explain export extend extract feed fetch fill filter finalize find finish fit
    fix flatten flush fold follow forbid forget format gather generate get go greet grep group
    guess handle hash hide highlight hold hook identify import index insert install invert
    iterate join judge keep lay leave let limit link list load locate lock look make map mark
    match measure mend merge move mute name need nest normalise note number obey omit
    open order pack pad page paint pair parse pass peek pick place plan prefer prefetch prepare
    print prove prune publish purge push put quote raise rank reach read rebuild recall receive
    recognise reconcile record recover redact redo refine refresh refuse regain relate release
    relink remember remove rename renew reopen repair replace replay report request resolve
    restart restore retry rewrite round run save say scan score seal search seed select send
    serve set settle share shorten show silence skip snapshot sort spell split spread
    stage stamp start stash stat store stream strip subtract suggest sum summarize swap
    sweep switch sync take tell terminate time touch trace transcribe translate trim try turn
    type undo unfold uninstall unite unlink unpack unpin unquote unwrap update upgrade use
    verify wait walk warn watch wish withdraw wrap write""".split()
)
CONDITIONS = set(
    """accepts are begins belongs can changes covers differs ends exists
    explains fits had has holds is knows lacks leads looks makes matches may needs overlaps
    should touches wants was will""".split()
)
# Nouns as well: without an object a reader cannot tell which.
NOUNS = set(
    """address bundle commit count credit cut date digest end file filter format group guard hash
    head index label limit line link list map mark mask measure name note number order page pair
    place plan point present process prompt rank record report request score shape share
    snapshot source span stage stamp step store stream sum tag text time trace trail tree
    turn type view""".split()
)
# Named as their callers ask: io, argparse, dict, json, the tools of gitcp-mcp.
CALLED_SO = set("error main readable readinto keys loads dumps checkpoint session why".split())


def test_a_function_is_named_by_a_verb_and_its_object_or_by_a_condition() -> None:
    none(
        f"{name(path)}:{node.lineno} {node.name}"
        for path in MODULES
        if name(path) != "gitcp.library"
        for node in _list_functions(tree(path))
        if not _says_what_it_does(node.name)
    )


def test_every_verb_of_the_list_is_used() -> None:
    names = {node.name for path in MODULES for node in _list_functions(tree(path))}
    none((VERBS | CONDITIONS) - {word.strip("_").partition("_")[0] for word in names})


def _list_functions(module: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(module):
        if not isinstance(node, FUNCTIONS) or node.name.startswith("__"):
            continue
        if not any(ast.unparse(by).endswith("property") for by in node.decorator_list):
            yield node


def _says_what_it_does(function: str) -> bool:
    first, _, others = function.strip("_").partition("_")
    if first in CONDITIONS or function in CALLED_SO:
        return True
    return first in VERBS and (bool(others) or first not in NOUNS)
