"""Copies a GGUF file with its matrices in another type, so that all programs read one file."""

import gguf
import numpy as np

FLOATS = {"f32": (np.float32, gguf.LlamaFileType.ALL_F32),
          "f16": (np.float16, gguf.LlamaFileType.MOSTLY_F16)}
# What the writer makes of the architecture and of the tensors.
_OWN = {"GGUF.version", "GGUF.tensor_count", "GGUF.kv_count", "general.architecture",
        "general.file_type", "general.quantization_version"}


def copy(source, target, element):
    """Writes `target` with all matrices in `element`, f32 or f16, and vectors in f32, where
    llama.cpp keeps them."""
    dtype, file_type = FLOATS[element]
    reader = gguf.GGUFReader(source)
    architecture = reader.get_field("general.architecture").contents()
    writer = gguf.GGUFWriter(target, architecture)
    for name, field in reader.fields.items():
        if name not in _OWN:
            inner = field.types[-1] if len(field.types) > 1 else None
            writer.add_key_value(name, field.contents(), field.types[0], inner)
    writer.add_file_type(file_type)
    for tensor in reader.tensors:
        data = gguf.dequantize(tensor.data, tensor.tensor_type)
        writer.add_tensor(tensor.name, np.ascontiguousarray(
            data.astype(dtype if data.ndim > 1 else np.float32)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
