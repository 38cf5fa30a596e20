"""The settings of what must never leave: keys, defaults, and the rules that they stand for."""

from __future__ import annotations

from pydantic import Field, field_validator, model_validator

from tierocr.edge.privacy.fields import Reach
from tierocr.edge.privacy.fuzzy import cleaned
from tierocr.edge.privacy.patterns import template
from tierocr.edge.privacy.rules import Allow, LeaveRules, Unit, Zone
from tierocr.shared.settings import Section

_REACH = Reach()


class ZoneSettings(Section):
    """A part of every page as it is read, upright: a `box` (left, top, right, bottom) or a
    `polygon` of three points or more. `unit`: `page` for fractions of its width and height.
    """

    box: tuple[float, float, float, float] | None = None
    polygon: tuple[tuple[float, float], ...] | None = None
    unit: Unit = "page"

    @model_validator(mode="after")
    def _agree(self) -> ZoneSettings:
        if (self.box is None) == (self.polygon is None):
            raise ValueError("give a box or a polygon")
        if len(self.zone.points) < 3:
            raise ValueError("a polygon has three points or more")
        if self.box is not None and not (self.box[0] < self.box[2] and self.box[1] < self.box[3]):
            raise ValueError("a box is left, top, right, bottom")
        if self.unit == "page" and not all(0 <= v <= 1 for p in self.zone.points for v in p):
            raise ValueError("fractions of the page lie between 0 and 1; or set unit: pixels")
        return self

    @property
    def zone(self) -> Zone:
        """The same as a polygon."""
        if self.box is None:
            return Zone(points=self.polygon or (), unit=self.unit)
        left, top, right, bottom = self.box
        points = ((left, top), (right, top), (right, bottom), (left, bottom))
        return Zone(points=points, unit=self.unit)


class HiddenSettings(Section):
    """What never leaves: `zones` of the page, what stands beside `labels` (up to `value_right`
    behind and `value_below` under one, in heights of the label), and numbers that follow
    `patterns`, each a name or a form (see `patterns.template`).
    """

    zones: tuple[ZoneSettings, ...] = ()
    labels: tuple[str, ...] = ()
    value_right: float = Field(default=_REACH.right, ge=0, le=200)
    value_below: float = Field(default=_REACH.below, ge=0, le=50)
    patterns: tuple[str, ...] = ()

    @field_validator("labels")
    @classmethod
    def _labels(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for label in value:
            if len(cleaned(label)) < 2:
                raise ValueError(f"the label {label!r} is too short to be found")
        return value

    @field_validator("patterns")
    @classmethod
    def _patterns(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            template(text)
        return value

    def rules(self, allow: Allow) -> LeaveRules:
        """The same for the door."""
        return LeaveRules(
            allow=allow,
            zones=tuple(zone.zone for zone in self.zones),
            labels=self.labels,
            reach=Reach(right=self.value_right, below=self.value_below),
            patterns=tuple(template(text) for text in self.patterns),
        )


class SourceSettings(HiddenSettings):
    """For one source, by its name. `allow`: see `PrivacySettings`; null: what holds for all. What
    is hidden for all sources is hidden here too.
    """

    source: str
    allow: Allow | None = None


class PrivacySettings(HiddenSettings):
    """For all sources, and more for some. `allow`: what may leave if `cloud.upload` is on: nothing
    at all (`never`), single `lines`, or whole `pages` too, where the edge has found no line or
    half of them are unsure.
    """

    allow: Allow = "lines"
    sources: tuple[SourceSettings, ...] = ()

    @field_validator("sources")
    @classmethod
    def _once(cls, value: tuple[SourceSettings, ...]) -> tuple[SourceSettings, ...]:
        names = [own.source for own in value]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"the source {name!r} has rules twice")
        return value

    def rules_of(self, source: str) -> LeaveRules:
        """The rules for a source."""
        shared = self.rules(self.allow)
        found = next((own for own in self.sources if own.source == source), None)
        if found is None:
            return shared
        own = found.rules(found.allow or self.allow)
        return LeaveRules(
            allow=own.allow,
            zones=(*shared.zones, *own.zones),
            labels=(*shared.labels, *own.labels),
            reach=Reach(
                right=max(shared.reach.right, own.reach.right),
                below=max(shared.reach.below, own.reach.below),
            ),
            patterns=(*shared.patterns, *own.patterns),
        )
