"""Pages for people: what a scored table says, what carries an answer, how good a model is."""
