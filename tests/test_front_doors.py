"""Packages give names out of their modules when they are asked,
and modules are found under the names that they had when they were documented.
"""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from crowdsim.kernels import sources
from crowdsim.old_names import MOVED, PLUGIN
from tests.cli.command import environment
from tests.crowds import ROOT

DOORS = (
    "crowdsim",
    "crowdsim.kernels",
    "crowdsim.measures",
    "crowdsim.navigation",
    "crowdsim.navigation.goals",
    "crowdsim.navigation.mesh",
)


@pytest.mark.parametrize("package", DOORS)
def test_a_front_door_gives_what_it_names_and_nothing_else(package):
    door = importlib.import_module(package)
    assert door.__all__ == sorted(door.__all__) and all(
        getattr(door, name) is not None for name in door.__all__
    )
    assert dir(door) == door.__all__
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        door.nothing  # noqa: B018


def test_to_import_a_front_door_imports_nothing_behind_it():
    program = (
        f"import sys; import {', '.join(DOORS)}; print(*sorted(name for name in sys.modules if "
        "name.startswith('crowdsim')), 'numpy' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == sorted(
        [*DOORS, "crowdsim.front_doors", "crowdsim.old_names", "crowdsim.version"]
    ) + ["False"]


@pytest.mark.parametrize("old", sorted(MOVED.keys() - {PLUGIN}))
def test_a_module_is_found_under_its_old_name_and_is_the_same_one(old):
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=f"^{old} is called {MOVED[old]} now"):
        found = importlib.import_module(old)
    assert found is importlib.import_module(MOVED[old]) and found.__name__ == MOVED[old]


def test_the_plug_in_for_pytest_goes_by_its_name_without_a_word():
    program = (
        f"import warnings; warnings.simplefilter('error'); import {PLUGIN} as plugin; print(plugin.__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == MOVED[PLUGIN] and done.stderr == ""


@pytest.mark.parametrize(
    "line",
    ["from crowdsim.navigation.measure import measure_corridors", "from crowdsim.navigation import measure"],
)
def test_what_a_kernel_is_made_of_is_found_under_an_old_name_and_behind_a_front_door(line, tmp_path):
    today, by_door, by_old_name = tmp_path / "today.py", tmp_path / "by_door.py", tmp_path / "by_old_name.py"
    today.write_text("from crowdsim.navigation.corridor.measure import measure_corridors\n")
    by_door.write_text("from crowdsim.navigation import measure_corridors\n")
    by_old_name.write_text(line + "\n")
    with pytest.warns(DeprecationWarning, match="is called"):
        sys.modules.pop("crowdsim.navigation.measure", None)
        importlib.import_module("crowdsim.navigation.measure")
    below = {path for path in sources.closure(today) if path != today}
    assert (
        len(below) > 10
        and below <= set(sources.closure(by_door))
        and below <= set(sources.closure(by_old_name))
    )


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        (module, "who_waits_for_whom", "waiting_graph")
        for module in ("crowdsim.measures", "crowdsim.measures.deadlock")
    ],
)
def test_a_function_is_found_under_its_old_name_and_is_the_same_one(module, old, new):
    home = importlib.import_module(module)
    with pytest.warns(DeprecationWarning, match=f"^{module}.{old} is called {new} now"):
        found = getattr(home, old)
    assert found is getattr(home, new) and old not in dir(home)
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'nothing'"):
        home.nothing  # noqa: B018
