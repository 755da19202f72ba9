"""`python -m bench.carry <clone>…`, and `make carry`: tables, and status 1 for one below its gate.

Clones of people are only read.  SEED=n chooses other files and commits.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.carry import corpus, cost, formatters, moves, people

_POOLED = 99.0  # percent of the lines that formatters change
_INHERITED = 6.0  # percent of people's new lines that are called an agent's at most
_NEW_WORDS = 0.1  # percent of them that have a word of their own
_MOVED = 95.0  # percent of the lines of long blocks
_SHOWN = 10  # examples of each table


def main(clones: Sequence[str]) -> int:
    seed = int(os.environ.get("SEED", "29"))
    parts: list[Callable[[], bool]] = [
        lambda: show_formatters(seed),
        lambda: show_people([Path(clone) for clone in clones], seed),
        lambda: show_made_up(seed),
        lambda: show_commits([Path(clone) for clone in clones], seed),
        lambda: show_cost(seed),
    ]
    results = [part() for part in parts]
    return 0 if all(results) else 1


def _percent(part: int, whole: int) -> float:
    return 100 * part / max(1, whole)


def show_formatters(seed: int) -> bool:
    print(
        "| formatter | changed lines | right | to the formatter | wrong | not judged | all right |"
    )
    print("|---|---|---|---|---|---|---|")
    total = formatters.Score()
    is_good = True
    for trial, score in formatters.measure(seed):
        right = _percent(score.right, score.changed)
        wrong = _percent(score.wrong, score.changed)
        _show_score(trial.name, score)
        total.add(score)
        is_good = is_good and right >= trial.least and wrong <= trial.worst
        (corpus.BUILD / f"misses {trial.name}.txt").write_text("\n".join(score.misses))
    _show_score("all", total)
    return is_good and _percent(total.right, total.changed) >= _POOLED


def _show_score(name: str, score: formatters.Score) -> None:
    parts = [_percent(part, score.changed) for part in (score.right, score.writers, score.wrong)]
    row = " | ".join(f"{part:.2f}" for part in parts)
    every = _percent(score.all_right, score.all)
    print(f"| {name} | {score.changed} | {row} | {score.unjudged} | {every:.2f} |", flush=True)


def show_people(clones: Sequence[Path], seed: int) -> bool:
    print("\n| clone | new lines of people | formed or import | moved or copied | a new word |")
    print("|---|---|---|---|---|")
    total = people.Kept()
    examples: list[str] = []
    for clone in clones:
        kept = people.measure(clone, seed)
        _show_kept(clone.parent.name if clone.name == "repo" else clone.name, kept)
        total.add(kept)
        examples += kept.examples
    _show_kept("all", total)
    corpus.BUILD.mkdir(parents=True, exist_ok=True)
    (corpus.BUILD / "kept.txt").write_text("\n".join(examples))
    is_good = _percent(total.formed, total.new) <= _INHERITED
    return is_good and _percent(total.with_new_words, total.new) <= _NEW_WORDS


def _show_kept(name: str, kept: people.Kept) -> None:
    formed, moved = _percent(kept.formed, kept.new), _percent(kept.moved, kept.new)
    words = _percent(kept.with_new_words, kept.new)
    print(f"| {name} | {kept.new} | {formed:.2f} % | {moved:.2f} % | {words:.2f} % |", flush=True)


def show_made_up(seed: int) -> bool:
    print("\n| made up | lines of a block | lines | right | to the writer | wrong |")
    print("|---|---|---|---|---|---|")
    score = moves.make_up(seed)
    is_good = True
    for name, sizes in (("moved", score.moved), ("copied", score.copied)):
        for size, blocks in sorted(sizes.items()):
            right = _percent(blocks.right, blocks.all)
            writers, wrong = (
                _percent(blocks.writers, blocks.all),
                _percent(blocks.wrong, blocks.all),
            )
            print(f"| {name} | {size} | {blocks.all} | {right:.1f} | {writers:.1f} | {wrong:.1f} |")
            if name == "moved" and size == "10-60":
                is_good = right >= _MOVED
    taken = _percent(score.taken, score.beside)
    print(
        f"\nof {score.beside} lines beside the blocks {taken:.2f} % are called a source's",
        flush=True,
    )
    return is_good


def show_commits(clones: Sequence[Path], seed: int) -> bool:
    print("\n| clone | commits | as blame | other | only blame | only carry | of long blocks |")
    print("|---|---|---|---|---|---|---|")
    total = moves.Compared()
    examples: list[str] = []
    for clone in clones:
        found = moves.compare(clone, seed)
        _show_compared(clone.parent.name if clone.name == "repo" else clone.name, found)
        total.add(found)
        examples += found.examples
    _show_compared("all", total)
    (corpus.BUILD / "moves.txt").write_text("\n".join(examples))
    return not total.long_all or _percent(total.long_same, total.long_all) >= _MOVED


def _show_compared(name: str, found: moves.Compared) -> None:
    counts = f"{found.same} | {found.other} | {found.only_blame} | {found.only_carry}"
    long = f"{_percent(found.long_same, found.long_all):.1f} % of {found.long_all}"
    print(f"| {name} | {found.commits} | {counts} | {long} |", flush=True)


def show_cost(seed: int) -> bool:
    """Nothing asserts a time."""
    print("\n| cost | ms |\n|---|---|")
    files = [corpus.read_lines(path) for path in corpus.choose_files(corpus.LANGUAGES["py"], seed)]
    long: list[bytes] = []
    for lines in files:
        long += lines if len(long) < 2000 else []
    print(f"| {len(long)} lines, nothing changed | {cost.measure_unchanged(long):.2f} |")
    other = [line[::-1] for line in long]
    rows = {"unrelated": other, "another text": [line for lines in files[-9:] for line in lines]}
    for name, new in rows.items():
        taken = cost.measure_pair(long, new[:2000])
        print(
            f"| {name} of 2,000 lines | {taken.pairing:.1f} for pairing, {taken.whole:.1f} in all |"
        )
    taken_by_moves = cost.measure_moves(long[:1000], [long] * 10)
    print(f"| 1,000 new lines, 10 sources of 2,000 | {taken_by_moves:.1f} |")
    for trial in formatters.TRIALS:
        pairs = formatters.list_formatted(trial)
        if pairs:
            taken = cost.measure(pairs)
            paired = 1000 * taken.pairing / max(1, taken.changed)
            row = f"{taken.per_thousand:.1f} on top of {paired:.1f}"
            print(f"| {trial.name}, 1,000 changed lines | {row} |", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
