"""The agent's local HTTP API: reading on demand, jobs, events, health and metrics.

`health`: how the device is, and what that means (pure but for the readings). `recent`: the newest
results, in memory, as one more sink. `exposition`, `problems`, `guard`: what every request passes.
"""
