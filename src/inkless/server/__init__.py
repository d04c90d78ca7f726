"""The Kafka protocol on sockets: listeners, connections, dispatch, and a handler per API.

    listener → connection (frames in, responses out, in order) → dispatch → handlers/…

Invariants kept here: whatever bytes arrive, the answer is an error or a closed connection, and other
connections are not disturbed (I8); responses leave in the order of their requests; reading stops before
memory runs out. `api_table` is the one list of what is served.
"""
