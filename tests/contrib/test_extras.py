"""Extras cost nothing until they are used, and say what to install when they are missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: What the extras bring in, by the module that tells that it is there.
EXTRAS = {
    "openai_agents": ("openai-agents", "agents"),
    "pydantic_ai": ("pydantic-ai", "pydantic_ai"),
    "langchain": ("langchain", "langchain"),
    "mcp": ("mcp", "mcp"),
    "otel": ("otel", "opentelemetry"),
}


def python(code: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, check=False)


def test_importing_the_library_imports_no_framework() -> None:
    done = python("import intents, intents.contrib, intents.tool", "-X", "importtime")
    assert done.returncode == 0, done.stderr
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert {"intents", "sqlalchemy"} <= imported
    frameworks = {module for _, module in EXTRAS.values()} | {"langgraph", "langchain_core", "mcp_types", "openai"}
    assert not imported & frameworks
    modules = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert not {name for name in modules if name.startswith("intents.contrib.")}


@pytest.mark.parametrize("adapter", EXTRAS)
def test_a_missing_framework_is_an_import_error_that_names_the_extra(adapter: str) -> None:
    extra, module = EXTRAS[adapter]
    done = python(f"import sys; sys.modules[{module!r}] = None; import intents.contrib.{adapter}")
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ImportError: intents.contrib.{adapter} needs ")
    assert last.endswith(f'pip install "standing-intents[{extra}]"')
