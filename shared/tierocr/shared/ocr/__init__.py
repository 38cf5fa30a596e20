"""Reading a page: Detector, Recogniser and the Reader that joins them.

`detector` and `recogniser` own one engine each; `lines`, `columns`, `orientation` are pure
decisions on their results; `reader` is the loop. Nothing here knows about files, networks or other
processes.
"""
