"""Jobs: many files handed in at once, read when there is time, fetched later.

Decide: `states`, `turns`, `views`. Do: `disk`, `store` (tables in `schema`, pages in `pages`).
Join: `registry`, `runner`. HTTP: `uploads`, `handlers`.
"""
