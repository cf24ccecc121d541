"""The backend's own tables and engine: what you have already."""

import os
from datetime import UTC, datetime

from sqlalchemy import DateTime, ForeignKey, String, UniqueConstraint
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

DATABASE_URL = os.environ.get("DATABASE_URL", "sqlite+aiosqlite:///backend.db")

engine = create_async_engine(DATABASE_URL)
sessions = async_sessionmaker(engine, expire_on_commit=False)


class Base(DeclarativeBase):
    """The declarative base of the backend; the tables of standing intents are not in it."""


class Message(Base):
    """What a user wrote; its id is the client's, so a message that is sent again is known."""

    __tablename__ = "messages"
    __table_args__ = (UniqueConstraint("conversation", "client_id"),)

    key: Mapped[int] = mapped_column(primary_key=True)
    conversation: Mapped[str] = mapped_column(String(200))
    client_id: Mapped[str] = mapped_column(String(200))
    sender: Mapped[str] = mapped_column(String(200))
    text: Mapped[str]
    at: Mapped[datetime] = mapped_column(DateTime(timezone=True), default=lambda: datetime.now(UTC))


class Reply(Base):
    """What the assistant answered, at most once to a message."""

    __tablename__ = "replies"

    message_key: Mapped[int] = mapped_column(ForeignKey("messages.key"), primary_key=True)
    text: Mapped[str]
