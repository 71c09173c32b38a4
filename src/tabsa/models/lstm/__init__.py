"""The LSTM baselines of Saeidi et al. (2016) and Ma et al. (2018): configuration, networks."""
