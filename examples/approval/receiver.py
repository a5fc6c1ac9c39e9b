"""Prints every message it is sent: a stand-in for a chat. Usage: python3 receiver.py 8080"""
import http.server
import json
import sys


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        print(json.dumps(json.loads(body or b"{}"), indent=2), flush=True)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
