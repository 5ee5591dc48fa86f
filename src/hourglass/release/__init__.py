"""The frozen answers, and how they are printed, plotted and stated."""
