"""How the values of SQL types look outside: one entry a type, and the forms that are made of it.

`scalars` is the table: of each type its Python class, its text, its JSON, and how records hold it.
`nested` leads a form through ARRAY, MAP and STRUCT. `wire` is what our own client and the server
send each other, `records` what is written to Kafka, `python` what programs may give.

Everywhere in Python a value is: bool, int, float, Decimal, str, bytes, date, time, a datetime in
UTC without a zone, list, dict (of a STRUCT by its fields' names) or None; times have milliseconds.
"""
