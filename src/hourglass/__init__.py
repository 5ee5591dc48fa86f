"""hourglass: the differentially private mean that cannot be beaten."""
