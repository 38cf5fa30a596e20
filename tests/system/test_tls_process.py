"""`tierocr read` over mutual TLS to a real service, with an authority of one's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trustme

from tests.system.test_cloud_process import port_of, service
from tests.system.test_read_process import ONNX, SAMPLE, lines_of, tierocr
from tierocr.cloud.tokens import add_token
from tierocr.edge.refining import tls_of
from tierocr.edge.samples import sample_pages
from tierocr.shared.errors import TierocrError

pytestmark = pytest.mark.system


def test_the_edge_talks_tls_to_an_authority_that_it_is_told_of(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    both = tmp_path / "server.pem"
    authority.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(str(both))
    both.chmod(0o600)
    certificate, key = tmp_path / "client.pem", tmp_path / "client.key"
    client = authority.issue_cert("kiosk-7")
    client.cert_chain_pems[0].write_to_path(str(certificate))
    client.private_key_pem.write_to_path(str(key))
    config = tmp_path / "cloud.yaml"
    mutual = f"client_ca: {tmp_path / 'ca.pem'}, client_certificates: required"
    config.write_text(f"tls: {{certificate: {both}, {mutual}}}\nmodel: {{runtime: onnxruntime}}\n")
    tokens, token = tmp_path / "tokens.jsonl", tmp_path / "token"
    token.write_text(add_token(tokens, "kiosk", "now") + "\n")
    (page,) = (page for page in sample_pages() if page.name == SAMPLE)
    (tmp_path / SAMPLE).write_bytes(page.read_bytes())

    port_file = tmp_path / "port"
    options = ("--tokens", str(tokens), "--pack", "edge-tiny", "--config", str(config))
    with service(tmp_path, *options, "--port-file", str(port_file)) as process:
        url = f"https://localhost:{port_of(process, port_file)}"
        to_cloud = ("--cloud", url, "--token-file", token, "-f", "json", *ONNX)
        read = ("read", tmp_path / SAMPLE, *to_cloud)
        trust = ("--ca-file", tmp_path / "ca.pem")
        show = ("--client-certificate", certificate, "--client-key", key)
        trusting = tierocr(*read, *trust, *show, "--deadline", "60")
        doubting = tierocr(*read, *show, "--deadline", "1")
        stranger = tierocr(*read, *trust, "--deadline", "1")
    nonsense = tierocr(*read, "--ca-file", tokens)
    assert (trusting.code, trusting.err) == (0, "")
    assert any(line["source"] == "cloud" for line in lines_of(json.loads(trusting.out)))
    assert doubting.code == 0, "the page is read all the same"
    assert "certificate" in doubting.err.lower()
    for told in (doubting, stranger):
        assert all(line["source"] == "edge" for line in lines_of(json.loads(told.out)))
    assert nonsense.code == 2 and "TLS" in nonsense.err and "Traceback" not in nonsense.err
    said = (tmp_path / "stderr").read_text()
    assert f"listening on https://127.0.0.1:{url.rpartition(':')[2]}" in said
    assert "Traceback" not in said


def test_what_cannot_be_used_for_tls_is_a_wrong_setting(tmp_path: Path) -> None:
    authority = trustme.CA()
    ca_file, certificate = tmp_path / "ca.pem", tmp_path / "client.pem"
    authority.cert_pem.write_to_path(str(ca_file))
    authority.issue_cert("kiosk-7").cert_chain_pems[0].write_to_path(str(certificate))
    for given in (
        {"ca_file": tmp_path / "none.pem"},
        {"ca_file": ca_file, "certificate": certificate},
        {"certificate": certificate, "key": ca_file},
        {"key": ca_file},
    ):
        with pytest.raises(TierocrError) as caught:
            tls_of(**given)
        assert caught.value.code == "config_invalid"
    assert tls_of() is None and tls_of(ca_file) is not None
