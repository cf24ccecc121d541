"""The pages as views of SQLAdmin: the list and one intent, its cancellation, and what a message would fire."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import urlencode

from pydantic import ValidationError
from sqladmin import BaseView, ModelView, expose
from sqladmin.authentication import get_current_user_id
from sqladmin.flash import Flash
from sqladmin.pagination import Pagination
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from intents.contrib.admin.picture import lifecycle, outgoing
from intents.contrib.admin.security import read_form
from intents.diagram import GUARDS
from intents.errors import AuthenticationMissing
from intents.lifecycle import TERMINAL, Status
from intents.models import StandingIntent
from intents.repository.browsing import Dossier, Filters
from intents.schemas import Admin, Identity, Turn

if TYPE_CHECKING:
    from intents.contrib.admin.desk import Desk

ROWS: Final = 25
_SEE_OTHER: Final = 303
#: Fields of the explain form.
_EXPLAIN_FIELDS: Final = ("agent", "provider", "account", "sender", "conversation", "text", "intent")


class IntentPages(ModelView, model=StandingIntent):
    """The list, one intent, and its cancellation. Everything that SQLAdmin could write with is off."""

    desk: ClassVar[Desk]

    name = "Intent"
    name_plural = "Intents"
    can_create = False
    can_edit = False
    can_delete = False
    can_export = False
    can_import = False
    page_size = ROWS
    page_size_options: ClassVar[list[int]] = [ROWS]
    list_template = "intents_admin/list.html"
    details_template = "intents_admin/details.html"

    async def list(self, request: Request) -> Pagination:
        """Return the page that the query asks for."""
        wanted = self.validate_page_number(request.query_params.get("page"), 1)
        page = await self.desk.browse(_filters(request), page=wanted, size=ROWS)
        request.state.more = page.more
        return Pagination(rows=[*page.intents], page=page.number, page_size=ROWS, count=page.total)

    async def list_context(self, request: Request) -> dict[str, Any]:
        """Return the choices of the filters, and what they are set to."""
        asked = {name: value for name, value in request.query_params.items() if name != "page" and value}

        def page_url(number: int) -> str:
            return "?" + urlencode({**asked, "page": number})

        return {"choices": await self.desk.choices(), "statuses": list(Status), "asked": asked, "page_url": page_url}

    async def get_object_for_details(self, request: Request) -> Any:
        """Return everything about the intent of the path; SQLAdmin asks twice."""
        if not hasattr(request.state, "dossier"):
            request.state.dossier = await self.desk.examine(request.path_params["pk"])
        return request.state.dossier

    async def details_context(self, request: Request) -> dict[str, Any]:
        """Return the picture and what can still happen."""
        dossier: Dossier = await self.get_object_for_details(request)
        return {
            "picture": lifecycle(dossier.intent.status),
            "moves": outgoing(dossier.intent.status),
            "guards": GUARDS,
            "terminal": dossier.intent.status in TERMINAL,
        }

    @expose("/cancel/{pk}", methods=["GET", "POST"])
    async def cancel(self, request: Request) -> Response:
        """Ask for a confirmation, or with it cancel the intent."""
        dossier: Dossier = await self.get_object_for_details(request)
        admin = _admin_of(request)
        if request.method == "POST":
            form = await read_form(request)
            cancelled = await self.desk.cancel(dossier.intent, by=admin, reason=form.get("reason") or None)
            Flash.success(request, "The intent is cancelled.")
            url = request.url_for("admin:details", identity=self.identity, pk=cancelled.id)
            return RedirectResponse(url.path, _SEE_OTHER)
        context = {"intent": dossier.intent, "terminal": dossier.intent.status in TERMINAL, "admin_name": admin.name}
        return await self.templates.TemplateResponse(request, "intents_admin/cancel.html", context)


class ExplainPage(BaseView):
    """What a message would fire, and why not the rest. Posted, so that no message gets into an address or a log."""

    desk: ClassVar[Desk]

    name = "Explain"

    @expose("/explain", methods=["GET", "POST"], identity="explain")
    async def explain(self, request: Request) -> Response:
        """Show the form; posted, also the answer."""
        context: dict[str, Any] = {"choices": await self.desk.choices(), "errors": {}, "verdicts": None}
        if request.method == "GET":
            form = {"agent": self.desk.agent_id, "account": "default", **request.query_params, "text": ""}
        else:
            form = await read_form(request)
            await self._answer(form, context)
        context["form"] = {name: form.get(name, "") for name in _EXPLAIN_FIELDS}
        status = 422 if context["errors"] else 200
        return await self.templates.TemplateResponse(request, "intents_admin/explain.html", context, status)

    async def _answer(self, form: dict[str, str], context: dict[str, Any]) -> None:
        try:
            turn = Turn(
                text=form.get("text", ""),
                identity=Identity(
                    provider=form.get("provider", ""),
                    account_id=form.get("account", ""),
                    sender_id=form.get("sender", ""),
                    conversation_id=form.get("conversation", ""),
                ),
            )
        except ValidationError as error:
            context["errors"] = {_field(each["loc"]): _complaint(each["msg"]) for each in error.errors()}
            return
        try:
            agent_id, intent_id = form.get("agent", ""), form.get("intent", "").strip() or None
            context["verdicts"] = await self.desk.explain(agent_id, turn, intent_id=intent_id)
        except ValueError as error:
            context["errors"] = {"agent": str(error)}


#: SQLite refuses far longer patterns with an error.
_LONGEST_SEARCH: Final = 500


def _filters(request: Request) -> Filters:
    asked = request.query_params
    try:
        status = Status(asked["status"]) if asked.get("status") else None
    except ValueError:
        raise HTTPException(400, "There is no such status.") from None
    try:
        provider, account = map(str, json.loads(asked["channel"])) if asked.get("channel") else ("", "")
    except (ValueError, TypeError, RecursionError):
        raise HTTPException(400, "There is no such channel.") from None
    text = asked.get("search", "").strip()
    if len(text) > _LONGEST_SEARCH:
        raise HTTPException(400, f"Search for {_LONGEST_SEARCH} characters at most.")
    return Filters(
        status=status,
        agent_id=asked.get("agent"),
        provider=provider,
        account_id=account,
        owner=asked.get("owner", "").strip(),
        text=text,
    )


def _admin_of(request: Request) -> Admin:
    """Who is signed in, as the audit log names them.

    Raises:
        AuthenticationMissing: the backend does not say.
    """
    user = get_current_user_id(request)
    try:
        return Admin(name=str(user or ""))
    except ValidationError:
        raise AuthenticationMissing(
            "The authentication backend does not say who is signed in, and the audit log must name who cancels.",
            'Let its login set request.session["user_id"], or its get_user_id return a name.',
        ) from None


def _field(location: tuple[int | str, ...]) -> str:
    return {"account_id": "account", "sender_id": "sender", "conversation_id": "conversation"}.get(
        str(location[-1]), str(location[-1])
    )


def _complaint(message: str) -> str:
    return message.removeprefix("Value error, ").replace("String should have at least 1 character", "fill this in")
