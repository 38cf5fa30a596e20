from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.peers import run_faster_paddle, run_rapidocr, setup
from benchmarks.peers.command import parse_arguments, run_peer
from benchmarks.peers.environments import PEERS, interpreter, pins, requirements
from benchmarks.peers.predictions import (
    TextLine,
    Word,
    image_paths,
    page_json,
    serve,
    store_predictions,
)
from benchmarks.peers.process import PeerProcess

SQUARE = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]


def fake_environment(folder: Path) -> None:
    tail = ("Scripts", "python.exe") if sys.platform == "win32" else ("bin", "python")
    python = folder.joinpath(*tail)
    python.parent.mkdir(parents=True)
    python.touch()


def test_words_are_matched_to_lines_by_what_they_say() -> None:
    results = [
        [("ab", 0.9, SQUARE), ("cd", 0.9, SQUARE)],
        [("发", 0.9, SQUARE)],
    ]
    found = run_rapidocr.words_of_lines(["ab cd", "dropped", "发"], results)
    assert ["".join(word.text for word in words) for words in found] == ["abcd", "", "发"]


@pytest.mark.parametrize("results", [(("", 1.0, None),), [object()], [[("ab", 1.0, None)]], []])
def test_lines_without_word_boxes_have_no_words(results: Sequence[object]) -> None:
    assert run_rapidocr.words_of_lines(["ab"], results) == [[]]


def test_rapidocr_output_becomes_lines() -> None:
    output = SimpleNamespace(
        boxes=[SQUARE], txts=("ab",), word_results=([("ab", 0.9, SQUARE)],), scores=(0.9,)
    )
    assert run_rapidocr.text_lines(output) == [TextLine("ab", SQUARE, [Word("ab", SQUARE)])]
    assert run_rapidocr.text_lines(SimpleNamespace(boxes=None, txts=None)) == []


def test_faster_paddle_output_becomes_lines_in_its_order() -> None:
    bound = {"topLeftCoord": (0, 0), "bottomRightCoord": (1, 1), "confidence": 0.9}
    output = {"bounds": {10: {**bound, "text": "last"}, 2: {**bound, "text": "first"}}}
    lines = run_faster_paddle.text_lines(output)
    assert lines == [TextLine("first", SQUARE), TextLine("last", SQUARE)]


def test_a_set_is_stored_with_timings_and_without_what_cannot_be_opened(tmp_path: Path) -> None:
    rows = [json.dumps({"image": f"images/{name}"}) for name in ("a.png", "b.pdf")]
    (tmp_path / "labels.jsonl").write_text("\n".join(rows), encoding="utf-8")
    out_dir = tmp_path / "out"
    out_dir.mkdir()
    (out_dir / "stale.png.json").touch()
    seen: list[str] = []

    def read(path: Path) -> str:
        seen.append(path.name)
        if path.suffix == ".pdf":
            raise ValueError("cannot open it")
        return path.name

    store_predictions(
        image_paths(tmp_path),
        out_dir,
        read=read,
        to_json=lambda text: page_json([TextLine(text, SQUARE)]),
        packages=["pytest"],
        parameters={"boxes": "lines"},
    )
    assert seen == ["a.png", "a.png", "b.pdf"]  # the first one twice, to warm up
    assert sorted(path.name for path in out_dir.iterdir()) == ["a.png.json", "timings.json"]
    timings = json.loads((out_dir / "timings.json").read_text(encoding="utf-8"))
    assert (list(timings["seconds"]), timings["absent"]) == (["a.png"], ["b.pdf"])
    document = json.loads((out_dir / "a.png.json").read_text(encoding="utf-8"))
    assert document["pages"][0]["lines"][0]["text"] == "a.png"


def test_a_served_peer_answers_each_path_with_seconds() -> None:
    replies = io.StringIO()
    seen: list[Path] = []
    serve(seen.append, io.StringIO("one.png\ntwo words.png\n"), replies)
    assert [path.name for path in seen] == ["one.png", "two words.png"]
    assert [line.split()[0] for line in replies.getvalue().splitlines()] == ["seconds"] * 2


def test_a_peer_process_is_asked_path_by_path(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "for n, line in enumerate(sys.stdin):\n"
        "    print('noise')\n"
        "    print('seconds', n + 0.5, flush=True)\n"
    )
    with PeerProcess([sys.executable, "-c", script]) as peer:
        assert [peer.seconds(tmp_path / "a.png"), peer.seconds(tmp_path / "b.png")] == [0.5, 1.5]


def test_a_peer_process_that_ends_is_reported(tmp_path: Path) -> None:
    script = "import sys; sys.stdin.readline()"
    with (
        PeerProcess([sys.executable, "-c", script]) as peer,
        pytest.raises(RuntimeError, match="ended"),
    ):
        peer.seconds(tmp_path / "a.png")


def test_the_command_line_takes_a_set_or_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse_arguments("doc", [str(tmp_path)])
    assert parse_arguments("doc", ["--serve"], models=("tiny", "small")).model == "tiny"
    monkeypatch.setattr(sys, "stdin", io.StringIO("a.png\n"))
    capsys.readouterr()
    run_peer(
        parse_arguments("doc", ["--serve"]),
        read=lambda path: path,
        to_lines=lambda _: [],
        packages=(),
        parameters={},
    )
    assert capsys.readouterr().out.startswith("seconds ")


def test_the_pinned_packages_are_those_that_the_peers_report() -> None:
    assert set(pins("rapidocr")) == set(run_rapidocr.PACKAGES)
    assert set(pins("faster-paddle")) == set(run_faster_paddle.PACKAGES)


def test_set_up_makes_an_environment_per_peer(tmp_path: Path) -> None:
    commands: list[list[str]] = []
    setup.set_up(
        tmp_path, PEERS, make=fake_environment, run=lambda command: commands.append([*command])
    )
    assert [command[0] for command in commands] == [
        str(interpreter(tmp_path, peer)) for peer in PEERS
    ]
    assert [command[-1] for command in commands] == [str(requirements(peer)) for peer in PEERS]


def test_an_unknown_peer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        setup.main([str(tmp_path), "no-such-peer"])


def test_one_environment_may_serve_all_peers(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"benchmarks\.peers\.setup"):
        interpreter(tmp_path, "rapidocr")
    fake_environment(tmp_path)
    assert interpreter(tmp_path, "rapidocr") == interpreter(tmp_path, "faster-paddle")
