"""Model packs that are brought to a device in one signed file, without a network.

`statement`: what is signed and what it must say (pure). `archive`: the file. `installing`: the
folder of installed packs, switched at once and back.
"""
