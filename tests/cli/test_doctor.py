"""`crowdsim doctor`: what is there, what is wrong, and the way out."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from crowdsim.cli import doctor as module
from crowdsim.cli.doctor import examine
from tests.cli.command import crowdsim
from tests.crowds import ROOT
from tests.recording.crowd import Crowd, killed, new_writer


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CROWDSIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    return tmp_path / "cache"


def test_all_that_is_required_is_named_with_its_version() -> None:
    done = crowdsim(["doctor", "--json"])
    facts = json.loads(done.stdout)
    assert done.returncode == 0 and facts["ok"] and facts["problems"] == [] and facts["threads"] >= 1
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    named = {package["name"]: package for package in facts["packages"]}
    for text in project["dependencies"]:
        name, least = text.partition(",")[0].split(">=")
        assert named[name]["needed"] == least and named[name]["extra"] is None and named[name]["version"]
    assert named["matplotlib"]["extra"] == "plot" and "pytest" not in named and "pyrvo" not in named
    text = crowdsim(["doctor"]).stdout
    assert (
        text.endswith("all is well\n")
        and f"HDF5             {facts['hdf5']['version']}, writes and reads, with compression" in text
    )


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("versions", "problem"),
    [
        ({"shapely": None}, "shapely is missing. Install it: pip install shapely"),
        ({"numba": "0.9.1"}, "numba 0.9.1 is too old. Install a newer one: pip install 'numba>=0.62'"),
        (
            {"numba": "0.99.0"},
            (
                "numba 0.99.0 is newer than what crowdsim was tried with. Install an older one: pip install "
                "'numba<0.69,>=0.62'"
            ),
        ),
        ({"matplotlib": None}, None),
    ],
    ids=["missing", "too old", "too new", "an extra"],
)
def test_a_package_that_is_missing_or_of_another_version_is_a_sentence(
    cache: Path, monkeypatch: pytest.MonkeyPatch, versions: dict[str, str | None], problem: str | None
) -> None:
    real = module.version

    def version(name: str) -> str:
        if name in versions and versions[name] is None:
            raise module.PackageNotFoundError(name)
        return versions.get(name) or real(name)

    monkeypatch.setattr(module, "version", version)
    assert examine()["problems"] == ([problem] if problem else [])
    assert module.doctor() == (2 if problem else 0)


@pytest.mark.full
def test_a_cache_that_cannot_be_written_and_a_disk_that_is_full_are_sentences(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CROWDSIM_CACHE_DIR", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(module.tempfile, "tempdir", "/dev/full")
    assert module.doctor() == 4
    printed = capsys.readouterr().out
    assert (
        "the cache of compiled kernels cannot be written (Not a directory)" in printed
        and "Set CROWDSIM_CACHE_DIR." in printed
    )
    assert "HDF5 cannot write in the folder for temporary files" in printed and "all is well" not in printed


@pytest.mark.full
def test_runs_that_are_not_compiled_are_told_of(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert [text.split(":")[0] for text in examine()["problems"]] == ["NUMBA_DISABLE_JIT is set"]
    assert module.doctor() == 2


@pytest.mark.full
def test_kernels_of_other_versions_are_counted_and_pruned_and_ours_stay(cache: Path) -> None:
    from crowdsim.kernels.decorator import kernel_folder

    ours = kernel_folder(ROOT / "crowdsim/avoidance/orca/orca.py")
    others = [
        cache / "somecpu-0123456789",
        ours.with_name(ours.name[:-1] + ("0" if ours.name[-1] != "0" else "1")),
    ]
    for folder in (ours, *others):
        folder.mkdir(parents=True)
        (folder / "one.py310.nbc").write_bytes(bytes(1000))
    (cache / "meshes").mkdir()
    (cache / "meshes" / "kept.arrays").write_bytes(b"mesh")
    facts = examine()["cache"]
    assert (facts["kernels"], facts["bytes"], facts["unused_kernels"], facts["unused_bytes"]) == (
        1,
        1000,
        2,
        2000,
    )
    assert module.doctor(prune=True) == 0
    assert (
        ours.is_dir()
        and not any(folder.exists() for folder in others)
        and (cache / "meshes" / "kept.arrays").exists()
    )
    assert examine()["cache"]["unused_kernels"] == 0


@pytest.mark.full
def test_what_killed_commands_left_is_told_with_commands_and_pruned_if_nobody_needs_it(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = tmp_path / "a folder"
    (work / "runs").mkdir(parents=True)
    monkeypatch.chdir(work)
    monkeypatch.setattr(module.tempfile, "tempdir", str(work))
    writer = new_writer(Path("runs/my run.h5"), flush_seconds=0.0)
    Crowd(5).record(writer, 20)
    going = new_writer(Path("runs/going.h5"), flush_seconds=0.0)
    Crowd(5).record(going, 20)
    cut_off = killed(writer)
    scratch = work / ".crowdsim-0123456789abcdef.scratch"
    scratch.mkdir()
    (scratch / "lock").write_text("")
    (scratch / "half.csv").write_text("1,2,3\n")
    left = {Path(each["path"]).name: each for each in examine()["left"]}
    assert set(left) == {cut_off.name, going.partial.name, scratch.name}
    assert (
        left[cut_off.name]["what"] == "a run that was cut off at 0.95 s"
        and left[going.partial.name]["steps"] == []
    )
    assert "a run that goes on" in left[going.partial.name]["what"] and left[scratch.name]["bytes"] == 6
    assert module.doctor(prune=True) in (0, 2)
    text = capsys.readouterr().out
    assert not scratch.exists() and cut_off.exists() and going.partial.exists()
    assert (
        f"makes a whole recording of the 0.95 s that are safe: crowdsim recover 'runs/{cut_off.name}'" in text
    )
    going.discard()
