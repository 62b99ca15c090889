"""Test server for downloads: a hub and the CDN that it redirects to, on two ports.

    python3 hub_server.py SITE [CERTIFICATE]

Prints "hub PORT" and "cdn PORT", then serves the files in SITE. Each request reads the
words in the file `mode` of the current folder, and is logged as a line of `requests`:

  redirect     the hub redirects to the other port  linked     with the hub's headers
  cut=N        a body ends after N bytes            stall=N    stops sending after N bytes
  slow         64 KiB at a time                     whole      ignores ranges
  range=N      ranges start N bytes later           status=N   without a body
  times=N      the words above apply only to N requests for a body
  lie          wrong checksum                       more, less than the announced size
  commit=TEXT  etag=TEXT  instead of the right one  loop       redirects to itself
  to=URL       target of the redirect               retag      a new ETag
"""
import hashlib
import http.server
import os
import ssl
import sys
import threading
import time

COMMIT = "0123456789012345678901234567890123456789"
site = os.path.abspath(sys.argv[1])
ports = {}
used = 0
since = None


def words():
    global used, since
    if os.stat("mode").st_mtime_ns != since:
        used, since = 0, os.stat("mode").st_mtime_ns
    text = open("mode").read().split()
    return {w.partition("=")[0]: w.partition("=")[2] for w in text}


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def note(self):
        keep = [f"{k}={self.headers[k]}" for k in ("Range", "If-Range", "Authorization", "Host") if self.headers[k]]
        with open("requests", "a") as f:
            f.write(" ".join([self.server.role, self.command, self.path] + keep) + "\n")

    def answer(self, status, headers, body=b""):
        self.send_response(status)
        for k, v in headers.items():
            self.send_header(k, v)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        global used
        self.note()
        mode = words()
        if self.command == "GET" and "times" in mode:
            used += 1
            if used > int(mode["times"]):
                mode = {k: mode[k] for k in mode if k in ("redirect", "linked", "lie", "retag")}
        elif self.command == "HEAD" and "times" in mode:
            mode.pop("status", None)
        path = self.path.split("?")[0]
        if path.startswith("http://"):  # to a proxy
            path = "/" + path.split("/", 3)[3]
        if "/resolve/" in path:
            start, rest = path.split("/resolve/")
            path = start + "/" + rest.split("/", 1)[1]
        file = site + path
        if "status" in mode:
            return self.answer(int(mode["status"]), {}, b"\x1b[31m<html>secret</html>")
        if not os.path.isfile(file):
            return self.answer(404, {"X-Error-Code": "EntryNotFound"}, b"not here")
        data = open(file, "rb").read()
        sha = hashlib.sha256(data).hexdigest()
        if "lie" in mode:
            sha = "0" * 64
        headers = {}
        if "/resolve/" in self.path:
            headers = {"X-Repo-Commit": mode.get("commit", COMMIT), "ETag": '"%s"' % hashlib.sha1(data).hexdigest()}
            if file.endswith((".safetensors", ".bin")):
                headers["X-Linked-ETag"] = '"%s"' % mode.get("etag", sha)
                headers["X-Linked-Size"] = str(len(data) - ("less" in mode))
        elif "retag" in mode:
            headers["ETag"] = '"tag-%s"' % sha[:8]
        if self.server.role == "hub" and "loop" in mode:
            return self.answer(302, {"Location": self.path})
        if self.server.role == "hub" and ("redirect" in mode or "to" in mode):
            there = mode.get("to") or "http://127.0.0.1:%d%s?signed=1" % (ports["cdn"], path)
            return self.answer(302, {**headers, "Location": there}, b"moved")
        self.send(mode, data, headers)

    def send(self, mode, data, headers):
        status, start, total = 200, 0, len(data)
        wanted = self.headers["Range"]
        if wanted and self.headers["If-Range"] not in (None, headers.get("ETag")):
            wanted = None
        if wanted and "whole" not in mode:
            start = int(wanted.split("=")[1].split("-")[0])
            if start >= total:
                return self.answer(416, {"Content-Range": f"bytes */{total}"})
            start += int(mode.get("range", 0))
            status = 206
            headers["Content-Range"] = f"bytes {start}-{total - 1}/{total}"
        body = data[start:]
        headers["Content-Length"] = str(len(body) + ("more" in mode))
        if self.command == "HEAD":
            return self.answer(status, headers)
        self.send_response(status)
        for k, v in headers.items():
            self.send_header(k, v)
        self.end_headers()
        end = int(mode.get("cut") or mode.get("stall") or len(body))
        piece = 65536 if "slow" in mode else len(body) or 1
        for at in range(0, min(end, len(body)), piece):
            self.wfile.write(body[at : min(at + piece, end)])
            self.wfile.flush()
            if "slow" in mode:
                time.sleep(0.1)
        if "stall" in mode:
            time.sleep(4)
        if "cut" in mode or "stall" in mode:
            self.close_connection = True


for role in ("hub", "cdn"):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.role = role
    server.daemon_threads = True
    if len(sys.argv) > 2:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    ports[role] = server.server_port
    print(role, server.server_port, flush=True)
    threading.Thread(target=server.serve_forever).start()
