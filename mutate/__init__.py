"""Small mutations of the rules, one at a time: what no test notices is printed.

make mutate                                          the rules in mutate/rooms.py
make mutate FILES="gitcp/link/linking.py"     every mutation of a file
make mutate FILES="gitcp/link/linking.py:97"  those of one line
"""
