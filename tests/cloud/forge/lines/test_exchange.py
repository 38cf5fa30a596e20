from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierocr.cloud.forge.lines.exchange import load_pictures, save_pictures
from tierocr.shared.errors import TierocrError

sizes = st.tuples(st.integers(1, 9), st.integers(1, 9))
texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]))


@given(st.lists(st.tuples(sizes, texts), max_size=5), st.integers(0, 2**16))
def test_pictures_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, cases: list[tuple[tuple[int, int], str]], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    kept = [(rng.integers(0, 256, (*size, 3)).astype(np.uint8), text) for size, text in cases]
    path = tmp_path_factory.mktemp("pictures") / "kept.npz"
    assert save_pictures(path, kept) == len(kept)
    back = load_pictures(path)
    assert [text for _, text in back] == [text for _, text in kept]
    assert all(np.array_equal(a, b) for (a, _), (b, _) in zip(back, kept, strict=True))


def test_a_missing_file_and_a_file_of_something_else_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(TierocrError) as caught:
        load_pictures(tmp_path / "none.npz")
    assert caught.value.code == "not_found"
    save_pictures(tmp_path / "whole.npz", [(np.zeros((40, 40, 3), np.uint8), "a")])
    whole = (tmp_path / "whole.npz").read_bytes()
    array = io.BytesIO()
    np.save(array, np.zeros(3))
    for content in (b"", b"not an archive", b"PK\x03\x04 cut short", array.getvalue(), whole[:-9]):
        (tmp_path / "other.npz").write_bytes(content)
        with pytest.raises(TierocrError, match=r"other\.npz") as caught:
            load_pictures(tmp_path / "other.npz")
        assert caught.value.code == "bad_request"
