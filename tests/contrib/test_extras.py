"""Extras cost nothing until they are used, and say what to install when they are missing."""

from __future__ import annotations

import subprocess
import sys

#: What the extras bring in: the adapter, the extra, and the package that tells that it is there.
EXTRAS = [
    ("openai_agents", "openai-agents", "agents"),
    ("pydantic_ai", "pydantic-ai", "pydantic_ai"),
    ("langchain", "langchain", "langchain"),
    ("mcp", "mcp", "mcp"),
    ("otel", "otel", "opentelemetry"),
    ("admin", "admin", "sqladmin"),
]


def python(code: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, check=False)


def test_importing_the_library_imports_no_framework() -> None:
    done = python("import intents, intents.contrib", "-X", "importtime")
    assert done.returncode == 0, done.stderr
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    packages = {name.partition(".")[0] for name in imported}
    assert {"intents", "sqlalchemy"} <= packages
    frameworks = {package for _, _, package in EXTRAS} | {"langgraph", "langchain_core", "mcp_types", "openai"}
    assert not packages & frameworks
    assert not {name for name in imported if name.startswith("intents.contrib.")}


def test_a_missing_framework_is_an_import_error_that_names_the_extra() -> None:
    done = python(
        "import sys, importlib\n"
        f"for adapter, extra, package in {EXTRAS!r}:\n"
        "    sys.modules[package] = None\n"
        "    try:\n"
        "        importlib.import_module('intents.contrib.' + adapter)\n"
        "    except ImportError as error:\n"
        "        print(error)\n"
    )
    assert done.returncode == 0, done.stderr
    for line, (adapter, extra, _) in zip(done.stdout.splitlines(), EXTRAS, strict=True):
        assert line.startswith(f"intents.contrib.{adapter} needs ")
        assert line.endswith(f'pip install "standing-intents[{extra}]"')


def test_a_release_of_pydantic_ai_that_is_too_old_is_refused() -> None:
    done = python(
        "from pydantic_ai.capabilities import AbstractCapability\n"
        "del AbstractCapability.prepare_model_request\n"
        "import intents.contrib.pydantic_ai"
    )
    assert (
        done.stderr.strip().splitlines()[-1].startswith("ImportError: intents.contrib.pydantic_ai needs Pydantic AI 2")
    )
