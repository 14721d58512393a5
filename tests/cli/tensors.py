"""Reading and writing safetensors, byte by byte."""
import json
import struct

# bf16 by its bits
codes = {"F32": "f", "F64": "d", "I64": "q", "BOOL": "?", "BF16": "H"}


def write(path, tensors):
    """tensors: name -> (dtype, shape, values)"""
    header, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        part = struct.pack("<%d%s" % (len(values), codes[dtype]), *values)
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
        code = "<" + codes[t["dtype"]]
        out[name] = (t["dtype"], t["shape"], [value for value, in struct.iter_unpack(code, raw[begin:end])])
    return out
