"""The admin page for whoever starts it: on this machine only, opened by a token that works once."""

from __future__ import annotations

import hmac
import os
import secrets
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from sqladmin.authentication import AuthenticationBackend
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount

from intents.contrib.admin.app import create_admin

if TYPE_CHECKING:
    from starlette.requests import Request

    from intents.schemas import Admin
    from intents.service import IntentService

ADDRESS: Final = "127.0.0.1"
#: What a browser on this machine may call it. Any other name is another site's, pointed here.
HOSTS: Final = (ADDRESS, "localhost")
_SESSION: Final = "intents_admin_session"
_OPENED: Final = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Signed in</title>
<link rel="icon" type="image/svg+xml" href="statics/icon.svg">
<meta http-equiv="refresh" content="0;url=."></head>
<body><p>You are signed in. <a href=".">Go on to the intents</a></p></body></html>
"""


class OneTimeToken(AuthenticationBackend):
    """Lets in the browser that shows the token first, and nobody after it.

    Args:
        admin: who works there, as the audit log names them.
    """

    #: What the sign-in page says instead of asking for a password.
    sign_in_hint: Final = (
        "Open the address that `intents admin` printed when it started. It works once; start the command again "
        "for another one."
    )

    def __init__(self, admin: Admin) -> None:
        super().__init__(
            secrets.token_urlsafe(32), session_cookie="intents_admin", same_site="strict", max_age=12 * 60 * 60
        )
        self._admin = admin
        self._token: str | None = secrets.token_urlsafe(32)
        self._session: str | None = None

    @property
    def token(self) -> str | None:
        """The token; None when it was used."""
        return self._token

    async def authenticate(self, request: Request) -> Response | bool:
        """Know the session, or exchange the token for one."""
        known = request.session.get(_SESSION)
        if known is not None and self._session is not None and hmac.compare_digest(str(known), self._session):
            return True
        shown = request.query_params.get("token")
        if request.method != "GET":  # a program that only probes the address must not use it up
            return False
        if shown is None or self._token is None or not hmac.compare_digest(shown.encode(), self._token.encode()):
            return False
        self._token = None
        self._session = secrets.token_urlsafe(32)
        request.session.clear()
        request.session[_SESSION] = self._session
        # A page and no redirect: after one a strict cookie may not be sent to whoever followed a link.
        return HTMLResponse(_OPENED)

    async def login(self, request: Request) -> Response | bool:
        """Refuse: there is no password."""
        return False

    async def logout(self, request: Request) -> Response | bool:
        """End the session for good."""
        if await self.authenticate(request) is True:
            self._session = None
        request.session.clear()
        return False

    async def get_user_id(self, request: Request) -> Any:
        """Name the admin."""
        return self._admin.name


def create_local_admin(service: IntentService, backend: OneTimeToken) -> Starlette:
    """Make the admin page that answers to this machine's own names only.

    Args:
        service: whose database.
        backend: holds the token.
    """
    pages = create_admin(service, authentication_backend=backend, title="Standing intents")
    guard = Middleware(TrustedHostMiddleware, allowed_hosts=[*HOSTS], www_redirect=False)
    return Starlette(routes=[Mount("/", pages)], middleware=[guard])


def listen(port: int) -> socket.socket:
    """Take a port of the loopback interface; 0 takes any free one.

    Raises:
        OSError: it is taken or not allowed.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # elsewhere it would let two programs have the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((ADDRESS, port))
        listener.listen()
    except OSError:
        listener.close()
        raise
    return listener


def serve(app: Starlette, listener: socket.socket) -> None:
    """Serve until interrupted. Addresses are not logged: the first holds the token."""
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, proxy_headers=False)
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])
