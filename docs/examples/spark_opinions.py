"""Opinions in a Spark DataFrame, by mapInPandas."""

from pyspark.sql import SparkSession


def opinions(batches):
    """A row for each opinion in the texts of each batch."""
    import tabsa.plugins.pandas

    model = tabsa.load(threads=1)  # one for each task, which has one core
    for batch in batches:
        yield batch[["text"]].tabsa.score(targets=["Camden", "Croydon"], aspects=["price"], model=model).iloc[:, :5]


spark = SparkSession.builder.getOrCreate()
comments = spark.read.csv("docs/examples/comments.csv", header=True, multiLine=True, escape='"').repartition(2)
scored = comments.mapInPandas(opinions, "text string, target string, aspect string, polarity string, confidence double")
