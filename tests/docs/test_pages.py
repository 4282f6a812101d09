"""All pages: each is reached from the list of pages, every link leads somewhere,
and they are written in plain English.
"""

import re

import pytest

from tests.crowds import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(page.relative_to(ROOT).as_posix() for page in [*DOCS.rglob("*.md"), *ROOT.glob("*.md")])
PARTS = ("learn", "guides", "reference", "develop")
# what holds for all parts
AT_THE_TOP = {"README.md", "architecture.md", "glossary.md", "references.md", "systems.md"}
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
NOT_PLAIN = re.compile(r"\b(?:who|whom|whoever|ways)\b", re.IGNORECASE)
# What may say such a word, with the reason.
MAY_SAY = {
    "CHANGELOG.md": "what was released or is to be is told in the words of its time",
    "docs/glossary.md": "it lists the words that are not used",
}


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def anchors(page):
    """Return what links can name in a page: its headings in small letters, without punctuation."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text_of(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def links(page):
    """Return the links of a page to files of the project: as they are written, the file, and the heading."""
    found = []
    for link in LINK.findall(FENCE.sub("", text_of(page))):
        if not re.match(r"[a-z]+:", link):
            path, _, heading = link.partition("#")
            target = ((ROOT / page).parent / path).resolve() if path else ROOT / page
            found.append((link, target, heading))
    return found


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_to_a_file_and_a_heading_that_are_there(page):
    lost = [
        link
        for link, target, heading in links(page)
        if not target.exists() or (heading and heading not in anchors(target.relative_to(ROOT).as_posix()))
    ]
    assert lost == []


def test_the_list_of_pages_leads_to_every_page():
    listed = {target.relative_to(ROOT).as_posix() for _, target, _ in links("docs/README.md")}
    assert [
        page for page in PAGES if page.startswith("docs/") and page != "docs/README.md" and page not in listed
    ] == []
    assert DOCS / "README.md" in {target for _, target, _ in links("README.md")}


def test_every_page_belongs_to_one_of_the_four_parts():
    assert {page.name for page in DOCS.glob("*.md")} <= AT_THE_TOP
    assert {folder.name for folder in DOCS.iterdir() if folder.is_dir()} == {*PARTS, "examples"}


def test_every_page_that_code_and_tests_name_is_there():
    files = [
        path
        for folder in ("crowdsim", "tests", "benchmarks", "analysis", "scenarios")
        for ending in ("py", "yaml")
        for path in (ROOT / folder).rglob(f"*.{ending}")
    ]
    named = {
        page: path
        for path in files
        if path.name != "test_pages.py"
        for page in re.findall(r"\bdocs/[\w/-]+\.md\b", path.read_text(encoding="utf-8"))
    }
    assert len(named) > 10
    assert {page: path for page, path in named.items() if page not in PAGES} == {}


@pytest.mark.parametrize("page", [page for page in PAGES if page not in MAY_SAY])
def test_a_page_says_agent_and_path(page):
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub(lambda block: "\n" * block[0].count("\n"), text_of(page)))
    assert [
        f"{page}:{number}: {line}"
        for number, line in enumerate(prose.splitlines(), 1)
        if NOT_PLAIN.search(line)
    ] == []


def test_the_changelog_has_headings_and_one_section_for_what_is_unreleased():
    text = text_of("CHANGELOG.md")
    assert len(re.findall(r"^## .*unreleased", text, re.MULTILINE)) == 1
    sections = [part.split("\n", 1) for part in text.split("\n### ")[1:]]
    assert [name for name, _ in sections] == ["Added", "Changed", "Fixed", "Removed"]
    assert all(re.match(r"\n- ", entries) for _, entries in sections)


def test_the_files_that_a_thing_takes_are_counted_right():
    """The table of the page on extending says as many files as the steps of each section name."""
    page = text_of("docs/develop/extending.md")
    said = dict(re.findall(r"^\| \[[^\]]*\]\(#([\w-]+)\) \| (.*?) \|", page, re.MULTILINE))
    steps = {
        part.split("\n")[0].lower().replace(" ", "-"): re.findall(r"^(\d+)\. ", part, re.MULTILINE)
        for part in page.split("\n## ")[1:]
    }
    assert set(said) == set(steps)
    assert {name: max(map(int, re.findall(r"\d+", said[name]))) for name in said} == {
        name: max(map(int, numbers or ["1"])) for name, numbers in steps.items()
    }


@pytest.mark.parametrize("key", ["immovable", "premovement"])
def test_a_key_of_agents_stands_in_the_files_that_the_page_names_and_in_no_other(key):
    section = text_of("docs/develop/extending.md").split("## A key of agents")[1].split("\n## ")[0]
    named = set(re.findall(r"^\d\. `([\w/]+\.py)`", section, re.MULTILINE))
    word = re.compile(rf"\b(?:is_)?{key}\b")
    files = [
        path for room in ("scenario", "setup", "world") for path in (ROOT / "crowdsim" / room).rglob("*.py")
    ]
    # discs of obstacles are immovable
    found = {str(path.relative_to(ROOT)) for path in files if word.search(path.read_text())} - {
        "crowdsim/world/world.py"
    }
    assert len(named) == 5 and {"crowdsim/scenario/schema.py", "crowdsim/setup/agents.py"} <= found <= named


def test_the_files_that_the_page_on_extending_names_are_there():
    """A name such as `<name>` stands for any: one file at least is called so.
    Names without a folder are of files somewhere in the package.
    """
    page = text_of("docs/develop/extending.md")
    named = sorted(set(re.findall(r"`([\w<>/.-]+\.(?:py|json|md))`", page)))
    assert len(named) > 30
    assert [
        name
        for name in named
        if not any((ROOT if "/" in name else ROOT / "crowdsim").rglob(re.sub(r"<\w+>", "*", name)))
    ] == []
