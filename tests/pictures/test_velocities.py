"""`crowdsim plot --explain AGENT --at T`: a picture for every model,
and one clear sentence for what cannot be drawn.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest

import crowdsim
from crowdsim.avoidance.explain import REASON_DTYPE, Reason
from crowdsim.cli import main
from crowdsim.errors import CrowdsimError
from crowdsim.recording.explained import choice_at
from tests.crowds import BUSY, digests, simulation

pytest.importorskip("matplotlib")
EXPLAINED = {**copy.deepcopy(BUSY), "record": {"rate": 5, "explain": [70, "to_west"]}}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("choices") / "a.h5"
    with simulation(EXPLAINED, out=path, sets=["avoidance=clearpath"]) as run:
        digests(run, 40)
    return path


def outcome(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return left.value.code, said.out, said.err


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", ["orca", "clearpath", "hrvo", "sampled-hrvo", "toi", "none"])
def test_every_models_choices_can_be_drawn(model, tmp_path, capsys):
    with simulation(EXPLAINED, out=tmp_path / "a.h5", sets=[f"avoidance={model}"]) as run:
        digests(run, 12)
    code, out, err = outcome(capsys, "plot", tmp_path / "a.h5", "--explain", "70", "--at", "0.5")
    assert (code, out, err) == (0, f"{tmp_path / 'a-70-0.5s.png'}\n", "")
    assert (tmp_path / "a-70-0.5s.png").read_bytes().startswith(b"\x89PNG")
    code, _, err = outcome(
        capsys, "plot", tmp_path / "a.h5", "--explain", "70", "--at", "0.5", "-o", tmp_path / "b.svg"
    )
    drawn = (tmp_path / "b.svg").read_text()
    assert code == 0 and drawn.count("<path") > 10


def test_an_agent_is_called_as_messages_call_it(recorded):
    with crowdsim.open_run(recorded) as run:
        roster = run.roster()
        entity = int(roster.entity[roster.scenario_id == 70].iloc[0])
        by_id, by_mark, by_entity = (choice_at(run, name, 0.52) for name in ("70", "#70", f"entity={entity}"))
        one = choice_at(run, "to_west[3]", 4.0)
        own = roster[roster.entity == one.entity].iloc[0]
        whole = run.table("explanations")
    assert (
        by_id.label == "#70"
        and by_id.tick == 5
        and by_id.entity == by_mark.entity == by_entity.entity == entity
    )
    assert np.array_equal(by_id.reasons["x"], by_mark.reasons["x"])
    assert (one.group, one.tick, own["index"], one.maximum_speed) == ("to_west", 40, 3, own.maximum_speed)
    expected = whole[(whole["tick"] == 40) & (whole["entity"] == one.entity)]
    assert len(expected) > 2 and one.reasons.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--explain", "70"], "--explain needs --at SECONDS beside it: a choice is one agent's at one time."),
        (["--at", "3"], "--at needs --explain AGENT beside it: a choice is one agent's at one time."),
        (
            ["--explain", "to_west[99]", "--at", "1"],
            (
                'there is no agent "to_west[99]". Name one by its id, as group[index], or as entity=number: '
                "#70, #71, to_east[0]"
            ),
        ),
        (["--explain", "entity=99", "--at", "1"], 'there is no agent "entity=99".'),
        (
            ["--explain", "to_east[2]", "--at", "1"],
            (
                "the choices of to_east[2] are not explained in it, but those of 13 others. Name to_east[2] "
                "or its group in record.explain."
            ),
        ),
        (
            ["--explain", "70", "--at", "4.2"],
            "there is no choice at 4.2 s; the run has ticks from 0.1 to 4 s.",
        ),
        (["--explain", "70", "--at", "0"], "there is no choice at 0 s; the run has ticks from 0.1 to 4 s."),
        (["--explain", "70", "--at", "nan"], "there is no choice at nan s"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(arguments, message, recorded, capsys):
    code, out, err = outcome(capsys, "plot", recorded, *arguments)
    assert (code, out) == (2, "") and message in err and len(err.splitlines()) == 1
    assert [path.name for path in recorded.parent.iterdir()] == [recorded.name]


def test_an_agent_that_waits_has_no_choice_and_the_message_says_when_it_has_some(recorded, capsys):
    with crowdsim.open_run(recorded) as run:
        table, roster = run.explanations(), run.roster().set_index("entity")
    first = table.groupby("entity").tick.min()
    entity = int(first[first > 2].index[0])
    label = f"to_west[{roster.loc[entity, 'index']}]"
    code, _, err = outcome(capsys, "plot", recorded, "--explain", label, "--at", "0.1")
    assert (
        code == 2
        and (
            f"{label} chose no velocity at 0.1 s (it waited, stood or was gone); it did from "
            f"{first[entity] * 0.1:g} to 4 s."
        )
        in err
    )


def test_a_recording_without_explanations_says_how_to_get_them(tmp_path, capsys):
    with simulation(out=tmp_path / "a.h5") as run:
        run.step()
    code, _, err = outcome(capsys, "plot", tmp_path / "a.h5", "--explain", "to_west[1]", "--at", "0.1")
    assert (
        code == 2
        and (
            "nobody's choices are explained in it. Run the scenario again with --set "
            "'record.explain=[to_west]'."
        )
        in err
    )


def rows(*reasons):
    """Rows of reasons: (kind, x, y, a_x, a_y, b_x, b_y)."""
    table = np.zeros(len(reasons), dtype=REASON_DTYPE)
    for row, (kind, *numbers) in zip(table, reasons):
        row["kind"] = kind
        for name, number in zip(("x", "y", "a_x", "a_y", "b_x", "b_y"), numbers):
            row[name] = number
    return table


def test_a_cone_is_drawn_as_what_it_forbids():
    """Legs along the axes, cut off at x + y = 1: the part of the square beyond the cut."""
    from crowdsim.pictures.velocities import forbidden_by

    cone, tip = rows(
        (Reason.OBSTACLE, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0), (Reason.TIP, 0.5, 0.5, -np.sqrt(0.5), -np.sqrt(0.5))
    )
    whole, cut = forbidden_by(cone, [], 2.0), forbidden_by(cone, [tip], 2.0)
    assert sorted(map(tuple, whole.round(9).tolist())) == [(0, 0), (0, 2), (2, 0), (2, 2)]
    assert sorted(map(tuple, cut.round(9).tolist())) == [(0, 1), (0, 2), (1, 0), (2, 0), (2, 2)]
    # opposite legs: everything to the right of x = 1
    half_plane = rows((Reason.OBSTACLE, 1.0, 0.0, 0.0, 1.0, 0.0, -1.0))[0]
    assert sorted(map(tuple, forbidden_by(half_plane, [], 2.0).round(9).tolist())) == [
        (1, -2),
        (1, 2),
        (2, -2),
        (2, 2),
    ]
    assert len(forbidden_by(rows((Reason.OBSTACLE, 5.0, 5.0, 0.0, 1.0, 1.0, 0.0))[0], [], 2.0)) == 0


def test_a_damaged_choice_is_told(recorded, tmp_path):
    import shutil

    import h5py

    shutil.copy(recorded, tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        table = file["explanations"]
        first = table[:200]
        first["kind"][first["kind"] == Reason.CHOSEN] = Reason.PREFERRED
        table[:200] = first
    with crowdsim.open_run(tmp_path / "a.h5") as run, pytest.raises(CrowdsimError, match="is damaged"):
        choice_at(run, "70", 0.1)
