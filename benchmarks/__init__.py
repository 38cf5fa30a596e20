"""Benchmarks: accuracy and speed of tierocr against named peers, all measured through one harness.

They need the `dev` extra, labelled pages (`--data`, or the environment variable `TIEROCR_DATA`)
and, for comparisons, the peers' own environments (`python -m benchmarks.peers.setup DIR`).
"""
