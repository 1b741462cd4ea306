"""Working with an engine from elsewhere: the shell over the network, and Python programs.

`transport` speaks HTTP, `wire*` is the form of what is sent, `remote` looks like an engine, and
`connection` is what Python programs use, over a remote engine or one in the same process.
"""
