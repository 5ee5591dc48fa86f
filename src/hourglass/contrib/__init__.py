"""Adapters for other libraries: one module each, none imported here."""
