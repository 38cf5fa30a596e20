"""Where documents come from: watched folders, standard input.

`watching`, `mounts`, `judging`: what is done with a file and when (pure). `listing`, `moving`,
`waking`: what touches the folder. `folder`, `stdin`: the joins.
"""
