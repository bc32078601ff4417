"""Sessions: finding Java, other people's settings, starting Spark, its cores, and greta handed to its executors.

Not ``session``: that name is the function ``greta.spark.session``, and importing a package of the same name would
replace it.
"""
