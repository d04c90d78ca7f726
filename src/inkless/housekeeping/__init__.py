"""Housekeeping: what nobody asks for and what must be done all the same.

    housekeeper ─► duty_lease                                      one broker at a time does a chore for all
              └──► retention ─► log starts move                  ┐
                   DeleteRecords, DeleteTopics (elsewhere)       ├─► objects without references
                   orphans ─► objects without commit, condemned  ┘        └─► grace ─► garbage ─► gone
                   idle_producers ─► their state is forgotten

A chore is a class with one verb, `step`: a bounded amount of work, and how long to wait before the next. What
is to be done is always read from database and storage, never remembered, so a step may be cut off anywhere,
carried out twice, or go on in another broker.

Invariants: an object is deleted only after the database has said that nothing refers to it, which can never
become untrue again: a new reference comes only from a commit, and the commit of a known object is never
carried out a second time. An object without a commit is therefore condemned, that is made known, before it is
deleted. It is deleted from storage first and forgotten by the database second. Log starts never go back.

When a step fails, it is tried again after a pause. A crash between the deletion and the forgetting leaves
objects that are deleted a second time, which is not an error; one before leaves everything as it was. A fetch
that looked up its coordinates before the log start moved reads within the grace period; should it be slower,
it finds the object missing and is answered with a code that makes the client ask again.
"""
