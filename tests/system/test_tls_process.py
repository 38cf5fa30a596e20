"""`tierocr read` over mutual TLS to a real service, with an authority of one's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trustme

from tests.system.test_cloud_process import port_of, service
from tests.system.test_read_process import ONNX, SAMPLE, lines_of, tierocr
from tierocr.cloud.tokens import add_token
from tierocr.edge.samples import sample_pages

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
    keyless = tierocr(*read, *trust, "--client-certificate", certificate)
    assert (trusting.code, trusting.err) == (0, "")
    assert any(line["source"] == "cloud" for line in lines_of(json.loads(trusting.out)))
    assert doubting.code == 0, "the page is read all the same"
    assert "certificate" in doubting.err.lower()
    for told in (doubting, stranger):
        assert all(line["source"] == "edge" for line in lines_of(json.loads(told.out)))
    for wrong in (nonsense, keyless):
        assert wrong.code == 2 and "TLS" in wrong.err and "Traceback" not in wrong.err
    said = (tmp_path / "stderr").read_text()
    assert f"listening on https://127.0.0.1:{url.rpartition(':')[2]}" in said
    assert "Traceback" not in said
