"""The linear baseline, `lr`: one logistic regression an aspect over n-grams (Saeidi et al., 2016), in NumPy."""
