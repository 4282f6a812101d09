"""What lies in the cache is run as code: a folder in which others can write is refused,
wherever it comes from, with one warning and a way out.
"""

from __future__ import annotations

import os
import pickle
import stat
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from crowdsim.kernels import cache_folder
from crowdsim.kernels.cache_folder import CacheWarning, cache_directory, keep, read_kept, refused_folders
from tests.cli.command import crowdsim
from tests.crowds import ROOT

ANOTHER_USER = 54321
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home and a folder for temporary files of the test's own, and nothing that is asked for."""
    for name in ("CROWDSIM_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp").chmod(0o1777)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    forget()
    yield tmp_path
    forget()


def forget() -> None:
    cache_folder._chosen.cache_clear()
    cache_folder._private_directory.cache_clear()


def chosen() -> tuple[Path, str]:
    """Return the folder that is taken, and the warning, which is one at most
    however often it is asked for.
    """
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        folder = cache_directory()
        assert cache_directory() == folder
    assert len(told) <= 1 and all(each.category is CacheWarning for each in told)
    return folder, str(told[0].message) if told else ""


# Where a cache can lie: what is set, and the folder.
PLACES = {
    "asked for": lambda at, patch: (
        patch.setenv("CROWDSIM_CACHE_DIR", str(at / "mine" / "kernels")) or at / "mine" / "kernels"
    ),
    "XDG": lambda at, patch: patch.setenv("XDG_CACHE_HOME", str(at / "xdg")) or at / "xdg" / "crowdsim",
    "home": lambda at, patch: at / "home" / ".cache" / "crowdsim",
}


def is_a_link_to(folder: Path, target: Path) -> None:
    folder.rmdir()
    target.mkdir(parents=True)
    folder.symlink_to(target)


def can_be_written_by_all(folder: Path) -> None:
    folder.chmod(0o777)


# What is wrong with a folder, and what the warning says.
FAULTS = {
    "every user can write": (can_be_written_by_all, "every user can write (mode 777)"),
    "every user can write, and only take away what is theirs": (
        lambda folder: folder.chmod(0o1777),
        "every user can write (mode 1777)",
    ),
    "its group can write": (lambda folder: folder.chmod(0o775), "its group can write (mode 775)"),
    "every user can write above it": (
        lambda folder: folder.parent.chmod(0o777),
        "every user can write (mode 777)",
    ),
    "the group can write above it": (
        lambda folder: folder.parent.chmod(0o770),
        "its group can write (mode 770)",
    ),
    "it is another user's": (
        lambda folder: os.chown(folder, ANOTHER_USER, -1),
        f"belongs to user {ANOTHER_USER}",
    ),
    "the one above it is another user's": (
        lambda folder: os.chown(folder.parent, ANOTHER_USER, -1),
        f"belongs to user {ANOTHER_USER}",
    ),
    "a link to where every user can write": (
        lambda folder: (
            is_a_link_to(folder, folder.parent / "there"),
            can_be_written_by_all(folder.parent / "there"),
        ),
        "there every user can write (mode 777)",
    ),
    "a link over a folder where every user can write": (
        lambda folder: (
            is_a_link_to(folder, folder.parent / "open" / "there"),
            can_be_written_by_all(folder.parent / "open"),
        ),
        "open every user can write (mode 777)",
    ),
    "another user's link": (
        lambda folder: (
            is_a_link_to(folder, folder.parent / "there"),
            os.chown(folder, ANOTHER_USER, -1, follow_symlinks=False),
        ),
        f"belongs to user {ANOTHER_USER}",
    ),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "fault", [pytest.param(name, marks=ROOT_ONLY) if "another user" in name else name for name in FAULTS]
)
def test_a_folder_in_which_others_can_write_is_refused(
    places: Path, monkeypatch: pytest.MonkeyPatch, place: str, fault: str
) -> None:
    folder = PLACES[place](places, monkeypatch)
    assert chosen() == (folder, "")
    assert folder.is_dir() and stat.S_IMODE(folder.stat().st_mode) == 0o700
    harm, words = FAULTS[fault]
    harm(folder)
    forget()
    taken, told = chosen()
    assert (
        taken != folder and not taken.is_relative_to(folder) and stat.S_IMODE(taken.stat().st_mode) == 0o700
    )
    assert (
        words in told
        and f"The cache folder {folder} is not used" in told
        and "chmod go-w" in told
        and f"kept in {taken} instead" in told
    )
    assert refused_folders() == [told[: told.index(" Compiled kernels are kept")]]


def test_a_link_of_ones_own_to_a_safe_folder_is_followed(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (places / "disk" / "kernels").mkdir(parents=True)
    (places / "link").symlink_to("disk/../disk")
    monkeypatch.setenv("CROWDSIM_CACHE_DIR", str(places / "link" / "kernels"))
    assert chosen() == (places / "link" / "kernels", "")
    (places / "round").symlink_to("round")
    monkeypatch.setenv("CROWDSIM_CACHE_DIR", str(places / "round" / "kernels"))
    assert "leads back to itself" in chosen()[1]


def test_where_no_place_is_safe_a_folder_of_the_process_alone_is_taken_and_goes_with_it(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = places / "tmp" / f"crowdsim-{os.geteuid()}"
    shared.mkdir(mode=0o777)
    can_be_written_by_all(shared)
    monkeypatch.setenv("HOME", str(places / "tmp" / "no" / "home"))
    (places / "tmp" / "no").write_text("")
    taken, told = chosen()
    assert (
        taken.parent == places / "tmp"
        and taken != shared
        and str(shared) in told
        and stat.S_IMODE(taken.stat().st_mode) == 0o700
    )
    program = (
        "import warnings; warnings.simplefilter('ignore'); from crowdsim.kernels.cache_folder import "
        "cache_directory; print(cache_directory())"
    )
    environment = {**os.environ, "TMPDIR": str(places / "tmp"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    gone = Path(done.stdout.strip())
    assert gone.parent == places / "tmp" and gone not in (shared, taken) and not gone.exists()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: file.chmod(0o666),
        lambda file: file.chmod(0o620),
        lambda file: file.parent.chmod(0o777),
        lambda file: file.parent.chmod(0o770),
        lambda file: (file.rename(file.with_name("other")), file.symlink_to("other")),
        pytest.param(lambda file: os.chown(file, ANOTHER_USER, -1), marks=ROOT_ONLY),
        pytest.param(lambda file: os.chown(file.parent, ANOTHER_USER, -1), marks=ROOT_ONLY),
        lambda file: file.unlink(),
    ],
)
def test_a_file_that_another_user_could_have_written_is_not_read(places: Path, spoil: object) -> None:
    file = cache_directory() / "some" / "thing"
    keep(file, b"ours")
    assert read_kept(file) == b"ours" and [each.name for each in file.parent.iterdir()] == ["thing"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    spoil(file)  # type: ignore[operator]
    assert read_kept(file) is None


class Evil:
    """What runs a command when it is read."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.target),)


PROGRAM = """
from crowdsim.kernels.decorator import kernel
@kernel
def twice(x):
    return x + x
print(twice(21.0))
"""


@pytest.mark.sample(1)
@pytest.mark.parametrize("harm", ["the folder", "a folder in it", "the files"])
def test_code_that_was_put_into_the_cache_is_not_run(places: Path, harm: str) -> None:
    folder, file = places / "kernels", places / "program.py"
    file.write_text(PROGRAM)
    environment = {
        **os.environ,
        "TMPDIR": tempfile.gettempdir(),
        "CROWDSIM_CACHE_DIR": str(folder),
        "PYTHONPATH": str(ROOT),
    }

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(file)], env=environment, capture_output=True, text=True, check=True
        )

    assert run().stdout == "42.0\n"
    (code,) = folder.rglob("*.nbc")
    code.write_bytes(pickle.dumps(Evil(places / "done")))
    run()
    assert (places / "done").is_dir()  # so the test would see it
    (places / "done").rmdir()
    code.write_bytes(pickle.dumps(Evil(places / "done")))
    {"the folder": folder, "a folder in it": code.parent, "the files": code}[harm].chmod(0o777)
    done = run()
    assert done.stdout == "42.0\n" and not (places / "done").exists()
    assert ("is not used" in done.stderr) == (harm == "the folder")


NEEDS_IT = (
    "app.build_app = lambda *given: (cache_folder.cache_directory(), cache_folder.cache_directory(), "
    "build(*given))[-1]"
)


@pytest.mark.full
def test_the_command_says_it_once_in_one_line_and_doctor_names_it_among_the_problems(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = places / "kernels"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setenv("CROWDSIM_CACHE_DIR", str(folder))
    monkeypatch.setenv("TMPDIR", tempfile.gettempdir())
    program = (
        "from crowdsim import cli\nfrom crowdsim.kernels import cache_folder\n"
        f"from crowdsim.cli import app\nbuild = app.build_app\n{NEEDS_IT}\ncli.main(['tick'])"
    )
    told = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    (line,) = told.stderr.splitlines()
    assert told.returncode == 0
    assert line.startswith(
        f"Warning: The cache folder {folder} is not used, since what lies there is run as code: in {folder} "
        "every user can write (mode 777)."
    )
    done = crowdsim(["doctor"], fresh=True)
    assert (
        done.returncode == 2 and done.stderr == "" and f"The cache folder {folder} is not used" in done.stdout
    )
