"""A secret given in every place where one can be given, then looked for everywhere.

It may stand in two places only: export --with-secrets and the definitions with secrets=1.
"""

import base64
import os
from urllib.parse import quote

from harness import *
from http_sink import HttpSink, Reply

TIME_LIMIT = 180
CANARY = "CaNaRy7f3q"
# The same secret as it goes over the wire or may be echoed.
FORMS = (
    [CANARY, CANARY.lower(), CANARY.upper()]
    + [base64.b64encode(("%s:%s" % (user, CANARY)).encode()).decode() for user in ("u", "me", "")]
    + ["".join(form % b for b in CANARY.encode()) for form in ("%%%02X", "%%%02x")]
)
SEEN = []


def look(where, text):
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    SEEN.append(where)
    for form in FORMS:
        if form in text:
            at = text.index(form)
            fail("the secret stands in %s: ...%s..." % (where, text[max(0, at - 300) : at + 100]))


def ask(d, sql):
    """Run statements by POST and by GET, in all forms, and look at the answers."""
    for method, more in (
        ("POST", {}),
        ("POST", {"pretty": "true"}),
        ("GET", {}),
        ("GET", {"chunked": "true"}),
    ):
        answer = d.query_raw(sql, method=method, **more)
        look("the answer to %s" % sql.replace(CANARY, "..."), answer.text + repr(answer.headers))
    answer = d.http("GET", "/query?q=" + quote(sql), headers={"Accept": "text/csv"})
    look("the answer in CSV", answer.text + repr(answer.headers))
    status, out, err = cli("query", "-H", d.url, "-", stdin=sql.encode())
    look("the output of query", out + err)


def files():
    for name in ("password", "token"):
        with open(name, "w", encoding="ascii") as file:
            file.write(CANARY + "\n")
    return os.path.abspath("password"), os.path.abspath("token")


def statement(name, text):
    """The FLUSH_INTERVAL goes before WITH, which a definition may have at its end."""
    head, found, tail = text.partition(" WITH")
    return "CREATE SINK %s %s FLUSH_INTERVAL 1ms%s%s" % (name, head, found, tail)


WRONG = (
    "CREATE SINK w TO 'http://h/w' TYPE http_line USERNAME 'u' PASSWORD '{c}' NONSENSE",
    "CREATE SINK w TO 'http://h/w' TYPE http_line PASSWORD '{c}' PASSWORD '{c}'",
    "CREATE SINK w TO 'http://h/w' TYPE http_line PASSWORD {c}",
    "CREATE SINK w TO 'http://h/w' TYPE http_line PASSWORD '{c}",
    "CREATE SINK w TO 'http://h/w' TYPE http_line PASSWORD \"{c}",
    "CREATE SINK w TO 'http://h/w' TYPE http_line PASSWORD '{c}\\q'",
    "CREATE SINK w TO 'http://h/w' TYPE http_line PASSWORD = '{c}'",
    "CREATE SINK w TO 'http://h/w' TYPE http_line PASSWORD 5{c}",
    "CREATE SINK w TO 'http://h/w' TYPE http_line PASSWORD /{c}/",
    "CREATE SINK w TO 'http://h/w' TYPE http_line PASSWORD 'a' '{c}'",
    "CREATE SINK w TO 'http://u:{c}@h:99999/w' TYPE http_line",
    "CREATE SINK w TO 'http://u:{c}@/w' TYPE http_line",
    "CREATE SINK w TO 'http://u:{c}@h/w' TYPE mqtt",
    "CREATE SINK w TO 'ftp://u:{c}@h/w' TYPE http_line",
    "CREATE SINK w TO 'u:{c}@h/w' TYPE http_line",
    "CREATE SINK w TO 'http://u:{c}@h/w' TYPE http_line NONSENSE",
    "CREATE SINK w TO http://u:{c}@h/w TYPE http_line",
    "CREATE SINK w TO 'http://u:{c}@h/w",
    "CREATE SINK w TO 'http://h/{{nosuch}}?token={c}' TYPE http_line",
    "CREATE SINK w TO 'http://h/w?precision=s&token={c}' TYPE http_line WITH (precision = 'ms')",
    "CREATE SINK w TO 'http://h/w' TYPE http_line WITH (bearer_token = {c}-x)",
    "CREATE SINK w TO 'http://h/w' TYPE http_line WITH (bearer_token '{c}')",
    "CREATE SINK w TO 'http://h/w' TYPE http_line WITH (bearer_token = '{c}'",
    "CREATE SINK w TO 'http://h/w' TYPE http_line WITH (bearer_token = '{c}' '{c}')",
    "CREATE SINK w TO 'http://h/w' TYPE http_line WITH (bearer_tokn = '{c}')",
    "CREATE SINK w TO 'http://h/w' TYPE http_line WITH (timeout = '{c}')",
    "CREATE SINK w TO 'http://h/w' TYPE http_line WITH (gzip = {c})",
    "CREATE SINK w TO 'http://h/w' TYPE http_line WITH (headers = '{c}')",
    "CREATE SINK w TO 'http://h/w' TYPE http_line WITH (bearer_token = 'a{c}\\nb')",
    "CREATE SINK w TO 'http://h/w' TYPE http_line USERNAME 'u' PASSWORD '{c}' "
    "WITH (bearer_token = '{c}')",
    "CREATE SINK w TO 'http://me:{c}@h/w' TYPE http_line USERNAME 'u' PASSWORD '{c}' FORMAT json",
    "CREATE SINK w TO 'kafka://u:{c}@h/t' TYPE kafka WITH (acks = 9)",
    "CREATE SINK w TO 'mqtt://h/t' TYPE mqtt USERNAME 'u' PASSWORD '{c}' WITH (qos = 9)",
    "CREATE SINK w TYPE stdout USERNAME 'u' PASSWORD '{c}'",
    "ALTER SINK clause PASSWORD '{c}' NONSENSE",
    "ALTER SINK nosuch USERNAME 'u' PASSWORD '{c}'",
    "ALTER SINK clause PASSWORD '{c}' WITH (nosuch = 1)",
    "CREATE USER u WITH PASSWORD '{c}'",
    "CREATE USER u WITH PASSWORD {c}",
    "CREATE USER u PASSWORD '{c}'",
    "SET PASSWORD FOR u = '{c}'",
    "SET PASSWORD FOR u = {c}",
    "SET PASSWORD u '{c}'",
    "CREATE USER u WITH PASSWORD '{c}' WITH NONSENSE",
)


def look_everywhere(d):
    for sql in ("SHOW SINKS", "SHOW LEDGER", "SHOW DATABASES"):
        ask(d, sql)
    names = [row["name"] for row in d.rows("SHOW SINKS")]
    for name in names:
        ask(d, "SHOW SINK %s" % name)
    for path in (
        "/metrics",
        "/internal/sync/metadata",
        "/health",
        "/health/ready",
        "/ping?verbose=true",
    ):
        look(path, d.http("GET", path).body)
    for name in names:
        look("/health/ready?sink", d.http("GET", "/health/ready?sink=" + name).body)
    status, out, err = cli("export", "-H", d.url)
    equal(status, 0, "export")
    look("export", out + err)
    with open("/proc/%d/cmdline" % d.pid, "rb") as file:
        look("cmdline", file.read())
    look("the log", d.log())
    look("standard output", d.output())


def requests_with_secrets(d):
    """u and p, headers and bodies of requests to the daemon itself."""
    for query in ("u=x&p=" + CANARY, "u=%s&p=%s" % (CANARY, CANARY), "token=" + CANARY):
        for path in (
            "/write?db=db&",
            "/write?",
            "/query?q=FOO&",
            "/query?q=SHOW+SINKS&",
            "/nosuch?",
            "/api/v2/write?bucket=&",
            "/metrics?",
            "/write?db=db&precision=bad&",
        ):
            for method, body in (("POST", "bad line"), ("GET", None), ("DELETE", None)):
                answer = d.http(method, path + query, body)
                look("%s %s" % (method, path), answer.body + repr(answer.headers).encode())
    header = base64.b64encode(("u:" + CANARY).encode()).decode()
    for value in ("Basic " + header, "Token u:" + CANARY, "Bearer " + CANARY, "Nonsense " + CANARY):
        for method, path in (("POST", "/write?db=db"), ("GET", "/query?q=FOO"), ("GET", "/nosuch")):
            answer = d.http(
                method, path, "bad" if method == "POST" else None, {"Authorization": value}
            )
            look("the answer to an Authorization", answer.body + repr(answer.headers).encode())
    with d.raw() as raw:
        raw.send(b"GET /x?p=" + CANARY.encode() + b" HTTP/9.9\r\n\r\n")
        look("the answer to a bad request", raw.read().body)


def echo(request):
    """All that the destination got, back in an error: as it came, and percent-encoded."""
    text = "%s got %s" % (
        request.target,
        " ".join(
            "%s=%s" % pair
            for pair in sorted(request.headers.items())
            if pair[0] in ("authorization", "x-auth-token", "x-more")
        ),
    )
    return (text + " " + "".join("%%%02X" % b for b in text.encode())).encode()


def run(level, form):
    password, token = files()
    with HttpSink() as refusing, HttpSink() as echoing, Daemon(
        {"logging": {"level": level, "format": form}, "sink": {"max_retries": 1}}
    ) as d:
        # One destination refuses, one echoes what it got, one is not there.
        refusing.default = Reply(401, body="who is %s?" % CANARY)
        echoing.default = Reply(500, {"X-Echo": CANARY}, echo)
        for number, port in enumerate((refusing.port, echoing.port, free_port())):
            for name, text in texts_of(port, password, token).items():
                ask(d, statement("%s%d" % (name, number), text))
        d.query_raw(
            "CREATE SINK clause TO 'http://127.0.0.1:1/w' TYPE http_line USERNAME 'u' PASSWORD '%s'"
            % CANARY
        )
        for text in WRONG:
            ask(d, text.replace("{c}", CANARY).replace("{{", "{").replace("}}", "}"))
        equal(len(d.rows("SHOW SINKS")), 3 * len(texts_of(1, password, token)) + 1, "sinks")
        requests_with_secrets(d)
        d.write("m v=1 1")
        wait_until(
            lambda: all(row["last_error"] for row in d.rows("SHOW SINKS")),
            "every sink has failed",
            40,
        )
        equal(
            {
                r.headers.get("authorization") is not None
                for r in refusing.requests
                if r.target.endswith("/w")
            }
            >= {True},
            True,
            "secrets are sent",
        )
        look_everywhere(d)
        d.query(
            "ALTER SINK clause PASSWORD '%s'; ALTER SINK bearer0 WITH (bearer_token = '%s')"
            % (CANARY, CANARY)
        )
        status, out, _ = cli("export", "-H", d.url, "--with-secrets")
        contains(out, CANARY, "export --with-secrets")
        contains(d.http("GET", "/internal/sync/metadata?secrets=1").text, CANARY, "secrets=1")
        d.restart()
        wait_until(
            lambda: all(row["last_error"] for row in d.rows("SHOW SINKS")),
            "every sink has failed",
            40,
        )
        look_everywhere(d)
        d.stop()
        look("the log at the end", d.log())
        look("standard output at the end", d.output())
    if len(SEEN) < 500:
        fail("only %d places were looked at" % len(SEEN))


def texts_of(port, password, token):
    base = "http://127.0.0.1:%d" % port
    texts = {
        "clause": "TO '%s/w' TYPE http_line USERNAME 'u' PASSWORD '{c}'" % base,
        "userinfo": "TO '%s/w' TYPE http_line" % base.replace("//", "//me:{c}@"),
        "query": "TO '%s/w?db=x&token={c}&p={c}&api_key={c}&password={c}' TYPE http_line" % base,
        "headers": "TO '%s/w' TYPE http_line "
        "WITH (headers = 'X-Auth-Token: {c}\\nX-More: Token {c}')"
        % base,
        "bearer": "TO '%s/w' TYPE http_line WITH (bearer_token = '{c}')" % base,
        "passfile": "TO '%s/w' TYPE http_line USERNAME 'u' WITH (password_file = '%s')"
        % (base, password),
        "tokenfile": "TO '%s/w' TYPE http_line WITH (bearer_token_file = '%s')" % (base, token),
        "msgpack": "TO '%s/w?db=x' TYPE http_msgpack WITH (bearer_token = '{c}')" % base,
        "rows": "TO '%s/w?db=x' TYPE http_msgpack USERNAME 'u' PASSWORD '{c}' "
        "WITH (layout = 'rows')"
        % base,
        "mqtt": "TO '%s/t' TYPE mqtt USERNAME 'u' PASSWORD '{c}'" % base.replace("http:", "mqtt:"),
        "mqttinfo": "TO '%s/t' TYPE mqtt" % base.replace("http://", "mqtt://me:{c}@"),
    }
    return {name: text.replace("{c}", CANARY) for name, text in texts.items()}


@short
def test_canary_with_text_log():
    run("debug", "text")


def test_canary_with_json_log():
    SEEN.clear()
    run("debug", "json")


@short
def test_canary_in_a_configuration():
    """Errors about a file or its variables do not repeat values that may be secrets."""
    with open("bad.sql", "w", encoding="utf-8") as file:
        file.write(
            "CREATE SINK s TO 'http://u:%s@h/w' TYPE http_line PASSWORD '%s' NONSENSE"
            % (CANARY, CANARY)
        )
    d = Daemon({"sink": {"init_file": os.path.abspath("bad.sql")}}).launch()
    d.wait(2)
    look("the log", d.log())


@short
def test_canary_in_init_file():
    with open("init.sql", "w", encoding="utf-8") as file:
        file.write(
            "CREATE SINK s TO 'http://u:%s@127.0.0.1:1/w' TYPE http_line FLUSH_INTERVAL 1ms"
            % CANARY
        )
    with Daemon(
        {"sink": {"init_file": os.path.abspath("init.sql")}, "logging": {"level": "debug"}}
    ) as d:
        d.write("m v=1")
        wait_until(lambda: d.sink("s")["last_error"], "an error")
        look_everywhere(d)


@short
def test_password_is_not_in_argv():
    """The command line takes no password; one from the environment or a file is used, not shown."""
    with HttpSink(Reply(401, body='{"error":"authorization failed"}')) as fake:
        for env, more in (({"SINKD_PASSWORD": CANARY}, []), ({}, ["--password-file", files()[0]])):
            status, out, err = cli(
                "query",
                "-H",
                "http://127.0.0.1:%d" % fake.port,
                "-u",
                "u",
                *more,
                "SHOW SINKS",
                env=env
            )
            equal(status, 1, "status")
            look("the output of query", out + err)
            equal(fake.requests[-1].headers["authorization"], "Basic " + FORMS[3], "it is used")
        status, out, err = cli(
            "query", "-H", "http://u:%s@127.0.0.1:%d" % (CANARY, fake.port), "SHOW SINKS"
        )
        look("the output with a password in the URL", out + err)
