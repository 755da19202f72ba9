"""What a command without its packages says: a command that installs them into this installation."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

import gitcp
from gitcp.terminal import extras

METADATA = """\
Metadata-Version: 2.4
Name: gitcp-toolkit
Version: 0.1.0
Requires-Dist: orjson>=3.9
Requires-Dist: plumbum>=1.8
Provides-Extra: facts
Requires-Dist: duckdb>=1; extra == "facts"
Requires-Dist: pyspark<5,>=4; extra == "spark"
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The prefix of an installation of its own, in which the package and its metadata lie."""
    packages = tmp_path / "gitcp-toolkit" / "lib" / "site-packages"
    (packages / "gitcp").mkdir(parents=True)
    (packages / "gitcp_toolkit-0.1.0.dist-info").mkdir()
    (packages / "gitcp_toolkit-0.1.0.dist-info" / "METADATA").write_text(METADATA)
    monkeypatch.setattr(gitcp, "__file__", str(packages / "gitcp" / "__init__.py"))
    monkeypatch.syspath_prepend(str(packages))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "gitcp-toolkit"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "gitcp-toolkit" / "bin" / "python"))
    return tmp_path / "gitcp-toolkit"


def test_pipx_is_asked_to_add_to_the_environment_that_it_made(installed: Path) -> None:
    (installed / "pipx_metadata.json").write_text("{}")
    assert extras.describe_install("facts") == "pipx inject gitcp-toolkit 'duckdb>=1'"
    assert extras.describe_install("spark") == "pipx inject gitcp-toolkit 'pyspark<5,>=4'"
    assert extras.describe_install() == "pipx inject gitcp-toolkit 'orjson>=3.9' 'plumbum>=1.8'"


@pytest.mark.parametrize(
    ("ours", "source"),
    [
        ('specifier = "==0.1.0"', "gitcp-toolkit==0.1.0"),
        ('directory = "/a b"', "gitcp-toolkit @ file:///a b"),
        ('extras = ["mcp", "lsp"], path = "/a.whl"', "gitcp-toolkit[mcp,lsp] @ file:///a.whl"),
        ('editable = "/a"', "--editable=/a"),
        ('git = "https://x.org/a"', "gitcp-toolkit @ git+https://x.org/a"),
        ('git = "https://x.org/a?rev=main"', "gitcp-toolkit @ git+https://x.org/a@main"),
        ('url = "https://x.org/a.whl"', "gitcp-toolkit @ https://x.org/a.whl"),
    ],
)
def test_uv_is_told_again_all_that_its_receipt_has(installed: Path, ours: str, source: str) -> None:
    """It takes away what it is not told."""
    (installed / "uv-receipt.toml").write_text(
        "[tool]\nrequirements = [\n"
        f'{{ name = "gitcp-toolkit", {ours} }},\n{{ name = "jinja2", specifier = ">=3" }},\n]\n'
    )
    argv = shlex.split(extras.describe_install("facts"))
    assert argv == ["uv", "tool", "install", "--with=jinja2>=3", "--with=duckdb>=1", source]


def test_a_virtual_environment_is_installed_into_by_its_python(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = installed / "bin" / "python"
    assert extras.describe_install("facts") == f"{python} -m pip install 'duckdb>=1'"
    monkeypatch.setattr(extras, "find_spec", lambda _: None)  # uv makes some without pip
    assert extras.describe_install("facts") == f"uv pip install --python {python} 'duckdb>=1'"


def test_a_zipapp_is_installed_beside_what_it_unpacked(installed: Path) -> None:
    """That needs no right to change the Python that runs it."""
    apart = installed / "lib" / "site-packages" / "instead"
    apart.mkdir()
    python = f"{sys.executable} -m pip install --target {apart}"
    assert extras.describe_install("facts") == f"{python} 'duckdb>=1'"


def test_a_checkout_stays_what_the_commands_run_from(installed: Path) -> None:
    top = installed / "lib" / "site-packages"
    (top / "pyproject.toml").touch()
    assert extras.describe_install("facts") == f"{sys.executable} -m pip install -e '{top}[facts]'"
    assert extras.describe_install() == f"make -C {top} setup"
    (installed / "pipx_metadata.json").write_text("{}")  # pipx install --editable
    assert extras.describe_install("facts") == "pipx inject gitcp-toolkit 'duckdb>=1'"
