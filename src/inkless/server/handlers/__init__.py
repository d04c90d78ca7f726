"""One module per API family. A handler turns a request message into a response message.

It answers at once, or is a coroutine that waits for the coordinator or for storage. Errors of one topic or
partition become codes in its part of the response; only bytes that cannot be understood close a connection.
"""
