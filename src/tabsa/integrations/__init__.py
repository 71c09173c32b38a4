"""At home in other libraries: an estimator for scikit-learn, a pipeline component for spaCy.

One file a library, which imports it; this one imports none.
"""
