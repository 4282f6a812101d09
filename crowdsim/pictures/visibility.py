"""The layer of points of visibility in a picture of a plan: corners, and the tangents that an agent of one radius can use."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.visibility.graph import VisibilityGraph

EDGE, TIGHT, CORNER = "#3a6ea5", "#e08e0b", "#d62828"


def tangents_of(graph: VisibilityGraph, radius: float) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the tangents that an agent may use, each once.

    Parameters
    ----------
    graph : VisibilityGraph
    radius : float, m

    Returns
    -------
    (k, 2, 2) float64, m
        Where the agent's centre begins and ends.
    (k,) bool
        Whether it is free for sure; the others are tested by searches.
    """
    source = np.repeat(np.arange(len(graph.edge_start) - 1), np.diff(graph.edge_start))
    once = source // 2 < graph.edge_target // 2
    fits = once & (graph.edge_low <= radius) & (radius <= graph.edge_high)
    begin, end = graph.corners.position[source[fits] // 2], graph.corners.position[graph.edge_target[fits] // 2]
    sides = [radius * (1.0 - 2.0 * (node % 2)) for node in (source[fits], graph.edge_target[fits])]
    d = end - begin
    length = np.hypot(d[:, 0], d[:, 1])
    d /= length[:, None]
    across = np.clip((sides[1] - sides[0]) / length, -1.0, 1.0)
    u = np.sqrt(1.0 - across**2)[:, None] * d + across[:, None] * np.stack([d[:, 1], -d[:, 0]], axis=1)
    aside = np.stack([u[:, 1], -u[:, 0]], axis=1)
    return np.stack([begin + sides[0][:, None] * aside, end + sides[1][:, None] * aside], axis=1), radius <= graph.edge_clear[fits]


def draw_visibility(axes: Any, graph: VisibilityGraph, radius: float = 0.0) -> None:
    """Draw the graph as an agent of a radius (m) sees it: free tangents blue, those that searches test orange, corners as red dots."""
    from matplotlib.collections import LineCollection

    lines, is_free = tangents_of(graph, radius)
    axes.add_collection(LineCollection(list(lines[is_free]), colors=EDGE, linewidths=0.4, alpha=0.6, zorder=2))
    axes.add_collection(LineCollection(list(lines[~is_free]), colors=TIGHT, linewidths=0.4, alpha=0.6, zorder=2))
    axes.plot(*graph.corners.position.T, ".", color=CORNER, markersize=3, zorder=3)
