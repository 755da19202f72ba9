"""facts-spark on a cluster of Spark's own: a master and two workers, one of them killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bench import history
from gitcp.extras.facts import dataset
from gitcp.extras.facts.tables import QUESTIONS
from tests.support.paths import BIN

REPOSITORIES = int(os.environ.get("FLEET", "20"))
MASTER = "spark://127.0.0.1:17077"
ENV = {
    "SPARK_LOCAL_IP": "127.0.0.1",
    "SPARK_DAEMON_MEMORY": "256m",
    "PYSPARK_PYTHON": sys.executable,
}
CONFIG = """spark.driver.host 127.0.0.1
spark.driver.bindAddress 127.0.0.1
spark.executor.memory 512m
spark.executor.cores 1
"""


def fleet(at: Path, count: int) -> list[str]:
    """Repositories with some dozens of commits, a third of them linked, as URLs."""
    at.mkdir()
    urls = []
    for number in range(count):
        path = at / f"r{number:04}.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(path)], check=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(history, "START", 1_700_000_000 + number * 86400)
            history.import_stream(path, history._stream(30 + number % 20, 8, 3, 40000))
        urls.append(path.as_uri())
    return urls


@contextmanager
def cluster(at: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """The processes of two workers, each with its executors in a group of its own."""
    import pyspark

    home = Path(pyspark.__file__).parent
    env = {**os.environ, **ENV, "SPARK_HOME": str(home), "SPARK_WORKER_DIR": str(at / "work")}
    started: list[subprocess.Popen[bytes]] = []

    def start(what: str, *args: str) -> subprocess.Popen[bytes]:
        argv = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{what}", *args]
        log = (at / f"{what}-{len(started)}.log").open("wb")
        started.append(
            subprocess.Popen(argv, env=env, stdout=log, stderr=log, start_new_session=True)
        )
        return started[-1]

    ports = "--port", "17077", "--webui-port", "18080"
    start("master.Master", "--host", "127.0.0.1", *ports)
    resources = "--host", "127.0.0.1", "--cores", "1", "--memory", "700m", MASTER
    workers = [start("worker.Worker", *resources) for _ in "ab"]
    try:
        yield workers
    finally:
        for one in started:
            if one.poll() is None:
                os.killpg(one.pid, signal.SIGKILL)
            one.wait()


def batches(at: Path) -> int:
    return len([*at.glob("_batches/*/*.json")])


def rounded(rows: Any) -> list[Any]:
    return [[round(v, 6) if isinstance(v, float) else v for v in row] for row in rows]


def export_while_a_worker_dies(tmp_path: Path, argv: list[str], env: dict[str, str]) -> Any:
    """The states of the repositories in list.txt, of whose export a quarter ran with both."""
    with cluster(tmp_path) as workers:
        began, log = time.monotonic(), tmp_path / "job.log"
        job = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=log.open("wb"))
        while batches(tmp_path / "facts") < REPOSITORIES // 4 and job.poll() is None:
            time.sleep(0.05)
        assert job.poll() is None, log.read_text()[-3000:]
        os.killpg(workers[0].pid, signal.SIGKILL)
        killed = batches(tmp_path / "facts")
        records = [json.loads(line) for line in job.communicate()[0].splitlines()]
    print(f"{REPOSITORIES} repositories, killed at {killed}: {time.monotonic() - began:.0f} s")
    assert job.returncode == 1
    return {record["repository"]: record["state"] for record in records}


def test_a_fleet_is_exported_once_though_a_worker_is_killed_and_spark_answers_as_duckdb(
    tmp_path: Path,
) -> None:
    urls = fleet(tmp_path / "fleet", REPOSITORIES)
    names = [url.removeprefix("file://").removesuffix(".git") for url in urls]
    (tmp_path / "list.txt").write_text("\n".join([*urls[:3], f"{urls[0]}.gone", *urls[3:]]) + "\n")
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(CONFIG)
    at, env = str(tmp_path / "facts"), {**os.environ, **ENV, "SPARK_CONF_DIR": f"{tmp_path}/conf"}
    argv = [sys.executable, str(BIN / "gitcp-facts-spark"), "--json", "-o", at, "--master"]
    exported = export_while_a_worker_dies(
        tmp_path, [*argv, MASTER, str(tmp_path / "list.txt")], env
    )
    assert exported == {**dict.fromkeys(names, "exported"), f"{urls[0][7:]}.gone": "failed"}
    rows = dataset.ask_dataset(at, "SELECT repository, count(*) FROM commits GROUP BY repository")[
        1
    ]
    assert dict(rows) == {name: 30 + number % 20 for number, name in enumerate(names)}
    for table, key in (("commits", "commit"), ("files", "path"), ("sessions", "checkpoint")):
        twice = f"FROM {table} GROUP BY repository, commit, {key} HAVING count(*) > 1"
        assert dataset.ask_dataset(at, f"SELECT repository {twice}")[1] == []
    asked = [word for name in QUESTIONS for word in ("--ask", name)]
    again = [*argv, "local[2]", *asked, str(tmp_path / "list.txt")]
    done = subprocess.run(again, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    states = sorted(record["state"] for record in records if record["type"] == "exported")
    assert states == ["failed", *["same"] * REPOSITORIES]
    spark = [[*record.values()][1:] for record in records if record["type"] == "fact"]
    assert rounded(spark) == rounded(
        row for name in QUESTIONS for row in dataset.ask_dataset(at, name)[1]
    )
