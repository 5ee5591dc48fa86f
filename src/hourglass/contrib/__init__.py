"""Ways in for those who have another library already: one module each, none imported here."""
