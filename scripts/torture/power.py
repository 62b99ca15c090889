"""Simulates a power failure: what a disk may hold after the first records of disturb.c's
log."""
import collections
import os
import struct

RECORD = struct.Struct("<c3xHH QQQ")
PAGE = 4096


def read_log(path):
    with open(path, "rb") as f:
        data = f.read()
    at, records = 0, []
    while at + 32 <= len(data):
        op, first, second, inode, offset, length = RECORD.unpack_from(data, at)
        at += 32
        a = data[at:at + first].decode()
        b = data[at + first:at + first + second].decode()
        at += first + second
        body = b""
        if op == b"W":
            body = data[at:at + length]
            at += length
        records.append((op.decode(), inode, offset, a, b, body))
    return records


class Disk:
    """Contents and names as programs see them, and the parts of both that are synced."""

    def __init__(self, root):
        self.now = collections.defaultdict(bytearray)
        self.safe = {}
        self.names = {root: None}  # None: folder
        self.safe_names = {root: None}
        self.pending = []  # (path, inode, None, or -1 if removed) since the folder's last sync

    def name(self, path, what):
        if what == -1:
            self.names.pop(path, None)
        else:
            self.names[path] = what
        self.pending.append((path, what))

    def do(self, record):
        op, inode, offset, a, b, body = record
        if op == "C":
            self.now[inode] = bytearray()
            self.safe.pop(inode, None)
            self.name(a, inode)
        elif op == "T":
            self.now[inode] = bytearray()
        elif op == "W":
            d = self.now[inode]
            d.extend(bytes(max(0, offset - len(d))))
            d[offset:offset + len(body)] = body
        elif op == "S":
            d = self.now[inode]
            del d[offset:]
            d.extend(bytes(offset - len(d)))
        elif op == "F":
            self.safe[inode] = bytes(self.now[inode])
        elif op == "D":
            self.sync_folder(a)
        elif op == "R" and self.names.get(a) != self.names.get(b, -1):
            what = self.names.get(a, inode)
            self.name(a, -1)
            self.name(b, what)
            self.pending[-2:] = [(a, -1, b, what)]  # both or neither
        elif op == "L":
            self.name(b, inode)
        elif op == "U":
            self.name(a, -1)
        elif op == "M":
            self.name(a, None)

    @staticmethod
    def apply(names, change):
        for path, what in zip(change[::2], change[1::2]):
            if what == -1:
                names.pop(path, None)
            else:
                names[path] = what

    def sync_folder(self, folder):
        left = []
        for change in self.pending:
            if os.path.dirname(change[0]) == folder:
                self.apply(self.safe_names, change)
            else:
                left.append(change)
        self.pending = left

    def content(self, inode, how, rng):
        now, safe = bytes(self.now[inode]), self.safe.get(inode, b"")
        if how == "kept" or now == safe:
            return now
        if how == "dropped":
            return safe
        if how == "zeroed":  # the sizes are synced, the data is not
            return safe[:len(now)] + bytes(max(0, len(now) - len(safe)))
        if how == "partial":
            return now[:rng.randint(min(len(safe), len(now)), len(now))]
        pages = []
        for at in range(0, len(now), PAGE):
            old = safe[at:at + PAGE].ljust(min(PAGE, len(now) - at), b"\0")
            pages.append(now[at:at + PAGE] if rng.random() < .5 else old)
        return b"".join(pages)

    def leave(self, rng):
        """Writes what survives the power failure."""
        names = dict(self.safe_names)
        keep = rng.choice(["none", "all", "prefix", "subset"])
        n = {"none": 0, "prefix": rng.randint(0, len(self.pending))}.get(keep, len(self.pending))
        for change in self.pending[:n]:
            if keep != "subset" or rng.random() < .5:
                self.apply(names, change)
        how = {i: rng.choice(["kept", "dropped", "zeroed", "partial", "pages"]) for i in self.now}
        for path in sorted(names):
            parent = os.path.dirname(path)
            if names[path] is None:
                if os.path.isdir(parent):
                    os.makedirs(path, exist_ok=True)
        done = {}
        for path in sorted(names):
            inode = names[path]
            if inode is None or not os.path.isdir(os.path.dirname(path)):
                continue
            if inode in done:
                os.link(done[inode], path)
                continue
            with open(path, "wb") as f:
                f.write(self.content(inode, how.get(inode, "kept"), rng))
            done[inode] = path
        return keep
