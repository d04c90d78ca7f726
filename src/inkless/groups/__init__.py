"""The group coordinator: who is in a consumer group, which generation it is in, how far it has read.

    handlers ─► coordinator ─► hosted_group ─► group ─► phases, members, deadlines     (never wait)
                    └──► offsets ─► the database (`coordinator.contract.GroupStore`)

`group` is a state machine: events in (`events`), effects out (`effects`), time handed in. `hosted_group` is
the thin shell around it: it parks requests, turns the clock and carries out effects. `coordinator` knows
which groups are here and holds their claims; `offsets` commits and fetches; `upkeep` forgets groups that
nobody uses, and gives up those that another broker has now.

Invariants: a group has one generation at a time, whose leader is a member of it; every parked request is
answered once; offsets are committed only by members of the current generation, or by nobody's client to a
group that has none; a commit is acknowledged after the database has it.

Memberships are in memory only. When a broker dies, or a group moves to another broker, its members are told
that they are unknown and join again: one rebalance, no lost offset. What the former coordinator still writes
is refused by the database, because the claim it belongs to is over; it then gives the group up and sends
everybody who waits to the new one. When the database does not answer, commits fail with a code that makes
clients try again, and memberships go on as they are.
"""
