"""Jobs: many files handed in at once, read when there is time, fetched later.

Decide: `states`, `turns`. Do: `disk`, `store`. Join: `registry`, `runner`. HTTP: `uploads`,
`handlers`, `events`.
"""
