"""Evaluation: metrics, reports, comparison, calibration, files of predictions, published figures."""
