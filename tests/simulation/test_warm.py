"""Kernels are ready before the first tick: no tick's time is that of the compiler."""

import subprocess
import sys

import pytest

from tests.cli.command import environment
from tests.crowds import ROOT, SCENARIOS

PROGRAM = """
from pathlib import Path
import crowdsim
from crowdsim.kernels.compiling import KernelDispatcher
from crowdsim.simulation.warm import warm_kernels
from tests.crowds import LARGE

LARGE["open-10000"] = ["stop.after=2"]
scenarios = [
    crowdsim.load_scenario(path, sets=["stop.after=SECONDS", *LARGE.get(path.stem, [])])
    for path in sorted(Path("scenarios").glob("*.yaml"))
]
warm_kernels(scenarios[0], crowdsim.Simulation)
compile_it, late = KernelDispatcher.compile, []
def noted(self, sig):
    late.append(self.py_func.__name__)
    return compile_it(self, sig)
KernelDispatcher.compile = noted
for scenario in scenarios:
    with crowdsim.Simulation(scenario, threads=2) as simulation:
        start = simulation.tick
        late.clear()
        simulation.run()
        print(scenario.name, simulation.tick >= 10, *late)
"""


EXPLAINING = """
import tempfile
from pathlib import Path
from numba import types
from crowdsim.avoidance.velocity_obstacles import boundary
from crowdsim.avoidance.sampling import kernel as sampling
from crowdsim.kernels.compiling import KernelDispatcher
from tests.crowds import BUSY, simulation

compile_it, late = KernelDispatcher.compile, []
def noted(self, sig):
    if self.py_func.__module__.startswith("crowdsim.avoidance"):
        late.append(self.py_func.__name__)
    return compile_it(self, sig)
KernelDispatcher.compile = noted
for explain in ([], ["to_west", "to_east"]):
    for model in ("orca", "clearpath", "hrvo", "sampled-hrvo", "toi"):
        document = {**BUSY, "record": {"rate": 5, "explain": explain}}
        with (
            tempfile.TemporaryDirectory() as folder,
            simulation(document, sets=[f"avoidance={model}"], out=Path(folder) / "a.h5") as run,
        ):
            late.clear()
            for _ in range(30):
                run.step()
            print(model, *late)
    telling = (boundary.best_permitted, sampling._choose_by_sampling)
    print([any(types_of[-1] is not types.none for types_of in kernel.overloads) for kernel in telling])
"""


def with_settings(*sets):
    """Return the program with one scenario, which has these settings."""
    one, given = 'sets=["stop.after=SECONDS"', ", ".join(f'"{each}"' for each in sets)
    found = PROGRAM.replace(one, f"sets=[{given}").replace('glob("*.yaml")', 'glob("bottle*.yaml")')
    assert given in found and "SECONDS" not in found and "bottle" in found
    return found


def printed_by(program):
    """Return the lines that a program prints, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.full
def test_what_explains_choices_is_ready_before_the_first_tick_and_compiled_only_where_it_is_wanted():
    lines = printed_by(EXPLAINING)
    models = ["orca", "clearpath", "hrvo", "sampled-hrvo", "toi"]
    assert lines == [*models, "[False, False]", *models, "[True, True]"]


def test_no_kernel_is_compiled_or_loaded_while_a_scenario_runs():
    lines = printed_by(PROGRAM.replace("SECONDS", "1"))
    assert len(lines) >= 7
    assert [line for line in lines if not line.endswith(" True")] == []


@pytest.mark.full
@pytest.mark.sample(3)
@pytest.mark.parametrize("name", [path.stem for path in sorted(SCENARIOS.glob("*.yaml"))])
def test_no_kernel_is_compiled_or_loaded_while_a_scenario_runs_alone(name):
    """In a process that has run no other: what those have loaded was there, and was not missed."""
    alone = PROGRAM.replace("SECONDS", "60").replace('glob("*.yaml")', f'glob("{name}.yaml")')
    assert printed_by(alone) == [f"{name} True"]


def test_no_kernel_is_compiled_or_loaded_while_agents_on_a_grid_guess():
    program = with_settings(
        "navigation={kind: grid, while_waiting: guess}", "budget.work=300", "stop.after=5"
    )
    assert printed_by(program) == ["bottleneck True"]


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", ["grid", "s2-grid", "mesh", "optimal", "visibility", "hierarchical"])
def test_no_kernel_is_compiled_or_loaded_while_a_scenario_finds_paths_otherwise(kind):
    assert printed_by(with_settings(f"navigation={kind}", "stop.after=30")) == ["bottleneck True"]
