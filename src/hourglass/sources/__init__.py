"""Where totals come from."""
