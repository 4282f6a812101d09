"""Who gets which place at a goal? Those who stay in a region move in, so that those behind them find the rim free."""
