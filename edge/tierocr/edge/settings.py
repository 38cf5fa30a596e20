"""The edge agent's settings: every key, its default and what it must agree with.

Only values; where they come from is decided by `tierocr.shared.settings`, what they mean on this
machine is checked by `wiring`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator, model_validator

from tierocr.edge.addresses import is_web_address
from tierocr.edge.allowance import EVERY_DAY, Budget, Window
from tierocr.edge.outbox.choices import Bounds, WhenFull
from tierocr.edge.outbox.values import Rules
from tierocr.edge.privacy.settings import PrivacySettings
from tierocr.edge.routing import RoutingPolicy
from tierocr.edge.sources.camera import CameraRules
from tierocr.edge.sources.stillness import StillRules
from tierocr.edge.sources.waking import Watch
from tierocr.edge.sources.watching import Processed, WatchRules
from tierocr.shared.export import ALL_NAMES
from tierocr.shared.images import Limits
from tierocr.shared.ocr.tune import AUTO
from tierocr.shared.settings import Section
from tierocr.shared.text.rules import NAMES

MIB = 1 << 20
DAY = 86_400.0
_POLICY = RoutingPolicy()
_STILL = StillRules()


class StateSettings(Section):
    """Where the agent keeps what must survive: the outbox, and files that could not be read."""

    folder: Path = Path("tierocr-state")


class ReadingSettings(Section):
    """What reads here, and how much one file may ask for. `rules`: text rules that are applied to
    what is delivered; the raw text is kept beside.
    """

    pack: str = "edge-tiny"
    runtime: str = "openvino"
    precision: str = AUTO
    text_layer: bool = False
    rules: tuple[str, ...] = ()
    max_bytes: int = Field(default=200 * MIB, ge=1024)
    max_pixels: int = Field(default=120_000_000, ge=1024)
    max_pages: int = Field(default=1000, ge=1)

    @field_validator("rules")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name not in NAMES:
                raise ValueError(f"there is no rule {name!r}; known: {', '.join(NAMES)}")
        return value

    @property
    def limits(self) -> Limits:
        """Bounds on one file."""
        return Limits(
            max_bytes=self.max_bytes, max_pixels=self.max_pixels, max_pages=self.max_pages
        )


class SendingWindow(Section):
    """A part of the day (local time, over midnight if `end` is earlier) in which something else
    holds: with `upload` off nothing is sent, with it on so much as is said here. `days`: on which
    it begins; all if none are named.
    """

    start: str = Field(pattern="^([01][0-9]|2[0-3]):[0-5][0-9]$")
    end: str = Field(pattern="^([01][0-9]|2[0-3]):[0-5][0-9]$")
    days: tuple[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"], ...] = ()
    upload: bool = False
    bytes_per_hour: int | None = Field(default=None, ge=0)
    calls_per_hour: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _agree(self) -> SendingWindow:
        if self.start == self.end:
            raise ValueError("start and end are the same")
        return self

    @property
    def window(self) -> Window:
        """The same for the allowance."""
        days = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
        budget = Budget(bytes_per_hour=self.bytes_per_hour, calls_per_hour=self.calls_per_hour)
        return Window(
            start=_minute(self.start),
            end=_minute(self.end),
            days=frozenset(days.index(d) for d in self.days) or EVERY_DAY,
            budget=budget if self.upload else None,
        )


def _minute(time: str) -> int:
    hours, minutes = time.split(":")
    return int(hours) * 60 + int(minutes)


class CloudSettings(Section):
    """Who reads unsure lines again; nothing leaves the device unless `upload` is on.

    `deadline_seconds`: for one request; a document waits for `outbox.expire_seconds`. `threshold`,
    `max_share`, `bytes_per_page`: which lines, and how many, as with `tierocr read`; of all that
    was read since these were changed, over restarts too. `parallel`: requests under way at once.
    `bytes_per_hour`, `calls_per_hour`: bounds on what is sent, null for none; `windows`: parts of
    the day in which others hold. `ca_file`: the only authorities to believe; `client_certificate`,
    `client_key`: what is shown to a service that asks for one (PEM).
    """

    upload: bool = False
    url: str | None = None
    token: SecretStr | None = None
    token_file: Path | None = None
    ca_file: Path | None = None
    client_certificate: Path | None = None
    client_key: Path | None = None
    device: str = "tierocr"
    deadline_seconds: float = Field(default=30, gt=0, le=600)
    threshold: float = Field(default=_POLICY.threshold, ge=0, le=1)
    max_share: float = Field(default=_POLICY.max_share, ge=0, le=1)
    bytes_per_page: int = Field(default=_POLICY.bytes_per_page, ge=0)
    parallel: int = Field(default=2, ge=1, le=16)
    bytes_per_hour: int | None = Field(default=None, ge=0)
    calls_per_hour: int | None = Field(default=None, ge=0)
    windows: tuple[SendingWindow, ...] = ()

    @model_validator(mode="after")
    def _agree(self) -> CloudSettings:
        if self.upload and self.url is None:
            raise ValueError("cloud.upload needs cloud.url")
        if self.url is not None and not is_web_address(self.url):
            raise ValueError(f"cloud.url: {self.url!r} is no http or https address")
        return self

    @property
    def budget(self) -> Budget:
        """How much is sent outside the windows."""
        return Budget(bytes_per_hour=self.bytes_per_hour, calls_per_hour=self.calls_per_hour)

    @property
    def policy(self) -> RoutingPolicy:
        """Which lines are sent."""
        return RoutingPolicy(
            threshold=self.threshold,
            max_share=self.max_share,
            bytes_per_page=self.bytes_per_page,
        )


class OutboxSettings(Section):
    """What is held of documents that are not finished, and for how long.

    `max_bytes`, `max_documents`: bounds. `when_full`: whose lines are no longer sent then, so that
    it goes out with the text that it has; `block` takes in no new documents instead.
    `expire_seconds`: how long a document waits for the cloud; a time in which the agent was off
    counts for a day at most. `free_bytes`: what must stay free on the disk. `retry_seconds`,
    `retry_max_seconds`: the first and the longest wait before something is tried again.
    `history_*`: how long, and how many, finished documents are known again.
    """

    max_bytes: int = Field(default=1024 * MIB, ge=4096)
    max_documents: int = Field(default=10_000, ge=1)
    when_full: WhenFull = "drop_oldest"
    expire_seconds: float = Field(default=7 * DAY, gt=0)
    free_bytes: int = Field(default=64 * MIB, ge=0)
    retry_seconds: float = Field(default=2, gt=0)
    retry_max_seconds: float = Field(default=600, gt=0)
    history_documents: int = Field(default=100_000, ge=0)
    history_seconds: float = Field(default=90 * DAY, ge=0)

    def rules(self, *, keep_originals: bool) -> Rules:
        """The same for the outbox."""
        return Rules(
            bounds=Bounds(
                max_bytes=self.max_bytes,
                max_documents=self.max_documents,
                when_full=self.when_full,
            ),
            expire_seconds=self.expire_seconds,
            free_bytes=self.free_bytes,
            keep_originals=keep_originals,
            history=self.history_documents,
            history_seconds=self.history_seconds,
        )


class WatchSettings(Section):
    """A watched folder. `name`: how it is called in logs and in the outbox; the folder's name
    unless given.

    `stable_seconds`: how long a file must be still before it is read. `patience_seconds`: how long
    one that does not parse may still be completed. `watch`: `poll` every `poll_seconds`, `notify`
    by the system, `auto` what fits the file system. `processed`: what happens to files that were
    read; `move` puts them into `processed_folder`. `quarantine_folder`: files that cannot be read,
    by default under `state.folder`.
    """

    folder: Path
    name: str = ""
    recursive: bool = False
    stable_seconds: float = Field(default=2, ge=0)
    patience_seconds: float = Field(default=600, ge=0)
    watch: Watch = "auto"
    poll_seconds: float = Field(default=2, gt=0)
    processed: Processed = "keep"
    processed_folder: Path | None = None
    quarantine_folder: Path | None = None

    @model_validator(mode="after")
    def _agree(self) -> WatchSettings:
        if (self.processed == "move") != (self.processed_folder is not None):
            raise ValueError("processed: move and processed_folder need each other")
        return self

    @property
    def label(self) -> str:
        """How it is called."""
        return self.name or self.folder.name or "folder"

    @property
    def rules(self) -> WatchRules:
        """When files are taken."""
        return WatchRules(
            stable_seconds=self.stable_seconds,
            patience=self.patience_seconds,
            processed=self.processed,
        )


class CameraSettings(Section):
    """A camera or a video file in front of which documents are laid. `device`: the number of a
    V4L2 device, or a path; `width`, `height`: what the camera is asked for. `name`: how it is
    called. `still_seconds`: so long a document must lie still; `looks_per_second`: how often it is
    looked at. `moving`, `other`, `detail`: shares of a frame (see `sources.stillness`).
    """

    device: int | str
    name: str = ""
    width: int | None = Field(default=None, ge=16)
    height: int | None = Field(default=None, ge=16)
    still_seconds: float = Field(default=_STILL.still_seconds, gt=0)
    looks_per_second: float = Field(default=5, gt=0, le=60)
    moving: float = Field(default=_STILL.moving, gt=0, lt=1)
    other: float = Field(default=_STILL.other, gt=0, lt=1)
    detail: float = Field(default=_STILL.detail, ge=0, lt=1)

    @model_validator(mode="after")
    def _agree(self) -> CameraSettings:
        if (self.width is None) != (self.height is None):
            raise ValueError("width and height need each other")
        return self

    @property
    def label(self) -> str:
        """How it is called."""
        device = self.device
        return self.name or (f"camera-{device}" if isinstance(device, int) else Path(device).stem)

    @property
    def rules(self) -> CameraRules:
        """The same for the source."""
        return CameraRules(
            name=self.label,
            device=self.device,
            width=self.width,
            height=self.height,
            looks_per_second=self.looks_per_second,
            still=StillRules(
                still_seconds=self.still_seconds,
                moving=self.moving,
                other=self.other,
                detail=self.detail,
            ),
        )


class SourceSettings(Section):
    """Where documents come from. `stdin`: one document; without a watched folder the agent ends
    once it is delivered.
    """

    watch: tuple[WatchSettings, ...] = ()
    camera: tuple[CameraSettings, ...] = ()
    stdin: bool = False


class FolderSinkSettings(Section):
    """Results as files. `provisional`: also those that the cloud has not answered yet."""

    folder: Path
    formats: tuple[str, ...] = ("json",)
    provisional: bool = True

    @field_validator("formats")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name not in ALL_NAMES:
                raise ValueError(f"there is no format {name!r}; known: {', '.join(ALL_NAMES)}")
        if not value:
            raise ValueError("at least one format is needed")
        return value


class WebhookSettings(Section):
    """Results posted to an address. `secret_file`: its content signs every body."""

    url: str
    secret_file: Path | None = None
    provisional: bool = True
    timeout_seconds: float = Field(default=30, gt=0, le=600)

    @field_validator("url")
    @classmethod
    def _address(cls, value: str) -> str:
        if not is_web_address(value):
            raise ValueError("is no http or https address")
        return value


class SinkSettings(Section):
    """Where results go; `stdout`: as JSON lines."""

    folder: tuple[FolderSinkSettings, ...] = ()
    webhook: tuple[WebhookSettings, ...] = ()
    stdout: bool = False


class ApiSettings(Section):
    """The local HTTP API; off while `port` is null. `host`: who else than this machine is to reach
    it needs the `token`. `deadline_seconds`: how long a file may take to be read; `results_bytes`:
    how much of the newest results is kept for those who ask.
    """

    host: str = "127.0.0.1"
    port: int | None = Field(default=None, ge=0, le=65_535)
    token: SecretStr | None = None
    token_file: Path | None = None
    deadline_seconds: float = Field(default=120, gt=0)
    results_bytes: int = Field(default=64 * MIB, ge=0)


class StopSettings(Section):
    """How long deliveries may go on after SIGTERM."""

    grace_seconds: float = Field(default=10, ge=0)


class LogSettings(Section):
    """The least severe level that is written; JSON lines on stderr."""

    level: Literal["debug", "info", "warning", "error"] = "info"


class EdgeSettings(Section):
    """All of them."""

    state: StateSettings = StateSettings()
    reading: ReadingSettings = ReadingSettings()
    cloud: CloudSettings = CloudSettings()
    privacy: PrivacySettings = PrivacySettings()
    outbox: OutboxSettings = OutboxSettings()
    sources: SourceSettings = SourceSettings()
    sinks: SinkSettings = SinkSettings()
    api: ApiSettings = ApiSettings()
    stop: StopSettings = StopSettings()
    log: LogSettings = LogSettings()
