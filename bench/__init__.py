"""Measurements, each beside its limit or a peer in the same run. `make bench` prints them all.

Every server and every client is a process of its own, so that neither steals the other's event loop; they
still share the machine's cores, which is why only ratios mean anything.
"""
