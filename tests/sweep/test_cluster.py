"""Sweeps on a cluster: the results are those of this machine whichever worker dies,
and whatever is wrong with a cluster is one sentence.
"""

import json
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest
import yaml

from crowdsim.avoidance.plugins import load_plugin
from crowdsim.errors import ClusterError, CrowdsimError, ExitCode
from crowdsim.sweep import cluster as cluster_module
from crowdsim.sweep import cluster_worker
from crowdsim.sweep.cluster_worker import mark_of, plugin_digest, refusal
from crowdsim.sweep.code import code_version, package_versions
from crowdsim.sweep.folder import Folder
from crowdsim.sweep.supervise import Limits, run_sweep, supervise
from crowdsim.sweep.tables import tables_of
from tests.cli.command import start
from tests.crowds import ROOT
from tests.sweep.dask_cluster import dask_cluster
from tests.sweep.test_sweep import (
    alive,
    descendants,
    nothing_half_written,
    planned,
    table_of,
    wait_for_results,
)

pytest.importorskip("distributed")

# runs of some seconds: long enough to be met in their midst
LONG = ("tick=0.01", "stop.when=never", "stop.after=20")


def on_cluster(plan, folder, dask, *, patience=60.0, scratch=None, limits=None, **more):
    with cluster_module.Cluster(str(dask.file), patience=patience, scratch=scratch) as cluster:
        return supervise(plan, folder, cluster, limits=limits or Limits(), **more)


def wait_for(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def marks(folder):
    return {each.name for each in folder.scratch.glob("*.attempt-*")}


@pytest.mark.full
def test_a_worker_that_is_killed_in_the_midst_of_runs_changes_no_byte_of_the_table(small, hostile, tmp_path):
    load_plugin(hostile)
    plan = planned(small, "avoidance.model=none,orca,wrong", seeds=range(3), plugins=(hostile,), sets=LONG)
    here, there = Folder(tmp_path / "here"), Folder(tmp_path / "there")
    scratch = tmp_path / "scratch"
    report, left = [], set()
    with dask_cluster(tmp_path / "dask", 2, "--no-nanny") as dask:
        thread = threading.Thread(
            target=lambda: report.append(on_cluster(plan, there, dask, scratch=scratch))
        )
        thread.start()
        # The first run compiles, where nothing is cached.
        wait_for(
            lambda: (
                [*there.path.glob("results/[!.]*.json")]
                and len(marks(there)) == 2
                and [*scratch.rglob("run.h5")]
            ),
            300.0,
        )
        victim = dask.workers[0]
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        left = descendants(victim.pid)
        thread.join(timeout=120.0)
        assert (report[0].finished, report[0].failed) == (6, 3)
        wait_for(lambda: not any(alive(each) for each in left))
        # Nothing goes on at the worker that is left, which has no process of the sweep any more, and nothing
        # lies about.
        wait_for(lambda: not [process for process in descendants(dask.workers[1].pid) if alive(process)])
        run_sweep(plan, here, workers=2)
        assert table_of(here.path).read_bytes() == table_of(there.path).read_bytes()
        assert here.manifest.read_bytes() == there.manifest.read_bytes()
        assert nothing_half_written(there.path) and len([*there.path.glob("recordings/*.h5")]) == 6
        # A worker of another version does nothing.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cluster_module, "code_version", lambda: "another")
            patch.setattr(cluster_module, "package_versions", lambda: {**package_versions(), "numpy": "1.0"})
            with pytest.raises(
                ClusterError,
                match=(
                    rf"cannot do the runs:\ntcp://.* has numpy {package_versions()['numpy']} instead of "
                    r"1.0, which would give other"
                ),
            ):
                on_cluster(plan, Folder(tmp_path / "refused"), dask)


@pytest.fixture
def about(tmp_path):
    folder = Folder(tmp_path / "out")
    with folder.held():
        mark_of(folder, "this").touch()
        yield {
            "sweep": "this",
            "folder": str(folder.path),
            "code": code_version(),
            "versions": package_versions(),
            "plugins": {},
        }


def test_a_worker_says_what_keeps_it_from_doing_the_runs(about, tmp_path):
    plugin = tmp_path / "own.py"
    plugin.write_text("# mine")
    assert refusal(about) == "" and refusal({**about, "plugins": {str(plugin): plugin_digest(plugin)}}) == ""
    assert refusal({**about, "code": "another"}).startswith(
        "has other sources of crowdsim, which would give other results"
    )
    assert "another plug-in at" in refusal({**about, "plugins": {str(plugin): "0"}})
    assert "cannot read the plug-in" in refusal({**about, "plugins": {str(tmp_path / "no.py"): "0"}})
    assert "does not see the folder" in refusal({**about, "sweep": "another"})
    (tmp_path / "out" / "recordings").rmdir()
    assert f"cannot write in {tmp_path / 'out' / 'recordings'} (No such file or directory)" in refusal(about)
    (tmp_path / "out" / "recordings").mkdir()


def test_a_run_is_tried_on_three_workers_and_a_mark_stays_of_each_that_is_lost(about):
    folder = Folder(cluster_worker.Path(about["folder"]))
    attempts = [cluster_worker._attempt(folder, "0a") for _ in range(4)]
    assert (
        len({*attempts[:3]}) == 3
        and attempts[3] is None
        and cluster_worker._attempt(folder, "0b") is not None
    )
    attempts[1].unlink()
    assert cluster_worker._attempt(folder, "0a") == attempts[1]


def test_a_cluster_is_named_by_its_address_by_host_and_port_or_by_its_file(tmp_path):
    file = tmp_path / "s.json"
    file.write_text(json.dumps({"address": "tcp://10.0.0.1:8786"}))
    assert [cluster_module.address_of(each) for each in (str(file), "10.0.0.1:8786", "tls://a:1")] == [
        "tcp://10.0.0.1:8786"
    ] * 2 + ["tls://a:1"]
    with pytest.raises(
        CrowdsimError,
        match=r"no such scheduler file, and it is no address either, for example tcp://10.0.0.1:8786",
    ):
        cluster_module.address_of(str(tmp_path / "none.json"))
    for text in ("", "[]", '{"address": 1}', "{}"):
        file.write_text(text)
        with pytest.raises(CrowdsimError, match="is no scheduler file"):
            cluster_module.address_of(str(file))


def test_where_no_scheduler_is_there_is_a_sentence_and_no_waiting(monkeypatch):
    monkeypatch.setattr(cluster_module, "CONNECT_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        port = deaf.getsockname()[1]
        with pytest.raises(
            ClusterError, match=rf"^tcp://127.0.0.1:{port}: no scheduler of dask answers within 0.5 s"
        ):
            cluster_module.Cluster(f"127.0.0.1:{port}", patience=1.0)
    for where in (f"tcp://127.0.0.1:{port}", "smoke://signals:1"):
        with pytest.raises(ClusterError, match="no scheduler of dask answers") as told:
            cluster_module.Cluster(where, patience=1.0)
        assert told.value.exit_code == ExitCode.CLUSTER and "\n" not in str(told.value)


@pytest.mark.full
def test_a_cluster_without_workers_is_waited_for_as_long_as_is_asked(small, tmp_path):
    with (
        dask_cluster(tmp_path / "dask") as dask,
        pytest.raises(ClusterError, match="there has been no worker for 3 s"),
    ):
        on_cluster(planned(small), Folder(tmp_path / "out"), dask, patience=3.0)


@pytest.mark.full
def test_workers_without_this_crowdsim_are_named(small, tmp_path):
    other = tmp_path / "elsewhere"
    (other / "crowdsim").mkdir(parents=True)
    # an installation in place would find the rest of the package where it is developed
    (other / "crowdsim" / "__init__.py").write_text(
        "import sys\n"
        "sys.meta_path[:] = [each for each in sys.meta_path if 'editable' not in str(each).lower()]\n"
    )
    with dask_cluster(tmp_path / "dask", 0) as dask:
        dask.add_worker("--no-nanny", PYTHONPATH=str(other))
        with pytest.raises(
            ClusterError,
            match=(
                r"tcp://.* does not have this crowdsim \(No module named 'crowdsim.sweep'\)\. Install the "
                r"same there\.$"
            ),
        ):
            on_cluster(planned(small), Folder(tmp_path / "out"), dask)


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_sweep_that_is_stopped_ends_its_runs_on_the_workers_and_goes_on(number, small, tmp_path):
    folder = tmp_path / "out"
    with dask_cluster(tmp_path / "dask", 2) as dask:
        arguments = [
            "sweep",
            small,
            "--seeds",
            "0:10",
            "--out",
            folder,
            "--cluster",
            dask.file,
            *(word for each in LONG for word in ("--set", each)),
        ]
        process = start(arguments, cwd=tmp_path)
        wait_for_results(folder, 2, process)
        process.send_signal(number)
        _, complaints = process.communicate(timeout=60)
        wait_for(lambda: not [*(tmp_path / "dask").rglob("run.h5*")], 10.0)
        kept = len([*folder.glob("results/*.json")])
        time.sleep(1.0)
        assert kept < 10 and len([*folder.glob("results/*.json")]) == kept
        if number == signal.SIGINT:
            assert (
                process.returncode == 130
                and "the same command goes on" in complaints
                and "Traceback" not in complaints
                and nothing_half_written(folder)
            )
        again = start([*arguments, "--json"], cwd=tmp_path)
        said, complaints = again.communicate(timeout=120)
        assert again.returncode == 0, complaints
        assert (json.loads(said)["known"], json.loads(said)["finished"]) == (
            kept,
            10 - kept,
        ) or number == signal.SIGKILL
        assert nothing_half_written(folder)


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_scheduler_that_is_lost_ends_the_sweep_with_a_sentence(number, small, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_module, "SILENT_SECONDS", 3.0)
    plan, folder = planned(small, seeds=range(30), sets=LONG), Folder(tmp_path / "out")
    told = []

    def sweep(dask):
        try:
            on_cluster(plan, folder, dask)
        except ClusterError as error:
            told.append(str(error))

    with dask_cluster(tmp_path / "dask", 2) as dask:
        thread = threading.Thread(target=sweep, args=(dask,))
        thread.start()
        wait_for(lambda: [*folder.path.glob("results/[!.]*.json")])
        dask.scheduler.send_signal(number)
        thread.join(timeout=40.0)
        assert (
            not thread.is_alive()
            and len(told) == 1
            and "the scheduler is lost" in told[0]
            and "the same command goes on" in told[0]
        )
    runs, _ = tables_of(plan, folder)
    assert 1 <= (runs["status"] == "finished").sum() < 30 and set(runs["status"]) == {"finished", "not done"}


REGICIDE = '''

@register
class Regicide(Hostile):
    """Kills the worker: the process that started the one that started this."""
    name = "regicide"
    def strike(self):
        with open(f"/proc/{os.getppid()}/stat") as stat:
            os.kill(int(stat.read().rpartition(")")[2].split()[1]), signal.SIGKILL)
        time.sleep(60.0)
'''


@pytest.mark.full
@pytest.mark.parametrize("allowed", ["0", "3", "10"])
def test_a_run_that_ends_its_worker_three_times_is_lost_and_costs_no_other(allowed, small, hostile, tmp_path):
    hostile.write_text(hostile.read_text() + REGICIDE)
    load_plugin(hostile)
    plan = planned(small, "avoidance.model=none,regicide,orca", seeds=[1, 2], plugins=(hostile,))
    folder = Folder(tmp_path / "out")
    with dask_cluster(tmp_path / "dask", 2, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES=allowed) as dask:
        report = on_cluster(plan, folder, dask, limits=Limits(timeout=30.0, memory=200 * 2**20))
    runs, _ = tables_of(plan, folder)
    assert (report.finished, report.failed) == (4, 2)
    lost = runs[runs["avoidance.model"] == "regicide"]
    assert (lost["status"] == "lost").all() and (
        lost["error"] == "the worker was lost 3 times during this run"
    ).all()


def tls_of(page: str, place) -> dict[str, str]:
    """Make the certificates of the page by its own commands;
    return the configuration of the page as the environment of dask.
    """
    commands = re.search(r"```sh\n(openssl req.*?)```", page, flags=re.DOTALL)[1]
    subprocess.run(
        ["sh", "-e", "-c", commands.replace("rsa:3072", "rsa:2048")],
        cwd=place,
        check=True,
        capture_output=True,
    )
    tls = yaml.safe_load(
        re.search(r"```yaml\n(distributed:.*?)```", page, flags=re.DOTALL)[1].replace(
            "/home/me/sweeps", str(place)
        )
    )["distributed"]["comm"]
    found = {
        "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": str(tls["require-encryption"]),
        "DASK_DISTRIBUTED__COMM__TLS__CA_FILE": tls["tls"]["ca-file"],
    }
    for role in ("scheduler", "worker", "client"):
        found |= {
            f"DASK_DISTRIBUTED__COMM__TLS__{role.upper()}__{key.upper()}": value
            for key, value in tls["tls"][role].items()
        }
    return found


@pytest.mark.full
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is missing: it makes the certificates")
def test_with_the_certificates_of_the_page_a_sweep_runs_over_tls_and_without_them_nobody_gets_in(
    small, tmp_path, monkeypatch
):
    variables = tls_of((ROOT / "docs" / "guides" / "sweeps.md").read_text(encoding="utf-8"), tmp_path)
    with dask_cluster(tmp_path / "dask", 1, "--protocol", "tls", protocol="tls", **variables) as dask:
        assert json.loads(dask.file.read_text())["address"].startswith("tls://")
        command = ["sweep", small, "--vary", "avoidance.model=none", "--cluster", dask.file, "--out"]
        strangers = start([*command, tmp_path / "without"], cwd=tmp_path)
        _, complaint = strangers.communicate(timeout=120)
        assert (
            strangers.returncode == ExitCode.CLUSTER
            and "no scheduler of dask answers" in complaint
            and "Traceback" not in complaint
        )
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        let_in = start([*command, tmp_path / "with"], cwd=tmp_path)
        said, complaint = let_in.communicate(timeout=300)
        assert let_in.returncode == 0, complaint
        assert "1 runs finished" in said
