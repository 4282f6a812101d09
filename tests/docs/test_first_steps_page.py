"""docs/learn/first-steps.md: its commands, typed as they stand there, say what the page says;
two of them lead from a drawing to a page for a browser.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.command import crowdsim
from tests.crowds import ROOT

PAGE = (ROOT / "docs" / "learn" / "first-steps.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n\$ crowdsim (.*)\n((?:.*\n)*?)```", PAGE)


def without_what_differs(text: str) -> str:
    """Return output without what another machine says otherwise:
    how long ticks took, and the size of compressed timings.
    """
    return re.sub(r"\d\.\d+ MB", "MB", re.sub(r"^(time   |  slowest).*\n", "", text, flags=re.MULTILINE))


def test_the_commands_of_the_page_say_what_it_shows_and_end_in_a_page_for_a_browser(tmp_path: Path) -> None:
    pytest.importorskip("ezdxf", reason="ezdxf is missing: it reads DXF files")
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    assert [shlex.split(command)[0] for command, _ in BLOCKS] == ["new", "view", "new"]
    for number, (command, shown) in enumerate(BLOCKS):
        done = crowdsim(shlex.split(command), cwd=tmp_path)
        assert without_what_differs(done.stdout + done.stderr) == without_what_differs(shown), command
        assert done.returncode == (0 if number < 2 else 2)
    pictures = re.findall(
        r"\$ crowdsim (plot .*)\n(.*)\n",
        (ROOT / "docs" / "guides" / "pictures.md").read_text(encoding="utf-8"),
    )
    for command, shown in pictures[1:]:  # the page about pictures draws this run
        assert (
            crowdsim(shlex.split(command), cwd=tmp_path).stdout == f"{shown}\n"
            and (tmp_path / shown).is_file()
        )
    assert len(pictures) == 2 and "<canvas" in (tmp_path / "runs" / "office.html").read_text(encoding="utf-8")


def test_three_commands_lead_from_a_clone_to_the_page() -> None:
    installing = re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(installing) == 1 and len(installing[0].splitlines()) == 1
    assert ".[plot,dxf]" in installing[0] and "constraints.txt" in installing[0]
