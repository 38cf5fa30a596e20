"""What was spent of the budgets of lines and bytes, as a note that outlives the process. Pure."""

from __future__ import annotations

import json
from dataclasses import asdict, fields

from tierocr.edge.routing import RoutingPolicy, Spent


def dump(policy: RoutingPolicy, spent: Spent) -> str:
    """What was spent under a policy."""
    return json.dumps({"policy": asdict(policy), "spent": asdict(spent)})


def load(note: str | None, policy: RoutingPolicy) -> Spent:
    """What was noted; nothing under another policy, whose budgets begin anew."""
    kept = json.loads(note) if note is not None else {}
    if kept.get("policy") != asdict(policy):
        return Spent()
    return Spent(**{field.name: int(kept["spent"][field.name]) for field in fields(Spent)})
