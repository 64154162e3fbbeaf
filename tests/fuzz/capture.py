#!/usr/bin/env python3
"""A relay that keeps what passes, for seeds of the fuzz drivers.

    capture.py PORT TARGET_PORT DIRECTORY

Listens on 127.0.0.1:PORT, connects each connection on to 127.0.0.1:TARGET_PORT, and writes what the
initiator and the target said into DIRECTORY/NUMBER.i and NUMBER.t. Ends by a signal.
"""
import pathlib
import select
import socket
import sys
import threading

LIMIT = 400_000  # bytes kept of one direction


def relay(number, initiator, port, directory):
    target = socket.create_connection(("127.0.0.1", port))
    sides = {initiator: (target, "i"), target: (initiator, "t")}
    kept = {"i": bytearray(), "t": bytearray()}
    while sides:
        for s in select.select(list(sides), [], [])[0]:
            other, name = sides[s]
            try:
                data = s.recv(65536)
            except OSError:
                data = b""
            if data:
                other.sendall(data)
                kept[name] += data[: LIMIT - len(kept[name])]
                continue
            del sides[s]
            try:
                other.shutdown(socket.SHUT_WR)
            except OSError:
                pass
    for name, data in kept.items():
        (directory / f"{number}.{name}").write_bytes(data)


def main():
    port, target, directory = int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3])
    directory.mkdir(parents=True, exist_ok=True)
    listener = socket.create_server(("127.0.0.1", port))
    number = 0
    while True:
        connection, _ = listener.accept()
        args = (number, connection, target, directory)
        threading.Thread(target=relay, args=args, daemon=True).start()
        number += 1


main()
