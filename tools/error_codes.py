"""The error codes of the sources, and the rows of docs/errors.md.

A code stands beside its message: Add("E0226", "container " + Quoted(n) + " is not declared", …), or in a
diagnostic, d.code = "E0301" … d.message = "…". What is no literal shows as "…".
"""

import os
import re
from dataclasses import dataclass, field

CODE = re.compile(r'"(E0\d{3})[" ]')
ROW = re.compile(r"^\| (E0\d{3}) \| (.+?) \| (.+?) \| (.+?) \|$", re.M)
# An error that is made without a code: by a helper, or as a diagnostic whose next lines set none.
BARE = re.compile(r'\b(?:Invalid|Unsupported|Usage)Error\((?!\s*"E0|std::string|ErrorCode|"names")')
DIAGNOSTIC = re.compile(r"^\s+Diagnostic (\w+);$", re.M)
LITERAL = re.compile(r'"((?:\\.|[^"\\])*)"')


@dataclass
class Code:
    rooms: set = field(default_factory=set)
    messages: list = field(default_factory=list)


def room_of(path):
    """importers/onnx/check.cc → importers/onnx, driver/commands/run.cc → driver; the backends share theirs."""
    parts = os.path.dirname(path).split("/")
    return "/".join(parts[:2] if parts[0] in ("importers", "plugins") else parts[:1])


def expression(text):
    """The text up to the comma, semicolon or bracket that ends the expression it begins with."""
    depth, at = 0, 0
    while at < len(text):
        literal = LITERAL.match(text, at)
        if literal:
            at = literal.end()
            continue
        c = text[at]
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        if depth < 0 or (depth == 0 and c in ",;"):
            break
        at += 1
    return text[:at]


def words(text):
    """"a" + name + "b" → a…b. Literals in calls count only where the whole is one, as in std::string("a")."""
    out, depth, at = "", 0, 0
    text = re.sub(r'"\s+"', "", text)  # adjacent literals
    while at < len(text):
        literal = LITERAL.match(text, at)
        if literal and (depth == 0 or text[:at].rstrip().endswith("std::string(")):
            out += re.sub(r"\\(.)", r"\1", literal.group(1))
            at = literal.end()
            continue
        if literal:
            at = literal.end()
            continue
        c = text[at]
        depth += (c in "([{") - (c in ")]}")
        if depth == 0 and (c.isalnum() or c in ")]?") and not out.endswith("…"):
            out += "…"
        at += 1
    return re.sub(r"…+", "…", re.sub(r"^…(?=\w)", "", out.replace("std::string", "")))


def message_after(text):
    """The message of the code that ends where `text` begins."""
    told = re.match(r"(?:\.\w+\(\))?\s*[,;]?[^\"]{0,200}?\bmessage =\s", text, re.S)
    if told:
        return words(expression(text[told.end():]))
    at = re.match(r"\s*(?::[^,]*)?,\s*", text)
    while at:
        rest = text[at.end():]
        part = expression(rest)
        if '"' in part:
            return words(part)
        if len(rest) == len(part) or rest[len(part)] != ",":
            break
        text, at = rest[len(part):], re.match(r",\s*", rest[len(part):])
    later = re.search(r"\bmessage =\s", text[:600])
    return words(expression(text[later.end():])) if later else ""


def codes_of(paths):
    """{code: Code} of source files, by their paths in the workspace."""
    codes = {}
    for path in sorted(paths):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        for match in CODE.finditer(text):
            code = codes.setdefault(match.group(1), Code())
            code.rooms.add(room_of(path))
            message = message_after(text[match.end():])
            if message and message not in code.messages:
                code.messages.append(message)
    return codes


def is_test(path):
    return path.startswith("tests/") or "_test." in path or "testing" in path


def rows_of(path):
    """{code: (title, cause, fix)} of docs/errors.md."""
    with open(path, encoding="utf-8") as f:
        return {m.group(1): m.groups()[1:] for m in ROW.finditer(f.read())}


def without_code(path):
    """The lines of a source where an error is made and gets no code."""
    if path.endswith("ir/base/status.cc"):  # the helpers themselves
        return []
    with open(path, encoding="utf-8") as f:
        text = f.read()
    found = [m.start() for m in BARE.finditer(text)]
    for m in DIAGNOSTIC.finditer(text):
        if not re.search(rf"\b{m.group(1)}\.code = ", text[m.end():m.end() + 700]):
            found.append(m.start())
    return [f"{path}:{text.count(chr(10), 0, at) + 1}" for at in sorted(found)]
