"""Two corridors of different length settle at equal times, as [Wardrop 1952] has it: no agent would have been
quicker by the other. Times are those from the first to the last recorded place.
"""

import pytest

from tests.scenes.exits import watch

SETTLED_S, LAST_S = 120.0, 320.0  # those that come in between are looked at


def corridors(seed, last_s=LAST_S, **more):
    """Return a hall into which 1.5 agents come a second, a corridor of 10 m and one of 40 m, each with a
    turnstile for one a second at its end.
    """
    return {
        "version": 1,
        "name": "corridors",
        "seed": seed,
        "tick": 0.1,
        "geometry": {"walkable": [{"box": [0, 0, 8, 8]}, {"box": [-10, 2, 0, 6]}, {"box": [8, 2, 48, 6]}]},
        "goals": {
            "short": {"exit": {"box": [-10.2, 2, -9.8, 6]}, "flow": 1},
            "long": {"exit": {"box": [47.8, 2, 48.2, 6]}, "flow": 1},
            "out": {"quickest_of": ["short", "long"], "gain": 0.5},
        },
        "groups": [
            {
                "name": "flow",
                "region": {"box": [2, 1, 6, 7]},
                "goals": "out",
                "speed": 1.3,
                "arrive": {"rate": 1.5, "process": "poisson", "until": last_s + 40},
            }
        ],
        "record": {"rate": 10},
        "stop": {"after": last_s + 90},
        **more,
    }


def times(seen, first_s=SETTLED_S, last_s=LAST_S):
    """Return the mean times through both corridors (s), and how many went through each."""
    span = seen.moves.groupby("id")["time"].agg(["min", "max"])
    settled = (span["min"] > first_s) & (span["min"] < last_s)
    took, short = (span["max"] - span["min"])[settled], (seen.last["x"] < 0)[settled]
    return took[short].mean(), took[~short].mean(), short.sum(), (~short).sum()


def check(seen, first_s=SETTLED_S, last_s=LAST_S):
    short_s, long_s, short, long = times(seen, first_s, last_s)
    span = last_s - first_s
    assert short > 0.75 * span and long > 0.2 * span, (short, long)
    assert not seen.verdict.deadlocked and not seen.verdict.choice_changes > 0.2 * len(seen.last)
    assert abs(short_s - long_s) < 0.05 * max(short_s, long_s), (short_s, long_s)


def test_mean_times_settle_within_a_minute_and_a_half(tmp_path):
    check(watch(corridors(3, 140.0), tmp_path), 70.0, 140.0)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1, 11))
def test_mean_times_through_a_short_and_a_long_corridor_differ_by_less_than_5_percent(tmp_path, seed):
    check(watch(corridors(seed), tmp_path))


@pytest.mark.full
@pytest.mark.parametrize(
    "more", [{"avoidance": "clearpath"}, {"navigation": "grid"}, {"avoidance": "none"}], ids=str
)
def test_so_they_do_with_other_models_and_planners(tmp_path, more):
    check(watch(corridors(5, **more), tmp_path))


@pytest.mark.full
def test_by_the_nearest_alone_the_short_corridor_takes_ever_longer(tmp_path):
    document = corridors(1)
    document["goals"]["out"] = {"nearest_of": ["short", "long"]}
    seen = watch(document, tmp_path)
    short_s, _, _, long = times(seen)
    assert long == 0 and short_s > 60
