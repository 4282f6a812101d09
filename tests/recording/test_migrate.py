"""Recordings and checkpoints of every version of the formats, from the samples that are kept of each."""

from __future__ import annotations

import gzip
import json
import re

import h5py
import numpy as np
import pytest

from crowdsim.errors import RecordingError
from crowdsim.recording.checkpoint import MAGIC, checkpoint_bytes, read_checkpoint
from crowdsim.recording.compare import first_difference
from crowdsim.recording.migrate import CHECKPOINT_VERSION, STEPS, migrate
from crowdsim.recording.opening import open_run
from crowdsim.recording.schema import FORMAT_VERSION
from tests.cli.command import crowdsim
from tests.crowds import ROOT
from tests.recording.crowd import record

SAMPLES = ROOT / "tests" / "samples"
DIGEST = "b0a923f531e8d1cb"  # of the run in the samples, as it was when each was written


def sample(name, folder):
    path = folder / name
    path.write_bytes(gzip.decompress((SAMPLES / f"{name}.gz").read_bytes()))
    return path


def tables(path):
    with open_run(path) as run:
        return {name: run.table(name) for name in run.sizes()}


def test_there_is_a_sample_of_every_version_and_a_step_from_every_older_one():
    names = sorted(path.name for path in SAMPLES.iterdir() if path.suffix == ".gz")
    recordings = [f"recording-{version}.h5.gz" for version in range(1, FORMAT_VERSION + 1)]
    assert names == [
        *(f"checkpoint-{version:02d}.gz" for version in range(1, CHECKPOINT_VERSION + 1)),
        "names-of-before.h5.gz",
        *recordings,
    ]
    assert sorted(STEPS) == [*range(1, FORMAT_VERSION)]


@pytest.mark.parametrize("version", range(1, FORMAT_VERSION))
def test_an_older_recording_is_brought_to_today_with_every_row(tmp_path, version):
    old, today = (
        sample(f"recording-{version}.h5", tmp_path),
        sample(f"recording-{FORMAT_VERSION}.h5", tmp_path),
    )
    before = old.read_bytes()
    with pytest.raises(
        RecordingError, match=f"is of version {version} of the format.*Bring it up to date: crowdsim migrate"
    ):
        open_run(old)
    made = migrate(old)
    assert (made.kind, made.version, made.today, made.path) == (
        "recording",
        version,
        FORMAT_VERSION,
        tmp_path / f"recording-{version}.migrated.h5",
    )
    assert old.read_bytes() == before and sorted(path.name for path in tmp_path.iterdir()) == sorted(
        {old.name, today.name, made.path.name}
    )
    with open_run(made.path) as one, open_run(today) as other:
        assert first_difference(one, other) is None  # the same run: its scenario and code were the same
        assert f"{one.run_digest:016x}" == f"{other.run_digest:016x}" == DIGEST and one.is_whole
    old_tables, new_tables = tables(made.path), tables(today)
    for name, table in old_tables.items():
        if name not in ("timings", "verdict", "trace/index", "trace/digests"):
            assert table.tobytes() == new_tables[name].tobytes(), name
    with h5py.File(old) as raw:
        assert (
            raw["verdict"][:].tobytes() == old_tables["verdict"].tobytes()
            and (raw["timings"][:] == old_tables["timings"]).all()
        )
        assert len(raw["trace/index"]) > 2 * len(old_tables["trace/index"])
    with pytest.raises(RecordingError, match="exists already"):
        migrate(old)
    assert migrate(old, force=True).path == made.path


def test_todays_recordings_and_checkpoints_stay_as_they_are(tmp_path):
    recording, checkpoint = (
        sample(f"recording-{FORMAT_VERSION}.h5", tmp_path),
        sample(f"checkpoint-{CHECKPOINT_VERSION:02d}", tmp_path),
    )
    assert (
        migrate(recording).path is None
        and migrate(checkpoint).path is None
        and migrate(checkpoint).kind == "checkpoint"
    )
    assert len(list(tmp_path.iterdir())) == 2
    with open_run(recording) as run:
        assert (
            f"{run.run_digest:016x}" == DIGEST and len(run.trajectories()) > 0 and len(run.explanations()) > 0
        )


def test_a_kept_checkpoint_saved_again_has_the_same_bytes(tmp_path):
    path = sample(f"checkpoint-{CHECKPOINT_VERSION:02d}", tmp_path)
    assert checkpoint_bytes(read_checkpoint(path)) == path.read_bytes()


def test_an_untraced_recording_of_version_1_only_gets_another_number(tmp_path):
    path = record(tmp_path / "run.h5")
    expected = tables(path)
    with h5py.File(path, "r+") as file:
        text = re.sub(rb'"format_version": \d+', b'"format_version": 1', file["header"][:].tobytes())
        file["header"][:] = np.frombuffer(text, dtype=np.uint8)
    made = migrate(path, tmp_path / "new.h5")
    found = tables(made.path)
    assert all(found[name].tobytes() == expected[name].tobytes() for name in expected)


def test_what_is_newer_or_none_is_one_sentence(tmp_path):
    path = sample(f"recording-{FORMAT_VERSION}.h5", tmp_path)
    with h5py.File(path, "r+") as file:
        text = (
            file["header"][:]
            .tobytes()
            .replace(f'"format_version": {FORMAT_VERSION}'.encode(), b'"format_version": 9')
        )
        file["header"][:] = np.frombuffer(text, dtype=np.uint8)
    newer = tmp_path / "newer.checkpoint"
    newer.write_bytes(
        gzip.decompress((SAMPLES / "checkpoint-01.gz").read_bytes()).replace(MAGIC, MAGIC[:-2] + b"07", 1)
    )
    (tmp_path / "text.h5").write_text("no recording")
    for file, words in (
        (path, "was written by a newer crowdsim, in version 9 of the format; this one knows version"),
        (newer, "has version 07 of the format of checkpoints"),
        (tmp_path / "text.h5", "is not an HDF5 file"),
        (tmp_path / "none.h5", "there is no such file"),
        (tmp_path, "is a folder"),
    ):
        done = crowdsim(["migrate", file])
        assert done.returncode == 4 and words in done.stderr and len(done.stderr.splitlines()) == 1, (
            done.stderr
        )
    assert words in done.stderr and not list(tmp_path.glob("*.migrated.h5"))


def test_the_verb_says_what_it_made(tmp_path):
    path = sample("recording-1.h5", tmp_path)
    done = crowdsim(["migrate", path])
    assert (done.returncode, done.stdout) == (
        0,
        f"{tmp_path / 'recording-1.migrated.h5'}: version {FORMAT_VERSION} of {path}, which has version 1\n",
    )
    answer = json.loads(crowdsim(["migrate", tmp_path / "recording-1.migrated.h5", "--json"]).stdout)
    assert answer == {
        "ok": True,
        "kind": "recording",
        "version": FORMAT_VERSION,
        "today": FORMAT_VERSION,
        "path": None,
        "renamed": {},
    }
    refused = crowdsim(["migrate", path, "-o", path, "--force"])
    assert refused.returncode == 2 and "is the file that is read" in refused.stderr
