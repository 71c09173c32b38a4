"""How good predictions are: metrics, reports, calibration, files of predictions, and what was published."""
