"""The model folder: the only thing that training and use share. Plain files, nothing that can run.

config.json           kind, options, aspects, labels, text processing, format version
weights.safetensors   the trained numbers
vectors.safetensors   words and their vectors, in float16
concepts.safetensors  concepts and their vectors, in float16, where the model reads them
tokenizer.json        how a text is cut into word pieces, where the model reads those; it then has no vectors
model.onnx            the trained network as a graph, and model.int8.onnx the same in eight bits, where exported;
                      readers have read.onnx and ask.onnx, whose numbers lie in weights.safetensors
metrics.json          how well it does, and what it was trained on
checksums.json        the SHA-256 of each file that an answer comes from, which reading compares
README.md             a model card
"""
