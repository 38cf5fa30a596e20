# The cloud service as an image. From the top folder of a checkout:
#
#   docker build -f deploy/cloud.Dockerfile -t tierocr-cloud .
#   docker build -f deploy/cloud.Dockerfile -t tierocr-cloud:cuda --build-arg VARIANT=cuda .
#
# It runs as user 10001, on a read-only root filesystem with a tmpfs at /tmp; compose.yaml shows how.

ARG VARIANT=cpu

FROM python:3.11.13-slim-bookworm AS cpu

FROM nvidia/cuda:12.6.3-cudnn-runtime-ubuntu22.04 AS cuda
# The base's tag decides the versions.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
ENV TIEROCR_MODEL__RUNTIME=onnxruntime \
    TIEROCR_MODEL__DEVICE=CUDA

# Wheels of everything, then an environment of nothing but these wheels.
FROM ${VARIANT} AS build
ARG VARIANT
WORKDIR /src
RUN python3 -m venv /opt/tierocr
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY shared shared
COPY edge edge
COPY cloud cloud
RUN /opt/tierocr/bin/pip wheel --no-cache-dir --wheel-dir /wheels '.[cloud,nvml]'
# The wheel for CUDA 12 takes the place of the one for the CPU: both hold the same package.
RUN if [ "$VARIANT" = cuda ]; then \
        rm /wheels/onnxruntime-[0-9]*.whl \
        && /opt/tierocr/bin/pip wheel --no-cache-dir --no-deps --wheel-dir /wheels \
            'onnxruntime-gpu>=1.20,<1.24'; \
    fi
RUN /opt/tierocr/bin/pip install --no-cache-dir --no-index --no-deps /wheels/*.whl

FROM ${VARIANT} AS service
RUN groupadd --gid 10001 tierocr \
    && useradd --uid 10001 --gid 10001 --no-log-init --no-create-home --home-dir /tmp \
        --shell /usr/sbin/nologin tierocr \
    && install -d -m 0700 -o 10001 -g 10001 /var/lib/tierocr
COPY --from=build /opt/tierocr /opt/tierocr
# These outrank a settings file. An empty TIEROCR_CACHE: nothing is kept between starts. What DL3064
# takes for a secret is the path of a file.
# hadolint ignore=DL3064
ENV PATH=/opt/tierocr/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    TIEROCR_CACHE="" \
    TIEROCR_LISTEN__HOST=0.0.0.0 \
    TIEROCR_AUTH__TOKENS_FILE=/var/lib/tierocr/tokens.jsonl \
    TIEROCR_JOBS__FOLDER=/var/lib/tierocr/jobs
USER 10001:10001
WORKDIR /var/lib/tierocr
VOLUME /var/lib/tierocr
EXPOSE 8501
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=6s --start-period=120s --retries=3 \
    CMD ["python", "-m", "tierocr.cloud.probe"]
ENTRYPOINT ["tierocr"]
CMD ["cloud", "serve"]
