"""The benchmark of an alarm runs, and what it tells is of one piece."""

import json

import numpy as np
import pytest

from benchmarks import alarm


def test_every_planner_has_its_runs_and_its_rates(capsys):
    alarm.main(
        ["--agents", "120", "--goals", "4", "--ticks", "4", "--sample", "12", "--work", "300", "--json"]
    )
    found = json.loads(capsys.readouterr().out)
    assert [one["kind"] for one in found["by_work"]] == ["optimal", "mesh"]
    for one in found["by_work"]:
        assert one["most_in_a_tick"] <= one["work"] and one["longest_wait"] <= one["bound"]
        assert one["ticks"] == 4 or one["unanswered"] == 0
        assert 0.0 < one["answers_share"] < 1.0 and 0.0 < one["answers_work"] < 1.0
    assert [row["name"] for row in found["rates"]] == [
        f"{kind}, {how}" for kind in ("optimal", "mesh") for how in ("alone", "landmarks", "shared")
    ]
    assert all(0.0 < row["least_us"] < row["us"] for row in found["rates"])
    found["agents"], found["rates"] = 120, [*found["rates"], {"name": "Detour", "us": 1.0, "least_us": 1.0}]
    alarm.show(found)
    assert "Detour's rate" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("when", "expected"), [([0, 1, 1, 3], 0), ([2, 0, 1], 2), ([1, 3, 2, 2], 1), ([], 0)]
)
def test_behind_is_by_how_much_one_was_answered_after_one_that_asked_later(when, expected):
    assert alarm.behind(np.array(when)) == expected


def test_the_building_is_in_one_piece_with_room_for_all():
    ground = alarm.building(1000)
    assert ground.geom_type == "Polygon" and 1.5 < ground.area / 1000 < 4.0
    assert len(alarm.places(ground, 50, 1)) == 50
