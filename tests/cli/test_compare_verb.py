"""`crowdsim compare`: bit for bit, by places, on the whole."""

import json

import pytest

from tests.cli.command import crowdsim
from tests.crowds import SCENARIOS


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name, sets in {
        "a": [],
        "b": [],
        "c": ["--set", "avoidance.time_horizon=2.001"],
        "d": ["--set", "groups.0.speed=0.7"],
    }.items():
        sets = ["--set", "groups.0.count=40", *sets]
        done = crowdsim(["run", SCENARIOS / "bottleneck.yaml", "-o", folder / f"{name}.h5", "-q", *sets])
        assert done.returncode in (0, 3), done.stderr
    return folder


def test_equal_runs_are_identical(runs):
    done = crowdsim(["compare", "a.h5", "b.h5"], cwd=runs)
    assert done.returncode == 0 and done.stdout.startswith("a.h5 and b.h5: identical over ")
    answer = json.loads(crowdsim(["compare", "a.h5", "b.h5", "--json"], cwd=runs).stdout)
    assert answer["ok"] and answer["difference"] is None


def test_the_first_difference_is_named(runs):
    done = crowdsim(["compare", "a.h5", "c.h5"], cwd=runs)
    assert (
        done.returncode == 6
        and "a.h5 and c.h5: different\ntick " in done.stdout
        and "digest of" in done.stdout
    )


def test_places_agree_for_a_while_and_then_only_what_runs_come_to(runs):
    done = crowdsim(["compare", "a.h5", "c.h5", "--tolerance", "0.001"], cwd=runs)
    assert (
        done.returncode == 6
        and " m apart, at (" in done.stdout
        and "before, nobody was more than" in done.stdout
    )
    answer = json.loads(
        crowdsim(["compare", "a.h5", "c.h5", "--tolerance", "0.001", "--json"], cwd=runs).stdout
    )
    assert not answer["ok"] and answer["difference"]["distance_m"] > 0.001 >= answer["deepest_m"]
    whole = crowdsim(["compare", "a.h5", "c.h5", "--aggregates", "0.2"], cwd=runs)
    assert (
        whole.returncode == 0
        and "within 20 % of each other" in whole.stdout
        and "mean speed m/s" in whole.stdout
    )
    slower = crowdsim(["compare", "a.h5", "d.h5", "--aggregates", "0.2"], cwd=runs)
    assert slower.returncode == 6 and "mean speed m/s" in slower.stdout.splitlines()[0]
    assert json.loads(
        crowdsim(["compare", "a.h5", "d.h5", "--aggregates", "0.2", "--json"], cwd=runs).stdout
    )["apart"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["a.h5", "no.h5"], 4, "no.h5"),
        (["a.h5", "b.h5", "--tolerance", "1", "--aggregates", "1"], 2, "Ask one at a time"),
        (["a.h5", "b.h5", "--tolerance", "-1"], 2, "tolerance"),
    ],
)
def test_mistakes_are_told(runs, arguments, code, words):
    done = crowdsim(["compare", *arguments], cwd=runs)
    assert done.returncode == code and words in done.stderr and "Traceback" not in done.stderr
