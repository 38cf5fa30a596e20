# The edge agent as an image for Jetson with JetPack 6. On the device, from the top folder of a
# checkout:
#
#   docker build -f deploy/edge-jetson.Dockerfile -t tierocr-edge:jetson .
#   docker run --runtime nvidia --read-only --tmpfs /tmp … as with edge.Dockerfile
#
# The base brings CUDA and TensorRT of JetPack 6 and its Python 3.10. What reads today is ONNX Runtime
# on the CPU cores.

FROM nvcr.io/nvidia/l4t-jetpack:r36.4.0 AS base
# The base's tag decides the versions.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*

# Wheels of everything, then an environment of nothing but these wheels.
FROM base AS build
WORKDIR /src
RUN python3 -m venv /opt/tierocr
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY shared shared
COPY edge edge
COPY cloud cloud
RUN /opt/tierocr/bin/pip wheel --no-cache-dir --wheel-dir /wheels . \
    && rm -f /wheels/openvino-*.whl
RUN /opt/tierocr/bin/pip install --no-cache-dir --no-index --no-deps /wheels/*.whl

FROM base AS agent
RUN groupadd --gid 10001 tierocr \
    && useradd --uid 10001 --gid 10001 --groups video --no-log-init --no-create-home \
        --home-dir /tmp --shell /usr/sbin/nologin tierocr \
    && install -d -m 0700 -o 10001 -g 10001 /var/lib/tierocr
COPY --from=build /opt/tierocr /opt/tierocr
# As in edge.Dockerfile.
ENV PATH=/opt/tierocr/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    TIEROCR_CACHE="" \
    TIEROCR_READING__RUNTIME=onnxruntime \
    TIEROCR_STATE__FOLDER=/var/lib/tierocr/state \
    TIEROCR_PACKS=/var/lib/tierocr/packs \
    TIEROCR_API__PORT=8502
USER 10001:10001
WORKDIR /var/lib/tierocr
VOLUME /var/lib/tierocr
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=6s --start-period=120s --retries=3 \
    CMD ["python", "-m", "tierocr.edge.probe"]
ENTRYPOINT ["tierocr"]
CMD ["edge", "--config", "/etc/tierocr/edge.yaml"]
