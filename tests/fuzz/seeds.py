#!/usr/bin/env python3
"""Seeds of the fuzz drivers, from what capture.py kept and from frames by hand.

    seeds.py CAPTURES CORPUS

CAPTURES holds folders of NUMBER.i and NUMBER.t; those whose name begins with "iser" are MPA streams,
the others iSCSI/TCP without digests. Files are written to CORPUS/DRIVER/seed-*. The forms of the
inputs are told in the drivers.
"""
import pathlib
import struct
import sys

CAPTURES, CORPUS = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
KEEP = 96  # bytes of a data segment: what it holds hardly matters
counts = {}


def put(driver, name, data, limit=6000):
    n = counts[driver, name] = counts.get((driver, name), 0) + 1
    path = CORPUS / driver / f"seed-{name}-{n:02}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(data[:limit]))


def be(size, value):
    return value.to_bytes(size, "big")


def sized(data):
    return be(2, len(data)) + data


# ---- captures ----


def pdus(stream):
    """(BHS, AHS, data) of an iSCSI stream without digests."""
    at = 0
    while at + 48 <= len(stream):
        bhs = stream[at : at + 48]
        ahs, data = bhs[4] * 4, int.from_bytes(bhs[5:8], "big")
        body = at + 48 + ahs
        if body + data > len(stream):
            return
        yield bhs, stream[at + 48 : body], stream[body : body + data]
        at = body + (data + 3 & ~3)


def fpdus(stream):
    """The MPA frame and the ULPDUs of an iWARP stream."""
    at = 20 + int.from_bytes(stream[18:20], "big")
    units = []
    while at + 2 <= len(stream):
        n = int.from_bytes(stream[at : at + 2], "big")
        if at + 2 + n > len(stream):
            break
        units.append(stream[at + 2 : at + 2 + n])
        at += 2 + n + (-(n + 2) & 3) + 4
    return stream[: 20 + int.from_bytes(stream[18:20], "big")], units


def conversations(iser):
    for folder in sorted(CAPTURES.iterdir()):
        if folder.name.startswith("iser") == iser:
            for i in sorted(folder.glob("*.i"), key=lambda p: int(p.stem)):
                t = i.with_suffix(".t")
                yield folder.name, i.read_bytes(), t.read_bytes() if t.exists() else b""


def opcode(bhs):
    return bhs[0] & 0x3F


# ---- iSCSI over TCP ----


def pdu_record(bhs, ahs, data, fix=3, iser=None):
    flags = b"" if iser is None else bytes([iser])
    return b"\x00" + bytes([fix]) + flags + bhs + ahs + sized(data[:512])


def of_stream(name, stream):
    put("pdu_stream", name, b"\x08\x02\xff\xff" + stream, 1200)
    composed = b"".join(b + a + sized(d[:KEEP]) for b, a, d in pdus(stream))
    put("pdu_stream", name + "-digests", b"\x0f\x03\xff\xff" + composed, 1200)


def of_logins(name, initiator, target):
    requests = [p for p in pdus(initiator) if opcode(p[0]) == 3]
    responses = [p for p in pdus(target) if opcode(p[0]) == 0x23]
    for _, _, text in requests + responses:
        put("keys", name, b"\x04" + text)
    records = b"".join(b"\x01" + b + sized(d) for b, _, d in requests)
    put("login_target", name, bytes([2 if "chap" in name else 0]) + records)
    records = b"".join(b"\x00" + b[1:2] + sized(d) for b, _, d in responses)
    put("login_initiator", name, bytes([2 if "chap" in name else 0]) + records)
    for _, _, text in requests + responses:
        for pair in text.split(b"\0"):
            if pair.startswith(b"CHAP_"):
                put("chap", "value", b"\x03\xff" + pair.split(b"=", 1)[1])


def of_text(target):
    for bhs, _, data in pdus(target):
        if opcode(bhs) == 0x24 and data:
            put("discovery_text", "answer", b"\x10" + data)


DECODERS = {0x12: [3, 4], 0x25: [1], 0x9E: [1], 0xA0: [2], 0x1A: [5], 0x5A: [5]}


def of_scsi(initiator, target, seen):
    """One record per command for the device server; data-in and data-out for the decoders."""
    commands, out, records = {}, {}, []
    for bhs, ahs, data in pdus(initiator):
        if opcode(bhs) == 1:
            commands[bhs[16:20]] = bhs
            out[bhs[16:20]] = data
            records.append((bhs, ahs))
        elif opcode(bhs) == 5:
            out[bhs[16:20]] = out.get(bhs[16:20], b"") + data
    for bhs, _, data in pdus(target):
        command = commands.get(bhs[16:20])
        if opcode(bhs) == 0x25 and command and data:
            for decoder in DECODERS.get(command[32], []):
                key = (decoder, data[:8], len(data))
                if key not in seen:
                    seen.add(key)
                    put("scsi_data", f"{command[32]:02x}", bytes([decoder]) + data, 260)
        if opcode(bhs) == 0x21 and len(data) > 20 and data[2:] not in seen:
            seen.add(data[2:])
            put("scsi_data", "sense", b"\x00" + data[2:], 100)
    return [(b, a, out.get(b[16:20], b"")) for b, a in records]


def cdb_record(bhs, ahs, data):
    flags = (bhs[1] >> 6 & 1) | (bhs[1] >> 4 & 2) | 0x40 | (0x10 if ahs else 0)
    words = bytes([bhs[4]]) + ahs if ahs else b""
    immediate = min(int.from_bytes(bhs[5:8], "big"), 0xFFFF)
    return bytes([flags, bhs[9] << 4 & 0xFF]) + bhs[32:48] + bhs[20:24] + be(2, immediate) + words + sized(data[:KEEP])


def of_device(name, commands, seen):
    fresh = []
    for bhs, ahs, data in commands:
        key = (bhs[32:48], bhs[20:24])
        if key not in seen:
            seen.add(key)
            fresh.append(cdb_record(bhs, ahs, data))
        if bhs[32] in (0x15, 0x55) and data and data not in seen:
            seen.add(data)
            put("mode_select", name, b"\x00" + bytes([1 if bhs[32] == 0x55 else 0]) + sized(data))
    for at in range(0, len(fresh), 8):
        put("cdb", name, b"\x00" + b"".join(fresh[at : at + 8]), 1600)
    reserves = [(b, d) for b, _, d in commands if b[32] == 0x5F]
    if reserves and len(reserves) < 60:
        records = b"".join(bytes([0x10, b[33], b[34]]) + sized(d[:64]) for b, d in reserves)
        if records not in seen:
            seen.add(records)
            put("pr_out", name, b"\x00" + records, 1600)


def short(bhs, data):
    """A write of many blocks becomes one of as many as the data that is kept."""
    return bhs, data[:512]


def of_sessions(name, initiator, target, seen):
    after = [p for p in pdus(initiator) if opcode(p[0]) != 3]
    kinds = tuple((opcode(b), b[32] if opcode(b) == 1 else 0) for b, _, _ in after[:40])
    if not after or kinds in seen:
        return
    seen.add(kinds)
    for driver, iser in (("target_tcp", None), ("target_iser", 4)):
        records = b"".join(pdu_record(b, a, d, 3, iser) for b, a, d in after[:24])
        put(driver, name, b"\x02" + records, 4000)
    put("target_tcp", name + "-raw", b"\x03\x01" + sized(initiator[:1500]))
    after = [p for p in pdus(target) if opcode(p[0]) != 0x23]
    for driver, iser in (("initiator_tcp", None), ("initiator_iser", 0)):
        records = b"".join(
            pdu_record(b[:16] + be(4, n) + b[20:], a, d, 3, iser) for n, (b, a, d) in enumerate(after[:24])
        )
        for options in (0x10, 0x04):
            put(driver, name, bytes([options]) + records, 4000)


def of_tcp():
    scsi, device, session, streams, logins = set(), set(), set(), {}, {}
    for name, initiator, target in conversations(False):
        streams[name] = streams.get(name, 0) + 1
        if streams[name] <= 3:
            of_stream(name + "-i", initiator)
            of_stream(name + "-t", target)
        logins[name] = logins.get(name, 0) + 1
        if logins[name] <= 2:
            of_logins(name, initiator, target)
        of_text(target)
        of_device(name, of_scsi(initiator, target, scsi), device)
        if len(session) < 24:
            of_sessions(name, initiator, target, session)


# ---- iSER over iWARP ----


def of_iwarp(name, stream, active):
    frame, units = fpdus(stream)
    put("mpa", name, b"\x01\x10\x10" + frame)
    short_units = [u[:300] for u in units[:40]]
    records = b"".join(b"\x04" + sized(u) for u in short_units)
    put("iwarp_stream", name, bytes([4 | (0 if active else 2)]) + b"\x03" + records, 5000)
    tagged = b"".join(b"\x0b" + sized(u) for u in short_units if u[0] & 0x80)
    put("iwarp_stream", name + "-tagged", b"\x0c\x01" + tagged, 3000)
    for u in units:
        if not u[0] & 0x80 and u[1] & 0xF in (3, 4, 5, 6) and len(u) >= 46:
            put("iser_header", name, u[18:46])
            if counts["iser_header", name] > 6:
                break
    return frame, units


def of_iser():
    for name, initiator, target in conversations(True):
        of_iwarp(name + "-i", initiator, False)
        of_iwarp(name + "-t", target, True)
        _, units = fpdus(target)
        frame, _ = fpdus(initiator)
        put("target_iser", name + "-raw", b"\x03\x01" + sized(initiator[: len(frame)]) + b"\x01" + sized(initiator[len(frame) : 3000]))
        records = b"".join(b"\x02\x01" + sized(u[:300]) for u in units[2:20])
        put("initiator_iser", name, b"\x10" + records, 5000)
        writes = b"".join(b"\x02" + (b"\x02" if u[0] & 0x80 else b"\x01") + sized(u[:600]) for u in units[2:20])
        put("initiator_iser", name + "-tags", b"\x10" + writes, 5000)


# ---- by hand ----

REQUEST, REPLY = b"MPA ID Req Frame", b"MPA ID Rep Frame"
# Frames of Linux ib_iser, isert, libiscsi, tgtd and rping over siw.
MPA = [
    REQUEST + bytes.fromhex("10020008 00800001 80000000"),
    REPLY + bytes.fromhex("10020008 00010080 80000000"),
    REQUEST + bytes.fromhex("10020008 00040000 c0000000"),
    REPLY + bytes.fromhex("10020004 00010004"),
    REQUEST + bytes.fromhex("50020004 00010001"),
    REQUEST + bytes.fromhex("80020004 80018001"),
    REPLY + bytes.fromhex("30020000"),
    REQUEST + bytes.fromhex("00010000"),
    REPLY + bytes.fromhex("10020004 3fff3fff"),
]
SIW = [
    "00224143 00000000 00000000 00000001 00000000 000055c4 e4462610 f77e4600 0000ea60 1b8f222e",
    "002e4141 00000000 00000001 00000001 00000000 a60a7800 00005628 8c9f1090 0000ea60 f77e4600 000055c4 e4462610 58ce4987",
    "000ec140 00000001 00000000 00000000 ebd34c5f",
    "001f4143 00000000 00000000 00000001 00000000 71717171 71717171 71717171 71000000 2a58d521",
    "002a4147 00000000 00000002 00000001 00000000 21030300 00104143 00000000 00000000 00000002 00000000 00000000",
]

# Read and written by hand: (driver, name, bytes).
BY_HAND = [
    ("iser_header", "hello", bytes([0x20, 0xA1, 0, 4]) + bytes(24)),
    ("iser_header", "reply", bytes([0x30, 0xAA, 0, 4]) + bytes(24)),
    ("chap", "hex", b"\x03\xff0x0123456789abcdefABCDEF"),
    ("chap", "base64", b"\x03\xff0bAAECAwQFBgcICQoLDA0ODw=="),
    ("chap", "list", b"\x03\xff7,8,6,5"),
    ("keys", "numbers", b"\x01MaxBurstLength=0x10000\0FirstBurstLength=65536\0ErrorRecoveryLevel=2\0"),
    ("keys", "lists", b"\x20HeaderDigest=CRC32C,None\0DataDigest=None,CRC32C\0AuthMethod=CHAP,None\0"),
    ("keys", "rdma", b"\x02RDMAExtensions=Yes\0InitiatorRecvDataSegmentLength=8192\0TargetRecvDataSegmentLength=8192\0"
        b"MaxOutstandingUnexpectedPDUs=0\0MaxAHSLength=256\0iSERHelloRequired=No\0"),
    ("login_target", "chap", b"\x42\x10\x81" + sized(b"AuthMethod=CHAP\0") + b"\x08\x00" + sized(b"") + b"\x02\x87" + sized(b"")),
    ("login_target", "mutual", b"\x46\x10\x81" + sized(b"AuthMethod=CHAP,None\0") + b"\x08\x00" + sized(b"") + b"\x06\x81" + sized(b"")
        + b"\x00\x87" + sized(b"MaxRecvDataSegmentLength=8192\0")),
    ("login_target", "pieces", b"\x00\x10\x44" + sized(b"SessionType=No") + b"\x00\x87" + sized(b"rmal\0")),
    ("login_target", "discovery", b"\x00\x00\x87" + sized(b"InitiatorName=iqn.x\0SessionType=Discovery\0")),
    ("login_initiator", "chap", b"\x42\x10\x00" + sized(b"") + b"\x08\x00" + sized(b"") + b"\x00\x81" + sized(b"") + b"\x00\x87" + sized(b"")),
    ("login_initiator", "mutual", b"\x46\x10\x00" + sized(b"") + b"\x08\x00" + sized(b"") + b"\x02\x81" + sized(b"") + b"\x00\x87" + sized(b"")),
    ("login_initiator", "redirect", b"\x00\x01" + bytes([0x23]) + bytes(35) + b"\x01\x01" + bytes(10) + sized(b"TargetAddress=192.0.2.9:3260,1\0")),
    ("discovery_text", "all", b"\x20TargetName=iqn.a\0TargetAddress=192.0.2.1:3260,1\0TargetAddress=[2001:db8::1]:3261,2\0"
        b"TargetName=eui.0123456789abcdef\0TargetName=naa.52004567ba64678d\0TargetAddress=host.example,3\0"),
    ("mode_select", "caching", b"\x00\x01" + sized(bytes(8) + bytes.fromhex("0812 04") + bytes(17))),
    ("mode_select", "control6", b"\x00\x00" + sized(bytes(4) + bytes.fromhex("0a0a 00") + bytes(9))),
    ("mode_select", "descriptor", b"\x00\x01" + sized(bytes.fromhex("0000000000000008 0000080000000200 8812") + bytes(18))),
    ("pr_out", "cycle", b"\x00" + b"\x00\x00\x00\x00\x01" + b"\x00\x01\x01\x01\x00" + b"\x01\x00\x00\x00\x02" + b"\x01\x04\x01\x02\x01"
        + b"\x00\x02\x01\x01\x00" + b"\x02\x06\x00\x00\x03" + b"\x02\x01\x08\x03\x00" + b"\x01\x05\x08\x02\x03" + b"\x02\x03\x00\x03\x00"),
    ("pr_out", "move", b"\x00" + b"\x00\x00\x00\x00\x01" + b"\x10\x07\x00" + sized(bytes(7) + b"\1" + bytes(7) + b"\2" + bytes(4)
        + be(4, 40) + bytes([0x45, 0]) + be(2, 36) + b"iqn.2026-01.org.example:host1\0".ljust(36, b"\0"))),
    ("pr_out", "reserve6", b"\x00\x20\x00\x21\x02\x21\x03\x20\x01"),
    ("cdb", "tmf", b"\x01" + b"\x01\x00" + bytes.fromhex("28000000000000000800") + bytes(6) + be(4, 4096) + bytes(4)
        + b"\x60\x00\x01\x00" + b"\x20\x00\x05\x00" + b"\x20\x00\x06\x00"),
    ("cdb", "ahs", b"\x00\x50\x00\x7f" + bytes(6) + b"\x18" + bytes(8) + be(4, 0) + be(2, 0) + b"\x06" + bytes.fromhex("00150100") + bytes(20) + bytes(2)),
    ("options", "all", b"--verbose\0-f\0file\0--lun=1\0--lun\0" + b"2\0-n\0" + b"4\0--size\0" + b"64K\0-d\0crc32c\0--\0operand\0"),
    ("options", "addresses", b"192.0.2.1:3260\0[2001:db8::1]:3261\0*:0\0::1\0" + b"1T\0sesions\0--loop=0\0"),
    ("control_line", "verbs", b"\x03\x80{\"verb\": \"login\", \"target\": \"iqn.x\", \"port\": 3260}\n{\"verb\":\"show\"}\n"),
    ("control_line", "nested", b"\x00\xff{\"a\":[1,2.5,true,null,{\"b\":\"\\u0041\\n\"}],\"c\":-1e3}\n"),
    ("control_line", "bad", b"\x01\x10[1]\n"),
]

CONFIG = [
    b"portals: ['192.0.2.1', '[2001:db8::1]:3261', '*:0']\nloops: 2\nlog_level: debug\narena_size: 64M\n"
    b"login_timeout: 10s\ntargets:\n- name: iqn.2026-01.org.example:disk\n  alias: d\n  luns:\n"
    b"  - {lun: 0, path: /srv/disk.img, direct: yes}\n  - {lun: 1, backend: memory, size: 1M, readonly: true}\n",
    b"header_digest: crc32c\ndata_digest: none\nimmediate_data: false\nmax_burst: 1M\nfirst_burst: 64K\n"
    b"targets:\n  - name: iqn.2026-01.org.example:a\n    chap: {name: alice, secret: wonderland12, algorithms: [sha256, md5],\n"
    b"      mutual: {name: tgt, secret: lookingglass1}}\n    initiators: [{name: 'iqn.*', luns: [0]}]\n"
    b"    luns: [{lun: 0, backend: 'null', size: 1G, delay: {read: 1ms}, faults: [{operation: read, after: 3, error: EIO}]}]\n",
    b"discovery: {chap: {name: a, secret_file: /none}}\ntargets: []\nx: &a [*a]\n",
    b"loop: 1\ntargets: {}\n? [a, b]\n: {c: d}\n",
]
RECORD = (
    b"# BEGIN RECORD\nnode.name = iqn.2026-01.org.example:disk\nnode.tpgt = 1\nnode.startup = automatic\n"
    b"iface.iscsi_ifacename = iser\niface.transport_name = iser\nnode.conn[0].address = 192.0.2.1\nnode.conn[0].port = 3260\n"
    b"node.session.auth.authmethod = CHAP\nnode.session.auth.username = alice\nnode.session.auth.password = wonderland12\n"
    b"node.session.auth.chap_algs = SHA256,MD5\nnode.session.timeo.replacement_timeout = -1\n"
    b"node.session.iscsi.ImmediateData = Yes\nnode.conn[0].iscsi.HeaderDigest = None,CRC32C\n# END RECORD\n"
)
DISCOVERY = (
    b"discovery.startup = manual\ndiscovery.type = sendtargets\ndiscovery.sendtargets.address = 192.0.2.1\n"
    b"discovery.sendtargets.port = 3260\ndiscovery.sendtargets.auth.authmethod = None\n"
)


def by_hand():
    for frame in MPA:
        put("mpa", "siw", b"\x01\x10\x10" + frame)
    for text in SIW:
        frame = bytes.fromhex(text)
        put("iwarp_stream", "siw", b"\x01\x00" + frame)
        unit = frame[2 : 2 + int.from_bytes(frame[:2], "big")]
        put("iwarp_stream", "siw-composed", b"\x0d\x01\x07" + sized(unit) + b"\x17" + sized(unit))
        put("target_iser", "siw", b"\x02\x02\x01" + sized(unit))
        put("initiator_iser", "siw", b"\x10\x02\x01" + sized(unit))
    for driver, name, data in BY_HAND:
        put(driver, name, data)
    for text in CONFIG:
        put("config", "file", text)
    put("record", "node", b"\x00" + RECORD)
    put("record", "discovery", b"\x01" + DISCOVERY)
    put("record", "secrets", b"\x00" + RECORD.replace(b"alice", b""))
    roles()


def bhs(code, flags=0x80, **at):
    b = bytearray(48)
    b[0], b[1] = code, flags
    for offset, value in at.items():
        b[int(offset[1:]) : int(offset[1:]) + len(value)] = value
    return bytes(b)


def found():
    """What has broken something; each has a unit test of its own."""
    half = bhs(1, 0xA1, b16=be(4, 1), b20=be(4, 1024), b32=b"\x89" + bytes(12) + b"\1\0\0")
    reads = [bhs(1, 0xC1, b16=be(4, n), b20=be(4, 512), b32=b"\x88" + bytes(12) + b"\1\0\0") for n in (2, 3)]
    for driver, iser in (("target_tcp", None), ("target_iser", 4)):
        ready = pdu_record(bhs(1, 0x81, b16=be(4, 9)), b"", b"", 3, iser)  # takes the unit attention
        records = ready + pdu_record(half, b"", bytes(512), 3, iser) + b"".join(pdu_record(r, b"", b"", 3, iser) for r in reads)
        keep(driver, "readers-behind-half-a-compare-and-write", b"\x02" + records)
    keep("config", "control-characters-in-a-key", b'"a\\e[31m\\nb": 1\n')
    keep("record", "control-characters-in-a-name", b"\x00node.\x1b[31mx = 1\n")


def keep(driver, name, data):
    path = CORPUS / driver / f"found-{name}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def roles():
    """What captures lack: two connections, time, closing, task management, pings, redirects."""
    read = bhs(1, 0xC1, b16=be(4, 1), b20=be(4, 4096), b32=bytes.fromhex("28000000000000000800"))
    write = bhs(1, 0xA1, b16=be(4, 2), b20=be(4, 4096), b32=bytes.fromhex("2a000000000000000800"))
    slow = bhs(1, 0xC1, b9=b"\1", b16=be(4, 3), b20=be(4, 4096), b32=bytes.fromhex("28000000000000000800"))
    abort, reset = bhs(0x42, 0x81, b20=be(4, 3)), bhs(0x42, 0x85)
    ping, logout, text = bhs(0x40, b16=be(4, 9)), bhs(6), bhs(4, b16=be(4, 8), b20=b"\xff" * 4)
    for driver, iser in (("target_tcp", None), ("target_iser", 4)):
        one = lambda b, d=b"", kind=0: bytes([kind]) + pdu_record(b, b"", d, 3, iser)[1:]
        put(driver, "io", b"\x02" + one(read) + one(write) + b"\x03" + one(ping) + one(logout))
        put(driver, "tmf", b"\x02" + one(slow) + one(abort) + one(slow) + one(reset, kind=8))
        put(driver, "again", b"\x02" + one(slow) + b"\xe4" + one(read, kind=4) + b"\xc0" + one(logout, kind=4))
        put(driver, "lost", b"\x02" + one(slow, kind=0x10) + b"\xe4" + one(write, kind=0x14))
        put(driver, "discovery", b"\x04" + one(text, b"SendTargets=All\0") + one(logout))
        put(driver, "idle", b"\x02\xc0\xc0\xc0\xc0\xc0")
        for fix in (3, 0x23, 0x43):
            bad = b"\0" + bytes([fix]) + one(write, bytes(512))[2:]
            put(driver, "digests", b"\x22" + one(read) + bad + b"\x03" + one(ping))
    good, check = bhs(0x21), bhs(0x21, b3=b"\2")
    sense = be(2, 18) + bytes.fromhex("70000600000000 0a000000002900000000 00")
    data_in, r2t = bhs(0x25, 0x81), bhs(0x31, b20=be(4, 7), b44=be(4, 512))
    for driver, iser in (("initiator_tcp", None), ("initiator_iser", 0)):
        one = lambda b, n=0, d=b"", kind=0: bytes([kind]) + pdu_record(b[:19] + bytes([n]) + b[20:], b"", d, 3, iser)[1:]
        put(driver, "io", b"\x10" + one(data_in, 0, bytes(512)) + one(r2t, 1) + one(good, 1) + b"\x03" + one(check, 3, sense))
        for fix in (3, 0x23, 0x43):
            bad = b"\0" + bytes([fix]) + one(data_in, 0, bytes(512))[2:]
            put(driver, "digests", b"\x30" + one(r2t, 1) + bad + one(good, 1))
        put(driver, "pings", b"\x08" + one(bhs(0x20, b20=be(4, 5))) + b"\xc0" + one(bhs(0x20)) + b"\xc0")
        put(driver, "lost", b"\x10" + one(good, 0, kind=0x18) + b"\xc0\xe0" + one(good, 1) + b"\xa0\xa0")
        put(driver, "async", b"\x10" + one(bhs(0x32, b36=b"\1\0\0\1\0\1\0\2"), kind=8) + one(bhs(0x3F, b2=b"\4"), 0, bytes(48)))
        put(driver, "luns", b"\x04" + one(data_in, 0, be(4, 8) + bytes(12)) + one(data_in, 1, bytes(36)) + one(good, 2))
        put(driver, "targets", b"\x02" + one(bhs(0x24, b20=b"\xff" * 4), 0, b"TargetName=iqn.a\0TargetAddress=192.0.2.1:1,1\0"))


of_tcp()
of_iser()
by_hand()
found()
