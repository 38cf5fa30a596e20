"""Model packs: what one is, where packs are found, how one is made from a published package.

A pack is a folder with `pack.yaml`: the facts of a detector and a recogniser, the files with their
digests and their origin. Nothing here runs a network; only `fetch` may use the internet.
"""
