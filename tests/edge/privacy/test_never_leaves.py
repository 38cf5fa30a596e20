"""The never-leave test: what goes over the wire of generated documents, decoded and looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.fakes.cloud import fake_cloud, right
from tests.fakes.secrets import SecretPage, secret_page
from tierocr.edge.crops import FILL, encode_line
from tierocr.edge.planning import PlannedPage, Planner
from tierocr.edge.privacy.painting import guarded_lines, guarded_pages
from tierocr.edge.refining import CloudAddress, Refiner
from tierocr.edge.routing import STAYS, RoutingPolicy
from tierocr.edge.sending import Sending
from tierocr.shared.document import Pixels, Point, Quad
from tierocr.shared.geometry import perspective, rectangle
from tierocr.shared.protocol import PageRef, RegionImage

ALL = RoutingPolicy(threshold=1.0, max_share=1.0, bytes_per_page=10**9)
Mask = NDArray[np.bool_]


@pytest.mark.parametrize(
    "seeds", [range(50), pytest.param(range(500), marks=pytest.mark.soak)], ids=["50", "500"]
)
def test_nothing_forbidden_leaves(seeds: Iterable[int]) -> None:
    documents = {f"page-{seed}": secret_page(seed) for seed in seeds}
    plans = {name: planned(found) for name, found in documents.items()}
    sent = painted = pages = 0
    for message_page, regions in over_the_wire(plans):
        found = documents[message_page.id]
        assert (message_page.width, message_page.height) == (800, 700)
        quads = {s.region.id: s.quad for s in lines_of(plans[message_page.id])}
        for region in regions:
            image = decoded(region.image)
            painted += check(image, quads[region.id], found.secret)
            assert not tells(region.text, found.told), region.text
            sent += 1
    some = list(documents.values())[::5]
    for found in some:
        leave = guarded_pages(found.settings.rules_of)
        crop = leave(found.image.pixels, found.page.lines, "x")
        assert crop is not None
        pages += check(decoded(crop.image), whole(found), found.secret) > 0
        told_of = {n for n in range(len(found.page.lines)) if n not in crop.stay}
        assert not any(tells(found.page.lines[n].text, found.told) for n in told_of)
    assert sent > len(documents) and painted > len(documents) // 4 and pages == len(some)


def test_the_check_itself_sees_what_leaks() -> None:
    found = secret_page(1)
    line = next(n for n in found.page.lines if n.region.quad in found.secret)
    crop = encode_line(found.image.pixels, line)
    with pytest.raises(AssertionError):
        check(decoded(crop.image), crop.quad, found.secret)
    assert tells(line.text, found.told)


def test_lines_that_stay_say_so() -> None:
    plans = [planned(secret_page(seed)) for seed in range(5)]
    reasons = {line.route.reason for p in plans for line in p.page.lines if line.route}
    assert reasons == {"unsure", STAYS}


def planned(found: SecretPage) -> PlannedPage:
    planner = Planner(ALL, guarded_lines(found.settings.rules_of))
    return planner.plan(found.image, found.page, "x")


def over_the_wire(
    plans: dict[str, PlannedPage],
) -> list[tuple[PageRef, tuple[RegionImage, ...]]]:
    """What a cloud gets of these."""

    async def send(url: str) -> None:
        async with Refiner(CloudAddress(url=url, deadline=60)) as refiner:
            for name, plan in plans.items():
                if plan.sent:
                    ref = PageRef(id=name, width=plan.page.width, height=plan.page.height)
                    await refiner.refine(ref, tuple(s.region for s in lines_of(plan)))

    with fake_cloud(right) as cloud:
        asyncio.run(send(cloud.url))
        return [(call.message.page, call.message.regions) for call in cloud.calls]


def lines_of(plan: PlannedPage) -> tuple[Sending, ...]:
    assert isinstance(plan.sent, tuple)
    return plan.sent


def decoded(image: bytes) -> Pixels:
    found = cv2.imdecode(np.frombuffer(image, np.uint8), cv2.IMREAD_COLOR)
    assert found is not None
    return found.astype(np.uint8)


def check(image: Pixels, quad: Quad, secret: Sequence[tuple[Point, ...]]) -> int:
    """How many pixels of a picture lie in forbidden places; every one of them must be painted."""
    height, width = image.shape[:2]
    matrix = np.asarray(perspective(rectangle(0, 0, width, height), quad))
    x, y = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    places = np.stack([x, y, np.ones_like(x)], axis=2) @ matrix.T
    places = places[..., :2] / places[..., 2:]
    inside = np.zeros((height, width), dtype=bool)
    for polygon in secret:
        inside |= in_convex(places, polygon)
    assert (image[inside] == FILL).all()
    return int(inside.sum())


def in_convex(places: NDArray[np.float64], polygon: Sequence[Point]) -> Mask:
    """Which points lie inside a convex polygon that is given clockwise, as seen on the page."""
    corners = np.asarray(polygon)
    inside = np.ones(places.shape[:2], dtype=bool)
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        side = (b[0] - a[0]) * (places[..., 1] - a[1]) - (b[1] - a[1]) * (places[..., 0] - a[0])
        inside &= side > 0
    return inside


def whole(found: SecretPage) -> Quad:
    return rectangle(0, 0, found.image.width, found.image.height)


def tells(text: str, secrets: Sequence[str]) -> bool:
    """Whether a text holds three characters in a row of something secret."""
    text = text.replace(" ", "")
    whole = [secret.replace(" ", "") for secret in secrets]
    return any(secret[i : i + 3] in text for secret in whole for i in range(len(secret) - 2))
