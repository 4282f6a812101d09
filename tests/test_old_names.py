"""Names of before go on working wherever users have them, with a note that names the new one:
in programs and plug-ins, and in recordings.
"""

from __future__ import annotations

import gzip
import importlib
import re
import sys
import warnings

import pytest

from crowdsim import systems
from crowdsim.avoidance import plugins
from crowdsim.avoidance.plugins import PluginError
from crowdsim.old_names import SYSTEMS, OldNameWarning, names_of_now
from crowdsim.recording.opening import open_run
from crowdsim.recording.recover import copy_recording
from crowdsim.recording.schema import RunState
from crowdsim.systems import TICK_ORDER, System, register
from crowdsim.world import registry
from tests.cli.command import crowdsim
from tests.cli.test_mistakes import outcome
from tests.crowds import ROOT

PLUG_IN = """
from crowdsim.systems import System, register
{imports}

@register
class Own{old}(System):
    after = {place}

    def process(self, tick):
        pass
"""


@pytest.fixture
def before(tmp_path):
    """A recording that was written when all of these names were others."""
    path = tmp_path / "names.h5"
    path.write_bytes(gzip.decompress((ROOT / "tests" / "samples" / "names-of-before.h5.gz").read_bytes()))
    return path


@pytest.fixture
def own_systems(monkeypatch):
    monkeypatch.setattr(registry, "_systems", {})
    monkeypatch.setattr(plugins, "_files", {})


def test_a_name_is_replaced_unless_the_new_one_is_there_for_something_else():
    assert names_of_now(["Walk", "Watch"], SYSTEMS) == ("Walk", "DetectStuck")
    assert names_of_now(["Watch", "DetectStuck"], SYSTEMS) == ("Watch", "DetectStuck")


@pytest.mark.parametrize(("old", "new"), SYSTEMS.items())
def test_a_system_is_found_under_the_name_that_it_had(old, new):
    assert new in [kind.__name__ for kind in TICK_ORDER]
    with pytest.warns(OldNameWarning, match=f"^crowdsim.systems.{old} is called {new} now") as heard:
        found = getattr(systems, old)
    assert found is getattr(systems, new) and heard[0].filename == __file__
    module = f"crowdsim.systems.{old.lower()}"
    sys.modules.pop(module, None)
    with pytest.warns(OldNameWarning) as heard:
        assert getattr(importlib.import_module(module), old) is found
    assert [str(each.message).split(" is ")[0] for each in heard] == [module, f"{found.__module__}.{old}"]
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        systems.Nothing  # noqa: B018


@pytest.mark.parametrize("by", ["class", "module", "name"])
def test_a_plug_in_says_its_place_by_an_old_name_and_is_told_the_new_one(by, tmp_path):
    files = []
    for old in SYSTEMS:
        imports = {
            "class": f"from crowdsim.systems import {old}",
            "module": f"from crowdsim.systems.{old.lower()} import {old}",
            "name": "",
        }[by]
        files.append(tmp_path / f"{old}.py")
        files[-1].write_text(
            PLUG_IN.format(old=old, imports=imports, place=f'"{old}"' if by == "name" else old)
        )
    done = crowdsim(["tick", *(word for file in files for word in ("--plugin", file))])
    assert done.returncode == 0, done.stderr
    order = re.findall(r"^ ?\d+\. (\w+):", done.stdout, re.MULTILINE)
    notes = re.findall(r"^note: (.+):\d+: .* is called (\w+) now\.$", done.stderr, re.MULTILINE)
    for file, (old, new) in zip(files, SYSTEMS.items(), strict=True):
        assert order[order.index(new) + 1] == f"Own{old}"
        assert notes.count((str(file), new)) == 1, done.stderr


@pytest.mark.parametrize("old", SYSTEMS)
def test_no_system_of_ones_own_has_the_name_that_another_had(old, own_systems):
    with pytest.raises(PluginError, match=f"the system {old} has the name that {SYSTEMS[old]} had before"):
        register(type(old, (System,), {"after": "Walk"}))


def test_crowdsim_itself_asks_for_nothing_by_an_old_name(own_systems):
    with warnings.catch_warnings():
        warnings.simplefilter("error", OldNameWarning)
        for kind in TICK_ORDER:
            importlib.import_module(kind.__module__)


def test_a_recording_of_before_is_read_under_the_names_of_today(before):
    with open_run(before) as run:
        timed = [name for name in run.timings().columns if name != "tick"]
        assert timed == [kind.__name__ for kind in TICK_ORDER]
        assert {run.layout.renamed[new]: new for new in SYSTEMS.values()} == SYSTEMS


@pytest.mark.parametrize("arguments", [["verify"], ["budget"], ["info"], ["measure"], ["deadlocks"]])
def test_verbs_take_a_recording_of_before(arguments, before, capsys):
    code, out, err = outcome(capsys, *arguments, str(before))
    assert code == 0, err
    assert not set(SYSTEMS) & set(re.findall(r"\w+", out)), out


def test_what_is_copied_out_of_a_recording_of_before_has_the_names_of_today(before, tmp_path):
    copy_recording(before, tmp_path / "copy.h5")
    with open_run(before) as old, open_run(tmp_path / "copy.h5") as new:
        assert new.layout == old.layout and not new.layout.renamed and new.state is RunState.FINISHED
        for name in old.sizes():
            assert old.table(name).tobytes() == new.table(name).tobytes()
