"""The model folder, all that training and use share: plain files, nothing that can run; docs/training.md lists them."""
