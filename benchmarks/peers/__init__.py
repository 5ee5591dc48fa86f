"""Side by side with the peers: the same data, the same epsilon, the same unit, one run."""
