"""gitcp: what coding agents do to a repository, recorded in git."""

# What a checkout says, and state files carry; .ci/dist replaces both lines in what it builds.
VERSION = "0.1.0.dev0"
COMMIT = ""  # what a built gitcp was made from
