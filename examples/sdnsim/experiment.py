#!/usr/bin/env python3
"""Turns an experiment of SDNSIM (listing 3.1 of paper 003) into a lab file on standard output.

A node's `main` and its parameters are the name of a function, as in `transfer 1`. --main says what it does here: programs of
a host with their keys, or `kind=KIND` for another node. The paper leaves units open; here `delay` is in ms, `rate` in
Mb/s, `queue_size` in packets, `duration` in s. A link to `port:NAME` leads out of the experiment, in the live world.
"""

import argparse
import json
import sys
import xml.etree.ElementTree as xml

WORLDS = {"ns3-direct": "sim", "ns3": "sim", "xen": "live", "xen-direct": "live"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("file", help="the experiment, as XML")
    parser.add_argument(
        "--main",
        action="append",
        default=[],
        metavar="'FUNCTION [PARAMETERS]: PROGRAM [KEY=VALUE]...'",
        help="what a function does; may be given several times",
    )
    arguments = parser.parse_args()
    try:
        functions = dict(function(text) for text in arguments.main)
        root = xml.parse(arguments.file).getroot()
        print("\n".join(lab(root, functions)))
    except (OSError, xml.ParseError, ValueError) as error:
        sys.exit(f"experiment.py: {arguments.file}: {error}")


def function(text):
    """The name of a function, and the keys of what it does."""
    name, colon, does = text.partition(":")
    words = does.split()
    if not colon or not words:
        raise ValueError(f"--main '{text}': write 'FUNCTION: PROGRAM [KEY=VALUE]...'")
    run = {} if "=" in words[0] else {"run": words.pop(0)}
    keys = dict(word.split("=", 1) for word in words if "=" in word)
    return " ".join(name.split()), {**run, **keys}


def lab(root, functions):
    if root.tag != "topology":
        raise ValueError(f"the first element is <{root.tag}>; an experiment is a <topology>")
    nodes = {of(node, "name"): node for node in root.findall("node")}
    links = root.findall("link")
    yield "[lab]"
    yield f"name = {json.dumps(root.get('module', 'experiment'))}"
    yield f"duration = {json.dumps(of(root, 'duration') + ' s')}"
    backend = of(root, "backend")
    if backend not in WORLDS:
        raise ValueError(f"backend {backend!r}: one of {', '.join(WORLDS)} is wanted")
    yield f'worlds = ["{WORLDS[backend]}"]'
    places = {}
    for number, (name, node) in enumerate(nodes.items(), 1):
        called = " ".join([of(node, "main"), *((param.text or "").strip() for param in node.findall("param"))])
        if called not in functions:
            raise ValueError(f"node {name}: what does `{called}` do? Give --main '{called}: PROGRAM'")
        does = dict(functions[called])
        yield ""
        yield f"[node.{json.dumps(name)}]"
        yield f"kind = {json.dumps(does.pop('kind', 'host'))}"
        if "run" in does:
            yield f'address = "10.0.{number // 250}.{number % 250 + 1}/16"'
            yield f"[[node.{json.dumps(name)}.program]]"
        ends = sum(name in (link.get("src"), link.get("dst")) for link in links)
        if "run" in does and ends > 1:
            raise ValueError(f"node {name}: a host has one link, and this one has {ends}")
        yield from (f"{key} = {json.dumps(value)}" for key, value in does.items())
        places[name] = 0
    captures = []
    for link in links:
        ends = []
        for name in (of(link, "src"), of(link, "dst")):
            if name in places:
                ends.append(f"{name}.{places[name]}")
                places[name] += 1
            elif name.startswith("port:"):
                ends.append(name)
            else:
                raise ValueError(f"a link leads to {name!r}, which is no node")
        yield ""
        yield "[[link]]"
        yield f"ends = {json.dumps(ends)}"
        for key, attribute, unit in (("delay", "delay", "ms"), ("rate", "rate", "Mb/s"), ("queue", "queue_size", "packets")):
            if link.get(attribute) is not None:
                yield f'{key} = "{float(link.get(attribute)):g} {unit}"'
        if link.get("pcap") == "true":
            captures.append(ends[0])
    for number, end in enumerate(captures, 1):
        yield ""
        yield "[[capture]]"
        yield f"at = {json.dumps(end)}"
        yield f'file = "link-{number}.pcap"'


def of(element, attribute):
    value = element.get(attribute)
    if value is None:
        raise ValueError(f"<{element.tag}> has no {attribute}")
    return value


if __name__ == "__main__":
    main()
