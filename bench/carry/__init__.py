"""How often the author of a line survives: `make carry`, on material from package indexes.

`formatters`: real formatters on real files.  `people`: commits of people on what an agent wrote.
`moves`: blocks that were moved or copied, made up and in real commits.  `cost`: the time it takes.
"""
