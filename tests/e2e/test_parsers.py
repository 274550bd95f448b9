# SPDX-License-Identifier: Apache-2.0
"""The scanner against the parsers that clients and servers use: a line on which two of them disagree must never pass,
and what passes must mean what it meant before. Nothing here runs a sandbox."""
import base64
import ctypes
import ctypes.util
import json
import os
import random
import shutil
import subprocess

import pytest

import harness
from harness import HELPERS, needs_installed

LINES_TOOL = harness.TREE / "build" / "tests" / "jsonl_lines"
NODE = os.environ.get("HUTCH_TEST_NODE") or shutil.which("node")
GO = shutil.which("go")
MISSING = "missing"
ERROR = "error"


# ---- lines

CALL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"good","arguments":{"text":"x"}}}'
INNER = '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"evil","arguments":{}}}'


def call(**changed):
    """The same call with some of its parts as raw text."""
    parts = {"version": '"2.0"', "id": "1", "method": '"tools/call"', "name": '"good"', "text": '"x"', "key": '"text"',
             "name_key": '"name"', "method_key": '"method"', "params_key": '"params"', "id_key": '"id"', "blank": "", "extra": "", **changed}
    return ('{{{blank}"jsonrpc":{version},{id_key}:{id},{blank}{method_key}:{method},{params_key}:{blank}{{{name_key}:{name},'
            '"arguments":{{{key}:{text}}}{extra}}}{blank}}}').format(**parts)


def every_class():
    """(line, class) of each way in which parsers are known to differ, and of what all understand."""
    yield CALL, "plain"
    for blank in (" ", "\t", "  \t ", "\r", "\n", "\v", "\f", "\0", "\u00a0", "\ufeff", "\u2028", "/**/", "//x\n", "#", "\x1c", "\x85"):
        yield call(blank=blank), "white space"
        yield blank + CALL, "white space in front"
        yield CALL + blank, "white space behind"
    yield CALL + "\r" + INNER, "bare CR"
    yield '{"jsonrpc":"2.0","id":1,"method":"ping","x":\r' + INNER + '\r}', "bare CR"
    yield CALL + INNER, "trailing bytes"
    yield CALL + ",", "trailing bytes"
    yield CALL + " x", "trailing bytes"
    yield CALL + "\0" + INNER, "trailing bytes"
    for one, other in (('"good"', '"evil"'), ('"evil"', '"good"')):
        yield call(extra=f',"name":{other}', name=one), "duplicate key"
        yield call(extra=f',"\\u006eame":{other}', name=one), "duplicate key"
        yield call(extra=f',"Name":{other}', name=one), "folded key"
        yield call(extra=f',"NAME":{other}', name=one), "folded key"
    yield call(text='1,"text":2'), "duplicate key"
    yield CALL[:-1] + ',"method":"ping"}', "duplicate key"
    yield CALL[:-1] + ',"method":"tools/call"}', "duplicate key"
    yield CALL[:-1] + ',"params":{"name":"evil"}}', "duplicate key"
    yield CALL[:-1] + ',"id":2}', "duplicate key"
    for key in ("Method", "METHOD", "mEthod", "\\u004dethod"):
        yield call(method_key=f'"{key}"'), "folded key"
        yield CALL[:-1] + f',"{key}":"ping"}}', "folded key"
    for key in ("Params", "param\u017f", "param\\u017f", "PARAMS"):
        yield call(params_key=f'"{key}"'), "folded key"
        yield CALL[:-1] + f',"{key}":{{"name":"evil"}}}}', "folded key"
    for key in ("Name", "NAME", "\\u004eame", "namE"):
        yield call(name_key=f'"{key}"'), "folded key"
    for key in ("Id", "ID", "iD", "\u0131d", "\u0130d"):
        yield call(id_key=f'"{key}"'), "folded key"
    for text in ('"good\\u0000evil"', '"good\\ud800"', '"\\udc00good"', '"\\ud83d\\u0041"', '"\\ude00\\ud83d"'):
        yield call(name=text), "envelope string"
        yield call(method=text), "envelope string"
        yield call(id=text), "envelope string"
        yield call(key=text), "payload key"
        yield call(text=text), "payload string"
    for text in ('"\\u0067ood"', '"go\\u006fd"', '"g\\/d"', '"\\ud83d\\ude00"', '"\u4e16"', '"\U0001f600"', '"\\u00e9"', '"\u00e9"', '"\\""', '"\\\\"', '"\x7f"', '"\u2028"', '""'):
        for part in ("name", "method", "id", "text", "key"):
            yield call(**{part: text}), "escapes"
    for number in ("0", "-0", "0.0", "-0.0", "1", "1.0", "1e0", "1E2", "1e-2", "-1", "01", "-01", "00", "1.", ".5", "+1", "1e", "1e+", "0x10", "1_000", "NaN",
                   "Infinity", "-Infinity", "nan", "1e400", "-1e400", "1e-400", "9007199254740992", "9007199254740993", "-9007199254740993", "9223372036854775807",
                   "9223372036854775808", "18446744073709551616", "123456789012345678901234567890", "3.141592653589793238462643383279"):
        yield call(id=number), "id"
        yield call(text=number), "payload number"
    for value in ("null", "true", "false", "[]", "{}", "[1,2]", '{"a":[]}', "nul", "True", "undefined", "'x'", "x", "[1,]", "[,1]", '{"a"}', '{"a":}', '{"a":1,}', "{a:1}", "[1", '{"a":1', "]", "}", '"', '"\\"'):
        for part in ("text", "id", "name", "method"):
            yield call(**{part: value}), "value"
    for raw in (b"\xff", b"\x80", b"\xc0\x80", b"\xc0\xae", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xed\xa0\xbd\xed\xb8\x80", b"\xf0\x80\x80\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xe2\x82", b"\xe2"):
        for part in ("text", "name", "key", "method"):
            yield call(**{part: '"@"'}).encode().replace(b"@", raw), "UTF-8"
    for control in "\0\x01\x08\t\n\v\f\r\x1b\x1f":
        yield call(text=f'"a{control}b"'), "control byte"
        yield call(name=f'"good{control}"'), "control byte"
    for escape in ("\\x41", "\\'", "\\a", "\\v", "\\0", "\\u12", "\\u12g4", "\\U00000041", "\\u{41}", "\\\n", "\\"):
        yield call(text=f'"{escape}"'), "bad escape"
    for depth in (10, 100, 125, 126, 127, 200, 1100, 3000, 20000):
        yield call(text="[" * depth + "]" * depth), "depth"
        yield call(text='{"a":' * depth + "1" + "}" * depth), "depth"
    for line in ("[]", f"[{CALL}]", f"[{CALL},{INNER}]", "[[]]", "null", "1", '"x"', "true", "", "{}", "{", "[", "}", "[1,", "'", "\ufeff" + CALL, "x" + CALL, "Content-Length: 10"):
        yield line, "not one object"


def variations(count, seed=20260728):
    """Lines of the classes above with one or two bytes changed, left out or doubled."""
    chance = random.Random(seed)
    pool = [line if isinstance(line, bytes) else line.encode("utf-8", "surrogatepass") for line, kind in every_class() if kind != "depth"]
    interesting = [b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"\0", b"\r", b"\t", b" ", b"e", b"0", b"-", b".", b"\\u0000", b"\\ud800", b"\xff", b"N", b"s", b"\xc5\xbf"]
    for _ in range(count):
        line = bytearray(chance.choice(pool))
        for _ in range(chance.randint(1, 2)):
            at = chance.randrange(len(line) + 1)
            choice = chance.randrange(4)
            if choice == 0:
                line[at:at] = chance.choice(interesting)
            elif choice == 1:
                del line[at:at + chance.randint(1, 3)]
            elif choice == 2:
                line[at:at + 1] = chance.choice(interesting)
            else:
                end = at + chance.randint(1, 12)
                line[at:at] = line[at:end]
        yield bytes(line), "variation"


def all_lines():
    found = {}
    for line, kind in [*every_class(), *variations(1500)]:
        raw = line if isinstance(line, bytes) else line.encode("utf-8", "surrogatepass")
        found.setdefault(raw.replace(b"\n", b"\v"), kind)
    return found


# ---- parsers: bytes to (id, method, name), or ERROR

def plain(value):
    """A value by which the views can be compared: 1 and 1.0 are two, a missing part is None."""
    return None if value is None else (type(value).__name__, value) if isinstance(value, (str, bool, int, float)) else ("other",)


def views_of_program(argv, lines):
    encoded = "".join(base64.b64encode(line).decode() + "\n" for line in lines)
    done = subprocess.run(argv, input=encoded, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.split("\n")[:-1]]
    assert len(answers) == len(lines)
    return answers


def envelope(value):
    if not isinstance(value, dict):
        return ERROR
    params = value.get("params")
    return (plain(value.get("id")), plain(value.get("method")), plain(params.get("name")) if isinstance(params, dict) else None)


def python_view(line):
    """A server in Python: text mode, so a bare CR ends a line too."""
    try:
        text = line.decode()
        values = [json.loads(part) for part in text.replace("\r\n", "\n").replace("\r", "\n").split("\n") if part.strip()]
    except (ValueError, RecursionError):
        return ERROR
    return envelope(values[0]) if len(values) == 1 else ERROR if not values else tuple(map(envelope, values))


class Jansson:
    """libjansson as it is used: the last of two keys counts."""

    ENCODE_ANY = 0x200

    def __init__(self):
        self.library = ctypes.CDLL("libjansson.so.4")
        for name in ("json_loadb", "json_object_get", "json_dumps"):
            getattr(self.library, name).restype = ctypes.c_void_p
        self.library.json_loadb.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p]
        self.library.json_object_get.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        self.library.json_dumps.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

    def item(self, value, key):
        found = value and self.library.json_object_get(value, key)
        text = found and self.library.json_dumps(found, self.ENCODE_ANY)
        return plain(json.loads(ctypes.string_at(text))) if text else None

    def __call__(self, line):
        value = self.library.json_loadb(line, len(line), 0, None)
        if not value or self.library.json_object_size(ctypes.c_void_p(value)) == 0:
            return ERROR
        params = self.library.json_object_get(value, b"params")
        return (self.item(value, b"id"), self.item(value, b"method"), self.item(params, b"name"))


class Cjson:
    """cJSON as it is used: the first of two keys, upper and lower case alike, a string up to its NUL."""

    def __init__(self):
        self.library = ctypes.CDLL("libcjson.so.1")
        for name in ("cJSON_Parse", "cJSON_GetObjectItem", "cJSON_PrintUnformatted"):
            getattr(self.library, name).restype = ctypes.c_void_p
        self.library.cJSON_Parse.argtypes = [ctypes.c_char_p]
        for name in ("cJSON_PrintUnformatted", "cJSON_Delete", "cJSON_IsObject", "cJSON_IsNull", "cJSON_IsNumber", "cJSON_GetNumberValue"):
            getattr(self.library, name).argtypes = [ctypes.c_void_p]
        self.library.cJSON_GetNumberValue.restype = ctypes.c_double
        self.library.cJSON_GetObjectItem.argtypes = [ctypes.c_void_p, ctypes.c_char_p]

    def item(self, value, key):
        found = value and self.library.cJSON_GetObjectItem(value, key)
        if not found or self.library.cJSON_IsNull(found):
            return None
        if self.library.cJSON_IsNumber(found):  # it writes only 15 digits of one
            return ("float", self.library.cJSON_GetNumberValue(found))
        text = ctypes.string_at(self.library.cJSON_PrintUnformatted(found))
        try:
            return plain(json.loads(text))
        except ValueError:
            return ("unreadable",)

    def __call__(self, line):
        value = self.library.cJSON_Parse(line)
        if not value or not self.library.cJSON_IsObject(value):
            return ERROR
        params = self.library.cJSON_GetObjectItem(value, b"params")
        view = (self.item(value, b"id"), self.item(value, b"method"), self.item(params, b"name"))
        self.library.cJSON_Delete(value)
        return view


def library(name):
    try:
        return {"jansson": Jansson, "cJSON": Cjson}[name]()
    except OSError:
        return None


@pytest.fixture(scope="module")
def go_program(tmp_path_factory):
    built = harness.TREE / "build" / "parse-go"  # tests/run builds it once, because the first build takes half a minute
    if built.exists():
        return str(built)
    if not GO:
        return None
    directory = tmp_path_factory.mktemp("go")
    shutil.copy(HELPERS / "parse.go", directory / "parse.go")
    done = subprocess.run([GO, "build", "-o", "parse", "parse.go"], cwd=directory, capture_output=True, text=True, timeout=140,
                          env={**os.environ, "GOCACHE": str(directory / "cache"), "GOPATH": str(directory / "path"), "GO111MODULE": "off", "HOME": str(directory)})
    assert done.returncode == 0, done.stderr
    return str(directory / "parse")


def scan(lines, *arguments):
    """What the scanner made of each line: ("ok", text) or ("no", why) or ("blank", "")."""
    needs_installed(LINES_TOOL.exists(), "build/tests/jsonl_lines is not built")
    done = subprocess.run([LINES_TOOL, *arguments], input=b"".join(line + b"\n" for line in lines), capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    answers = [tuple(answer.partition(b" ")[::2]) for answer in done.stdout.split(b"\n")[:-1]]
    assert len(answers) == len(lines)
    return answers


@pytest.fixture(scope="module")
def judged(go_program):
    """{line: (class, verdict, text, {parser: view})}"""
    lines = all_lines()
    raw = list(lines)
    views = {"python": list(map(python_view, raw))}
    for name in ("jansson", "cJSON"):
        if parse := library(name):
            views[name] = list(map(parse, raw))
    for name, argv in (("node", [NODE, HELPERS / "parse.mjs"]), ("go", [go_program])):
        if argv[0]:
            views[name] = [ERROR if view == ERROR else (plain(view["id"]), plain(view["method"] or None), plain(view["name"])) for view in views_of_program(argv, raw)]
    answers = scan(raw)
    return {line: (kind, *answers[i], {name: of[i] for name, of in views.items()}) for i, (line, kind) in enumerate(lines.items())}


def normal(view):
    """Numbers by value, because Go and cJSON know one kind only; an empty method as none, because Go's is."""
    def part(of):
        return ("number", float(of[1])) if of and of[0] in ("int", "float") else None if of == ("str", "") else of
    return view if view == ERROR or is_several(view) else tuple(map(part, view))


def is_several(view):
    """A text-mode reader saw more than one message."""
    return any(part == ERROR or part and isinstance(part[0], tuple) for part in view)


def test_the_parsers_are_there(judged):
    names = set(next(iter(judged.values()))[3])
    needs_installed(names == {"python", "jansson", "cJSON", "node", "go"}, f"only {sorted(names)} are installed")


def test_there_are_enough_lines(judged):
    assert len(judged) >= 300
    passed = sum(verdict == b"ok" for _, verdict, _, _ in judged.values())
    assert passed >= 100 and len(judged) - passed >= 300


def test_what_parsers_disagree_on_is_refused(judged):
    """What is opaque to the protocol (a payload's numbers and strings) may still be one parser's error."""
    wrong = []
    for line, (kind, verdict, _, views) in judged.items():
        if verdict != b"ok":
            continue
        seen = {name: normal(view) for name, view in views.items()}
        agreed = {view for view in seen.values() if view != ERROR}
        opaque = kind.startswith("payload") or kind in ("variation", "depth", "value")
        if len(agreed) != 1 or (ERROR in seen.values() and not opaque):
            wrong.append((line[:200], kind, seen))
    assert not wrong, f"{len(wrong)}: {wrong[:5]}"


def test_the_parsers_do_disagree(judged):
    """Otherwise the test above could not fail."""
    disagreed = {kind for kind, _, _, views in judged.values() if len({normal(view) for view in views.values() if view != ERROR}) > 1}
    assert {"duplicate key", "folded key", "bare CR", "envelope string"} <= disagreed


def test_each_class_is_judged_as_it_should_be(judged):
    always = {"plain": b"ok", "escapes": b"ok", "bare CR": b"no", "trailing bytes": b"no", "duplicate key": b"no", "folded key": b"no", "envelope string": b"no",
              "payload key": b"no", "UTF-8": b"no", "control byte": b"no", "bad escape": b"no"}
    wrong = [(line[:200], kind, verdict) for line, (kind, verdict, _, _) in judged.items() if always.get(kind, verdict) != verdict]
    assert not wrong, wrong[:5]


def test_what_passes_means_the_same_as_before(judged):
    """By JavaScript's own reading of the whole value, payload included."""
    passed = {line: text for line, (_, verdict, text, _) in judged.items() if verdict == b"ok"}
    needs_installed(NODE, "node is missing")
    before = views_of_program([NODE, HELPERS / "parse.mjs"], list(passed))
    after = views_of_program([NODE, HELPERS / "parse.mjs"], list(passed.values()))
    assert all(view != ERROR for view in before)
    assert before == after


def test_the_usual_filter_lets_pass_what_hutch_refuses(judged):
    """The filter that guides print: parse with Python, compare the name, pass the line on as it is. A server in
    another language than the filter then reads another call."""
    fooled = []
    for line, (_, verdict, _, views) in judged.items():
        try:
            value = json.loads(line)
            allowed = value.get("method") != "tools/call" or value["params"]["name"] == "good"
        except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
            continue
        calls = [view for view in views.values() if view != ERROR]
        evil = any(part == ("str", "evil") for view in calls for part in (view if isinstance(view[0], tuple) else ()))
        evil = evil or any(isinstance(part, tuple) and ("str", "evil") in part for view in calls for part in view if part)
        if allowed and evil:
            fooled.append((line, verdict))
    assert len(fooled) >= 5
    assert all(verdict == b"no" for _, verdict in fooled), fooled
