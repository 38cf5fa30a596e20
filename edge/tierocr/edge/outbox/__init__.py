"""The outbox: every document between its arrival and the last delivery of its final version.

`states`, `choices`, `naming`, `ageing`: what a document is, what is done next and how time passes
(pure). `database`,
`schema`, `documents`, `deliveries`, `seen`, `notes`, `blobs`, `attempts`: what is on the disk, all
of it in `store`. `incoming`, `refinements`, `outgoing`: the three ways of a document; `outbox`
joins them.
"""
