"""Pages that are sent as a whole: when, what comes back, and what of it is believed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.any_document import documents
from tests.fakes.documents import ENGINE
from tests.fakes.lines import read_line
from tests.fakes.rows import page as rows_page
from tests.fakes.rows import rows_reader
from tierocr.edge.answered_pages import check_page
from tierocr.edge.outbox.crops_file import pack_sent, unpack_sent
from tierocr.edge.planning import Planner
from tierocr.edge.privacy.painting import guarded_lines, guarded_pages
from tierocr.edge.privacy.settings import PrivacySettings
from tierocr.edge.routing import (
    STAYS,
    WHOLE,
    RoutingPolicy,
    Spent,
    plan_whole,
    wants_whole,
)
from tierocr.edge.sending import WholePage, changed_lines, routed_whole, sent_bytes, sent_lines
from tierocr.edge.whole_pages import merge_whole
from tierocr.shared.document import CLOUD, EDGE, Document, Line, Page, PageImage, Quad
from tierocr.shared.errors import TierocrError
from tierocr.shared.export.json import to_tree
from tierocr.shared.export.parse import from_json
from tierocr.shared.geometry import rectangle, scale_quad, turned_page

POLICY = RoutingPolicy(threshold=0.8)


def line(text: str, row: int, score: float = 0.5, x: int = 10) -> Line:
    """A line in a row of a page of 800 x 1000."""
    top = 100 * row
    return read_line(text, score, quad=rectangle(x, top + 10, x + 300, top + 50))


def sent_page(*lines: Line, stay: frozenset[int] = frozenset()) -> tuple[Page, WholePage]:
    """A page and its picture of half the size."""
    plan = plan_whole(lines, 100, POLICY, Spent(), stay)
    assert plan is not None
    page = routed_whole(Page(index=0, width=800, height=1000, lines=lines), plan, 100)
    sure = frozenset(i for i, li in enumerate(lines) if li.score_raw >= POLICY.threshold)
    picture = bytes(100)
    return page, WholePage(
        image=picture, format="webp", width=400, height=500, stay=stay, sure=sure
    )


def answer(*lines: Line) -> Page:
    """What a cloud says that read the picture; places as on the page."""
    halved = [
        replace(li, region=replace(li.region, quad=half(li)), words=(), source=CLOUD)
        for li in lines
    ]
    return Page(index=0, width=400, height=500, lines=tuple(halved))


def half(li: Line) -> Quad:
    return scale_quad(li.region.quad, 0.5, 0.5)


def texts(page: Page) -> list[str]:
    return [li.text for li in page.lines]


# -- when --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "wanted"),
    [((), True), ((0.5,), True), ((0.9,), False), ((0.5, 0.9), True), ((0.5, 0.9, 0.9), False)],
)
def test_a_page_without_lines_or_half_of_them_unsure(
    scores: tuple[float, ...], wanted: bool
) -> None:
    assert wants_whole([read_line(score=s) for s in scores], POLICY) == wanted


def test_a_page_counts_with_all_its_lines_and_bytes() -> None:
    lines = [read_line() for _ in range(10)]
    plan = plan_whole(lines, 500, POLICY, Spent(), frozenset([3]))
    assert plan is not None and plan.refine == ()
    assert plan.spent == Spent(pages=1, lines=10, sent_lines=9, sent_bytes=500)
    assert plan.reasons == {i: STAYS if i == 3 else WHOLE for i in range(10)}


@pytest.mark.parametrize(
    ("policy", "size"),
    [
        (replace(POLICY, max_share=0.0), 1),
        (replace(POLICY, bytes_per_page=0), 1),
        (replace(POLICY, bytes_per_page=1000, burst_bytes=0), 1001),
        (replace(POLICY, burst_lines=0, lines_per_page=9), 1),
    ],
)
def test_what_the_budgets_do_not_allow_is_not_sent(policy: RoutingPolicy, size: int) -> None:
    lines = [read_line() for _ in range(10)]
    assert plan_whole(lines, size, policy, Spent(), frozenset()) is None


@pytest.mark.parametrize(("box", "leaves"), [((0, 0, 1, 0.5), False), ((0, 0.95, 1, 1), True)])
def test_a_page_whose_doubtful_lines_are_hidden_does_not_leave(
    box: tuple[float, float, float, float], leaves: bool
) -> None:
    """The upper line is unsure, the lower one is not."""
    image = PageImage(pixels=rows_page("hello", "sun"))
    rules = PrivacySettings.model_validate({"allow": "pages", "zones": [{"box": box}]}).rules_of
    policy = RoutingPolicy(threshold=0.97, max_share=1.0)
    planner = Planner(policy, guarded_lines(rules), guarded_pages(rules))
    planned = planner.plan(image, rows_reader().read(image).page)
    assert isinstance(planned.sent, WholePage) == leaves
    assert bool(planned.sent) == leaves


# -- the page that results ---------------------------------------------------------------------


def test_the_answers_lines_are_the_pages_lines() -> None:
    page, sent = sent_page(line("helo", 0), line("wrld", 1), line("same", 2))
    found = answer(line("hello", 0, 0.9), line("new", 5, 0.9), line("same", 2, 0.9))
    merged = merge_whole(page, sent, found)
    assert texts(merged) == ["hello", "new", "same"], "the order is the cloud's"
    first, new, _ = merged.lines
    assert first.region.quad == page.lines[0].region.quad
    assert [a.text for a in first.alternatives] == ["helo"] and new.alternatives == ()
    assert all(li.source == CLOUD and li.route and li.route.reason == WHOLE for li in merged.lines)
    assert changed_lines(merged) == 2
    assert (sent_lines(page, sent), sent_bytes(sent)) == (3, 100)


def test_a_page_without_lines_gets_them() -> None:
    page, sent = sent_page()
    assert texts(merge_whole(page, sent, answer(line("found", 3)))) == ["found"]
    assert merge_whole(page, sent, answer()).lines == ()


def test_sure_and_hidden_lines_stay_where_the_cloud_saw_nothing() -> None:
    lines = (line("doubt", 0), line("sure", 1, 0.95), line("secret", 2), line("more", 3))
    page, sent = sent_page(*lines, stay=frozenset([2]))
    found = answer(line("more text", 3, 0.9), line("guess", 2, 0.9), line("double", 4, 0.9))
    merged = merge_whole(page, sent, found)
    assert texts(merged) == ["sure", "secret", "more text", "double"]
    assert [li.source for li in merged.lines] == [EDGE, EDGE, CLOUD, CLOUD]


def test_much_less_text_than_the_edge_had_is_not_taken() -> None:
    page, sent = sent_page(*(line("a long line of text", row) for row in range(4)))
    for found, why in ((answer(), "empty"), (answer(line("bit", 1)), "length")):
        merged = merge_whole(page, sent, found)
        assert texts(merged) == texts(page)
        assert {li.route.reason for li in merged.lines if li.route} == {f"{WHOLE}, refused: {why}"}


def test_lines_that_are_no_text_are_left_out() -> None:
    page, sent = sent_page(line("hello", 0))
    found = answer(line("hello!", 0), line("ababababababab", 1), line("\ud800", 2), line(" ", 3))
    assert texts(merge_whole(page, sent, found)) == ["hello!"]


def test_a_page_that_the_cloud_turned_is_turned_back() -> None:
    page, sent = sent_page()
    upside = replace(
        answer(replace(line("found", 0), words=())), transform=turned_page(400, 500, 2)
    )
    (merged,) = merge_whole(page, sent, upside).lines
    assert merged.region.quad == ((790, 990), (490, 990), (490, 950), (790, 950))
    assert abs(merged.angle) == 180


# -- what a cloud may say ----------------------------------------------------------------------


@given(documents)
def test_every_page_that_was_read_is_believed(document: Document) -> None:
    for page in document.pages:
        check_page(replace(page, transform=((1, 0, 0), (0, 1, 0), (0, 0, 1))), 10_000)


def leaves(tree: object) -> list[tuple[object, object]]:
    """Every place in a tree, as a container and its key."""
    places: list[tuple[object, object]] = []
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)  # type: ignore[arg-type]
    for key, value in items:
        places.append((tree, key))
        if isinstance(value, (dict, list)):
            places += leaves(value)
    return places


odd = st.sampled_from([None, True, -1, 1e300, float("nan"), "x", "\ud800", [], {}, [[1]], {"a": 1}])


@given(st.data())
def test_nonsense_in_any_place_is_an_error_or_a_page(data: st.DataObject) -> None:
    page, sent = sent_page(line("hello", 0))
    found = Document(
        id="x",
        name="x",
        sha256="",
        status="final",
        engine=ENGINE,
        pages=(answer(line("hello", 0), line("world", 1)),),
    )
    tree = json.loads(json.dumps(to_tree(found)))
    place, key = data.draw(st.sampled_from(leaves(tree)))
    place[key] = data.draw(odd)  # type: ignore[index]
    try:
        document = from_json(json.dumps(tree))
        for read in document.pages:
            check_page(read, 4096)
    except TierocrError as error:
        assert error.code == "bad_request"
        return
    for read in document.pages:
        assert texts(merge_whole(page, sent, read))


# -- on the disk -------------------------------------------------------------------------------


def test_it_is_kept_as_it_is() -> None:
    _, sent = sent_page(line("a", 0), line("b", 1, 0.9), stay=frozenset([0]))
    kept = unpack_sent(pack_sent(sent))
    assert isinstance(kept, WholePage)
    for name in ("image", "format", "width", "height", "stay", "sure"):
        assert getattr(kept, name) == getattr(sent, name)
