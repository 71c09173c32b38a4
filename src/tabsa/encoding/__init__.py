"""The one reading of a text, for training, evaluation and use: text and targets -> passages -> slots -> arrays."""
