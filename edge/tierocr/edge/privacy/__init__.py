"""What must never leave the device: zones, what stands beside labels, patterns.

`fuzzy`, `patterns`, `placing`, `fields`, `rules`: what is forbidden on a page (pure). `painting`:
the door of `leaving` that keeps to it.
"""
