"""The proxy of the environment variables, and the servers that are reached without one.

Upstream: vendor/golang.org/x/net/http/httpproxy/proxy_test.go
"""

from __future__ import annotations

import pytest

from podwright.online.client.cluster import ConnectionSettingsError
from podwright.online.client.cluster.proxies import checked_proxy, proxy_of

PROXY = "http://p:3128"


@pytest.mark.parametrize(
    ("server", "environment", "proxy"),
    [
        pytest.param("https://a:1", {"HTTPS_PROXY": PROXY}, PROXY, id="https"),
        pytest.param("http://a:1", {"http_proxy": PROXY}, PROXY, id="http"),
        pytest.param("https://a:1", {"HTTP_PROXY": PROXY}, "", id="that of the other protocol"),
        pytest.param("https://a:1", {"ALL_PROXY": PROXY}, "", id="one for all is unknown to Go"),
        pytest.param(
            "https://a:1", {"HTTPS_PROXY": PROXY, "https_proxy": "x"}, PROXY, id="capitals first"
        ),
        pytest.param("https://a:1", {"https_proxy": "p:1"}, "http://p:1", id="without a protocol"),
        pytest.param("https://a:1", {}, "", id="none"),
        pytest.param("https://localhost:1", {"HTTPS_PROXY": PROXY}, "", id="this machine"),
        pytest.param("https://127.0.0.2:1", {"HTTPS_PROXY": PROXY}, "", id="its addresses"),
        pytest.param("https://[::1]:1", {"HTTPS_PROXY": PROXY}, "", id="in IPv6"),
        pytest.param("https://10.0.0.1", {"HTTPS_PROXY": PROXY}, PROXY, id="another machine"),
    ],
)
def test_the_proxy_of_the_environment(server, environment, proxy):
    assert proxy_of(server, environment) == proxy


@pytest.mark.parametrize(
    ("server", "bypassed", "is_bypassed"),
    [
        pytest.param("https://a.com", "*", True, id="all"),
        pytest.param("https://a.com", "", False, id="none"),
        pytest.param("https://a.com", ",b.com, A.com ", True, id="one of several"),
        pytest.param("https://x.a.com", "a.com", True, id="a domain and what is in it"),
        pytest.param("https://xa.com", "a.com", False, id="the end of another name"),
        pytest.param("https://a.com", ".a.com", False, id="only what is in the domain"),
        pytest.param("https://x.a.com", ".a.com", True, id="which this is"),
        pytest.param("https://x.a.com", "*.a.com", True, id="with an asterisk"),
        pytest.param("https://a.com", "*.a.com", False, id="which is not the domain itself"),
        pytest.param("https://a.com", "*a.com", False, id="an asterisk without a dot is a letter"),
        pytest.param("https://A.com", "a.com", True, id="a name in capitals"),
        pytest.param("https://a.com.", "a.com", False, id="a dot at its end is a part of a name"),
        pytest.param("https://a.com.", "a.com.", True, id="and of an entry"),
        pytest.param("https://10.1.2.3:6443", "10.0.0.0/8", True, id="a network"),
        pytest.param("https://10.1.2.3:6443", "10.9.9.9/8", True, id="by one of its addresses"),
        pytest.param("https://11.1.2.3:6443", "10.0.0.0/8", False, id="outside of it"),
        pytest.param("https://10.1.2.3:6443", "10.1.2.3", True, id="an address"),
        pytest.param("https://10.1.2.3:6443", "10.1.2.3:6443", True, id="with its port"),
        pytest.param("https://10.1.2.3:6443", "10.1.2.3:443", False, id="with another port"),
        pytest.param("https://10.1.2.3", "10.1.2.3:443", True, id="the port of the protocol"),
        pytest.param("http://10.1.2.3", "10.1.2.3:80", True, id="and of the other one"),
        pytest.param("https://x.a.com:1", "a.com:1", True, id="a domain with a port"),
        pytest.param("https://x.a.com:2", "a.com:1", False, id="a domain with another port"),
        pytest.param("https://[fd00::1]:1", "fd00::/8", True, id="a network of IPv6"),
        pytest.param("https://[fd00::1]:1", "[fd00::1]:1", True, id="an address of IPv6"),
        pytest.param("https://a.com", "10.0.0.0/8", False, id="a name is in no network"),
        pytest.param("https://10.1.2.3", "10.0.0.0/255.0.0.0", False, id="a mask is not a length"),
        pytest.param("https://a.com:1", "a.com:", True, id="an empty port is any"),
        pytest.param("https://a.com:1", "a.com:one", False, id="and another text is none"),
        pytest.param("https://a.com:1", ":1", False, id="a port without a host"),
    ],
)
def test_servers_that_are_reached_without_the_proxy(server, bypassed, is_bypassed):
    for name in ("NO_PROXY", "no_proxy"):
        environment = {"HTTPS_PROXY": PROXY, "HTTP_PROXY": PROXY, name: bypassed}
        assert proxy_of(server, environment) == ("" if is_bypassed else PROXY)


@pytest.mark.parametrize("proxy", ["", "http://p:1", "https://user:word@p"])
def test_a_proxy_of_http_can_be_used(proxy):
    assert checked_proxy(proxy) == proxy


@pytest.mark.parametrize("proxy", ["socks5://p:1", "p:1", "ftp://p"])
def test_another_proxy_is_refused(proxy):
    with pytest.raises(ConnectionSettingsError) as raised:
        checked_proxy(proxy)
    assert str(raised.value) == (
        f'the proxy "{proxy}" must be http://HOST:PORT or https://HOST:PORT'
    )
