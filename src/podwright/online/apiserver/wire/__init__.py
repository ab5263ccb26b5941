"""From a socket to a request and back: the protocol, the application, what is refused."""
