"""The backend's own tables and engine: what you have already."""

import os

from sqlalchemy import String, UniqueConstraint, create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, sessionmaker

engine = create_engine(os.environ.get("DATABASE_URL", "sqlite:///backend.db"))
sessions = sessionmaker(engine)


class Base(DeclarativeBase):
    """The declarative base of the backend; the tables of standing intents are not in it."""


class Message(Base):
    """What a user wrote, and what the assistant answered."""

    __tablename__ = "messages"
    __table_args__ = (UniqueConstraint("room", "client_id"),)

    key: Mapped[int] = mapped_column(primary_key=True)
    room: Mapped[str] = mapped_column(String(200))
    client_id: Mapped[str] = mapped_column(String(200))
    sender: Mapped[str] = mapped_column(String(200))
    text: Mapped[str]
    reply: Mapped[str | None]
