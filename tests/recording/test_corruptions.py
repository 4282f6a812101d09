"""Damaged recordings and checkpoints, given to the command:
a documented exit code, no traceback, no hang, whatever the damage.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.cli.command import environment
from tests.cli.forked import server
from tests.crowds import ROOT
from tests.regression.scene import SCENE

DOCUMENTED = {
    int(code)
    for code in re.findall(
        r"^\| (\d+) \|",
        (ROOT / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
}
PAGE = 4096
MOST_SECONDS = 120.0  # for a command that takes a second on an idle machine
OF_RECORDINGS = (  # what each verb is given; {} is the damaged file
    ("run", "scene.yaml", "-o", "{}", "-q"), ("info", "{}"), ("verify", "{}", "-j", "1"),
    ("compare", "{}", "whole.h5"), ("compare", "whole.h5", "{}", "--tolerance", "0.1"),
    ("compare", "{}", "whole.h5", "--aggregates", "0.1"), ("export", "{}", "-o", "out.csv"),
    ("recover", "{}", "-o", "out.h5"), ("budget", "{}"), ("plot", "{}", "-o", "out.png"),
    ("bless", "{}", "--seconds", "0.5"), ("migrate", "{}"), ("resume", "{}", "-o", "out.h5", "-j", "1", "-q"),
    ("info", "{}", "--json"),
)  # fmt: skip
OF_CHECKPOINTS = (
    ("resume", "run.h5", "-o", "out.h5", "-j", "1", "-q"),
    ("fork", "{}", "-o", "out.h5", "-j", "1", "-q"),
    ("migrate", "{}"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A stopped run with its checkpoint, the whole run, and one that was cut off."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "scene.yaml").write_text(
        SCENE.replace("after: 20", "after: 1") + "record: {trace: true, explain: [to_west]}\n"
    )
    assert (
        command(folder, "run", "scene.yaml", "-o", "run.h5", "-q", "-j", "1", "--checkpoint-every", "0.4")[0]
        == 3
    )
    shutil.copy(folder / "run.h5", folder / "whole.h5")
    return folder


def command(folder: Path, *words: str):
    """Run the command in a process of its own, so that a crash or a hang of a library costs this case only;
    a hang is a test that fails by its time limit.
    """
    variables = {name: value for name, value in environment().items() if name != "PYTEST_CURRENT_TEST"}
    done = server(tuple(sorted(variables.items()))).run(list(words), folder, timeout=MOST_SECONDS)
    return done.returncode, done.stdout, done.stderr


def damaged(data: bytes, rng: np.random.Generator) -> tuple[bytes, str]:
    """Return bytes with one kind of damage, and what it is."""
    found, size = bytearray(data), len(data)
    reach = size if rng.integers(2) else min(size, 10 * PAGE)  # half of them where the metadata lies
    kind = ("bits", "cut", "swapped", "zeroed", "noise")[int(rng.integers(5))]
    if kind == "bits":
        for _ in range(int(rng.integers(1, 20))):
            found[int(rng.integers(reach))] ^= 1 << int(rng.integers(8))
    elif kind == "cut":
        del found[int(rng.integers(size)) :]
    elif kind == "swapped":
        blocks = rng.permutation(max(2, size // PAGE))[:2] * PAGE
        one, other = (slice(int(block), int(block) + PAGE) for block in blocks)
        found[one], found[other] = found[other], found[one]
    elif kind == "zeroed":
        page = int(rng.integers(reach)) // PAGE * PAGE
        found[page : page + PAGE] = bytes(len(found[page : page + PAGE]))
    else:
        at, length = int(rng.integers(reach)), int(rng.integers(1, 400))
        found[at : at + length] = rng.bytes(len(found[at : at + length]))
    return bytes(found), kind


def case(folder: Path, work: Path, seed: int) -> tuple[int, str]:
    """Damage a file and give it to a verb; return the exit code, and what was done."""
    rng = np.random.default_rng(seed)
    is_checkpoint = seed % 4 == 3
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(folder, work)
    target = sorted(work.glob("run.*.checkpoint"))[-1] if is_checkpoint else work / "run.h5"
    data, kind = damaged(target.read_bytes(), rng)
    target.write_bytes(data)
    verbs = OF_CHECKPOINTS if is_checkpoint else OF_RECORDINGS
    words = [word.replace("{}", target.name) for word in verbs[seed // 4 % len(verbs)]]
    code, out, err = command(work, *words)
    about = (
        f"seed {seed}: {kind} in {target.name}, crowdsim {' '.join(words)}: exit code {code}\n{err[-2000:]}"
    )
    assert code in DOCUMENTED - {1}, about
    assert "Traceback" not in err + out and "Fatal" not in err, about
    assert code in (0, 3, 5, 6) or err.strip() or '"ok": false' in out, about
    return code, about


@pytest.mark.parametrize("count", [9, *(pytest.param(count, marks=pytest.mark.full) for count in (30, 1000))])
def test_damage_gives_a_documented_exit_code_and_no_traceback(folder, tmp_path, count):
    codes = [case(folder, tmp_path / "work", seed)[0] for seed in range(count)]
    assert codes.count(4) > count / 4  # most damage is told as such; the rest hits what a verb does not read


@pytest.mark.full
def test_the_whole_files_are_accepted_by_each_of_these_verbs(folder, tmp_path):
    """So the codes above come from the damage."""
    expected = {"recover": {4}, "resume": {2, 3}, "run": {0, 3, 5}}
    for verbs, name in (
        (OF_RECORDINGS, "run.h5"),
        (OF_CHECKPOINTS, next(folder.glob("run.*.checkpoint")).name),
    ):
        for number, words in enumerate(verbs):
            work = tmp_path / f"{name}.{number}"
            shutil.copytree(folder, work)
            code, _, err = command(work, *(word.replace("{}", name) for word in words))
            assert code in expected.get(words[0], {0, 3}), (words, code, err)
