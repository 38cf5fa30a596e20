"""The shipped pack, loaded once per run."""

from __future__ import annotations

import pytest

from tierocr.shared.ocr.open import open_reader
from tierocr.shared.ocr.reader import Reader


@pytest.fixture(scope="session")
def edge_reader() -> Reader:
    """The edge pack on OpenVINO, f32."""
    return open_reader("edge-tiny", runtime="openvino")


@pytest.fixture(scope="session")
def onnx_reader() -> Reader:
    """The edge pack on ONNX Runtime, f32."""
    return open_reader("edge-tiny", runtime="onnxruntime")
