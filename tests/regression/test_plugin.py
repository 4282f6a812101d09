"""The plug-in for pytest, as a project of another uses it:
a folder of its own, without any of our configuration.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from crowdsim.recording.opening import open_run
from crowdsim.regression.golden_runs import check_golden
from tests.cli.command import environment
from tests.regression.scene import SCENE, golden, scene

pytest_plugins = ["pytester"]

TEST = """
def test_meeting(crowdsim_golden):
    crowdsim_golden("scenes/meeting.yaml", seconds=1, until=2, sets=["seed=7"])
"""


@pytest.fixture(scope="module", autouse=True)
def _all_is_imported(tmp_path_factory):
    """A session inside a session forgets what it imported: what it needs is there before."""
    check_golden(golden(tmp_path_factory.mktemp("first")), scene())


@pytest.fixture
def project(pytester):
    pytester.makeini("[pytest]\n")
    pytester.mkdir("scenes").joinpath("meeting.yaml").write_text(SCENE)
    pytester.makepyfile(test_scenes=TEST)
    return pytester


def pytest_run(project, *arguments):
    return project.runpytest("-p", "crowdsim.pytest_plugin", "-p", "no:cacheprovider", *arguments)


def test_a_missing_golden_recording_fails_with_the_way_out(project):
    done = pytest_run(project)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        [
            (
                "runs/golden/meeting.h5: there is no golden recording of this run yet. Keep the run of "
                "today: pytest --bless test_scenes.py::test_meeting"
            )
        ]
    )
    assert "Traceback" not in done.stdout.str() and not (project.path / "runs").exists()


def test_bless_keeps_the_run_and_later_runs_are_held_to_it(project):
    done = pytest_run(project, "--bless")
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["*golden recordings*", "runs/golden/meeting.h5: * kB, new"])
    kept_at = project.path / "runs" / "golden" / "meeting.h5"
    with open_run(kept_at) as recording:
        assert recording.commit.ticks == 20 and recording.header.seed == 7
    kept = kept_at.read_bytes()
    (project.path / "scenes" / "meeting.yaml").write_text("description: a description may change\n" + SCENE)
    pytest_run(project).assert_outcomes(passed=1)
    (project.path / "scenes" / "meeting.yaml").write_text(SCENE)
    pytest_run(project, "--bless").stdout.fnmatch_lines(["runs/golden/meeting.h5: * kB, unchanged"])
    assert kept_at.read_bytes() == kept

    (project.path / "scenes" / "meeting.yaml").write_text(SCENE.replace("count: 6", "count: 6, speed: 1.2"))
    done = pytest_run(project)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines([
        "runs/golden/meeting.h5: not identical", "tick *: *", "the scenario is another one: groups.1.speed*",
        "If that is meant: pytest --bless test_scenes.py::test_meeting",
    ])  # fmt: skip
    assert kept_at.read_bytes() == kept
    done = pytest_run(project, "--bless")
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(
        ["runs/golden/meeting.h5: * kB, changed", "tick *", "*mean speed m/s: * before, * now"]
    )


@pytest.mark.full
def test_within_a_tolerance_places_are_compared(project):
    project.makepyfile(test_scenes=TEST.replace("until=2, ", "tolerance=0.05, "))
    pytest_run(project, "--bless").assert_outcomes(passed=1)
    scene = project.path / "scenes" / "meeting.yaml"
    scene.write_text(SCENE + "avoidance: {time_horizon: 2.00001}\n")
    pytest_run(project).assert_outcomes(passed=1)
    scene.write_text(SCENE + "avoidance: {time_horizon: 0.5}\n")
    done = pytest_run(project)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        ["tick *: agent * m from where it was recorded, more than 0.05 m: recorded (*), now (*)"]
    )


def test_scenarios_come_in_every_form_and_two_tests_share_no_recording(project):
    project.makepyfile(
        test_scenes=f"""
import crowdsim
TEXT = {SCENE!r}
def test_text(crowdsim_golden):
    crowdsim_golden(TEXT, seconds=0.5, name="text")
def test_loaded(crowdsim_golden, request):
    scenario = crowdsim.load_scenario(request.config.rootpath / "scenes/meeting.yaml")
    golden = crowdsim_golden(scenario, seconds=0.5, sets=["seed=9"], name="loaded/once")
    assert golden.name == "loaded_once.h5"
def test_same_name(crowdsim_golden):
    crowdsim_golden(TEXT, seconds=0.5, name="text")
def test_mistake(crowdsim_golden):
    crowdsim_golden("scenes/none.yaml")
def test_too_large(crowdsim_golden):
    sets = ["groups.0.count=5000", "stop.after=900", "geometry.walkable={{box: [0, 0, 800, 800]}}"]
    crowdsim_golden(TEXT, sets=sets, name="large")
"""
    )
    done = pytest_run(project, "--bless")
    done.assert_outcomes(passed=2, failed=3)
    done.stdout.fnmatch_lines(
        [
            (
                "runs/golden/text.h5: is the golden recording of test_scenes.py::test_text already. Give "
                "one of the two a name: *"
            ),
            "*none.yaml: there is no such file*",
            (
                "meeting: every column of 5,006 agents in 18,000 ticks takes at least about * MB, but a "
                "golden run has at most 1.05 MB. Keep less time*"
            ),
        ]
    )
    assert sorted(path.name for path in (project.path / "runs" / "golden").iterdir()) == [
        "loaded_once.h5",
        "text.h5",
    ]


@pytest.mark.full
def test_the_folder_can_be_chosen(project):
    project.makeini("[pytest]\ncrowdsim_golden_folder = tests/kept\n")
    pytest_run(project, "--bless").assert_outcomes(passed=1)
    assert (project.path / "tests" / "kept" / "meeting.h5").is_file()


@pytest.mark.full
def test_workers_of_xdist_bless_and_compare(project):
    project.makepyfile(
        test_scenes=TEST
        + TEST.replace("test_meeting", "test_other").replace('seed=7"]', 'seed=8"], name="other"')
    )
    command = [sys.executable, "-m", "pytest", "-p", "crowdsim.pytest_plugin", "-n", "2"]
    for arguments, words in ((["--bless"], "runs/golden/other.h5: "), ([], "2 passed")):
        done = subprocess.run(
            [*command, *arguments],
            cwd=project.path,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0 and words in done.stdout, done.stdout


def test_the_plug_in_costs_nothing_at_the_start_of_pytest():
    """It imports nothing but pytest before a test asks for the fixture:
    measured 15 ms, of which crowdsim's own modules are 1.
    """
    code = (
        "import sys, pytest; before = set(sys.modules); import crowdsim.regression.pytest_plugin; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    names = [
        "crowdsim",
        "crowdsim.front_doors",
        "crowdsim.old_names",
        "crowdsim.regression",
        "crowdsim.regression.pytest_plugin",
        "crowdsim.version",
    ]
    assert done.stdout.split() == names
