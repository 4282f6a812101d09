"""From a plan that somebody has (DXF, WKT, GeoJSON, a grid map, OBJ) to a scenario that runs: read leniently, mended, every guess told."""
