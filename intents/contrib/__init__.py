"""Adapters for the frameworks that people build agents with, each in one module behind an extra of its own.

- `intents.contrib.openai_agents`: OpenAI Agents SDK
- `intents.contrib.pydantic_ai`: Pydantic AI
- `intents.contrib.langchain`: LangChain and LangGraph
- `intents.contrib.mcp`: a Model Context Protocol server
- `intents.contrib.otel`: OpenTelemetry spans and metrics
- `intents.contrib.admin`: an admin page on SQLAdmin

Nothing here is imported unless you import it.
"""
