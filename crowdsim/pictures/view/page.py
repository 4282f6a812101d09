"""The page as one file: markup, style, scripts and data, held together by a policy that lets it load nothing
and run nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

from crowdsim.pictures.view.facts import gather
from crowdsim.pictures.view.moves import Thinning
from crowdsim.recording.made import MARK
from crowdsim.recording.reader import Recording
from crowdsim.scenario.load import scenario_of_run

SCRIPTS = ("unpack.js", "crowd.js", "stage.js", "strips.js", "panel.js", "page.js")
# That are packed at once: 1.2 GB while that is done. More are thinned before their size is looked at.
MOST_ROWS = 16_000_000
# More rows are packed after a look at so many of them: packing 6 million takes a minute.
MOST_TRIED, LOOKED_AT = 2_000_000, 100_000
MOST_MEGABYTES = 25.0  # What mail programs and chats still pass on, and browsers open in a second or two.
ATTEMPTS = 8


def write_page(
    recording: Recording,
    out: Path,
    *,
    megabytes: float = MOST_MEGABYTES,
    note: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Write a recording as a page that a browser shows without a network.

    Parameters
    ----------
    recording : Recording
    out : Path
    megabytes : float, MB
        The page is thinned until it is no larger: first fewer frames, then fewer agents.
    note : callable
        Gets what goes on, as words.

    Returns
    -------
    dict
        bytes; frames, agents, rows: what is in it; frames_recorded, agents_recorded, rows_recorded; words:
        what was left out, as sentences.

    Raises
    ------
    ScenarioError
        If the scenario in the recording cannot be read.
    """
    scenario = scenario_of_run(recording.header, str(recording.path))
    frame_s = recording.header.tick_s * recording.header.ticks_per_frame
    thinning, limit = Thinning(), megabytes * 1e6
    if recording.commit.rows > MOST_ROWS:
        thinning = thinning.coarser(recording.commit.rows / MOST_ROWS, frame_s)
    if recording.commit.rows > MOST_TRIED:
        thinning = _after_a_look(recording, scenario, thinning, limit, note)
    for attempt in range(ATTEMPTS):
        packed, has = gather(recording, scenario, thinning, note)
        page = assemble(recording.header.name, packed)
        if len(page) <= limit or has["rows"] == 0:
            break
        if attempt + 1 < ATTEMPTS:
            note(f"{len(page) / 1e6:.1f} MB: thinning")
            # what does not shrink with them makes more steps
            thinning = thinning.coarser(1.1 * len(page) / limit * 1.2**attempt, frame_s)
    if len(page) > limit:
        has["words"] = [
            *has["words"],
            f"The page is larger than {megabytes:g} MB even so: the plan and its events take that.",
        ]
    out.write_bytes(page)
    recorded = recording.commit
    return {
        "bytes": len(page),
        **{name: has[name] for name in ("frames", "agents", "rows")},
        "frames_recorded": recorded.frames,
        "agents_recorded": recorded.agents,
        "rows_recorded": recorded.rows,
        "words": has["words"],
    }


def _after_a_look(
    recording: Recording, scenario: Any, thinning: Thinning, limit: float, note: Callable[[str], None]
) -> Thinning:
    """Return what to begin with, from the size of a page of a few agents."""
    step = thinning.agent_step * -(-recording.commit.rows // LOOKED_AT)
    packed, has = gather(recording, scenario, Thinning(thinning.frame_step, step), note)
    of_agents = (len(packed) - has["facts_bytes"]) * step / thinning.agent_step
    # letters of base64 for bytes; a quarter less, since agents that are close to each other pack better
    size = 0.75 * 4.0 / 3.0 * (of_agents + has["facts_bytes"])
    if size <= limit:
        return thinning
    return thinning.coarser(size / limit, recording.header.tick_s * recording.header.ticks_per_frame)


def assemble(title: str, packed: bytes) -> bytes:
    """Return the page of a packed run; its title is escaped, and nothing else of the run stands in its markup
    but the letters of base64.
    """
    folder = resources.files("crowdsim.pictures.view")
    style = folder.joinpath("page.css").read_text(encoding="utf-8")
    script = "'use strict';\n" + "\n".join(
        folder.joinpath(name).read_text(encoding="utf-8") for name in SCRIPTS
    )
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src 'sha256-{_hash(script)}'",
            f"style-src 'sha256-{_hash(style)}'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    page = folder.joinpath("page.html").read_text(encoding="utf-8")
    parts = {
        "MARK": MARK,
        "TITLE": html.escape(title),
        "POLICY": policy,
        "STYLE": style,
        "SCRIPT": script,
        "DATA": base64.b64encode(packed).decode("ascii"),
    }
    pieces = page.split("@@")  # text, name, text, name, ...: what is put in is not searched again
    return "".join(parts[piece] if number % 2 else piece for number, piece in enumerate(pieces)).encode(
        "utf-8"
    )


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
