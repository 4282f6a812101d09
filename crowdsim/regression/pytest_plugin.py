"""A plug-in for pytest: recorded runs as regression tests, in any project that has crowdsim installed.

    def test_the_lobby_empties_as_it_did(crowdsim_golden):
        crowdsim_golden("lobby.yaml", seconds=5)

``pytest --bless`` keeps the run of today under ``runs/golden``; from then on ``pytest`` fails where a run is
another one, and says where. Nothing of crowdsim is imported before a test asks for the fixture.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from crowdsim.scenario.model import Scenario

FOLDER = "runs/golden"
# name of the property of a report that says what was blessed: it comes from workers of xdist as well
_BLESSED = "crowdsim_blessed"
_TAKEN = pytest.StashKey[dict[Path, str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--bless`` and the setting of the folder."""
    parser.getgroup("crowdsim").addoption(
        "--bless",
        action="store_true",
        help="keep the runs of today as golden recordings, and show what changed",
    )
    parser.addini(
        "crowdsim_golden_folder",
        f"folder of golden recordings, from the root of the project (default: {FOLDER})",
        default=FOLDER,
    )


class Golden:
    """What the fixture `crowdsim_golden` gives to a test; call it with a scenario.

    Parameters
    ----------
    request : pytest.FixtureRequest
    """

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._config, self._item = request.config, request.node
        self.folder = self._config.rootpath / str(self._config.getini("crowdsim_golden_folder"))

    def __call__(
        self,
        scenario: Scenario | Mapping[str, Any] | str | Path,
        *,
        seconds: float | None = None,
        until: float | None = None,
        sets: Sequence[str] = (),
        tolerance: float | None = None,
        name: str | None = None,
        threads: int = 1,
    ) -> Path:
        """Run a scenario, and fail the test if the run is not that of its golden recording.

        Parameters
        ----------
        scenario : str, Path, mapping or Scenario
            A file (from the root of the project), YAML text, plain values, or what `crowdsim.load_scenario`
            returns.
        seconds : float, s, optional
            Simulated time of which everything is kept; without it the whole run. Heeded when it is blessed;
            later the recording says how long it is.
        until : float, s, optional
            Simulated time until which digests of later ticks are kept.
        sets : sequence of str
            Values of the scenario to change first, each ``key=value``; fewer agents make small recordings.
        tolerance : float, m, optional
            Instead of every bit only places are compared: nobody may be farther away. For other machines than
            x86-64.
        name : str, optional
            Of the golden recording, without its ending; without it the name of the scenario. Two tests cannot
            share one.
        threads : int
            They change nothing but the time.

        Returns
        -------
        Path
            The golden recording.
        """
        __tracebackhide__ = True
        from crowdsim.errors import CrowdsimError

        try:
            loaded = self._load(scenario, sets)
            path = self.folder / f"{(name or loaded.name).replace('/', '_').lstrip('.') or 'run'}.h5"
            self._claim(path)
            if self._config.getoption("--bless"):
                self._bless(path, loaded, seconds, until, threads)
                return path
            if not path.exists():
                what = f"{self._shown(path)}: there is no golden recording of this run yet."
                pytest.fail(f"{what} Keep the run of today: pytest --bless {self._name()}", pytrace=False)
            from crowdsim.regression.golden_runs import check_golden

            found = check_golden(path, loaded, tolerance=tolerance, threads=threads)
        except CrowdsimError as error:
            pytest.fail(str(error), pytrace=False)
        if found:
            pytest.fail(
                (
                    f"{self._shown(path)}: not identical\n{found}\n"
                    f"If that is meant: pytest --bless {self._name()}"
                ),
                pytrace=False,
            )
        return path

    def _load(self, scenario: Scenario | Mapping[str, Any] | str | Path, sets: Sequence[str]) -> Scenario:
        from crowdsim.scenario.load import as_scenario, load_scenario, parse_scenario

        if isinstance(scenario, str) and "\n" in scenario:
            return parse_scenario(scenario, folder=self._config.rootpath, sets=sets)
        if isinstance(scenario, (str, Path)):
            return load_scenario(self._config.rootpath / scenario, sets=sets)
        loaded = as_scenario(scenario)
        return parse_scenario(loaded.canonical(), file=loaded.name, sets=sets) if sets else loaded

    def _bless(
        self, path: Path, scenario: Scenario, seconds: float | None, until: float | None, threads: int
    ) -> None:
        from crowdsim.recording.locks import scratch_folder
        from crowdsim.regression.golden_recordings import keep_golden
        from crowdsim.regression.golden_runs import record_golden

        path.parent.mkdir(parents=True, exist_ok=True)
        with scratch_folder() as scratch:
            made = scratch / path.name
            record_golden(scenario, made, seconds=seconds, until=until, threads=threads)
            is_new, changed = keep_golden(made, path, force=True)
            said = (
                f"{made.stat().st_size / 1e3:,.0f} kB, "
                f"{'new' if is_new else 'changed' if changed else 'unchanged'}"
            )
        self._item.user_properties.append(
            (_BLESSED, f"{self._shown(path)}: {said}" + (f"\n{changed}" if changed else ""))
        )

    def _claim(self, path: Path) -> None:
        """Let no two tests have one golden recording: they would bless it in turn."""
        taken = self._config.stash.setdefault(_TAKEN, {})
        owner = taken.setdefault(path, self._item.nodeid)
        if owner != self._item.nodeid:
            what = f"{self._shown(path)}: is the golden recording of {owner} already."
            pytest.fail(f"{what} Give one of the two a name: crowdsim_golden(..., name=...)", pytrace=False)

    def _shown(self, path: Path) -> str:
        return os.path.relpath(path, self._config.invocation_params.dir)

    def _name(self) -> str:
        """Return what pytest is given to run this test, from where it was called."""
        file, *rest = self._item.nodeid.split("::")
        return "::".join(
            [os.path.relpath(self._config.rootpath / file, self._config.invocation_params.dir), *rest]
        )


@pytest.fixture
def crowdsim_golden(request: pytest.FixtureRequest) -> Golden:
    """Compare runs with golden recordings: ``crowdsim_golden("scenario.yaml", seconds=5)``;
    see docs/learn/reproducibility.md of crowdsim.
    """
    return Golden(request)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell what was blessed, and what that changes."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)]
    said = [
        value
        for report in reports
        if getattr(report, "when", "") == "call"
        for key, value in report.user_properties
        if key == _BLESSED
    ]
    if said:
        terminalreporter.section("golden recordings")
        for text in sorted(str(each) for each in said):
            terminalreporter.write_line(text)
