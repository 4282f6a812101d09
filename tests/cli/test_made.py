"""A page, a picture or a film takes the place of an older one of ours, and of nothing else."""

import pytest

from tests.cli.command import crowdsim
from tests.cli.conftest import SMALL

pytest.importorskip("matplotlib", reason="matplotlib is missing")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    (folder / "small.yaml").write_text(SMALL.replace("after: 30", "after: 0.5"))
    assert crowdsim(["run", "small.yaml", "--out", "small.h5", "--quiet"], cwd=folder).returncode == 3
    return folder


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "words",
    [
        ["plot", "small.h5", "--out", "out.png"],
        ["plot", "small.h5", "--show", "curve,budget", "--out", "out.svg"],
        ["plot", "small.yaml", "--out", "out.pdf"],
        ["budget", "small.h5", "--picture", "out.pdf"],
        ["deadlocks", "small.h5", "--picture", "out.png"],
        ["view", "small.h5", "--out", "out.html"],
        ["view", "small.h5", "--gif", "out.gif"],
    ],
    ids=" ".join,
)
def test_output_of_ours_is_replaced_and_anything_else_refused(folder, words):
    out = folder / words[-1]
    out.unlink(missing_ok=True)
    assert crowdsim(words, cwd=folder).returncode == 0
    first = out.stat().st_mtime_ns
    assert crowdsim(words, cwd=folder).returncode == 0
    assert out.stat().st_mtime_ns != first
    out.write_bytes(b"of another program")
    done = crowdsim(words, cwd=folder)
    assert done.returncode in (2, 4)
    assert done.stderr == (
        f"{out.name} exists already and has no mark of crowdsim, so it is not replaced. Choose another name, "
        "or replace it with --force.\n"
    )
    assert out.read_bytes() == b"of another program"
    assert crowdsim([*words, "--force"], cwd=folder).returncode == 0
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]
