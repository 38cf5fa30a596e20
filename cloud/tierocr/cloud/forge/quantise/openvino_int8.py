"""INT8 for OpenVINO: NNCF inserts the rounding steps, where they pay; our own rounding of weights.

What stays in floating point, and why:

- depthwise convolutions, additions, multiplications and poolings: they move memory rather than
  compute, and a rounding step between them cannot be fused into anything;
- convolutions behind a global mean (squeeze and excitation): one pixel each, nothing to gain;
- everything behind the vocabulary head: rounding a softmax flattens it.

`overflow_fix` halves the weights' range: on CPUs without VNNI the sum of two products would
overflow its 16 bits, and the network would read nonsense there. So it does in files for TensorRT:
they are gated on CPUs, and may be run there by other runtimes.
"""

from __future__ import annotations

import contextlib
import io
import logging
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import nncf
import onnx
import openvino as ov
from nncf.quantization.advanced_parameters import AdvancedQuantizationParameters, OverflowFix
from nncf.quantization.range_estimator import (
    AggregatorType,
    RangeEstimatorParameters,
    StatisticsCollectorParameters,
    StatisticsType,
)

from tierocr.cloud.forge.quantise.clipping import clip_ranges
from tierocr.cloud.forge.quantise.equalising import equalise
from tierocr.cloud.forge.quantise.folding import fold
from tierocr.cloud.forge.quantise.probing import (
    find,
    pads,
    rounding_before,
    sees_one_pixel,
    weighted_layers,
)
from tierocr.cloud.forge.quantise.rounding import refine
from tierocr.shared.document import Floats

FLOAT_TYPES = ("GroupConvolution", "Multiply", "Add", "ReduceMean", "AvgPool")

_PAYS = ("Convolution", "MatMul")
_WHOLE_RANGE = RangeEstimatorParameters(
    min=StatisticsCollectorParameters(
        statistics_type=StatisticsType.MIN, aggregator_type=AggregatorType.MIN
    ),
    max=StatisticsCollectorParameters(
        statistics_type=StatisticsType.MAX, aggregator_type=AggregatorType.MAX
    ),
)
_PEEKED = 60  # tensors that show the channels' ranges
_NEEDLESS = re.compile(r'(?<=>)\s+(?=<)|\s+(?=/>)|\s+auto_broadcast="numpy"')
"""Of a network's XML, a quarter: what stands between tags, and the value that goes without saying.
"""

_NAME = "network.onnx"  # the same name for every network: it is recorded in the artefact


def to_openvino(model: Path) -> ov.Model:
    """An FP32 ONNX file as an OpenVINO network, its batch normalisations folded."""
    network = onnx.load(model)
    fold(network)
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / _NAME
        onnx.save(network, file)
        return ov.convert_model(file)


def quantise(
    network: ov.Model,
    tensors: Sequence[Floats],
    keep: Sequence[str] = (),
    tick: Callable[[str], None] = lambda _: None,
    *,
    signed: bool = False,
) -> ov.Model:
    """The network in INT8, calibrated on `tensors`; the layers named in `keep` stay as they are.

    `tick` is told each layer whose weights are being rounded. `signed`: what signed levels
    without zero points can be made of, as TensorRT wants them: a layer that pads its input has a
    range about zero.
    """
    nncf.set_log_level(logging.ERROR)
    layers = [name for name in quantised_layers(network) if name not in keep]
    exact = network.clone()
    inner = [name for name in layers if not _sees_pixels(find(exact, name))]
    equalise(exact, inner, tensors[:_PEEKED])
    unquantised = [name for name in weighted_layers(exact) if name not in layers]
    with contextlib.redirect_stdout(io.StringIO()):  # its progress bar, also into a pipe
        result = nncf.quantize(
            exact.clone(),
            nncf.Dataset(tensors),
            preset=nncf.QuantizationPreset.MIXED,
            subset_size=len(tensors),
            ignored_scope=nncf.IgnoredScope(
                types=list(FLOAT_TYPES), names=unquantised, validate=False
            ),
            advanced_parameters=AdvancedQuantizationParameters(
                overflow_fix=OverflowFix.ENABLE,
                disable_bias_correction=True,  # `refine` does it
                activations_range_estimator_params=_WHOLE_RANGE,
            ),
        )
    about_zero = [n for n in layers if signed and pads(result, n)]
    steps = [rounding_before(find(result, name)).get_friendly_name() for name in about_zero]
    clip_ranges(result, tensors[:_PEEKED], symmetric=steps)
    refine(result, exact, layers, tensors, tick)
    return result


def save(network: ov.Model, file: Path) -> tuple[Path, Path]:
    """Write `file` (.xml) and the .bin beside it: the same bytes for the same network. What the
    file says twice is left out, as are the names of inner tensors and what NNCF notes of itself.
    """
    network.set_friendly_name(file.stem)
    _share_constants(network)
    if "nncf" in network.rt_info:
        del network.rt_info["nncf"]
    ends = {port.get_node() for port in (*network.inputs, *network.outputs)}
    ends |= {port.get_node().input_value(0).get_node() for port in network.outputs}
    for place, op in enumerate(network.get_ordered_ops()):
        kind = op.get_type_name()
        counted = op.get_friendly_name().rpartition("_")[2].isdigit()  # over the whole process
        if kind == "Constant":
            op.set_friendly_name(f"c{place}")
        elif counted and op.get_friendly_name().startswith(f"{kind}_"):
            op.set_friendly_name(f"{kind}_at_{place}")
        for port in op.outputs() if op not in ends else ():
            port.get_tensor().set_names(set())
    ov.save_model(network, file, compress_to_fp16=False)
    text = file.read_text(encoding="utf-8")
    file.write_text(_NEEDLESS.sub("", text), encoding="utf-8", newline="\n")
    return file, file.with_suffix(".bin")


def _share_constants(network: ov.Model) -> None:
    """Let those that need the same numbers take them from one constant."""
    known: dict[tuple[str, str, bytes], ov.Output] = {}
    for op in network.get_ordered_ops():
        if op.get_type_name() == "Constant":
            values = op.get_data()
            same = (str(op.get_element_type()), str(values.shape), values.tobytes())
            first = known.setdefault(same, op.output(0))
            if first.get_node() != op:
                op.output(0).replace(first)


def quantised_layers(network: ov.Model) -> list[str]:
    """The layers that pay, in order."""
    names = []
    for name in weighted_layers(network):
        layer = find(network, name)
        one_pixel = layer.get_type_name() == "Convolution" and sees_one_pixel(layer)
        if layer.get_type_name() in _PAYS and not one_pixel:
            names.append(name)
    return names


def _sees_pixels(layer: ov.Node) -> bool:
    """Its input is the network's, whose levels are those of the pixels already."""
    kind: str = layer.input_value(0).get_node().get_type_name()
    return kind == "Parameter"
