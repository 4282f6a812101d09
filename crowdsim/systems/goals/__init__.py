"""Which agent gets which place at a goal? Agents that stay in a region move in,
so that those behind them find the rim free.
"""
