"""What addresses tell."""

import pytest

from unchunk.server.addresses import leads_to


@pytest.mark.parametrize(
    ("url", "address", "is_own"),
    [
        ("http://localhost:8000", "http://127.0.0.1:8000", True),
        ("http://[::1]:8000/api", "http://127.0.0.1:8000", True),
        ("http://127.0.0.1:8000", "http://0.0.0.0:8000", True),
        ("http://0.0.0.0:8000", "http://127.0.0.1:8000", True),
        ("http://10.0.0.7:8000", "http://10.0.0.7:8000", True),
        ("http://localhost", "http://127.0.0.1:80", True),
        ("http://LOCALHOST:8000", "http://[::1]:8000", True),
        ("http://127.0.0.2:8000", "http://127.0.0.2:8000", True),
        ("http://127.0.0.2:8000", "http://127.0.0.1:8000", False),
        ("http://127.0.0.1:8000", "http://127.0.0.2:8000", False),
        ("http://localhost:8001", "http://127.0.0.1:8000", False),
        ("https://localhost", "http://127.0.0.1:80", False),
        ("http://chunkenizer:8000", "http://0.0.0.0:8000", False),
        ("http://localhost:8000", "http://10.0.0.7:8000", False),
        ("http://localhost:port", "http://127.0.0.1:8000", False),
    ],
)
def test_a_url_that_leads_to_the_server_itself_is_known(
    url: str, address: str, *, is_own: bool
) -> None:
    assert leads_to(url, address) is is_own
