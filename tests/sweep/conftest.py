"""One small scenario, a folder for its sweep, and models that do what no model should."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crowdsim.avoidance import plugins
from crowdsim.avoidance.registry import available_models, forget, registered

SMALL = """
version: 1
name: small
tick: 0.1
stop: {after: 20, when: all_arrived}
geometry: {walkable: [[0, 0], [6, 0], [6, 4], [0, 4]]}
goals: {end: {exit: [[5.5, 0], [6, 0], [6, 4], [5.5, 4]]}}
groups: [{name: crowd, count: 3, region: [[0, 0], [3, 0], [3, 4], [0, 4]], goals: [end]}]
"""

# Models that come to grief in their first tick, each in its own way.
HOSTILE = '''
"""Models that end their process."""
import ctypes, os, signal, time
from dataclasses import dataclass
import numpy as np
from crowdsim.avoidance.model import StatelessModel
from crowdsim.avoidance.registry import register


@dataclass(frozen=True)
class Nothing:
    """No numbers."""


class Hostile(StatelessModel):
    """Ends its process."""
    Parameters = Nothing

    def choose(self, *arguments, **named):
        """Do what no model should."""
        self.strike()
        raise RuntimeError("still here")


@register
class Segfault(Hostile):
    """Reads where nothing is."""
    name = "segfault"
    def strike(self):
        ctypes.string_at(0)


@register
class Killed(Hostile):
    """Is killed."""
    name = "killed"
    def strike(self):
        os.kill(os.getpid(), signal.SIGKILL)


@register
class Hangs(Hostile):
    """Hangs, deaf to what asks it to end."""
    name = "hangs"
    def strike(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        while True:
            time.sleep(1.0)


@register
class Greedy(Hostile):
    """Asks for memory without end."""
    name = "greedy"
    def strike(self):
        hoard = []
        while True:
            hoard.append(np.ones(2**22))


@register
class Leaves(Hostile):
    """Leaves without a word."""
    name = "leaves"
    def strike(self):
        os._exit(7)


@register
class Wrong(Hostile):
    """Raises an error."""
    name = "wrong"
    def strike(self):
        raise ValueError("no such thing")


@register
class Patricide(Hostile):
    """Ends the process that started it."""
    name = "patricide"
    def strike(self):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60.0)
'''


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    path = tmp_path / "hostile.py"
    path.write_text(HOSTILE)
    return path


@pytest.fixture(autouse=True)
def _no_model_stays() -> Iterator[None]:
    """Forget the models that a test loads: other tests list all that there are."""
    before, files = set(available_models()), dict(plugins._files)
    yield
    for name in set(registered()) - before:
        forget(name)
    plugins._files.clear()
    plugins._files.update(files)
