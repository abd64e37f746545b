"""Renders llama.cpp's templates with Python's jinja2, set up as transformers does it, into `rendered.json`.

Run by hand when a template or a conversation changes:
    python3 -m venv venv && venv/bin/pip install jinja2 && venv/bin/python test/templates/render-with-jinja2.py
"""

import datetime
import json
import pathlib

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

HERE = pathlib.Path(__file__).parent


class GenerationTag(jinja2.ext.Extension):
    """`{% generation %}` marks what a model is trained on; for a prompt it is nothing."""

    tags = {"generation"}

    def parse(self, parser):
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class RefusedError(Exception):
    """What a template says of a conversation it does not take."""


def raise_exception(message):
    raise RefusedError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def environment():
    made = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, jinja2.ext.loopcontrols]
    )
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = datetime.datetime(2026, 11, 30).strftime
    return made


def function_variables(tools):
    """What Firefunction's template has for tools, as its makers give it."""
    functions = json.dumps([tool["function"] for tool in tools or []], ensure_ascii=False, indent=4)
    return {"functions": functions, "datetime": "2026-11-30"}


def rendered(template, source, variables):
    more = function_variables(variables["tools"]) if "+ datetime" in source else {}
    try:
        return {"text": template.render(**variables, **more)}
    except RefusedError as error:
        return {"refused": str(error)}
    except Exception as error:  # The template cannot be run on it at all.
        return {"failed": type(error).__name__}


def main():
    conversations = json.loads((HERE / "conversations.json").read_text())
    results = {}
    for path in sorted((HERE / "llama.cpp").glob("*.jinja")):
        source = path.read_text()
        template = environment().from_string(source)
        results[path.name] = {
            name: rendered(template, source, given) for name, given in conversations.items()
        }
    (HERE / "rendered.json").write_text(json.dumps(results, ensure_ascii=False, indent=1) + "\n")


main()
