from __future__ import annotations

from benchmarks.harness import Start, build_result, timing, variant_record
from benchmarks.machine import fingerprint
from benchmarks.schema import Measure, Ratio, Result
from benchmarks.tables import networks_tables, quantised_tables, serving_tables, speed_tables


def result_of(*measures: Measure, ratios: list[Ratio] | None = None) -> Result:
    start = Start(date="2026-01-02T03:04:05Z", revision="abcdef0123" * 4, machine=fingerprint())
    parameters = {"pack": "edge-tiny", "clients": 32}
    variant = variant_record("a", start, versions={}, parameters=parameters)
    return build_result(
        "any", "what", start=start, variants=[variant], measures=list(measures), ratios=ratios or []
    )


def values(variant: str, case: str, **given: float) -> Measure:
    return Measure(variant=variant, case=case, values=given)


def test_speed_is_told_by_the_page_and_against_each_peer() -> None:
    many = values("ours", "many:set", seconds_median=1.2, pages=12.0)
    peer = values("peer", "many:set", seconds_median=2.4, pages=12.0)
    against = Ratio(
        of="peer",
        to="ours",
        case="many:set",
        quantity="seconds",
        median=2.0,
        low=1.9,
        high=2.12,
        coverage=0.95,
        pairs=3,
    )
    (table,) = speed_tables(result_of(many, peer, timing("ours", "start", [1.5]), ratios=[against]))
    assert table.header == ("", "ours", "peer", "peer over ours")
    assert table.rows == (
        ("many:set", "100", "200", "2.0 (1.9-2.1)"),
        ("start", "1500", "-", "-"),
    )


def test_networks_are_told_without_their_layers() -> None:
    layers = values("int8", "VNNI: layers", Convolution=1.0)
    measures = [timing("f32", "VNNI", [0.02]), timing("int8", "VNNI", [0.0094]), layers]
    (table,) = networks_tables(result_of(*measures))
    assert table.header == ("", "f32", "int8") and table.rows == (("VNNI", "20.0", "9.4"),)


def test_exact_matches_stand_side_by_side() -> None:
    measures = [values(v, "set", labels=100.0, exact=e) for v, e in (("f32", 80.0), ("int8", 79.0))]
    (table,) = quantised_tables(result_of(*measures))
    assert table.rows == (("set (100)", "80", "79"),)


def test_services_are_told_by_their_lines_and_latency() -> None:
    one = values("a", "lines", lines_per_second_median=110.4, seconds_p99_median=0.3304)
    (table,) = serving_tables(result_of(one))
    assert table.title == "edge-tiny, 32 clients" and table.rows == (("a", "110", "330"),)
