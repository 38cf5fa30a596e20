"""A page that the edge sends as a whole, to a real service over fake networks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.cloud.conftest import Serve
from tests.fakes.rows import page, rows_reader
from tierocr.edge.leaving import plain_lines
from tierocr.edge.planning import PlannedPage, Planner
from tierocr.edge.privacy.painting import guarded_pages
from tierocr.edge.privacy.settings import PrivacySettings
from tierocr.edge.refining import CloudAddress, Refiner
from tierocr.edge.rereading import read_again
from tierocr.edge.routing import RoutingPolicy
from tierocr.edge.sending import WholePage
from tierocr.shared.document import CLOUD, Page, PageImage

POLICY = RoutingPolicy(threshold=0.97, max_share=1.0, bytes_per_page=10**7)


async def test_what_the_service_reads_becomes_the_page(serve: Serve) -> None:
    image = PageImage(pixels=page("hello", "world", "today"))
    read = rows_reader().read(image).page
    misread = replace(read, lines=tuple(replace(n, text="x" + n.text[1:]) for n in read.lines[:2]))
    planned = whole(image, misread)
    client = await serve(rows_reader)
    address = CloudAddress(url=str(client.make_url("/")), deadline=30)
    async with Refiner(address) as refiner:
        for _ in range(2):  # the second time it is answered without work
            answer = await read_again(refiner, planned.page, planned.sent, "doc/0")
            assert [line.text for line in answer.page.lines] == ["hello", "world", "today"]
    first, second, new = answer.page.lines
    assert [a.text for a in first.alternatives] == ["xello"] and new.alternatives == ()
    assert {line.source for line in answer.page.lines} == {CLOUD}
    for line, alone in zip(answer.page.lines, read.lines, strict=True):
        assert np.allclose(line.region.quad, alone.region.quad, atol=3)
        assert "".join(word.text for word in line.words) == line.text


async def test_an_empty_page_is_read_as_one(serve: Serve) -> None:
    image = PageImage(pixels=np.full((200, 300, 3), 255, dtype=np.uint8))
    planned = whole(image, Page(index=0, width=300, height=200))
    client = await serve(rows_reader)
    async with Refiner(CloudAddress(url=str(client.make_url("/")), deadline=30)) as refiner:
        answer = await read_again(refiner, planned.page, planned.sent, "doc/0")
    assert answer.page == planned.page


def whole(image: PageImage, read: Page) -> PlannedPage:
    # with a corner painted over nothing is lost in the encoding, which painted letters need
    corner = [{"box": [0, 0, 0.01, 0.01]}]
    rules = PrivacySettings.model_validate({"allow": "pages", "zones": corner}).rules_of
    planned = Planner(POLICY, plain_lines, guarded_pages(rules)).plan(image, read)
    assert isinstance(planned.sent, WholePage)
    return planned
