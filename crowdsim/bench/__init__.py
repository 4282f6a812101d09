"""How fast crowdsim is beside the simulators that pip installs: fixed scenes, everybody by turns, ratios; `crowdsim bench` (docs/benchmarks.md)."""
