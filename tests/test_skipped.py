"""The end of a run of the tests says in one line what was skipped since this machine lacks something."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.external import data

pytest_plugins = ["pytester"]

TESTS = {
    "plans/test_data.py": """
        import pytest
        from tests.external.data import DATA, need, needs

        def test_a_file_of_the_data():
            need("movingai", "arena.map")

        @pytest.mark.parametrize("number", range(3))
        @needs(DATA / "geometry")
        def test_a_folder_of_the_data(number):
            assert number < 3
        """,
    "pages/test_browser.py": """
        import pytest

        WORDS = "a browser is missing: Chromium (Debian: apt-get install chromium)"
        pytestmark = pytest.mark.skipif(True, reason=WORDS)

        def test_a_page():
            raise AssertionError
        """,
    "pages/test_package.py": """
        import pytest

        pytest.importorskip("no_such_package")
        """,
    "pages/test_others.py": """
        import pytest

        def test_what_runs():
            pass

        def test_what_a_package_does():
            pytest.importorskip("no_such_package", reason="no_such_package is missing: it does it")

        def test_what_the_superuser_alone_may():
            pytest.skip("only root can give files to others")
        """,
}
PAGES = "1 of pages, all of pages/test_package.py (no_such_package is missing)"


@pytest.fixture
def lines(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    """Return a function that runs these tests in a folder where the data is missing,
    and returns the lines that tell of it.
    """
    monkeypatch.setattr(data, "DATA", pytester.path / "shared" / "data")
    pytester.makeconftest(Path(__file__).with_name("conftest.py").read_text())
    for name, text in TESTS.items():
        file = pytester.path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("\n".join(line.removeprefix(" " * 8) for line in text.splitlines()))

    def run(*arguments: str) -> list[str]:
        done = pytester.runpytest("-q", "-p", "no:cacheprovider", *arguments)
        assert done.ret == 0
        return [line for line in done.outlines if "missing" in line]

    return run


def test_what_is_missing_is_said_in_one_line_with_what_was_skipped(lines) -> None:
    assert lines() == [
        f"Not tested here: 4 of plans (../shared/data is missing); 1 of pages (a browser is missing); {PAGES}"
    ]


@pytest.mark.full  # each worker takes seconds to start
def test_workers_lead_to_the_same_line(lines) -> None:
    assert lines("-n", "2", "pages") == [f"Not tested here: 1 of pages (a browser is missing); {PAGES}"]


def test_a_single_file_of_the_data_that_is_missing_is_named(lines) -> None:
    data.DATA.mkdir(parents=True)
    assert lines("plans") == [
        (
            "Not tested here: 3 of plans (../shared/data/geometry is missing); 1 of plans "
            "(../shared/data/movingai/arena.map is missing)"
        )
    ]


def test_nothing_is_said_where_nothing_is_missing(lines) -> None:
    assert lines("pages/test_others.py", "-k", "runs or superuser") == []
