"""Other readers to measure against, each run by the interpreter of its own environment.

The modules here import nothing of tierocr, and of third parties only the peer itself.
"""
