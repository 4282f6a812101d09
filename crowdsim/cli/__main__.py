"""``python -m crowdsim.cli``: the same as ``crowdsim``."""

from crowdsim.cli import main

main()
