"""The admin page put together: SQLAdmin with our views, templates and style, and nothing of it that writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jinja2
from sqladmin import Admin as SqlAdmin
from sqladmin.authentication import AuthenticationBackend, login_required
from sqladmin.templating import Jinja2Templates
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from intents import display
from intents.contrib.admin.desk import Desk
from intents.contrib.admin.security import CSRF_FIELD, Rooted, SameOriginOnly, SecurityHeaders, csrf_token
from intents.contrib.admin.views import ExplainPage, IntentPages
from intents.errors import (
    AuthenticationMissing,
    ConcurrentUpdate,
    IntentNotFound,
    IntentsError,
    SchemaMismatch,
    TransitionNotAllowed,
)
from intents.keys import canonical
from intents.models import StandingIntent
from intents.sanitize import clean_line

if TYPE_CHECKING:
    from intents.aio import AsyncIntentService
    from intents.service import IntentService

#: The routes of SQLAdmin that are served; those that a later version adds are not.
_ROUTES: Final = frozenset({"index", "list", "details", "login", "logout"})
_STATUS_CODES: Final[dict[type[IntentsError], int]] = {
    IntentNotFound: 404,
    AuthenticationMissing: 403,
    TransitionNotAllowed: 409,
    ConcurrentUpdate: 503,
    SchemaMismatch: 503,
}


def create_admin(
    service: IntentService | AsyncIntentService,
    *,
    authentication_backend: AuthenticationBackend,
    title: str = "Standing intents",
) -> Starlette:
    """Make the admin page, an application to mount in the host's Starlette or FastAPI.

    It shows the intents of every agent in the service's database. Whoever the backend lets in may look, explain and
    cancel; nobody can create, edit or delete. The audit log names who cancelled by what the backend's `get_user_id`
    returns, which is ``request.session["user_id"]`` unless it is overridden.

    Args:
        service: whose sessions, analyzer, limits and clock are used.
        authentication_backend: decides who may come in; a `sqladmin.authentication.AuthenticationBackend`.
        title: what the pages call themselves.

    Returns:
        The application: ``app.mount("/intents", create_admin(...))``.

    Raises:
        AuthenticationMissing: there is no authentication backend.
        TypeError: the service is none.
    """
    if not isinstance(authentication_backend, AuthenticationBackend):
        raise AuthenticationMissing(
            "The admin page needs to know who may come in.",
            "Give authentication_backend= a subclass of sqladmin.authentication.AuthenticationBackend.",
        )
    desk = Desk(service)
    app = Starlette(middleware=[Middleware(Rooted), Middleware(SecurityHeaders), Middleware(SameOriginOnly)])
    pages = _Pages(app, title=title, base_url="", authentication_backend=authentication_backend)

    # Classes of its own: SQLAdmin keeps on the class what a view belongs to, and there may be several admins.
    class Intents(IntentPages, model=StandingIntent):
        name, name_plural = IntentPages.name, IntentPages.name_plural

    class Explain(ExplainPage):
        pass

    Intents.identity = "intents"
    Intents.desk = Explain.desk = desk
    pages.add_view(Intents)
    pages.add_view(Explain)
    return app


class _Pages(SqlAdmin):
    """SQLAdmin without what writes, without its scripts, and with pages of our own."""

    def __init__(self, app: Starlette, **options: Any) -> None:
        super().__init__(app, **options)
        routes = [route for route in self.admin.router.routes if getattr(route, "name", None) in _ROUTES]
        statics = StaticFiles(packages=[("intents.contrib.admin", "statics")])
        self.admin.router.routes = [Mount("/statics", app=statics, name="statics"), *routes]
        self.admin.exception_handlers[IntentsError] = self._refused

    def init_templating_engine(self) -> Jinja2Templates:
        """Make the templates: ours, and no directory of the process's own."""
        templates = super().init_templating_engine()
        templates.env.loader = jinja2.PackageLoader("intents.contrib.admin")
        templates.env.globals.update(
            csrf_field=CSRF_FIELD, csrf_token=csrf_token, path_for=_path_for, canonical=canonical
        )
        templates.env.filters.update(
            line=clean_line,
            moment=display.moment,
            duration=display.length,
            fires=display.fires,
            span=display.span,
            creator=display.creator,
            listening=display.listening,
        )
        return templates

    @login_required
    async def index(self, request: Request) -> Response:
        """Begin with the list."""
        return RedirectResponse(_path(request, "admin:list", identity="intents"), 303)

    async def _refused(self, request: Request, error: Exception) -> Response:
        code = next((code for kind, code in _STATUS_CODES.items() if isinstance(error, kind)), 400)
        context = {"status_code": code, "message": str(error)}
        return await self.templates.TemplateResponse(request, "sqladmin/error.html", context, code)


@jinja2.pass_context
def _path_for(context: jinja2.runtime.Context, name: str, **parameters: Any) -> str:
    return _path(context["request"], name, **parameters)


def _path(request: Request, name: str, **parameters: Any) -> str:
    """Return an address without scheme and host, which a proxy may have changed."""
    return request.url_for(name, **parameters).path
