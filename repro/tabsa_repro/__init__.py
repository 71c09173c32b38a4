"""The paper's results again: Table 1, Figure 2, Figure 3 and ablations, each with several seeds."""
