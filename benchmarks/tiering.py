"""What the cloud wins back, and what it costs: edge alone, two tiers, a random router, cloud alone.

    python -m benchmarks.tiering --data DIR [--sets a,b] [--out benchmarks/results/tiering.json]

Every page is read by the edge in this process; its unsure lines go over HTTP to a cloud service
that the benchmark starts on loopback. The random router sends as many lines of each page, drawn
with a fixed seed. Bytes are those of the encoded crops, held against the same pages encoded as
JPEG of quality 85. Exit code 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import cv2

from benchmarks.harness import begin, build_result, variant_record
from benchmarks.options import conclude, parser_for, set_folders
from benchmarks.readers import OUR_PACKAGES
from benchmarks.schema import Measure, Verdict
from benchmarks.score import score_set
from tierocr.edge.crops import Crop, encode_lines
from tierocr.edge.demo import local_cloud
from tierocr.edge.refining import CloudAddress, Refiner
from tierocr.edge.routing import RoutingPlan, RoutingPolicy, Spent, allowed_lines, candidates, plan
from tierocr.edge.tiering import refine_page
from tierocr.shared.document import Document, Page, PageImage
from tierocr.shared.export.json import to_json
from tierocr.shared.export.pictures import upright
from tierocr.shared.images import Limits, PageFailure, decode_pages
from tierocr.shared.ocr.open import open_reader
from tierocr.shared.ocr.reader import Reader
from tierocr.shared.reading import document_of

SETS = "funsd_test,sroie_train,xfund_zh_val,mtwi_zh,zh_report_pages,zh_game_screens"
ROUTERS = ("edge", "tiered", "random", "cloud")
LARGE = 500
"""Sets with more labels keep the bars on lines and bytes by themselves."""

WHAT = (
    "Exact matches that a router wins back of those that the cloud alone has over the edge alone, "
    "with the share of lines and of page bytes that it sends"
)


@dataclass(slots=True)
class Cost:
    """What one router sent of one set."""

    lines: int = 0
    sent_lines: int = 0
    sent_bytes: int = 0
    page_bytes: int = 0
    changed: int = 0


@dataclass(slots=True)
class Run:
    """The state of one run over the sets."""

    work: Path
    refiner: Refiner
    edge: Reader
    cloud: Reader
    policy: RoutingPolicy
    costs: dict[tuple[str, str], Cost] = field(default_factory=dict)


async def read_set(run: Run, set_dir: Path) -> None:
    """Read every page of a set by every router and store the documents."""
    spent = Spent()
    dice = random.Random(7)
    for row in map(json.loads, (set_dir / "labels.jsonl").open(encoding="utf-8")):
        name = Path(row["image"]).name
        for item in decode_pages((set_dir / row["image"]).read_bytes(), limits=Limits()):
            if isinstance(item, PageFailure):
                raise RuntimeError(f"{name} cannot be decoded: {item.failure.code}")
            spent = await _read_page(run, set_dir.name, name, item, spent, dice)


async def _read_page(
    run: Run, case: str, name: str, image: PageImage, spent: Spent, dice: random.Random
) -> Spent:
    page = run.edge.read(image).page
    pixels = upright(image, page)
    allowed = allowed_lines(len(page.lines), run.policy, spent)
    wanted = candidates(page.lines, run.policy)[:allowed]
    crops = encode_lines(pixels, page.lines, wanted)
    routing = plan(page.lines, _sizes(crops), run.policy, spent)
    drawn = dice.sample(range(len(page.lines)), len(routing.refine))
    chance = encode_lines(pixels, page.lines, drawn)
    by_chance = replace(
        routing, refine=tuple(drawn), reasons=dict.fromkeys(range(len(page.lines)), "random")
    )
    weight = len(cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, 85])[1])
    pages = {"edge": page, "cloud": run.cloud.read(image).page}
    for router, chosen, cut in (("tiered", routing, crops), ("random", by_chance, chance)):
        pages[router] = await _refined(run, case, router, page, chosen, cut, weight)
    for router, read in pages.items():
        _store(run.work / router / case / f"{name}.json", name, read, run.edge)
    return routing.spent


async def _refined(
    run: Run,
    case: str,
    router: str,
    page: Page,
    routing: RoutingPlan,
    crops: dict[int, Crop],
    weight: int,
) -> Page:
    refined = await refine_page(run.refiner, page, routing, crops, f"{case}/{weight}")
    if refined.failure is not None:
        raise RuntimeError(f"the cloud failed: {refined.failure}")
    cost = run.costs.setdefault((router, case), Cost())
    cost.lines += len(page.lines)
    cost.sent_lines += refined.sent_lines
    cost.sent_bytes += refined.sent_bytes
    cost.page_bytes += weight
    cost.changed += refined.changed
    return refined.page


def measures_of(run: Run, sets: Sequence[Path]) -> list[Measure]:
    """Scores and costs of every router on every set, and over all sets together as case "all"."""
    measures = []
    for router in ROUTERS:
        total: dict[str, float] = {}
        for set_dir in sets:
            scores = score_set(set_dir, run.work / router / set_dir.name)
            cost = run.costs.get((router, set_dir.name), Cost())
            values = {key: float(scores[key]) for key in ("labels", "exact", "edits", "chars")}
            values |= {
                "lines": float(cost.lines),
                "sent_lines": float(cost.sent_lines),
                "sent_bytes": float(cost.sent_bytes),
                "page_bytes": float(cost.page_bytes),
                "changed_lines": float(cost.changed),
            }
            total = {key: total.get(key, 0.0) + value for key, value in values.items()}
            measures.append(Measure(variant=router, case=set_dir.name, values=values))
        measures.append(Measure(variant=router, case="all", values=total))
    return measures


def judge(measures: Sequence[Measure]) -> list[Verdict]:
    """The bars: won back at least 55 % (random at most 35 %), at most 25 % of lines, 20 % of
    bytes.
    """
    table = {(m["variant"], m["case"]): m["values"] for m in measures}
    verdicts = [
        _verdict("tiered", "all", "share won back", won_back(table, "tiered"), 0.55, least=True),
        _verdict("random", "all", "share won back", won_back(table, "random"), 0.35),
    ]
    for (router, case), values in table.items():
        if router == "tiered" and (values["labels"] > LARGE or case == "all"):
            lines = values["sent_lines"] / values["lines"]
            weight = values["sent_bytes"] / values["page_bytes"]
            if case != "all":
                verdicts.append(_verdict(router, case, "share of lines sent", lines, 0.25))
            verdicts.append(_verdict(router, case, "share of page bytes sent", weight, 0.20))
    return verdicts


def won_back(table: dict[tuple[str, str], dict[str, float]], router: str) -> float:
    """The router's part of the exact matches that the cloud has over the edge, over all sets."""
    edge, cloud = table["edge", "all"]["exact"], table["cloud", "all"]["exact"]
    return (table[router, "all"]["exact"] - edge) / (cloud - edge)


def _verdict(
    variant: str, case: str, bar: str, value: float, limit: float, *, least: bool = False
) -> Verdict:
    return Verdict(
        variant=variant,
        peer="",
        case=case,
        bar=f"{bar} {'at least' if least else 'at most'}",
        value=value,
        limit=limit,
        passed=value >= limit if least else value <= limit,
    )


def _sizes(crops: dict[int, Crop]) -> dict[int, int]:
    return {i: len(crop.image) for i, crop in crops.items()}


def _store(path: Path, name: str, page: Page, reader: Reader) -> None:
    document: Document = document_of(
        name=name, sha256="0" * 64, engine=reader.info, pages=[page], seconds={}
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(to_json(document), encoding="utf-8")


async def _run(options: argparse.Namespace, sets: Sequence[Path]) -> Run:
    async with (
        local_cloud("cloud-small") as url,
        Refiner(CloudAddress(url=url, device="benchmark", deadline=120.0)) as refiner,
    ):
        run = Run(
            work=options.work,
            refiner=refiner,
            edge=open_reader("edge-tiny"),
            cloud=open_reader("cloud-small"),
            policy=RoutingPolicy(),
        )
        for set_dir in sets:
            await read_set(run, set_dir)
            print(f"{set_dir.name} read", file=sys.stderr)
        return run


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    parser = parser_for("tiering", __doc__)
    parser.add_argument("--sets", default=SETS)
    options = parser.parse_args(argv)
    sets = set_folders(options.data, options.sets.split(","))
    start = begin(OUR_PACKAGES)
    run = asyncio.run(_run(options, sets))
    measures = measures_of(run, sets)
    verdicts = judge(measures)
    policy = {name: getattr(run.policy, name) for name in run.policy.__slots__}
    variants = [
        variant_record(
            router, start, versions={}, parameters=policy if router == "tiered" else {"seed": 7}
        )
        for router in ROUTERS
    ]
    result = build_result(
        "tiering", WHAT, start=start, variants=variants, measures=measures, verdicts=verdicts
    )
    return conclude(result, options.out)


if __name__ == "__main__":
    sys.exit(main())
