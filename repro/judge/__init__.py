"""The judge: a decoder, fine-tuned to answer questions about texts, that teaches the readers. It never ships."""
