"""A host application: its own tables, its own naming convention, one name that looks like a full-text shadow."""

from sqlalchemy import Column, ForeignKey, Index, Integer, MetaData, String, Table

metadata = MetaData(
    naming_convention={"ck": "check_%(constraint_name)s", "pk": "prim_%(table_name)s", "ix": "i_%(column_0_label)s"}
)

orders = Table("orders", metadata, Column("id", Integer, primary_key=True), Column("name", String(50), nullable=False))
orders_data = Table(
    "orders_data", metadata, Column("id", Integer, primary_key=True), Column("order_id", ForeignKey("orders.id"))
)
Index("orders_by_name", orders.c.name, unique=True)
