"""Files from strangers: whatever they hold, the reader answers with one sentence,
in time and in little memory.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from crowdsim.errors import RecordingError
from crowdsim.recording.opening import open_run
from crowdsim.recording.recover import recover
from tests.recording.crowd import record

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return record(tmp_path_factory.mktemp("runs") / "run.h5", agents=12, ticks=40, trace=True)


def read_everything(path):
    with open_run(path) as run:
        run.trajectories()
        run.frames()
        run.events()
        run.roster()
        run.ticks()
        run.timings()
        run.digests()
        run.sizes()


def rebuilt(whole, path, change):
    """Copy a recording with plain h5py and let `change(file)` do harm to it."""
    with h5py.File(whole, "r") as old, h5py.File(path, "x", libver=("v110", "v110")) as new:
        for name in old:
            old.copy(name, new)
        for key, value in old.attrs.items():
            new.attrs[key] = value
        change(new)
    return path


def replace(file, name, **options):
    del file[name]
    file.create_dataset(name, **options)


def rewrite_commit(file, **changes):
    from dataclasses import replace as changed

    from crowdsim.recording.commit import newest

    record = changed(newest(file["commit"][:]), **changes).pack()
    for slot in range(2):
        file["commit"][slot] = np.frombuffer(record, dtype="<u8")


TRAJECTORY = np.dtype([("frame", "<i8"), ("id", "<i8"), ("x", "<f8"), ("y", "<f8"), ("z", "<f8")])
HARM = {
    "gigabytes of rows that were never written": lambda file: replace(
        file,
        "trajectory",
        shape=(10**11,),
        maxshape=(None,),
        chunks=(4096,),
        dtype=TRAJECTORY,
        compression="gzip",
        shuffle=True,
    ),
    "gigabytes in one chunk": lambda file: replace(
        file,
        "trajectory",
        shape=(10**8,),
        maxshape=(None,),
        chunks=(10**8,),
        dtype=TRAJECTORY,
        compression="gzip",
        shuffle=True,
    ),
    "a commit of more rows than there are": lambda file: rewrite_commit(file, rows=10**12),
    "a commit of a negative number of rows": lambda file: rewrite_commit(file, rows=2**64 - 5),
    "a commit of more ticks than there are": lambda file: rewrite_commit(file, ticks=10**12),
    "a commit with an unknown state": lambda file: rewrite_commit(file, state=77),
    "a verdict of gigabytes": lambda file: rewrite_commit(file, verdict_bytes=2**40),
    "a verdict that is no JSON": lambda file: rewrite_commit(file, verdict_bytes=3),
    "no commit record": lambda file: replace(
        file, "commit", data=np.zeros((2, 16), dtype="<u8"), chunks=(1, 16)
    ),
    "no commit dataset": lambda file: file.__delitem__("commit"),
    "no header": lambda file: file.__delitem__("header"),
    "a header that is no JSON": lambda file: replace(
        file, "header", data=np.zeros(10, dtype="u1"), chunks=(10,)
    ),
    "a header of gigabytes": lambda file: replace(file, "header", shape=(2**40,), dtype="u1", chunks=(4096,)),
    "text instead of numbers": lambda file: replace(file, "agents/velocity", data=["a", "b"]),
    "an external file": lambda file: replace(
        file, "trajectory", shape=(10,), dtype=TRAJECTORY, external=[("/etc/passwd", 0, 400)]
    ),
    "a link to another file": lambda file: (
        file.__delitem__("events"),
        file.__setitem__("events", h5py.ExternalLink("/etc/passwd", "/events")),
    ),
    "a soft link": lambda file: (
        file.__delitem__("events"),
        file.__setitem__("events", h5py.SoftLink("/ticks")),
    ),
    "a group in place of a dataset": lambda file: (file.__delitem__("ticks"), file.create_group("ticks")),
    "a dataset in place of a group": lambda file: (
        file.__delitem__("frames"),
        file.create_dataset("frames", data=[1]),
    ),
    "another shape": lambda file: replace(
        file, "digests", data=np.zeros((40, 9), dtype="<u8"), chunks=(40, 9)
    ),
    "another type": lambda file: replace(file, "frames/start", data=np.zeros(20, dtype="<i4"), chunks=(20,)),
    "a filter that recordings do not use": lambda file: replace(
        file, "frames/tick", data=np.zeros(20, dtype="<i8"), chunks=(20,), compression="lzf"
    ),
    "a virtual dataset": lambda file: (
        file.__delitem__("roster"),
        file.create_virtual_dataset("roster", h5py.VirtualLayout((12,), "<i8")),
    ),
    "frames out of order": lambda file: replace(
        file, "frames/start", data=np.arange(20, 0, -1), chunks=(20,)
    ),
}


@pytest.mark.parametrize("harm", HARM)
def test_a_file_made_to_do_harm_is_refused_in_one_sentence(whole, tmp_path, harm):
    path = rebuilt(whole, tmp_path / "harm.h5", HARM[harm])
    with pytest.raises(RecordingError) as found:
        read_everything(path)
    assert "\n" not in str(found.value)
    assert len(str(found.value)) < 600
    with pytest.raises(RecordingError):
        recover(path)


def test_a_copy_without_harm_is_read(whole, tmp_path):
    """So the tests above fail for the harm and not for the copying."""
    path = rebuilt(whole, tmp_path / "fine.h5", lambda file: None)
    read_everything(path)
    with open_run(path) as copy, open_run(whole) as original:
        assert copy.trajectories().equals(original.trajectories()) and copy.run_digest == original.run_digest


def test_small_files_cannot_fill_the_memory(whole, tmp_path):
    """Every harmful file within 1 GB of address space more than Python and its packages have."""
    names = [rebuilt(whole, tmp_path / f"{number}.h5", HARM[harm]) for number, harm in enumerate(HARM)]
    done = subprocess.run(
        [sys.executable, "-c", LITTLE_MEMORY, *map(str, names)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        timeout=120,
    )
    assert done.stderr == ""
    assert done.stdout.split() == ["refused"] * len(names)


LITTLE_MEMORY = """
import resource, sys
from pathlib import Path
import pandas, h5py
from crowdsim.errors import RecordingError
from tests.recording.test_hostile import read_everything
size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + 10**9
resource.setrlimit(resource.RLIMIT_AS, (size, size))
for name in sys.argv[1:]:
    try:
        read_everything(Path(name))
        print("read")
    except RecordingError:
        print("refused")
"""


def tables_of(path):
    with open_run(path) as run:
        return {name: run.table(name).tobytes() for name in run._datasets}


@pytest.mark.parametrize("count", [100, pytest.param(3000, marks=pytest.mark.full)])
def test_a_damaged_file_that_can_be_read_holds_what_it_held(whole, tmp_path, count):
    """No damage passes for data: what is not refused is right to the last bit."""
    expected, data = tables_of(whole), whole.read_bytes()
    same = 0
    for seed in range(count):
        (tmp_path / "damaged.h5").write_bytes(corrupt(data, 10**6 + seed))
        try:
            found = tables_of(tmp_path / "damaged.h5")
        except RecordingError:
            continue
        assert found == expected, seed
        same += 1
    assert same > count // 100


CORRUPTIONS = """
import sys
from pathlib import Path
import numpy as np
from crowdsim.errors import RecordingError
from tests.recording.test_hostile import corrupt, read_everything
source, target = Path(sys.argv[1]).read_bytes(), Path(sys.argv[2])
first, count = int(sys.argv[3]), int(sys.argv[4])
for seed in range(first, first + count):
    target.write_bytes(corrupt(source, seed))
    try:
        read_everything(target)
        print(seed, "read")
    except RecordingError as error:
        assert "\\n" not in str(error), error
        print(seed, "refused")
    sys.stdout.flush()
"""


def corrupt(data, seed):
    """Return a damaged copy: flipped bits, overwritten, shifted or repeated pieces, a lost end;
    half of them where the metadata lies.
    """
    rng = np.random.default_rng(seed)
    found = bytearray(data)
    reach = len(found) if seed % 2 else min(len(found), 40_000)
    for _ in range(int(rng.integers(1, 8))):
        at, length = int(rng.integers(0, reach)), int(rng.integers(1, 200))
        kind = rng.integers(0, 6)
        if kind == 0:
            found[at] ^= 1 << int(rng.integers(0, 8))
        elif kind == 1:
            found[at : at + length] = rng.bytes(len(found[at : at + length]))
        elif kind == 2:
            found[at : at + 8] = (int(rng.integers(0, 2**63)) >> int(rng.integers(0, 60))).to_bytes(
                8, "little"
            )[: len(found[at : at + 8])]
        elif kind == 3:
            del found[at : at + length]
        elif kind == 4:
            found[at:at] = found[at : at + length]
        else:
            del found[max(at, 48) :]
            break
        reach = min(reach, len(found))
    return bytes(found)


@pytest.mark.parametrize(
    "count", [60, *(pytest.param(count, marks=pytest.mark.full) for count in (200, 1000))]
)
def test_damaged_files_are_read_or_refused_and_nothing_else(whole, tmp_path, count):
    """In a process of its own: no crash of the library, no traceback, no endless wait."""
    command = [sys.executable, "-c", CORRUPTIONS, str(whole), str(tmp_path / "damaged.h5"), "0", str(count)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=60 + count)
    assert done.stderr == ""
    assert done.returncode == 0, done.stdout[-100:]
    outcomes = [line.split()[1] for line in done.stdout.splitlines()]
    assert len(outcomes) == count
    assert outcomes.count("refused") > count / 2


def test_limits_of_this_process_are_as_they_were():
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
