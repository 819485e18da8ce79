"""p4.tmp.P4DeviceConfig, which the controllers of the P4 tutorials import and PyPI's package `p4runtime` has not."""
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_file = descriptor_pb2.FileDescriptorProto(name="p4/tmp/p4config.proto", package="p4.tmp", syntax="proto3")
_message = _file.message_type.add(name="P4DeviceConfig")
_type = descriptor_pb2.FieldDescriptorProto
for _name, _number, _kind in [("reassign", 1, _type.TYPE_BOOL), ("device_data", 3, _type.TYPE_BYTES)]:
    _message.field.add(name=_name, number=_number, type=_kind, label=_type.LABEL_OPTIONAL)
_pool = descriptor_pool.Default()
_pool.Add(_file)
_found = _pool.FindMessageTypeByName("p4.tmp.P4DeviceConfig")
if hasattr(message_factory, "GetMessageClass"):
    P4DeviceConfig = message_factory.GetMessageClass(_found)
else:
    P4DeviceConfig = message_factory.MessageFactory(_pool).GetPrototype(_found)
