"""Says where our definitions of messages differ from those that Python's controllers have: names, numbers, types."""
import importlib
import sys

from google.protobuf import descriptor_pb2

# What is of no use to a device: constants that no field has.
WITHOUT = {"p4.v1.SdnPort", "p4.config.v1.P4Ids", "p4.config.v1.P4Ids.Prefix"}


def described(prefix, messages, enumerations, into):
    for each in enumerations:
        into[prefix + each.name] = sorted((value.number, value.name) for value in each.value)
    for each in messages:
        name = prefix + each.name
        into[name] = sorted(
            (field.number, field.name, field.type, field.label, field.type_name, oneof(each, field)) for field in each.field
        )
        described(name + ".", each.nested_type, each.enum_type, into)


def oneof(message, field):
    return message.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else ""


ours, theirs = {}, {}
definitions = descriptor_pb2.FileDescriptorSet()
with open(sys.argv[1], "rb") as file:
    definitions.ParseFromString(file.read())
for file in definitions.file:
    if file.package in ("p4.v1", "p4.config.v1"):
        described(file.package + ".", file.message_type, file.enum_type, ours)
for module in ("p4.v1.p4runtime_pb2", "p4.v1.p4data_pb2", "p4.config.v1.p4info_pb2", "p4.config.v1.p4types_pb2"):
    file = descriptor_pb2.FileDescriptorProto()
    importlib.import_module(module).DESCRIPTOR.CopyToProto(file)
    described(file.package + ".", file.message_type, file.enum_type, theirs)
assert len(ours) > 100, ours
different = [name for name in sorted(ours.keys() | theirs.keys() - WITHOUT) if ours.get(name) != theirs.get(name)]
for name in different:
    print(f"{name}: ours {ours.get(name)}, theirs {theirs.get(name)}")
print("differs" if different else "done")
