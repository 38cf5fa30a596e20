"""Model packs made on the spot, whose networks are none."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

FILES = {"detector.onnx": b"a detector", "recogniser.onnx": b"a network", "charset.txt": b"a\nb\n"}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def manifest(name: str) -> dict[str, Any]:
    """A valid manifest for `FILES`."""
    artefacts = [
        {"network": n, "runtime": "openvino", "precisions": ["f32", "bf16"], "file": f"{n}.onnx"}
        for n in ("detector", "recogniser")
    ]
    return {
        "schema": "tierocr.pack/1",
        "name": name,
        "version": 1,
        "licence": "Apache-2.0",
        "origin": {"package": "nowhere", "version": "1.0.0", "files": {}, "how": "by hand"},
        "files": {file: {"sha256": sha256(content)} for file, content in FILES.items()},
        "detector": {
            "mean": [0.5, 0.5, 0.5],
            "std": [0.5, 0.5, 0.5],
            "stride": 32,
            "side": 640,
            "bucket": 64,
            "threshold": 0.3,
            "box_threshold": 0.5,
            "unclip_ratio": 1.5,
        },
        "recogniser": {
            "charset": "charset.txt",
            "decoder": "ctc",
            "mean": 0.5,
            "std": 0.5,
            "height": 48,
            "stride": 8,
            "bucket": 64,
            "min_width": 64,
            "max_width": 2048,
            "end_padding": 4,
        },
        "artefacts": artefacts,
    }


def write_pack(
    folder: Path, *, change: Callable[[dict[str, Any]], object] | None = None, needs: str = ""
) -> Path:
    """Write a pack. `change` works on its manifest; `needs`: a distribution its detector is in."""
    folder.mkdir(parents=True)
    for file, content in FILES.items():
        (folder / file).write_bytes(content)
    values = manifest(folder.name)
    if needs:
        place = {"distribution": needs, "version": "1.2.3", "path": "a/b.onnx"}
        values["files"]["detector.onnx"]["installed"] = place
    if change:
        change(values)
    (folder / "pack.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    return folder
