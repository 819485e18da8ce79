"""Reads a Parquet file and prints JSON: the names of the columns, then each column's values.

By itself, from the text of parquet-format alone; or with `pyarrow` or `duckdb`, where they are. It knows what flat tables
without compression need, and ends with an error at everything else.
usage: read.py own|pyarrow|duckdb FILE
"""
import json
import struct
import sys

BOOLEAN, INT64, DOUBLE, BYTE_ARRAY = 0, 2, 5, 6
UTF8, UINT_64 = 0, 14


class Thrift:
    """The compact protocol: structs as dictionaries from field numbers."""

    def __init__(self, data, at):
        self.data, self.at = data, at

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def value(self, kind):
        if kind in (5, 6):
            number = self.varint()
            return (number >> 1) ^ -(number & 1)
        if kind == 8:
            length = self.varint()
            self.at += length
            return self.data[self.at - length : self.at]
        if kind == 9:
            head = self.byte()
            length = self.varint() if head >> 4 == 15 else head >> 4
            return [self.value(head & 15) for _ in range(length)]
        assert kind == 12, f"type {kind}"
        fields, last = {}, 0
        while head := self.byte():
            last = last + (head >> 4) if head >> 4 else (lambda n: (n >> 1) ^ -(n & 1))(self.varint())
            assert last not in fields
            fields[last] = self.value(head & 15)
        return fields


def hybrid(data, width, count):
    """Runs and groups of eight packed values, until `count` values are there."""
    reader, values = Thrift(data, 0), []
    while len(values) < count:
        head = reader.varint()
        if head & 1:
            length = (head >> 1) * width
            bits = int.from_bytes(data[reader.at : reader.at + length], "little")
            reader.at += length
            values += [bits >> n * width & (1 << width) - 1 for n in range((head >> 1) * 8)]
        else:
            size = (width + 7) // 8
            values += [int.from_bytes(data[reader.at : reader.at + size], "little")] * (head >> 1)
            reader.at += size
    return values[:count]


def plain(data, element, count):
    if element[1] == BOOLEAN:
        return [bool(data[n // 8] >> n % 8 & 1) for n in range(count)]
    if element[1] == BYTE_ARRAY:
        values, at = [], 0
        for _ in range(count):
            (length,) = struct.unpack_from("<I", data, at)
            at += 4 + length
            values.append(data[at - length : at].decode())
        return values
    form = {INT64: "Q" if element.get(6) == UINT_64 else "q", DOUBLE: "d"}[element[1]]
    return list(struct.unpack_from(f"<{count}{form}", data))


def page(data, at):
    """The header of a page, its body, and where the next begins."""
    reader = Thrift(data, at)
    header = reader.value(12)
    assert header[2] == header[3]
    return header, data[reader.at : reader.at + header[3]], reader.at + header[3]


def chunk(data, element, metadata):
    assert metadata[1] == element[1] and metadata[4] == 0 and metadata[3] == [element[4]]
    words, start = None, metadata.get(11, metadata[9])
    at = start
    if 11 in metadata:
        header, body, at = page(data, at)
        assert header[1] == 2 and header[7][2] in metadata[2]
        words = plain(body, element, header[7][1])
    assert at == metadata[9]
    header, body, at = page(data, at)
    assert header[1] == 0 and at - start == metadata[6] == metadata[7]
    count, encoding = header[5][1], header[5][2]
    assert count == metadata[5] and encoding in metadata[2]
    (length,) = struct.unpack_from("<I", body)
    levels = hybrid(body[4 : 4 + length], 1, count)
    rest = body[4 + length :]
    if encoding == 8:
        values = [words[n] for n in hybrid(rest[1:], rest[0], sum(levels))]
    else:
        values = plain(rest, element, sum(levels))
    values = iter(values)
    return [next(values) if level else None for level in levels]


def own(path):
    data = open(path, "rb").read()
    assert data[:4] == data[-4:] == b"PAR1"
    (length,) = struct.unpack("<I", data[-8:-4])
    reader = Thrift(data, len(data) - 8 - length)
    metadata = reader.value(12)
    assert reader.at == len(data) - 8
    root, *elements = metadata[2]
    assert root[5] == len(elements)
    columns = [[] for _ in elements]
    for group in metadata[4]:
        for column, element, one in zip(columns, elements, group[1], strict=True):
            assert element[3] == 1 and (element[1] != BYTE_ARRAY or element[6] == UTF8)
            values = chunk(data, element, one[3])
            assert len(values) == group[3]
            column += values
    assert all(len(column) == metadata[3] for column in columns)
    return [element[4].decode() for element in elements], columns


def pyarrow(path):
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    return table.column_names, [column.to_pylist() for column in table.columns]


def duckdb(path):
    import duckdb

    result = duckdb.sql(f"SELECT * FROM read_parquet('{path}')")
    return result.columns, [list(column) for column in zip(*result.fetchall())] or [[] for _ in result.columns]


names, columns = {"own": own, "pyarrow": pyarrow, "duckdb": duckdb}[sys.argv[1]](sys.argv[2])
json.dump({"names": names, "columns": columns}, sys.stdout)
