"""The paper's results again: Table 1, Figure 2, Figure 3 and ablations, each with several seeds.

Parts: `experiments` (what is run), `preparation` (its data as files), `training` (several seeds of one configuration),
`records` (what is kept of them), `store` (where), `running` (one part after another), `paper` (the figures published),
`gates` (Figure 2's measurements), `drawing` (the pictures).
"""
