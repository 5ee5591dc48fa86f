"""The public calls, their checks, and the one way through the house."""
