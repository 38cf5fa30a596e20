# The edge agent as an image for x86-64. From the top folder of a checkout:
#
#   docker build -f deploy/edge.Dockerfile -t tierocr-edge .
#   docker build -f deploy/edge.Dockerfile -t tierocr-edge:ort --build-arg RUNTIME=onnxruntime .
#
#   docker run --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
#       -v tierocr-edge:/var/lib/tierocr -v ./edge.yaml:/etc/tierocr/edge.yaml:ro \
#       -v ./inbox:/inbox -v ./results:/results tierocr-edge
#
# It runs as user 10001, who must be able to read and write those folders. One runtime is in it, with
# its CPU plug-in only; its settings must name that one (the image's own default does).

ARG RUNTIME=openvino

# Wheels of everything, then an environment of nothing but these wheels.
FROM python:3.11.13-slim-bookworm AS build
ARG RUNTIME
WORKDIR /src
RUN python3 -m venv /opt/tierocr
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY shared shared
COPY edge edge
COPY cloud cloud
RUN /opt/tierocr/bin/pip wheel --no-cache-dir --wheel-dir /wheels .
RUN case "$RUNTIME" in \
        openvino) rm -f /wheels/onnxruntime-*.whl ;; \
        onnxruntime) rm -f /wheels/openvino-*.whl ;; \
        *) echo "RUNTIME is openvino or onnxruntime" >&2; exit 1 ;; \
    esac
RUN /opt/tierocr/bin/pip install --no-cache-dir --no-index --no-deps /wheels/*.whl
# Other plug-ins than the CPU's, what reads other frameworks' models, and pip itself.
RUN find /opt/tierocr -path '*/openvino/libs/*' \
        \( -name 'libopenvino_intel_[gn]pu_plugin.so' \
        -o -name 'libopenvino_gguf_*' -o -name 'libopenvino_jax_*' -o -name 'libopenvino_paddle_*' \
        -o -name 'libopenvino_pytorch_*' -o -name 'libopenvino_tensorflow_*' \) -delete \
    && /opt/tierocr/bin/python -m pip uninstall --quiet --yes pip setuptools

FROM python:3.11.13-slim-bookworm AS agent
ARG RUNTIME
RUN groupadd --gid 10001 tierocr \
    && useradd --uid 10001 --gid 10001 --no-log-init --no-create-home --home-dir /tmp \
        --shell /usr/sbin/nologin tierocr \
    && install -d -m 0700 -o 10001 -g 10001 /var/lib/tierocr
COPY --from=build /opt/tierocr /opt/tierocr
# These outrank a settings file. The API is for the health check: to publish it, set its host and a
# token. An empty TIEROCR_CACHE: nothing is kept between starts.
ENV PATH=/opt/tierocr/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    TIEROCR_CACHE="" \
    TIEROCR_READING__RUNTIME=$RUNTIME \
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
