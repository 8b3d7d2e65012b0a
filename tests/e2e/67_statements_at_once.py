"""Statements of several clients at once: one that waits for its commit is run once, and holds the others back."""

import threading

from harness import *

CLIENTS, ROUNDS = 4, 30


def change(d, number, errors):
    try:
        for i in range(ROUNDS):
            name = "c%d_%d" % (number, i)
            d.query("CREATE DATABASE %s; CREATE SINK %s TYPE stdout; ALTER SINK %s PAUSE" % (name, name, name))
            d.query("SHOW SINKS; SHOW LEDGER; DROP SINK %s; SHOW DATABASES" % name)
    except BaseException as error:  # the harness fails a test by SystemExit or an assertion
        errors.append("client %d: %r" % (number, error))


@short
def test_changes_and_listings_of_many_clients():
    with Daemon() as d:
        errors = []
        clients = [threading.Thread(target=change, args=(d, n, errors)) for n in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        equal(errors, [], "what went wrong")
        equal(len(d.rows("SHOW DATABASES")), CLIENTS * ROUNDS, "databases")
        equal(d.rows("SHOW SINKS"), [], "sinks")
