"""The numbers of the paper's figures, read from its source. Plain data; Table 1 is in `tabsa_repro.published`."""

from typing import Final

# Figure 3: chains -> aspect F1 over five runs, mean and standard deviation.
FIGURE3: Final[dict[int, tuple[float, float]]] = {
    2: (0.7658402636088, 0.0043253909338),
    3: (0.7779637775158, 0.0068717513021),
    4: (0.7780840183910, 0.0037563332192),
    5: (0.7845484311270, 0.0021866181736),
    6: (0.7846429725256, 0.0036186877390),
    7: (0.7851069387932, 0.0043360560354),
    8: (0.7849748096858, 0.0040690492188),
    9: (0.7859842398414, 0.0034449250651),
    10: (0.7847372338894, 0.0039969992769),
}

# Figure 2: its words, and the gate at each, averaged over chains and directions, in hundredths.
_WORDS: Final = """
LOC1 is a lovely town with plenty of restaurants , you won't go hungry that's for sure and if you wanted to pop up into
london for an evening there's trains every 15 minutes
"""
_ENTNET: Final = """
62 36 35 36 18 08 13 03 26 03 02 08 03 12 01 01 03 00 01 01 05 01 10 02 02 16 01 01 06 02 06 02 02 02
"""
_DELAYED: Final = """
47 10 09 29 30 15 35 07 43 07 16 39 18 31 15 06 15 05 10 08 20 07 24 10 10 27 08 08 34 37 36 31 18 32
"""
FIGURE2_WORDS: Final = tuple(_WORDS.split())
FIGURE2_GATES: Final = {
    "entnet": tuple(int(value) / 100 for value in _ENTNET.split()),
    "delayed-entnet": tuple(int(value) / 100 for value in _DELAYED.split()),
}

# The same sentence as Sentihood's test split has it and as it is read: clitics apart, and two words more.
_READ: Final = """
<target1> is a lovely town with plenty of restaurants , you wo n't go hungry that 's for sure and if you wanted to pop
up into london for an evening there 's trains every 15 minutes or so
"""
SENTENCE: Final = tuple(_READ.split())
