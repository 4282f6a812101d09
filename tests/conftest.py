"""What all tests have: kernels that are compiled before the first test, a seeded sample of what is long,
and a line that says what was not tested.

`@pytest.mark.sample(count)` keeps so many cases of a parametrized test by default, and all with
`-m "full or not full"`. A test that needs what this machine lacks skips with the reason "<what> is missing",
and the end of a run counts those.
"""

import contextlib
import gc
import hashlib
import os
import re
import signal
import sys
from collections import Counter, defaultdict
from importlib import import_module
from pathlib import Path

import pytest

# workers compile side by side; helpers of their own would only be more
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("CROWDSIM_COMPILE_PROCESSES", "1")

# The background jobs of a shell ignore ctrl-C, and so do their children.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Bytecode is kept, of tests and of what the many processes that they start import: without it every worker
# and every command would compile all of it anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


HERE = Path(__file__).resolve().parent
WHOLE = 2000  # Tests of which most kernels are called.


def lot_of(name: str) -> bytes:
    """Return what a case is drawn by, its function's name and its parameters:
    the same in every worker, whatever other tests there are, and in whichever file.
    """
    return hashlib.blake2b(name.encode(), digest_size=8).digest()


@pytest.hookimpl(tryfirst=True)  # before those that are not asked for are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases that were not drawn as `full`."""
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sample") and not item.get_closest_marker("full"):
            cases[item.nodeid.split("[")[0]].append(item)
    for found in cases.values():
        (count,) = found[0].get_closest_marker("sample").args
        for item in sorted(found, key=lambda item: lot_of(item.name))[count:]:
            item.add_marker(pytest.mark.full)


def import_share(config: pytest.Config) -> None:
    """Import a worker's share of all tests before it collects them.

    In a fresh copy pytest rewrites their assertions, which takes longer than all else of the collection.
    Workers collect in the same order, so each would rewrite all of them at the same time as the others; what
    one of them has imported the others read.
    """
    given = getattr(config, "workerinput", None)
    if given is None or [Path(each).resolve() for each in config.args] != [HERE]:
        return
    files = sorted(HERE.rglob("test_*.py"))
    for file in files[int(given["workerid"].removeprefix("gw")) :: given["workercount"]]:
        # what cannot be imported is told, or skipped, where it is collected
        with contextlib.suppress(Exception, pytest.skip.Exception):
            import_module(".".join(file.relative_to(HERE.parent).with_suffix("").parts))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session):
    """Search for garbage only after all is collected, and leave that out of every search:
    it stays until the end, and is most of what there is.
    """
    gc.disable()
    try:
        import_share(session.config)
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Compile a worker's share of all kernels that runs need, before the first of very many tests.

    Where tests call them one by one, each worker, and each command that a test starts, makes the parts of
    its kernels anew, and of two that need the same kernel one waits.
    """
    given = getattr(session.config, "workerinput", None)
    if given is not None and len(session.items) >= WHOLE:
        compile_share(int(given["workerid"].removeprefix("gw")), given["workercount"])


def compile_share(own: int, count: int) -> None:
    """Compile what one of several processes has to do with the list of needed kernels, as far as they are
    not kept.
    """
    from crowdsim.kernels import ahead
    from crowdsim.kernels.compiling import without_collections
    from crowdsim.kernels.needed import shared_out, the_list

    cold = [needed for needed in the_list().kernels if not ahead._load(needed)]
    if cold:
        with without_collections():
            for _ in ahead._compiled_in_turn(ahead._own_first(shared_out(cold, count), own)):
                pass


@pytest.hookimpl(tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line how many tests of which folders were skipped since something is missing here,
    and what.
    """
    skipped: dict[str, Counter[str]] = defaultdict(Counter)
    for report in terminalreporter.getreports("skipped"):
        missing = re.match(
            r"(?:Skipped: )?(?:could not import '(?P<module>[\w.]+)'|(?P<what>.+?) is missing)",
            report.longrepr[2],
        )
        if missing:
            file, _, test = report.nodeid.partition("::")
            skipped[missing["module"] or missing["what"]][file.rpartition("/")[0] if test else file] += 1
    if skipped:
        said = []
        for what, counts in sorted(skipped.items()):
            places = (
                f"all of {place}" if place.endswith(".py") else f"{count} of {place}"
                for place, count in sorted(counts.items())
            )
            said.append(f"{', '.join(places)} ({what} is missing)")
        terminalreporter.write_line(f"Not tested here: {'; '.join(said)}", yellow=True)
