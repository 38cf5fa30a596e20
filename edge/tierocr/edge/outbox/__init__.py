"""The outbox: every document between its arrival and the last delivery of its final version.

`states`, `choices`, `naming`: what a document is and what is done next (pure). `disk`, `schema`,
`store`: what is on the disk. `outbox`: the join.
"""
