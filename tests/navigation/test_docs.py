"""The pages about navigation: their examples print what they show."""

import contextlib
import io
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
# page, and where its section begins
EXAMPLES = [
    ("learn/navigation.md", ""),
    ("learn/visibility.md", ""),
    ("guides/changing-ground.md", "## Tiles\n"),
    ("guides/changing-ground.md", "### Tiles on several floors\n"),
]


@pytest.mark.sample(1)
@pytest.mark.parametrize(("name", "heading"), EXAMPLES)
def test_the_examples_of_a_page_print_what_the_page_shows(name, heading):
    page = (DOCS / name).read_text(encoding="utf-8")
    if heading:  # up to the next one, of any rank
        page = page[page.index(f"\n{heading}") + 1 :].split("\n##")[0]
    examples = re.findall(r"```python\n(.*?)```\n\n```console\n(.*?)```", page, re.DOTALL)
    assert len(examples) == len(re.findall("^```python$", page, re.MULTILINE)) > 0
    for code, shown in examples:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, name, "exec"), {})
        assert printed.getvalue() == shown
