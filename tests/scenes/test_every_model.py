"""What every model keeps in a whole run, by being registered:
threads, saving and loading, groups, explanations, the warm-up.
"""

import copy

import numpy as np
import pytest

from crowdsim.avoidance.explain import REASON_DTYPE, Reason
from crowdsim.avoidance.registry import available_models, origin_of
from tests.crowds import BUSY, digests, simulation

MODELS = tuple(name for name in available_models() if origin_of(name) is None)
TICKS = 40


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    with simulation(sets=[f"avoidance={request.param}"]) as run:
        return request.param, digests(run, TICKS)


@pytest.mark.sample(1)
def test_the_number_of_threads_changes_nothing(model, monkeypatch):
    name, expected = model
    with simulation(sets=[f"avoidance={name}"], threads=3) as run:
        monkeypatch.setattr("crowdsim.kernels.threads.WORTH_NS", 0)
        assert digests(run, TICKS) == expected


@pytest.mark.sample(1)
def test_saving_and_loading_changes_nothing(model):
    name, expected = model
    with simulation(sets=[f"avoidance={name}"]) as run:
        digests(run, TICKS // 2)
        state = run.state()
    with simulation(sets=[f"avoidance={name}"]) as other:
        other.restore(state)
        assert digests(other, TICKS - TICKS // 2) == expected[TICKS // 2 :]


@pytest.mark.sample(1)
def test_explaining_changes_nothing_and_what_it_tells_is_well_formed(model, tmp_path):
    name, expected = model
    document = {**copy.deepcopy(BUSY), "record": {"rate": 5, "explain": ["to_west", "to_east", 70]}}
    with simulation(document, sets=[f"avoidance={name}"], out=tmp_path / "a.h5") as run:
        assert digests(run, TICKS) == expected
    import crowdsim

    with crowdsim.open_run(tmp_path / "a.h5") as recording:
        table = recording.table("explanations")
    assert list(table.dtype.names)[1:] == list(REASON_DTYPE.names) and set(table["kind"]) <= set(Reason)
    chosen = table[table["kind"] == Reason.CHOSEN]
    assert len(np.unique(chosen[["tick", "entity"]])) == len(chosen) > TICKS
    assert np.isfinite(chosen["x"]).all() and np.isfinite(table["x"]).all() and set(table["binds"]) <= {0, 1}


@pytest.mark.sample(1)
def test_it_shares_a_run_with_every_other_model_in_any_order_of_groups(model):
    name, _ = model
    document = copy.deepcopy(BUSY)
    document["groups"][0]["avoidance"] = name
    document["groups"][1]["avoidance"] = "orca" if name != "orca" else "none"
    with simulation(document) as one:
        expected = digests(one, TICKS)
    document["groups"] = document["groups"][::-1]
    with simulation(document, threads=2) as other:
        assert digests(other, TICKS) == expected
