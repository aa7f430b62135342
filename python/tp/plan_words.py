"""Entries of a plan file in messages, as a user of tp.compile writes them in the plan's dict."""
from __future__ import annotations

import re

from .plan_entries import STYLE_CLASSES

# Such as 'tp.argument "x" shard<0>'.
_ENTRY = re.compile(
    r"'tp\.(?P<op>argument|result|parallelize|fully_shard|recompute) "
    r'"(?P<name>[^"]*)" ?'
    r"(?P<rest>[^']*)'(?P<whole>; to keep it whole, '(?:with )?replicate')?")
_PLACEMENT = re.compile(r"(shard)<(-?\d+)>|(partial)<(\w+)>|\b(replicate)\b")
# Such as 'input_layouts = [shard<1>]' at this entry.
_OPTION = re.compile(r"'(?P<option>\w+ = [^']*)'(?= at this entry)")
_OVERRIDE = re.compile(r"(^|, )override = true$")
_STYLE = re.compile(r"with (?P<style>\w+)(?: \{(?P<options>.*)\})?$")


def in_dict_words(text: str) -> str:
    """The text with each entry that it quotes as an item of a dict: `'"argument x": tp.Shard(0)'`
    of `'tp.argument "x" shard<0>'`, and the option of an entry as the object that has it. What has
    no such form stays."""
    text = _ENTRY.sub(_item, text).replace("'override = true'", "'tp.Override(STYLE)'")
    return _OPTION.sub(lambda match: f"'{_options(match.group('option'))}'", text)


def _item(match: re.Match[str]) -> str:
    op, name, rest = match.group("op", "name", "rest")
    value = _value(op, rest)
    if value is None:
        return match.group()
    key = f"{op} {name}" if op in ("argument", "result") else name
    whole = "tp.Replicate()" if op in ("argument", "result") else '"replicate"'
    kept = f"; to keep it whole, '{whole}'" if match.group("whole") else ""
    return f"'\"{key}\": {value}'{kept}"


def _value(op: str, rest: str) -> str | None:
    if op in ("argument", "result"):
        found = _PLACEMENT.fullmatch(rest)
        return None if found is None else _placement(found)
    if op in ("fully_shard", "recompute"):
        return None if rest else {"fully_shard": "tp.FullyShard()",
                                  "recompute": "tp.Recompute()"}[op]
    style = _STYLE.fullmatch(rest)
    if style is None:
        return None
    options = style.group("options") or ""
    is_override = _OVERRIDE.search(options) is not None
    named = _named(style.group("style"), _OVERRIDE.sub("", options))
    return f"tp.Override({named})" if named and is_override else named


def _named(style: str, options: str) -> str | None:
    """The name of a style, or the call of its class where it has options."""
    if not options:
        return f'"{style}"'
    name = STYLE_CLASSES.get(style)
    return name and f"tp.{name}({_options(options)})"


def _options(options: str) -> str:
    """Options of a style as arguments of its class."""
    options = _PLACEMENT.sub(_placement, options)
    options = re.sub(r"\b(true|false|none)\b", lambda word: word.group().capitalize(), options)
    return options.replace('" = ', '": ').replace(" = ", "=")


def _placement(found: re.Match[str]) -> str:
    shard, dim, partial, kind, _ = found.groups()
    if shard:
        return f"tp.Shard({dim})"
    return ("tp.Partial()" if kind == "sum" else f'tp.Partial("{kind}")') if partial else (
        "tp.Replicate()")
