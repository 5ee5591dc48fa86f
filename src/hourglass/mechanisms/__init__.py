"""How totals are noised: one file a mechanism."""
