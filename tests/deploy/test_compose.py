"""The compose files, as far as they can be judged without an engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.deploy.dockerfile import ROOT, stages
from tierocr.cloud.settings import CloudSettings
from tierocr.shared.settings import load_settings

FOLDER = ROOT / "deploy"
GIB = 1 << 30


def compose(name: str = "compose.yaml") -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))
    return loaded


def test_the_service_has_only_the_rights_that_it_needs() -> None:
    cloud = compose()["services"]["cloud"]
    assert cloud["read_only"] is True
    assert cloud["cap_drop"] == ["ALL"] and "cap_add" not in cloud
    assert cloud["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in cloud and "network_mode" not in cloud
    assert cloud["user"] == stages()["service"].all("USER")[0]
    assert [mount.partition(":")[0] for mount in cloud["tmpfs"]] == ["/tmp"]
    assert all(port.startswith("127.0.0.1:") for port in cloud["ports"])


def test_its_bounds_fit_the_settings() -> None:
    cloud, settings = compose()["services"]["cloud"], CloudSettings()
    limit = int(cloud["mem_limit"].removesuffix("g")) * GIB
    assert limit >= settings.limits.files * settings.decoding.memory_bytes + 2 * GIB
    assert int(cloud["stop_grace_period"].removesuffix("s")) > settings.stop.grace_seconds
    assert cloud["pids_limit"] > 0


def test_it_builds_and_keeps_what_the_image_says() -> None:
    file = compose()
    cloud, service = file["services"]["cloud"], stages()["service"]
    build = cloud["build"]
    assert (FOLDER / build["context"] / build["dockerfile"]).is_file()
    assert build["args"]["VARIANT"] in stages()
    (volume,) = cloud["volumes"]
    name, _, at = volume.partition(":")
    assert name in file["volumes"] and [at] == service.all("VOLUME")
    port = service.all("EXPOSE")[0]
    assert port == str(CloudSettings().listen.port)
    assert all(mapping.endswith(f":{port}") for mapping in cloud["ports"])


def test_secrets_are_files_and_tls_settings_know_them() -> None:
    file = compose("compose.tls.yaml")
    cloud = file["services"]["cloud"]
    assert set(cloud["secrets"]) == set(file["secrets"])
    assert all(set(secret) == {"file"} for secret in file["secrets"].values())
    settings = load_settings(CloudSettings, file=None, environ=cloud["environment"], overrides={})
    mounted = {Path("/run/secrets", name) for name in cloud["secrets"]}
    assert {settings.tls.certificate, settings.tls.key, settings.tls.client_ca} == mounted
    assert settings.tls.client_certificates == "optional"
