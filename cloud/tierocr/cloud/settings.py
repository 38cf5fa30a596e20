"""The cloud service's settings: every key, its default and what it must agree with.

Only values; where they come from is decided by `tierocr.shared.settings`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator, model_validator

from tierocr.cloud.decoding import SUPPORTED
from tierocr.cloud.quotas import Rate
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits
from tierocr.shared.protocol import WireLimits
from tierocr.shared.settings import Section

MIB = 1 << 20


class ListenSettings(Section):
    """Where the service listens. `port` 0 takes a free one; `port_file` gets its number once the
    service is ready.

    `idle_seconds`: how long a connection may stay without a request, or be at the head of one.
    `unread_seconds`: how long it may take nothing of an answer.
    """

    host: str = "127.0.0.1"
    port: int = Field(default=8501, ge=0, le=65535)
    port_file: Path | None = None
    idle_seconds: float = Field(default=75, gt=0)
    unread_seconds: float = Field(default=30, gt=0)


class TlsSettings(Section):
    """With a `certificate` (PEM, its chain in the same file) the service speaks TLS, 1.2 or newer,
    and nothing else. `key`: its private key without a passphrase, by default in the same file.

    `client_ca`: the authorities whose certificates clients may show; `client_certificates` says
    whether they must. Files that are replaced count from the next connection on.
    """

    certificate: Path | None = None
    key: Path | None = None
    client_ca: Path | None = None
    client_certificates: Literal["none", "optional", "required"] = "none"

    @model_validator(mode="after")
    def _agree(self) -> TlsSettings:
        if self.certificate is None and (self.key or self.client_ca):
            raise ValueError("tls.key and tls.client_ca mean nothing without tls.certificate")
        if (self.client_ca is None) != (self.client_certificates == "none"):
            raise ValueError(
                "tls.client_ca and tls.client_certificates (optional or required) need each other"
            )
        return self


class ModelSettings(Section):
    """What reads. `devices`: several of them instead of `device`. `streams`: how many batches a
    device runs at once, on a CPU each with its share of the `threads`; 0 for what suits it.
    `threads`: 0 means the CPU quota. `warm_widths`: input widths that are run once before the
    service is ready. `canary_seconds`: how often lines whose text is known are read again, 0 for
    never; while they are misread the service is not ready.
    """

    pack: str = "cloud-small"
    runtime: str = "openvino"
    device: str = "CPU"
    devices: tuple[str, ...] = ()
    streams: int = Field(default=0, ge=0, le=64)
    precision: Literal["f32", "bf16", "f16", "int8"] = "f32"
    threads: int = Field(default=0, ge=0)
    cache_dir: Path | None = None
    warm_widths: tuple[int, ...] = (128, 320, 640)
    canary_seconds: float = Field(default=60, ge=0)


class BatchingSettings(Section):
    """How crops share a call of the network. `max_padded_width`: input columns of a whole batch.

    `max_queue_crops`: regions that may be in the service at once, waiting or being read.
    `max_queue_ms`: how long the queue may be, at the pace that is measured while it runs.
    """

    max_batch: int = Field(default=8, ge=1, le=256)
    max_wait_ms: float = Field(default=50, ge=0, le=10_000)
    max_padded_width: int = Field(default=16_384, ge=64)
    max_queue_crops: int = Field(default=1024, ge=1)
    max_queue_ms: float = Field(default=5_000, gt=0)


class LimitSettings(Section):
    """What one request may ask for; checked before anything is decoded.

    `requests`, `files`: how many refinements and whole files may be under way at once. Deadlines
    are what a request gets that names none, and the most that it may name.
    """

    refine_body_bytes: int = Field(default=16 * MIB, ge=1024)
    region_bytes: int = Field(default=4 * MIB, ge=1024)
    region_pixels: int = Field(default=4_000_000, ge=1024)
    region_side: int = Field(default=16_384, ge=64)
    regions: int = Field(default=512, ge=1, le=4096)
    requests: int = Field(default=64, ge=1)
    refine_deadline_ms: int = Field(default=30_000, ge=1)
    refine_deadline_max_ms: int = Field(default=120_000, ge=1)
    file_body_bytes: int = Field(default=100 * MIB, ge=1024)
    file_pages: int = Field(default=200, ge=1)
    file_page_pixels: int = Field(default=120_000_000, ge=1024)
    files: int = Field(default=2, ge=1)
    file_deadline_ms: int = Field(default=120_000, ge=1)
    file_deadline_max_ms: int = Field(default=600_000, ge=1)

    def wire(self) -> WireLimits:
        """Bounds on a refine message."""
        return WireLimits(
            body_bytes=self.refine_body_bytes, image_bytes=self.region_bytes, regions=self.regions
        )

    def region(self) -> Limits:
        """Bounds on one crop."""
        return Limits(
            max_bytes=self.region_bytes,
            max_pixels=self.region_pixels,
            max_side=self.region_side,
            max_pages=1,
        )

    def file(self) -> Limits:
        """Bounds on a whole file."""
        return Limits(
            max_bytes=self.file_body_bytes,
            max_pixels=self.file_page_pixels,
            max_pages=self.file_pages,
        )


class DecodingSettings(Section):
    """How whole files are decoded. `processes`: in processes of their own, by default wherever the
    system can do that (Linux); else in threads, without the bounds that follow.

    `memory_bytes`: what one may use beyond its start. `page_seconds`: how long one page, or the
    opening of a file, may take.
    """

    processes: bool = SUPPORTED
    memory_bytes: int = Field(default=2048 * MIB, ge=16 * MIB)
    page_seconds: float = Field(default=30, gt=0, le=3600)

    @field_validator("processes")
    @classmethod
    def _supported(cls, value: bool) -> bool:
        if value and not SUPPORTED:
            raise ValueError("decoder processes are not supported on this system")
        return value


class JobSettings(Section):
    """Jobs of many files; without a `folder` to keep them in there are none.

    Each file is bound by `limits.file_*`. `unfinished_per_device`, `kept_per_device`: jobs of one
    token that wait or are read, and all that are kept. `store_bytes`: uploads and results of all
    jobs; `free_bytes`: what must stay free on the disk. `keep_seconds`: how long results are kept.
    `keep_files`: the files themselves too, for formats that show their pages, such as PDF.
    `uploads`, `streams`: how many jobs may be handed in, and be watched, at once.
    `give_way_seconds`: how long a page of a job waits at most while requests are under way.
    """

    folder: Path | None = None
    files: int = Field(default=100, ge=1, le=10_000)
    body_bytes: int = Field(default=500 * MIB, ge=1024)
    unfinished_per_device: int = Field(default=8, ge=1)
    kept_per_device: int = Field(default=200, ge=1)
    store_bytes: int = Field(default=10_240 * MIB, ge=1024)
    free_bytes: int = Field(default=64 * MIB, ge=0)
    keep_seconds: float = Field(default=86_400, gt=0)
    keep_files: bool = True
    uploads: int = Field(default=4, ge=1)
    upload_seconds: float = Field(default=600, gt=0)
    streams: int = Field(default=64, ge=1)
    keep_alive_seconds: float = Field(default=15, gt=0)
    give_way_seconds: float = Field(default=1, ge=0)


class QuotaSettings(Section):
    """What one device may ask for by itself; 0 a second means no limit. Beyond it: 429."""

    requests_per_second: float = Field(default=0, ge=0)
    requests_burst: float = Field(default=20, ge=1)
    regions_per_second: float = Field(default=0, ge=0)
    regions_burst: float = Field(default=1000, ge=1)

    @property
    def requests(self) -> Rate:
        """Of requests."""
        return Rate(per_second=self.requests_per_second, burst=self.requests_burst)

    @property
    def regions(self) -> Rate:
        """Of regions, in whatever number of requests."""
        return Rate(per_second=self.regions_per_second, burst=self.regions_burst)


class IdempotencySettings(Section):
    """How long answers are kept for clients that send again, and how many bytes of those to
    refinements, and of documents.
    """

    keep_seconds: float = Field(default=600, ge=0)
    most_bytes: int = Field(default=64 * MIB, ge=0)


class AuthSettings(Section):
    """Who may ask. One of the two must be chosen: a service open to all is never an accident."""

    tokens_file: Path | None = None
    allow_anonymous: bool = False

    def check(self) -> None:
        """Raise TierocrError `config_invalid` unless it is clear who may ask."""
        if self.tokens_file is None and not self.allow_anonymous:
            raise TierocrError(
                "config_invalid",
                "nobody could use this service: set auth.tokens_file (make one with "
                "`tierocr cloud token add NAME --tokens FILE`), or auth.allow_anonymous to let "
                "anyone in who can reach the port",
            )
        if self.tokens_file is not None and not self.tokens_file.is_file():
            raise TierocrError(
                "config_invalid",
                f"auth.tokens_file: {self.tokens_file} does not exist; `tierocr cloud token add "
                f"NAME --tokens {self.tokens_file}` makes it",
            )


class MetricsSettings(Section):
    """Who may read `/metrics`: callers with a token, also callers on this machine without one, or
    anyone. Behind a proxy on the same machine everyone looks local: choose `token` there.
    """

    access: Literal["token", "loopback", "anyone"] = "loopback"


class StopSettings(Section):
    """How long work in flight may go on after SIGTERM."""

    grace_seconds: float = Field(default=20, ge=0)


class LogSettings(Section):
    """The least severe level that is written; JSON lines on stderr."""

    level: Literal["debug", "info", "warning", "error"] = "info"


class CloudSettings(Section):
    """All of them."""

    listen: ListenSettings = ListenSettings()
    tls: TlsSettings = TlsSettings()
    model: ModelSettings = ModelSettings()
    batching: BatchingSettings = BatchingSettings()
    limits: LimitSettings = LimitSettings()
    decoding: DecodingSettings = DecodingSettings()
    jobs: JobSettings = JobSettings()
    quotas: QuotaSettings = QuotaSettings()
    idempotency: IdempotencySettings = IdempotencySettings()
    auth: AuthSettings = AuthSettings()
    metrics: MetricsSettings = MetricsSettings()
    stop: StopSettings = StopSettings()
    log: LogSettings = LogSettings()

    @model_validator(mode="after")
    def _agree(self) -> CloudSettings:
        if self.batching.max_queue_crops < self.limits.regions:
            raise ValueError(
                "batching.max_queue_crops must be at least limits.regions, or the largest request "
                "could never be accepted"
            )
        return self
