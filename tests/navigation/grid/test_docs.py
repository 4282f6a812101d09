"""The page about grids: its example prints what it shows."""

import contextlib
import io
import re
from pathlib import Path

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "learn" / "grid.md").read_text(encoding="utf-8")


def test_the_example_of_the_page_prints_what_the_page_shows():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    shown = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)[0]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "docs/learn/grid.md", "exec"), {})
    assert [line.rstrip() for line in printed.getvalue().rstrip().split("\n")] == [
        line.rstrip() for line in shown.rstrip().split("\n")
    ]
