"""OpenStack Swift with its S3 door, all of its servers in one process: PORT FOLDER.

Run by an interpreter that has Swift, not by that of the tests.
"""

# mypy: ignore-errors
# ruff: noqa: E402 - theirs must be patched before anything else is imported

import logging
import sys
from pathlib import Path

from swift.common.utils import eventlet_monkey_patch

eventlet_monkey_patch()

import eventlet
import eventlet.wsgi
from swift.common import utils
from swift.common.ring import RingBuilder
from swift.common.wsgi import SwiftHttpProtocol, loadapp

_SWIFT = """
[swift-hash]
swift_hash_path_prefix = tests
swift_hash_path_suffix = tests
[storage-policy:0]
name = only
default = yes
"""
_STORAGE = """
[DEFAULT]
swift_dir = {conf}
devices = {devices}
mount_check = false
disable_fallocate = true
[pipeline:main]
pipeline = {kind}-server
[app:{kind}-server]
use = egg:swift#{kind}
"""
_PROXY = """
[DEFAULT]
swift_dir = {conf}
[pipeline:main]
pipeline = catch_errors healthcheck s3api tempauth slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:healthcheck]
use = egg:swift#healthcheck
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
# So few that a listing has pages.
max_bucket_listing = 7
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
[filter:slo]
use = egg:swift#slo
"""


def _ring(path: Path, port: int) -> None:
    builder = RingBuilder(4, 1, 1)
    disk = {"id": 0, "region": 1, "zone": 1, "device": "disk", "weight": 1}
    builder.add_dev(disk | {"ip": "127.0.0.1", "port": port})
    builder.rebalance()
    builder.get_ring().save(str(path))


def main(port: int, folder: Path) -> None:
    conf, devices = folder / "conf", folder / "devices"
    conf.mkdir(exist_ok=True)
    (devices / "disk").mkdir(parents=True, exist_ok=True)
    (conf / "swift.conf").write_text(_SWIFT)
    utils.set_swift_dir(str(conf))
    doors = {}
    for kind in ("account", "container", "object"):
        doors[kind] = eventlet.listen(("127.0.0.1", 0))
        _ring(conf / f"{kind}.ring.gz", doors[kind].getsockname()[1])
        (conf / f"{kind}.conf").write_text(_STORAGE.format(conf=conf, devices=devices, kind=kind))
    (conf / "proxy.conf").write_text(_PROXY.format(conf=conf))
    doors["proxy"] = eventlet.listen(("127.0.0.1", port))
    served = [
        eventlet.spawn(
            eventlet.wsgi.server,
            door,
            loadapp(str(conf / f"{kind}.conf")),
            logging.getLogger("requests"),
            protocol=SwiftHttpProtocol,
        )
        for kind, door in doors.items()
    ]
    served[-1].wait()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]).absolute())
