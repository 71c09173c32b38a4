"""The models in the box, on the texts and questions of the others.

    python benchmarks/alternatives/box.py [--model reader|places]

`places` knows twelve aspects of places, so of the sets here it can answer Sentihood alone.
"""

from pathlib import Path

from common import System, measure, parser

from tabsa.inference.evaluating import predict_questions
from tabsa.inference.predictor import load

PACKAGE = Path(__file__).parents[2] / "src" / "tabsa"


def main() -> None:
    """Measure one of them."""
    options = parser(__doc__)
    options.add_argument("--model", choices=["reader", "places"], default="reader")
    args = options.parse_args()
    if args.model == "places":
        args.sets = [name for name in args.sets if name == "sentihood"]
    model = load(args.model, threads=args.threads)
    about = {"reader": "the model in the box, any aspects", "places": "the paper's network, twelve aspects of places"}
    system = System(
        args.model,
        about[args.model],
        lambda data: predict_questions(model, data),
        ["tabsa"],
        [PACKAGE],
    )
    measure(system, args)


if __name__ == "__main__":
    main()
