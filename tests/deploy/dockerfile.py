"""Just enough of a Dockerfile: its stages and their instructions."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "deploy" / "cloud.Dockerfile"


@dataclass(slots=True)
class Stage:
    """`FROM base AS name`, and what follows as (instruction, arguments)."""

    base: str
    name: str
    steps: list[tuple[str, str]] = field(default_factory=list)

    def all(self, instruction: str) -> list[str]:
        return [arguments for kind, arguments in self.steps if kind == instruction]


def stages(file: Path = DOCKERFILE) -> dict[str, Stage]:
    """The stages by name, in order."""
    lines = file.read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    found: dict[str, Stage] = {}
    for line in text.replace("\\\n", " ").splitlines():
        kind, _, arguments = line.strip().partition(" ")
        if kind == "FROM":
            base, word, name = arguments.split()
            assert word == "AS"
            found[name] = Stage(base=base, name=name)
        elif kind and found:
            found[list(found)[-1]].steps.append((kind, " ".join(arguments.split())))
    return found
