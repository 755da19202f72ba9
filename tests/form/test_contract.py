"""Each fact is written once; whatever repeats it is checked against it here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from gitcp import VERSION, commands, events
from gitcp.cmd import stages
from gitcp.cmd.setup import completion
from gitcp.git.config_table import EVENTS, KEYS, LABELS
from gitcp.setup.care import table
from gitcp.setup.care.checks import BLIND
from gitcp.terminal import cli
from tests.form.source import none
from tests.support.copies import plant
from tests.support.harness import World
from tests.support.linking import moved
from tests.support.paths import TOP
from tests.support.story import recorded

TABLE = {name: commands.get_summary(name) for name in commands.NAMES}
NAMES = sorted(TABLE)
PAGES = sorted((TOP / "man").iterdir())
CODE = "".join(p.read_text() for p in sorted((TOP / "gitcp").rglob("*.py")))
MDOC = {r"\e": "\\", r"\(dq": '"', r"\-": "-", r"\&": "", r"\(aq": "'"}
needs_mandoc = pytest.mark.skipif(not shutil.which("mandoc"), reason="mandoc is not installed")


def page(name: str, section: int = 1) -> str:
    return (TOP / "man" / f"{name}.{section}").read_text()


def options(lines: list[str]) -> set[str]:
    return {o for line in lines for o in re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", line)}


def test_pyproject_takes_the_version_that_the_program_has() -> None:
    pyproject = tomllib.loads((TOP / "pyproject.toml").read_text())
    assert pyproject["tool"]["setuptools"]["dynamic"] == {"version": {"attr": "gitcp.VERSION"}}
    assert re.fullmatch(r"\d+\.\d+\.\d+\.dev0", VERSION)  # a release has its tag's


def test_every_command_has_a_page_and_every_page_a_command() -> None:
    pages = {p.stem for p in PAGES if p.suffix == ".1"}
    assert pages == {f"gitcp-{n}" for n in NAMES}


def test_every_module_of_cmd_is_a_command_and_every_stage_a_function() -> None:
    cmd = TOP / "gitcp" / "cmd"
    files = [p for p in cmd.glob("*/*.py") if p.stem != "__init__" and p.parent.name != "stages"]
    modules = {f"{p.parent.name}.{p.stem}" for p in files}
    known = {commands.get_module(n).removeprefix("gitcp.cmd.") for n in NAMES}
    assert modules == known - {""}
    for name in commands.STAGES:
        assert stages.find_stage(name)[0].__name__ == name.replace("-", "_")


def test_each_event_has_the_pipeline_of_its_module_made_of_the_stages_with_these_names() -> None:
    modules = {name: import_module(f"gitcp.events.{file}") for name, file in EVENTS.items()}
    pipelines = {name: module.PIPELINES[name] for name, module in modules.items()}
    none(name for module in modules.values() for name in module.PIPELINES if name not in EVENTS)
    for stage in (stage for pipeline in pipelines.values() for stage in pipeline):
        name = events.format_pipeline((stage,))
        if name not in ("update-session", "enable --worktree"):  # of its event, of a command
            assert stages.find_stage(name)[0] is stage


def test_page_and_help_have_the_same_options() -> None:
    offenders = []
    for name in NAMES:
        lines = cli.Parser(name, completion.list_rows(name)).format_help().splitlines()
        items = re.findall(r"^\.It (.*Fl.*)", page(f"gitcp-{name}"), re.M)
        written = options([re.sub(r"\bFl (-?)", r"-\1", item) for item in items])
        if differ := written ^ options([line for line in lines if line.startswith("  -")]):
            offenders.append(f"{name}: {' '.join(sorted(differ))}")
    none(offenders)


def test_a_dry_run_is_asked_for_by_the_same_two_names_everywhere() -> None:
    rows = {name: commands.flatten_rows(completion.list_rows(name)) for name in NAMES}
    names = [(name, spellings) for name, row in rows.items() for spellings, _ in row]
    none(n for n, o in names if "--dry-run" in o and o != ("-n", "--dry-run"))
    none(n for n, o in names if "--repair" in o and "--fix" not in o)


def test_what_repeats_the_table_of_commands_is_generated_from_it() -> None:
    """`make generate` writes it anew."""
    done = subprocess.run([TOP / ".ci" / "generate", "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_page_has_its_name_and_its_sections_in_order() -> None:
    want = "NAME,SYNOPSIS,DESCRIPTION,EXIT STATUS,EXAMPLES,SEE ALSO".split(",")
    heads = {path: re.findall(r"^\.Sh (.*)", path.read_text(), re.M) for path in PAGES}
    one = [path for path in PAGES if path.suffix == ".1"]
    none(path.name for path in one if [s for s in heads[path] if s in want] != want)
    none(p.name for p in PAGES if f"\n.Nm {p.stem}\n.Nd " not in p.read_text())


def test_a_command_that_asks_the_remote_of_a_partial_clone_says_so() -> None:
    telling = ("What it compares and a partial clone has left", "what a partial clone lacks")
    saying = {name for name in NAMES if any(words in page(f"gitcp-{name}") for words in telling)}
    assert saying == set(commands.ASKING)


def test_the_table_of_findings_and_the_page_of_fsck_say_the_same() -> None:
    rows = {row.code: row for found in table.STORED.values() for row in found}
    items = re.findall(
        r"^\.It Cm (\S+) Pq (\w+)(, repaired)?\n(.+?)\.$", page("gitcp-check-store"), re.M
    )
    written = {code: (grade, bool(mark), words) for code, grade, mark, words in items}
    assert written.pop("not-looked")[2] == BLIND.words[0].upper() + BLIND.words[1:]
    assert written == {
        code: (row.severity, row.mend is not None, row.words[0].upper() + row.words[1:])
        for code, row in rows.items()
    }


@needs_mandoc
def test_no_page_has_lint() -> None:
    argv = ["mandoc", "-Tlint", "-Wwarning", *map(str, PAGES)]
    none(subprocess.run(argv, capture_output=True, text=True).stdout.splitlines())


def test_references_lead_to_pages_that_exist() -> None:
    there = {path.name for path in PAGES}
    links = [(p, m) for p in PAGES for m in re.findall(r"\.Xr (gitcp\S*) (\d)", p.read_text())]
    none(f"{p.name}: {'.'.join(to)}" for p, to in links if ".".join(to) not in there)


def test_the_table_of_settings_is_what_is_read_and_what_is_documented() -> None:
    text = page("gitcp-config", 5)
    items = re.findall(r"^\.It Cm (gitcp\..*)", text, re.M)
    written = {re.sub(r" ?Ns (Ar|Cm) ?", "", item) for item in items}
    assert written == {*KEYS, "gitcp.<event>.pipeline", f"{LABELS}<name>"}
    calls = r"""config\.(?:get|all|flag|option)\(\s*f?["'](gitcp\.[^"'{]+)["']"""
    assert set(re.findall(calls, CODE)) <= KEYS.keys()
    none(key for key in KEYS if CODE.count(f'"{key}"') + CODE.count(f'"{key[6:]}"') < 2)
    for key, about in KEYS.items():
        said = text.partition(f".It Cm {key}\n")[2].partition("\n.It ")[0].partition("\n.Ss ")[0]
        words = [about["default"], *about.get("values", ())]
        none(f"{key}: {word}" for word in words if word not in said and word != "fuzzy")


def test_the_program_reads_exactly_the_environment_that_is_documented() -> None:
    read = set(re.findall(r"""["'](GITCP_[A-Z_]+)["']""", CODE))
    assert read == set(re.findall(r"^\.It Ev (GITCP_\S+)", page("gitcp", 7), re.M))


@pytest.fixture(scope="session")
def manual(ground: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(ground, tmp_path_factory.mktemp("manual"))


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_the_examples_of_a_page_run(path: Path, manual: Path, tmp_path: Path) -> None:
    """In a repository with a session: a script of a page stops at the first line that fails."""
    _, _, examples = path.read_text().partition(".Sh EXAMPLES\n")
    lines = re.findall(r"^(?:\.Dl )?\$ (.*)", examples.partition("\n.Sh ")[0], re.M)
    script = "\n".join(lines)
    for name, char in MDOC.items():
        script = script.replace(name, char)
    if "jq " in script and not shutil.which("jq"):
        pytest.skip("jq is not installed")
    repo = plant(manual, tmp_path / "repo")
    moved(repo, World(repo, tmp_path / "home"))
    search = f"{TOP / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-ec", script],
        cwd=repo,
        env={**os.environ, "PATH": search},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        start_new_session=True,
    )
    assert (done.returncode, done.stderr) == (0, ""), script
