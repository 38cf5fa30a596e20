"""From an FP32 pack to quantised artefacts: INT8 IR for OpenVINO, INT8 ONNX for TensorRT.

`build` joins the steps; each of the other modules does one. They need the extra `quantise` (NNCF,
ONNX and ONNX Runtime; no torch) and work offline.
"""
