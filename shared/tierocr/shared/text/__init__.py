"""Rules on recognised text: pure functions of text; the raw text stays with the caller."""
