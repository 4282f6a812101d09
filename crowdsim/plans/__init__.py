"""Which scenario is in a drawing? From a floor plan (DXF, WKT, GeoJSON, a grid map,
OBJ) to a scenario that runs: read leniently, mended, guesses reported.
"""
