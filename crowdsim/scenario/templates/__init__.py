"""The scenarios that ``crowdsim new`` writes, one YAML file each."""

from __future__ import annotations

from importlib import resources

TEMPLATES = {
    "bottleneck": "100 people leave a room through a door",
    "corridor": "two groups walk through a corridor in opposite directions",
    "evacuation": "people in two rooms hear an alarm, prepare, and take the nearer of two exits",
    "circle": "8 agents on a circle, listed one by one, each walks to the opposite side",
}


def template_text(name: str) -> str:
    """Return the text of a template; `name` is a key of `TEMPLATES`."""
    return resources.files(__package__).joinpath(f"{name}.yaml").read_text(encoding="utf-8")
