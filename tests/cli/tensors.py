"""Reading and writing safetensors, byte by byte."""
import json
import struct


def write(path, tensors):
    """tensors: name -> (dtype, shape, values)"""
    code = {"F32": "f", "F64": "d", "I64": "q", "BF16": "H"}  # bf16 by its bits
    header, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        part = struct.pack("<%d%s" % (len(values), code[dtype]), *values)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read(path):
    raw = path.read_bytes()
    size = struct.unpack_from("<Q", raw)[0]
    header = json.loads(raw[8:8 + size])
    out = {}
    for name, t in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + o for o in t["data_offsets"])
        code, width = {"F32": ("f", 4), "F64": ("d", 8), "I64": ("q", 8), "BOOL": ("?", 1), "BF16": ("H", 2)}[t["dtype"]]
        out[name] = (t["dtype"], t["shape"], list(struct.unpack("<%d%s" % ((end - begin) // width, code), raw[begin:end])))
    return out
