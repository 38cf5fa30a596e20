"""Both ends of a network in numpy, for runtimes that cannot have them inside."""

from __future__ import annotations

import numpy as np

from tierocr.shared.document import Floats, Pixels
from tierocr.shared.engines import NetworkFacts, Output


def normalise(batch: Pixels, network: NetworkFacts) -> Floats:
    """(N, H, W, 3) uint8 -> (N, 3, H, W) float32, (pixel / 255 - mean) / std per channel."""
    count, height, width, channels = batch.shape
    tensor = np.empty((count, channels, height, width), dtype=np.float32)
    for channel, (mean, std) in enumerate(zip(network.mean, network.std, strict=True)):
        np.multiply(batch[..., channel], np.float32(1 / (255 * std)), out=tensor[:, channel])
        tensor[:, channel] -= np.float32(mean / std)
    return tensor


def best_of(values: Floats, count: int) -> Output:
    """(…, C) -> the `count` largest of the last axis and their classes; of equal ones the first."""
    classes = np.empty((*values.shape[:-1], count), dtype=np.int32)
    largest = np.empty(classes.shape, dtype=np.float32)
    rest = values.copy() if count > 1 else values
    for k in range(count):
        classes[..., k] = rest.argmax(axis=-1)
        where = classes[..., k : k + 1]
        largest[..., k : k + 1] = np.take_along_axis(rest, where, axis=-1)
        if k + 1 < count:
            np.put_along_axis(rest, where, np.float32(-np.inf), axis=-1)
    return Output(values=largest, classes=classes)
