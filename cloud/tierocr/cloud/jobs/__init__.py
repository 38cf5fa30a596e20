"""Jobs: many files handed in at once, read when there is time, fetched later.

Decide: `states`, `turns`, `views`. Do: `disk`, `store` (its tables in `schema`, its pages in `pages`).
Join: `registry`, `runner`. HTTP: `uploads`, `handlers`.
"""
