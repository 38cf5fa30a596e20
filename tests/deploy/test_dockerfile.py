"""The image, as far as it can be judged without building it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.deploy.dockerfile import DOCKERFILE, ROOT, stages
from tierocr.cloud.settings import CloudSettings
from tierocr.shared.settings import load_settings


def hadolint() -> str | None:
    beside = Path(sys.executable).with_name("hadolint")
    return str(beside) if beside.exists() else shutil.which("hadolint")


@pytest.mark.skipif(hadolint() is None, reason="hadolint is not installed")
def test_the_linter_finds_nothing() -> None:
    command = [str(hadolint()), "--no-color", str(DOCKERFILE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")


def test_bases_are_pinned_and_of_no_named_host() -> None:
    found = stages()
    bases = [stage.base for stage in found.values()]
    outside = [base for base in bases if base not in found and base != "${VARIANT}"]
    assert outside and all(re.fullmatch(r"[\w/-]+:\d+\.\d+\.\d+[\w.-]*", b) for b in outside)
    assert "ARG VARIANT=cpu" in DOCKERFILE.read_text(encoding="utf-8")
    assert {"cpu", "cuda"} <= set(found)


def test_the_service_is_nobody_and_holds_only_what_was_built() -> None:
    last = list(stages().values())[-1]
    assert last.name == "service"
    assert last.all("USER") == ["10001:10001"]
    assert last.all("COPY") == ["--from=build /opt/tierocr /opt/tierocr"]
    assert not last.all("ADD") and last.all("VOLUME") == ["/var/lib/tierocr"]
    (check,) = last.all("HEALTHCHECK")
    python, flag, module = json.loads(check.partition(" CMD ")[2])
    assert (python, flag) == ("python", "-m") and find_spec(module) is not None


def test_what_it_sets_are_settings() -> None:
    for stage in stages().values():
        pairs = [re.findall(r"(\S+?)=(\S+)", line) for line in stage.all("ENV")]
        environ = {name: value.strip('"') for line in pairs for name, value in line}
        settings = load_settings(CloudSettings, file=None, environ=environ, overrides={})
        known = [name for name in environ if name.startswith("TIEROCR_") and "__" in name]
        if stage.name in ("service", "cuda"):
            assert known and settings != CloudSettings()


def test_what_is_copied_is_sent_to_the_builder() -> None:
    rules = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in rules
    sent = {rule[1:] for rule in rules if rule.startswith("!")}
    copied = {name for step in stages()["build"].all("COPY") for name in step.split()[:-1]}
    assert copied == sent
    assert all((ROOT / name).exists() for name in copied)
    junk = "cloud/tierocr/cloud/__pycache__"
    assert any(fnmatch(junk, rule) for rule in rules if rule.startswith("**"))
