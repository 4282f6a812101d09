"""What a program does to a run is in its recording: the run follows from that alone."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys

import h5py
import numpy as np
import pytest

import crowdsim as library
from crowdsim.errors import CrowdsimError, RecordingError
from crowdsim.recording.checkpoint import checkpoints_of, read_checkpoint
from crowdsim.recording.commit import newest
from crowdsim.recording.compare import compare_digests, first_difference
from crowdsim.recording.gate import Damage
from crowdsim.recording.interventions import MOST_LINE_BYTES, Intervention, read_interventions
from crowdsim.recording.recover import recover
from crowdsim.regression.golden_runs import run_for
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.checkpoints import Start
from crowdsim.simulation.replay import CALLS, Replay
from crowdsim.simulation.simulation import Simulation
from crowdsim.systems.integrate import Integrate
from tests.cli.command import crowdsim, environment
from tests.crowds import BUSY, ROOT, simulation
from tests.simulation.steered import go_on, hall


@pytest.fixture(scope="module")
def steered(tmp_path_factory):
    """Return the recording of a run of 120 ticks, steered from before the first one until after the last."""
    path = tmp_path_factory.mktemp("steered") / "run.h5"
    with Simulation(hall(), out=path) as run:
        run.set_goal([1, 2], "corner")
        go_on(run, 120)
        run.set_goal([3], None)
    return path


def interventions(path):
    with library.open_run(path) as recorded:
        return [each.line() for each in recorded.interventions()]


def test_every_call_is_recorded_in_order_with_its_tick_and_arguments(tmp_path):
    path = tmp_path / "run.h5"
    with Simulation(hall(), out=path) as run:
        run.set_goal("a[1]", "corner")
        run.step()
        velocity = np.linspace(0.0, 1.0, 24).reshape(12, 2)
        run.set_preferred_velocity(run.agents.entity, velocity)
        run.set_radius([3, 4], radius=np.float32(0.25))
        run.step()
        run.set_area_available("gate", np.bool_(False))
        run.put_obstacle("cart", {"disc": 0.4}, (2, 1), stands_after=1)
        run.step()
        run.move_obstacle("cart", [[3, 1], [3, 2]], 1.0, loop=True)
        run.step()
        run.remove_obstacle("cart")
    with library.open_run(path) as recorded:
        found = list(recorded.interventions())
    assert [(each.tick, each.call) for each in found] == [
        (0, "set_goal"),
        (1, "set_preferred_velocity"),
        (1, "set_radius"),
        (2, "set_area_available"),
        (2, "put_obstacle"),
        (3, "move_obstacle"),
        (4, "remove_obstacle"),
    ]
    assert found[0].arguments == {"entity": "a[1]", "goal": "corner"}
    assert found[1].arguments["entity"].tolist() == list(range(1, 13))
    assert np.array_equal(found[1].arguments["velocity"], velocity)
    assert found[2].arguments == {"entity": [3, 4], "radius": 0.25}
    assert found[3].arguments == {"name": "gate", "available": False}
    assert found[4].arguments == {
        "name": "cart",
        "shape": {"disc": 0.4},
        "position": [2, 1],
        "stands_after": 1,
    }
    assert found[5].arguments == {"name": "cart", "path": [[3, 1], [3, 2]], "speed": 1.0, "loop": True}


def test_a_call_that_is_refused_changes_nothing_and_is_not_recorded(tmp_path):
    path = tmp_path / "run.h5"
    with Simulation(hall(), out=path) as run, Simulation(hall()) as other:
        for call in (
            lambda: run.set_goal([1, 99], "east"),
            lambda: run.set_goal([1], "nowhere"),
            lambda: run.set_preferred_velocity([1], (np.nan, 0.0)),
            lambda: run.set_preferred_velocity([1], (1e9, 0.0)),
            lambda: run.set_preferred_velocity([1], object()),
            lambda: run.set_radius([1, 2], [0.2, -1.0]),
            lambda: run.set_area_available("door", available=True),
            lambda: run.put_obstacle("cart", {"disc": 0.4}, "there"),
            lambda: run.put_obstacle("cart", 0.4, [2, 1]),
            lambda: run.move_obstacle("cart", [[1, 2, 3]], 1.0),
            lambda: run.remove_tile(1, 1),
        ):
            with pytest.raises(CrowdsimError):
                call()
        run.step(), other.step()
        assert run.digest == other.digest
    assert interventions(path) == []


def test_a_steered_run_is_verified(steered):
    for threads in ("1", "2"):
        done = crowdsim(["verify", steered, "--threads", threads])
        assert (done.returncode, done.stderr) == (0, "") and "identical over 120 ticks" in done.stdout


def test_info_counts_what_a_program_did(steered):
    done = crowdsim(["info", steered])
    facts = json.loads(crowdsim(["info", steered, "--json"]).stdout)["interventions"]
    assert f"interventions  {len(interventions(steered))} calls: " in done.stdout
    assert facts["set_goal"] == 13 and sum(facts.values()) == len(interventions(steered))


def test_compare_names_the_first_thing_that_one_program_did_and_the_other_did_not(steered, tmp_path):
    with Simulation(hall(), out=tmp_path / "other.h5") as run:
        run.set_goal([1, 2], "corner")
        go_on(run, 30)
        run.set_goal([7], "corner")
        go_on(run, 120)
    done = crowdsim(["compare", steered, tmp_path / "other.h5"])
    assert done.returncode == 6 and "of a program: " in done.stdout
    assert "set_goal(entity=[7], goal='corner') after tick 30" in done.stdout


@pytest.mark.parametrize("with_checkpoint_after", [False, True])
def test_a_run_goes_on_from_a_checkpoint_with_all_that_was_done_later(
    steered, tmp_path, with_checkpoint_after
):
    """A checkpoint between two calls of one tick has the first and not the second."""
    path = tmp_path / "run.h5"
    with Simulation(hall(), out=path) as run:
        run.set_goal([1, 2], "corner")
        go_on(run, 60)
        run.set_radius([5], 0.22)
        if with_checkpoint_after:
            run.set_radius([6], 0.23)
        run.checkpoint(tmp_path / "a.checkpoint")
        if not with_checkpoint_after:
            run.set_radius([6], 0.23)
        go_on(run, 120)
    begun = read_checkpoint(tmp_path / "a.checkpoint")
    with library.open_run(path) as recorded:
        start = Start(begun, "a.checkpoint", recorded)
        with Simulation(hall(), out=tmp_path / "again.h5", start=start) as run:
            while run.tick < 120:
                run.step()
    with library.open_run(path) as one, library.open_run(tmp_path / "again.h5") as other:
        assert first_difference(one, other) is None
        assert one.table("events").tobytes() == other.table("events").tobytes()
    assert interventions(path) == interventions(tmp_path / "again.h5")


def killed(folder, ticks, checkpoint, *models):
    """Return where a program was to record that was killed in the middle."""
    out = folder / "run.h5"
    arguments = [sys.executable, "-m", "tests.simulation.steered", out, ticks, checkpoint, *models]
    done = subprocess.run(
        [str(each) for each in arguments], cwd=ROOT, env=environment(), capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    return out


@pytest.mark.full
def test_a_steered_run_that_was_killed_is_recovered_and_goes_on(tmp_path):
    with Simulation(hall(), out=tmp_path / "whole.h5") as run:
        go_on(run, 150)
    out = killed(tmp_path, 120, 70)
    assert crowdsim(["recover", out]).returncode == 0
    recovered = tmp_path / "run.recovered.h5"
    assert crowdsim(["verify", recovered]).returncode == 0
    run_id = library.open_run(recovered).header.run_id
    assert len(checkpoints_of(out, run_id)) == 1
    done = crowdsim(["resume", out, "--quiet"])
    assert done.returncode in (0, 3), done.stderr
    assert crowdsim(["verify", out]).returncode == 0
    known = interventions(tmp_path / "whole.h5")
    for path in (recovered, out):
        found = interventions(path)
        assert found == known[: len(found)] and len(found) > 15
    # until the kill it is the run that was never killed; after it there is no program any more
    with library.open_run(tmp_path / "whole.h5") as whole, library.open_run(recovered) as first:
        assert compare_digests(whole, first) is None and first.commit.last_tick == 120
    with library.open_run(recovered) as first, library.open_run(out) as all_of_it:
        assert compare_digests(first, all_of_it) is None and all_of_it.commit.last_tick == 2000


def test_a_steered_run_is_run_again_from_its_beginning(steered, tmp_path):
    done = crowdsim(["resume", steered, "--at", "0", "--out", tmp_path / "again.h5", "--quiet"])
    assert done.returncode in (0, 3), done.stderr
    with library.open_run(steered) as one, library.open_run(tmp_path / "again.h5") as other:
        assert compare_digests(one, other) is None
    assert interventions(steered) == interventions(tmp_path / "again.h5")


def test_a_run_is_not_over_before_all_is_done_again(tmp_path):
    """All have arrived, and then a program sends one of them on."""
    room = hall(stop={"after": 100, "when": "all_arrived"}, groups=hall()["groups"][:1])
    with Simulation(room, out=tmp_path / "a.h5") as run:
        while not run.why_over():
            run.step()
        over = run.tick
        run.set_goal([1], "west")
        run.set_preferred_velocity([2], (0.0, 0.5))
        run.step()
        run.set_preferred_velocity([2], None)
        verdict = run.run()
        assert verdict.ticks > over + 20
    done = crowdsim(["resume", tmp_path / "a.h5", "--at", "0", "--out", tmp_path / "b.h5", "--json"])
    assert json.loads(done.stdout)["digest"] == verdict.digest


def test_recordings_of_before_have_none_and_steered_ones_of_them_are_refused(steered, tmp_path):
    path = changed(steered, tmp_path / "old.h5", b"")
    with h5py.File(path, "r+") as file:
        text = file["header"][:].tobytes().replace(b'"interventions": true', b'"interventions": false')
        del file["header"], file["interventions"]
        file.create_dataset("header", data=np.frombuffer(text, dtype=np.uint8), chunks=(len(text),))
    with library.open_run(path) as recorded:
        assert list(recorded.interventions()) == []
    done = crowdsim(["verify", path])
    assert done.returncode == 2 and "what it did was not recorded by the crowdsim of then" in done.stderr
    assert "interventions" not in crowdsim(["info", path]).stdout.split("dataset")[0]


def test_a_steered_run_cannot_be_blessed(steered, tmp_path):
    done = crowdsim(["bless", steered, "--folder", tmp_path])
    assert done.returncode == 2 and "a program steered this run" in done.stderr


def test_a_system_cannot_steer_in_the_middle_of_a_tick(monkeypatch):
    with Simulation(hall()) as run:
        monkeypatch.setattr(Integrate, "process", lambda *_: run.set_goal([1], "west"))
        with pytest.raises(CrowdsimError, match=r"set_goal changes a run between two ticks"):
            run.step()


# Files that were changed
# ------------------------------------------------------------------------------------------------------------


def changed(source, target, content):
    """Copy a recording with other interventions."""
    with h5py.File(source, "r") as old, h5py.File(target, "x", libver=("v110", "v110")) as new:
        for name in old:
            if name != "interventions":
                old.copy(name, new)
        for key, value in old.attrs.items():
            new.attrs[key] = value
        data = np.frombuffer(content, dtype=np.uint8)
        new.create_dataset(
            "interventions", data=data, maxshape=(None,), chunks=(65536,), compression="gzip", shuffle=True
        )
        commit = newest(old["commit"][:])
        values = {**commit.__dict__, "interventions": len(content)}
        new["commit"][:] = np.frombuffer(type(commit)(**values).pack() * 2, dtype="<u8").reshape(2, -1)
    return target


def line(tick, call, **arguments):
    return json.dumps({"tick": tick, "call": call, "arguments": arguments}).encode() + b"\n"


SENT = line(5, "set_goal", entity=[1], goal="west")
NUMBERS = {"numbers": "<i8", "shape": [1], "base64": "AQAAAAAAAAA="}
DAMAGED = {
    "no JSON": (b"set_goal(1)\n", "row 0 of interventions cannot be read"),
    "no call": (b"[1, 2]\n", "row 0 of interventions is no call"),
    "more than a call": (SENT[:-2] + b', "more": 1}\n', "row 0 of interventions is no call"),
    "an empty line": (SENT + b"\n" + SENT, "row 1 of interventions cannot be read"),
    "ticks out of order": (SENT + line(4, "set_goal", entity=[1], goal=None), "row 1 .* a tick out of order"),
    "a tick before the first": (line(-1, "set_goal", entity=[1], goal=None), "row 0 .* a tick out of order"),
    "a tick after the last": (line(121, "set_goal", entity=[1], goal=None), "row 0 .* a tick out of order"),
    "a tick that is no number": (line("5", "set_goal"), "row 0 .* a tick out of order"),
    "a truth for a tick": (line(True, "set_goal"), "row 0 .* a tick out of order"),
    "no arguments": (b'{"tick": 5, "call": "set_goal", "arguments": []}\n', "is no call"),
    "a call with an escape": (line(5, "set\x1b[2Jgoal"), "is no call"),
    "not a number": (b'{"tick": 5, "call": "set_radius", "arguments": {"radius": NaN}}\n', "holds NaN"),
    "cut off": (SENT[:-5], "row 0 of interventions is cut off"),
    "deep": (b"[" * 100_000 + b"\n", "row 0 of interventions cannot be read"),
    "a long number": (b"9" * 10_000 + b"\n", "row 0 of interventions cannot be read"),
    "numbers of another length": (line(5, "set_goal", entity=NUMBERS | {"shape": [2]}), "have 8 bytes"),
    "numbers without end": (line(5, "set_goal", entity=NUMBERS | {"shape": [2**60]}), "have 8 bytes"),
    "numbers of fewer than none": (line(5, "set_goal", entity=NUMBERS | {"shape": [-1]}), "no type or shape"),
    "numbers of objects": (line(5, "set_goal", entity=NUMBERS | {"numbers": "O"}), "no type or shape"),
    "numbers that are none": (line(5, "set_goal", entity=NUMBERS | {"base64": "!!"}), "cannot be read"),
}
REFUSED = {
    "an unknown call": (line(5, "close", force=True), "there is no such call"),
    "a call that changes nothing": (line(5, "finish"), "there is no such call"),
    "a missing argument": (line(5, "set_goal", entity=[1]), "goal"),
    "an argument too many": (line(5, "set_goal", entity=[1], goal="west", self=1), "self"),
    "another argument": (line(5, "set_goal", entity=[1], goal="west", speed=1), "speed"),
    "a goal that there is not": (line(5, "set_goal", entity=[1], goal="north"), "there is no goal"),
    "a goal that is none": (line(5, "set_goal", entity=[1], goal={"x": 1}), ""),
    "an agent that there is not": (line(5, "set_goal", entity=[-4], goal="west"), "there is no agent -4"),
    "an agent beyond numbers": (line(5, "set_goal", entity=[10**30], goal="west"), "told apart by whole"),
    "agents that are none": (line(5, "set_goal", entity={"a": 1}, goal="west"), "told apart by whole"),
    "a velocity of gigametres": (
        line(5, "set_preferred_velocity", entity=[1], velocity=[1e300, 0]),
        "at most",
    ),
    "a radius of kilometres": (line(5, "set_radius", entity=[1], radius=1e6), "wider than"),
    "a shape that is none": (line(5, "put_obstacle", name="c", shape=[], position=[1, 1]), "shape"),
    "a place that is none": (line(5, "put_obstacle", name="c", shape={"disc": 1}, position={}), "position"),
    "a place beyond numbers": (line(5, "add_agents", group="a", position=[[1e300, 1]]), "off the walkable"),
    "a place off the ground": (line(5, "move_agents", entity=[1], position=[-1, 1]), "off the walkable"),
    "places that are none": (
        line(5, "move_agents", entity=[1], position={"x": 1}),
        "places [x, y] in metres",
    ),
    "a group that there is not": (line(5, "add_agents", group=["a"], position=[1, 1]), "there is no group"),
    "a storey that there is not": (
        line(5, "add_agents", group="a", position=[1, 1], storey=[1]),
        "there is no storey",
    ),
    "more agents than there are": (
        line(5, "add_agents", group="a", position=[[1, 1]] * 50),
        "a reserve of 40",
    ),
    "an agent that is not off": (line(5, "switch_on", entity=[1]), "is not switched off"),
    "an agent that is not in": (line(5, "switch_off", entity=[20]), "is not in the world now"),
    "a hold of no agents": (line(5, "hold", entity={}), "told apart by whole"),
    "a speed without end": (line(5, "set_speed", entity=[1], speed=1e300), "is none"),
    "a tile beyond numbers": (line(5, "remove_tile", column=10**30, row=0.5), ""),
}


@pytest.mark.parametrize("harm", DAMAGED)
def test_damaged_interventions_are_one_clear_error(steered, tmp_path, harm):
    content, message = DAMAGED[harm]
    path = changed(steered, tmp_path / "run.h5", SENT + content)
    message = message.replace("row 1", "row 2").replace("row 0", "row 1")
    with library.open_run(path) as recorded, pytest.raises(RecordingError, match=message) as found:
        list(recorded.interventions())
    assert str(found.value).startswith(f"{path}: is damaged (") and "\n" not in str(found.value)


def test_damaged_interventions_are_told_by_every_verb_that_reads_them(steered, tmp_path):
    path = changed(steered, tmp_path / "run.h5", SENT + DAMAGED["ticks out of order"][0])
    for verb in (["verify", path], ["info", path], ["compare", path, path]):
        done = crowdsim(verb)
        assert done.returncode == 4 and "a tick out of order" in done.stderr, verb
        assert "Traceback" not in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.sample(8)
@pytest.mark.parametrize("harm", REFUSED)
def test_what_cannot_be_done_again_is_one_clear_error(steered, tmp_path, harm):
    content, message = REFUSED[harm]
    path = changed(steered, tmp_path / "run.h5", SENT + content)
    done = crowdsim(["verify", path])
    assert done.returncode == 4 and "Traceback" not in done.stderr
    assert done.stderr.startswith(f"{path}: intervention 1 (after tick 5), ") and message in done.stderr
    assert "cannot be done again: " in done.stderr and len(done.stderr) < 1000


def test_a_recording_is_recovered_until_the_first_damaged_intervention(steered, tmp_path):
    content = b"".join(interventions(steered))
    lines = content.splitlines(keepends=True)
    path = changed(steered, tmp_path / ".run.h5.0123.partial.h5", b"".join(lines[:10]) + b"{}\n" + SENT)
    made = recover(path, tmp_path / "run.h5")
    assert "row 10 of interventions" in made.lost
    assert made.last_tick == json.loads(lines[9])["tick"]
    assert interventions(made.path) == lines[:10]
    assert crowdsim(["verify", made.path]).returncode == 0


def test_interventions_without_end_are_read_one_by_one_and_one_that_is_too_long_is_refused():
    block = np.frombuffer(SENT * 1000, dtype=np.uint8)
    found = read_interventions(itertools.repeat(block), last_tick=5)
    assert [each.tick for each in itertools.islice(found, 5000)] == [5] * 5000
    with pytest.raises(Damage, match="more than 67,108,864 bytes"):
        list(read_interventions(itertools.repeat(np.full(2**22, 32, dtype=np.uint8), 20), last_tick=5))


def test_a_call_that_is_too_long_for_a_recording_is_refused_before_it_is_done(tmp_path):
    many = np.ones(MOST_LINE_BYTES // 8, dtype=np.int64)
    with Simulation(hall(), out=tmp_path / "a.h5") as run:
        with pytest.raises(CrowdsimError, match="at most 67,108,864 are recorded"):
            run.set_goal(many, "west")
        assert run.verdict().steered == 0


def test_numbers_come_back_bit_for_bit():
    rng = np.random.default_rng(3)
    values = {"velocity": rng.normal(size=(40, 2)), "entity": np.arange(40), "few": [0.1, 1e-300, -0.0]}
    (found,) = read_interventions(
        [np.frombuffer(Intervention(7, "set_goal", values).line(), dtype=np.uint8)], last_tick=7
    )
    for name, value in values.items():
        assert np.asarray(found.arguments[name]).tobytes() == np.asarray(value).tobytes()
    assert found.line() == Intervention(7, "set_goal", values).line()


def test_all_public_calls_that_change_a_run_are_recorded():
    """A new one that nobody records would make runs that cannot be run again."""
    reads = {"system", "time", "on", "state", "why_over", "verdict", "kept", "tick", "digest", "agents"}
    runs = {"step", "run", "finish", "close", "checkpoint", "restore"}
    public = {name for name in dir(Simulation) if not name.startswith("_")}
    assert public - reads - runs == set(CALLS)


# The proof
# ------------------------------------------------------------------------------------------------------------


@pytest.mark.sample(1)
@pytest.mark.parametrize("ticks", [500, pytest.param(1000, marks=pytest.mark.full)])
@pytest.mark.parametrize(
    ("avoidance", "navigation"),
    [
        ("orca", "mesh"),
        ("hrvo", "grid"),
        ("clearpath", "visibility"),
        ("sampled-hrvo", "optimal"),
        ("toi", "s2-grid"),
        ("orca", {"kind": "mesh", "round_stationary": True}),
    ],
    ids=str,
)
def test_a_program_of_many_ticks_follows_from_its_recording_alone(tmp_path, avoidance, navigation, ticks):
    """Run again from the recording with another number of threads, and resumed from a checkpoint of it, it is
    the same run in every row.
    """
    document = hall(avoidance, navigation)
    with Simulation(document, out=tmp_path / "whole.h5") as run:
        go_on(run, ticks * 437 // 1000).checkpoint(tmp_path / "a.checkpoint")
        go_on(run, ticks)
    with library.open_run(tmp_path / "whole.h5") as whole:
        scenario = parse_scenario(whole.header.scenario)
        calls = {each.call for each in whole.interventions()}
        assert set(CALLS) - calls == {
            "remove_tile", "add_tile", "set_state", "set_signal", "jump", "set_part_present",
        }  # fmt: skip
        run_for(
            scenario,
            tmp_path / "again.h5",
            ticks,
            to_the_end=False,
            threads=2,
            replays=Replay(whole.interventions(), "whole.h5"),
        )
        start = Start(read_checkpoint(tmp_path / "a.checkpoint"), "a.checkpoint", whole)
        with Simulation(scenario, out=tmp_path / "resumed.h5", start=start) as run:
            while run.tick < ticks:
                run.step()
        for name in ("again.h5", "resumed.h5"):
            with library.open_run(tmp_path / name) as other:
                assert first_difference(whole, other) is None
                for table in ("trajectory", "events", "roster", "digests", "interventions"):
                    assert whole.table(table).tobytes() == other.table(table).tobytes(), table


def test_tiles_that_a_program_takes_out_follow_from_the_recording(tmp_path):
    document = hall(navigation={"kind": "mesh", "tile_size": 4})
    del document["geometry"]["areas"]
    with Simulation(document, out=tmp_path / "run.h5") as run:
        while run.tick < 200:
            if run.tick % 40 == 10:
                run.remove_tile(run.tick // 40 % 4, 0)
            if run.tick % 40 == 30:
                run.add_tile(run.tick // 40 % 4, 0)
            run.step()
    assert crowdsim(["verify", tmp_path / "run.h5", "--threads", "2"]).returncode == 0
    assert len(interventions(tmp_path / "run.h5")) == 10


class Third:
    """A number of a library's own."""

    def __float__(self):
        return 0.3


def test_what_no_recording_can_hold_is_told_where_it_is_given(tmp_path):
    with (
        simulation(BUSY, out=tmp_path / "run.h5") as run,
        pytest.raises(CrowdsimError, match=r"no recording can hold \(entity: list, radius: Third\)"),
    ):
        run.set_radius([1], Third())
    with simulation(BUSY) as run:  # without a recording it is a number as others are
        run.set_radius([1], Third())
        assert run.agents.radius[0] == 0.3


def test_the_example_that_the_docs_show_is_verified_from_its_recording(tmp_path, monkeypatch):
    example = ROOT / "docs" / "examples" / "steered.py"
    done = subprocess.run(
        [sys.executable, str(example)],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == "" and done.stdout in (ROOT / "docs" / "guides" / "library.md").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    again = crowdsim(["verify", "steered.h5"], cwd=tmp_path)
    assert again.returncode == 0
    assert again.stdout in (ROOT / "docs" / "guides" / "library.md").read_text("utf-8")
