"""The linear baseline, `lr`: one logistic regression an aspect over n-grams (Saeidi et al., 2016).

All that use needs is here, in NumPy; SciPy is needed only to fit a model (`tabsa.training.logistic_regression`).
"""
