"""Deploys the stack `test` of this project on the real engine, against the emulator of the installed plugin. Copy this
beside Pulumi.yaml, and write what the program needs into Pulumi.test.yaml: docs/emulator.md says more."""

import json
import shlex
import ssl
import subprocess
import urllib.request

import pulumi.automation as auto
import pytest


@pytest.fixture(scope="session")
def settings(tmp_path_factory):
    """Starts the emulator, and gives what it prints: `export NAME=VALUE`, three times."""
    command = "pulumi plugin run --kind resource tlsedge -- emulator --data"
    arguments = [*command.split(), str(tmp_path_factory.mktemp("service"))]
    emulator = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    lines = [emulator.stdout.readline() for _ in range(3)]
    yield dict(shlex.split(line)[1].split("=", 1) for line in lines)
    emulator.terminate()
    emulator.wait()


@pytest.fixture(scope="session")
def stack(settings, tmp_path_factory):
    backend = tmp_path_factory.mktemp("state").as_uri()
    state = {"PULUMI_BACKEND_URL": backend, "PULUMI_CONFIG_PASSPHRASE": "test"}
    options = auto.LocalWorkspaceOptions(env_vars={**settings, **state})
    return auto.create_or_select_stack("test", work_dir=".", opts=options)


@pytest.fixture
def call(settings):
    """Asks the emulator."""

    def ask(path, body=None):
        key = settings["TLSEDGE_API_KEY"]
        headers = {"Authorization": f"Bearer {key}", "Service-Version": "2", "Content-Type": "application/json"}
        data = json.dumps(body).encode() if body else None
        request = urllib.request.Request(settings["TLSEDGE_BASE_URL"] + path, data, headers)
        trust = ssl.create_default_context(cafile=settings["TLSEDGE_CA_FILE"])
        with urllib.request.urlopen(request, context=trust) as answer:
            return json.load(answer)

    return ask


def test_deploys_the_site_and_changes_nothing_the_second_time(stack, call):
    stack.up()
    hostports = [edge["hostports"] for edge in call("/edges/tls")["tls_edges"]]
    assert hostports == [["shop.example.com:443"]]
    stack.up(expect_no_changes=True)


def test_fails_where_the_service_fails(stack, call):
    call("/_emulator/faults", {"method": "GET", "times": 100, "answer": {"status": 401}})
    with pytest.raises(auto.CommandError, match="401"):
        stack.refresh()
