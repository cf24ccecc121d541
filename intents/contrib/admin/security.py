"""What every request and every answer of the admin page goes through, whatever route it takes."""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse

from intents.errors import AuthenticationMissing

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Longest form, in bytes: a message of a megabyte, percent-encoded at worst.
LARGEST_FORM: Final = 4 * 1024 * 1024
_MOST_FIELDS: Final = 40
_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
#: The hidden field of every form of ours.
CSRF_FIELD: Final = "intents_csrf"

#: The pages have no script, and load nothing from anywhere else.
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not "no-referrer": browsers would then send no Origin with a form either.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Rooted:
    """Makes the application a root of its own: it finds its routes by name, however the host named its mounts."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request without what the host's router left in it."""
        own = {name: value for name, value in scope.items() if name not in ("router", "app_root_path", "path_params")}
        await self._app(own, receive, send)


class SecurityHeaders:
    """Adds the security headers to every answer; what shows intents is kept by no cache."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                if not headers.get("content-type", "").startswith("text/css"):
                    headers["Cache-Control"] = "no-store"
            await send(message)

        await self._app(scope, receive, send_with_headers)


class SameOriginOnly:
    """Refuses what another site's page makes a browser send."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or answer 403."""
        if (
            scope["type"] == "http"
            and scope["method"] not in _SAFE_METHODS
            and not _is_same_origin(Headers(scope=scope))
        ):
            await PlainTextResponse("This request came from another site.", 403)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _is_same_origin(headers: Headers) -> bool:
    # The browser's own verdict holds behind proxies too, which may change the host; older ones send only the origin.
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == headers.get("host")


def csrf_token(request: Request) -> str:
    """Return the token that the session's forms carry, made when there is none.

    Raises:
        AuthenticationMissing: the authentication backend keeps no session.
    """
    if "session" not in request.scope:
        raise AuthenticationMissing(
            "The authentication backend keeps no session, and without one no form can be trusted.",
            "Call super().__init__(secret_key=...) in its constructor, or give it a session middleware.",
        )
    return str(request.session.setdefault(CSRF_FIELD, secrets.token_urlsafe(32)))


async def read_form(request: Request) -> dict[str, str]:
    """Read a posted form whose token is the session's.

    Raises:
        HTTPException: 403 when the token is not; 413 and 415 when the body is too long or no form.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise HTTPException(415, "Send a form.")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_FORM:
            raise HTTPException(413, "This is too long.")
    try:
        fields = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise HTTPException(413, "This has too many fields.") from None
    form = dict(fields)
    if not hmac.compare_digest(form.pop(CSRF_FIELD, "").encode(), csrf_token(request).encode()):
        raise HTTPException(403, "This form is too old or not ours. Go back, load the page again and repeat it.")
    return form
