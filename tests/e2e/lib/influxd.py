"""influxd.py: a real InfluxDB 1.x of one's own, on free ports of the loopback interface.

Needs Debian's package influxdb. Everything it writes is in NAME.influx of the current folder.
"""

import base64
import os
import signal
import subprocess
import urllib.parse

from harness import fail, free_port, wait_until
from wire import request

CONFIG = """
reporting-disabled = true
bind-address = "127.0.0.1:{rpc}"
[meta]
dir = "{folder}/meta"
[data]
dir = "{folder}/data"
wal-dir = "{folder}/wal"
wal-fsync-delay = "0s"
max-series-per-database = 0
query-log-enabled = false
[coordinator]
[retention]
[shard-precreation]
[monitor]
store-enabled = false
[http]
bind-address = "127.0.0.1:{port}"
auth-enabled = {auth}
log-enabled = false
{more}
[subscriber]
enabled = false
[continuous_queries]
enabled = false
"""


def binary():
    for path in ("/usr/bin/influxd", "/usr/sbin/influxd", "/usr/local/bin/influxd"):
        if os.path.exists(path):
            return path
    fail("no influxd: install the package influxdb")


class Influxd:
    """more: lines for [http]. With auth, user admin / adminpw is made."""

    def __init__(self, auth=False, more="", name="influxd"):
        self.folder = os.path.abspath(name + ".influx")
        self.port = free_port()
        self.auth = auth
        self.process = None
        os.mkdir(self.folder)
        with open(self.folder + ".conf", "w", encoding="utf-8") as file:
            file.write(CONFIG.format(rpc=free_port(), port=self.port, folder=self.folder, more=more,
                                     auth="true" if auth else "false"))

    def start(self):
        with open(self.folder + ".log", "ab") as log:
            self.process = subprocess.Popen([binary(), "-config", self.folder + ".conf"],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=dict(os.environ, HOME=self.folder))
        wait_until(lambda: request(self.port, "GET", "/ping").status == 204, "influxd listens", 30)
        return self

    def stop(self, kill=False):
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
            self.process.wait(60)
        self.process = None

    def __enter__(self):
        self.start()
        if self.auth:
            self.auth = False
            self.query("CREATE USER admin WITH PASSWORD 'adminpw' WITH ALL PRIVILEGES")
            self.auth = True
        return self

    def __exit__(self, *unused):
        self.stop(kill=True)

    def url(self, database, more=""):
        return "http://127.0.0.1:%d/write?db=%s%s" % (self.port, database, more)

    def headers(self):
        if not self.auth:
            return {}
        return {"Authorization": "Basic " + base64.b64encode(b"admin:adminpw").decode()}

    def query(self, text, database=""):
        form = urllib.parse.urlencode({"q": text, "db": database, "epoch": "ns"})
        headers = dict(self.headers(), **{"Content-Type": "application/x-www-form-urlencoded"})
        answer = request(self.port, "POST", "/query", form, headers, 60).json()
        for result in [answer] + answer.get("results", []):
            if "error" in result:
                fail("influxd: %s: %s" % (text, result["error"]))
        return answer["results"][0].get("series", [])

    def row(self, text, database):
        """The only row of a SELECT as a dictionary; {} when nothing is there."""
        series = self.query(text, database)
        return dict(zip(series[0]["columns"], series[0]["values"][0])) if series else {}
