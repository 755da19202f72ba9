"""python -m mutate [-j N] [-b SECONDS] [FILE[:LINE,...]...]: print the mutations that live."""

from __future__ import annotations

import argparse
import ast
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mutate import rooms, slots
from mutate.operators import Mutation, mutations
from mutate.slots import Job, Report, Run, Slot, Take

TOP = Path(__file__).resolve().parents[1]
_MARK = "import os as _o; _f = _o.open({!r}, 1089, 384); _o.write(_f, b'{} '); _o.close(_f)"


@dataclass
class Target:
    """A file to mutate; lines: only these, none: all; every: only every so many-th mutation."""

    file: str
    lines: set[int]
    every: int

    @property
    def source(self) -> bytes:
        return (TOP / self.file).read_bytes()

    def mutations(self) -> list[Mutation]:
        found = mutations(self.file, self.source)
        return [m for m in found if not self.lines or m.line in self.lines][:: self.every]


def main() -> int:
    """1 when a mutation lived."""
    parser = argparse.ArgumentParser(prog="mutate", description=__doc__)
    parser.add_argument("-j", type=int, default=os.cpu_count() or 1, help="so many at once")
    parser.add_argument("-b", type=float, default=20, help="seconds of tests for one mutation")
    parser.add_argument("files", nargs="*", metavar="FILE[:LINE[,LINE]...]")
    options = parser.parse_args()
    targets = [_parse_target(one) for one in options.files]
    if not targets:
        targets = [Target(file, set(), every) for file, every in rooms.rules(TOP)]
    with tempfile.TemporaryDirectory(prefix="mutate-") as scratch:
        copies = [Slot.make(TOP, Path(scratch) / str(n)) for n in range(options.j)]
        base = _baseline(copies, targets)
        if base.failed or not base.durations:
            print(f"without a mutation: {', '.join(base.failed) or 'no tests'}")
            return 1
        lived = sum(_try(copies, target, base, options.b) for target in targets)
    return 1 if lived else 0


def _parse_target(word: str) -> Target:
    file, _, lines = word.partition(":")
    path = Path(file).resolve().relative_to(TOP)
    return Target(str(path), {int(line) for line in lines.split(",") if line}, 1)


def _try(copies: list[Slot], target: Target, base: Report, budget: float) -> int:
    """Try the mutations of a file; how many lived."""
    began, wanted = time.monotonic(), target.mutations()
    survivors: list[Mutation] = []
    slots.each(copies, _jobs(target.source, wanted, base, budget, survivors))
    for mutation in sorted(survivors, key=lambda m: m.start):
        print(mutation)
    for slot in copies:
        slot.write(target.file, target.source)
    count, seconds = f"{len(survivors)} of {len(wanted)}", time.monotonic() - began
    print(f"{target.file}: {count} lived, {seconds:.0f} s", flush=True)
    return len(survivors)


def _baseline(copies: list[Slot], targets: list[Target]) -> Report:
    """Which test enters which function of the files, and how long it takes."""
    base = Report()

    def take(report: Report) -> None:
        base.failed += report.failed
        base.durations |= report.durations
        base.calls |= report.calls

    def start(test: str, slot: Slot) -> tuple[Run, Take]:
        return slot.start([test], 900), take

    for slot in copies:
        for target in targets:
            marked = instrumented(target.file, target.source, slot.path / "calls")
            slot.write(target.file, marked)
    tests = dict.fromkeys(test for t in targets for test in rooms.tests(TOP, TOP / t.file))
    slots.each(copies, (partial(start, test) for test in tests))
    for slot in copies:
        for target in targets:
            slot.write(target.file, target.source)
    return base


def _jobs(
    source: bytes, wanted: list[Mutation], base: Report, budget: float, survivors: list[Mutation]
) -> Iterator[Job]:
    killers: list[str] = []

    def job(mutation: Mutation, slot: Slot) -> tuple[Run, Take]:
        def take(report: Report) -> None:
            if report.failed:
                killers[:] = [report.failed[0], *(k for k in killers if k != report.failed[0])]
            else:
                survivors.append(mutation)

        slot.write(mutation.path, mutation.apply(source))
        return slot.start(_ordered(base, mutation, killers, budget), 20 + 3 * budget), take

    for mutation in wanted:
        if _ordered(base, mutation, [], budget):
            yield partial(job, mutation)
        else:
            survivors.append(mutation)  # no test comes by


def _ordered(base: Report, mutation: Mutation, killers: list[str], budget: float) -> list[str]:
    """The tests that enter the mutated function: those that killed before, then the quickest."""
    name = f"{mutation.path}:{mutation.function}"
    entering = [t for t, names in base.calls.items() if any(n.startswith(name) for n in names)]
    entering = [t for t in entering if t in base.durations]
    entering.sort(key=lambda t: (killers.index(t) if t in killers else 999, base.durations[t]))
    tests, total = list[str](), 0.0
    for test in entering:
        total += base.durations[test]
        if tests and total > budget:
            break
        tests.append(test)
    return tests


def instrumented(file: str, source: bytes, calls: Path) -> bytes:
    """source, where each function leaves `file:name` in the file calls when it is entered."""
    tree = ast.parse(source)
    _instrument(tree, f"{file}:", str(calls))
    return ast.unparse(ast.fix_missing_locations(tree)).encode()


def _instrument(node: ast.AST, name: str, calls: str) -> None:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        name = f"{name}.{node.name}".replace(":.", ":")
        doc = 1 if ast.get_docstring(node) is not None else 0
        node.body[doc:doc] = ast.parse(_MARK.format(calls, name)).body
    for child in ast.iter_child_nodes(node):
        _instrument(child, name, calls)


if __name__ == "__main__":
    sys.exit(main())
