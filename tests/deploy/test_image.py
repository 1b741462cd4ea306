"""The image is built as deploy/Dockerfile says, and serves a statement.

Its base is made of Debian's packages by debootstrap, since not every machine reaches a registry.
`apt-get install buildah debootstrap`; needs root.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest
from awaiting import await_until
from ports import free_port

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
MIRROR = "http://deb.debian.org/debian"
JAVA = "openjdk-17-jre-headless"
PACKAGES = "ca-certificates,python3-venv,python-is-python3"
LOCAL = (Path("/usr/local/share/ca-certificates"), Path("/etc/pip.conf"))
"""What this machine trusts and where it finds packages, which the build needs as well."""
START_SECONDS = 240.0


class Images:
    """buildah, with what it keeps in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._keeps = ["--root", str(folder / "kept"), "--runroot", str(folder / "run")]

    def __call__(self, *arguments: str) -> str:
        done = subprocess.run(self.command(*arguments), cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        return done.stdout.strip()

    def command(self, *arguments: str) -> list[str]:
        return ["buildah", *self._keeps, *arguments]


@pytest.fixture
def images(tmp_path: Path) -> Iterator[Images]:
    if os.geteuid() != 0 or not (shutil.which("buildah") and shutil.which("debootstrap")):
        pytest.skip("needs root, buildah and debootstrap")
    images = Images(tmp_path)
    try:
        yield images
    finally:
        images("rm", "--all")
        images("rmi", "--all", "--force")


def make_base(images: Images, folder: Path) -> str:
    """An image of Debian with Python; its name."""
    made = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm"]
    subprocess.run([*made, str(folder), MIRROR], check=True, stdout=subprocess.DEVNULL)
    for there in filter(Path.exists, LOCAL):
        here = folder / there.relative_to("/")
        if there.is_dir():
            shutil.copytree(there, here, dirs_exist_ok=True)
        else:
            shutil.copy(there, here)
    trusts = ["chroot", str(folder), "update-ca-certificates"]
    subprocess.run(trusts, check=True, stdout=subprocess.DEVNULL)
    container = images("from", "scratch")
    images("add", "--quiet", container, str(folder), "/")
    images("commit", "--quiet", container, "debian-python")
    return "localhost/debian-python"


def build(images: Images, base: str) -> None:
    subprocess.run(["make", "wheel"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    images(
        *("build", "--isolation", "chroot"),
        *(f"--build-arg=BASE={base}", f"--build-arg=JAVA={JAVA}"),
        *("--file", "deploy/Dockerfile", "--ignorefile", "deploy/Dockerfile.dockerignore"),
        *("--tag", "streamsql", "."),
    )


def test_the_image_serves(images: Images, tmp_path: Path) -> None:
    build(images, make_base(images, tmp_path / "base"))
    container = images("from", "localhost/streamsql")
    port = free_port()
    served = ["streamsql", "server", "--listen", f"127.0.0.1:{port}", "--log-format", "json"]
    run = ["run", "--isolation", "chroot", "--user", "10001:10001", container, "--", "tini", "--"]
    log = tmp_path / "log.txt"
    with log.open("w") as written:
        server = subprocess.Popen(images.command(*run, *served), stdout=written, stderr=written)
    url = f"http://127.0.0.1:{port}"

    def is_ready() -> bool:
        assert server.poll() is None, log.read_text()
        with suppress(httpx2.TransportError):
            return httpx2.get(f"{url}/chc/ready").is_success
        return False

    try:
        await_until(is_ready, "the server to be ready", START_SECONDS)
        text = (
            "CREATE STREAM s (n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');"
            "CREATE TABLE t AS SELECT n, COUNT(*) AS c FROM s GROUP BY n;"
            "INSERT INTO s VALUES (1);"
        )
        assert httpx2.post(f"{url}/ksql", json={"ksql": text}, timeout=120.0).is_success

        def rows() -> list[object]:
            asked = {"sql": "SELECT c FROM t WHERE n = 1;"}
            answer = httpx2.post(f"{url}/query-stream", json=asked, timeout=60.0)
            return answer.text.splitlines()[1:] if answer.is_success else []

        await_until(lambda: rows() == ["[1]"], "the row to be counted", START_SECONDS)
    finally:
        server.terminate()
        server.wait(60.0)
