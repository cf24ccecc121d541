"""The command that opens the admin page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from intents.cli import options
from intents.cli.database import admin as operator
from intents.cli.database import service_for
from intents.cli.errors import CommandError

if TYPE_CHECKING:
    from types import ModuleType


def admin(
    *,
    port: Annotated[int, typer.Option("--port", "-p", min=0, max=65535, help="The port; 0 takes any free one.")] = 8765,
    database: options.Database = None,
    agent: options.Agent = "main",
) -> None:
    """Open the admin page for this machine's browser: look, explain, cancel. The printed address works once."""
    loopback = _loopback()
    with service_for(database, agent, every_language=True) as service:
        backend = loopback.OneTimeToken(operator())
        app = loopback.create_local_admin(service, backend)
        try:
            listener = loopback.listen(port)
        except OSError as error:
            raise CommandError(f"Port {port}: {error.strerror}. --port 0 takes a free one.") from None
        with listener:
            host, taken = listener.getsockname()
            print(f"http://{host}:{taken}/?token={backend.token}", flush=True)
            print("Open this address once in a browser on this machine. Ctrl+C ends the page.", flush=True)
            loopback.serve(app, listener)


def _loopback() -> ModuleType:
    try:
        from intents.contrib.admin import loopback  # noqa: PLC0415 - an extra
    except ImportError as error:
        cause = error.__cause__ or error
        raise CommandError(
            f'The admin page needs the extra admin: pip install "standing-intents[admin]" ({cause})'
        ) from error
    return loopback
