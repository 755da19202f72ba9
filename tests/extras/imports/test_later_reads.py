"""What commands wrote, shown by what a conversation reads of the file afterwards."""

from __future__ import annotations

from tests.extras.imports.conftest import Yesterday
from tests.extras.imports.truth import Told

BEFORE = "first_line = 1\nold_value = 2\nlast_line = 3\n"
NEW = "first_line = 1\nnew_value = 4\nlast_line = 3\n"
MADE = {  # a command -> the lines that are its own, where the file was read before and after it
    "sed -i 's/old_value = 2/new_value = 4/' {}": {2},
    f"cat > {{}} <<'END'\n{NEW}END\n": {2},
    f"tee {{}} <<'END' >/dev/null\n{NEW}END\n": {2},
    "cat >> {} <<'END'\nmore_of = it\nEND\n": {4},
    "printf 'more_of = it\\nand_so = on\\n' >> {}": {4, 5},
    "python3 -c \"p='{}'; t=open(p).read(); open(p,'w').write(t.replace('old_v','new_v'))\"": set(),
    "python3 -c \"p='{}'; t=open(p).read(); open(p,'w').write(t.replace('old_value','val'))\"": {2},
    "tr a-z b-za <{0} >tmp; mv tmp {0}": set(),
    "echo computed_$((40 + 2)) >> {}": set(),
}


def test_what_a_later_read_shows_of_a_command_is_its_own_by_its_words(past: Yesterday) -> None:
    files = {f"made{n}.py": command for n, command in enumerate(MADE)}
    for path in [*files, "person.py", "seen.py", "unread.py"]:
        (past.repo / path).write_text(BEFORE)
    past.commit()
    past.prompt("Change them all")
    for path, command in files.items():
        past.look(path)
        past.shell(command.format(path))
        past.look(path)
    past.look("person.py")
    (past.repo / "person.py").write_text("person_wrote = this\n" + BEFORE)
    past.shell("sed -i 's/old_value = 2/new_value = 4/' person.py")
    past.look("person.py")
    past.look("seen.py")
    (past.repo / "seen.py").write_text("person_wrote = this\n" + BEFORE)
    past.shell("grep person_wrote seen.py")
    past.shell(f"cat > seen.py <<'END'\nperson_wrote = this\n{NEW}END\n")
    past.look("seen.py")
    past.look("unread.py")
    past.shell("sed -i 's/old_value = 2/new_value = 4/' unread.py")
    past.say()
    past.commit()
    past.imported()
    own: dict[str, set[int]] = {}
    for _, path, _, line, _ in Told(past.repo).lines:
        own.setdefault(path, set()).add(line)
    want = {path: lines for path, lines in zip(files, MADE.values(), strict=True) if lines}
    assert own == {**want, "person.py": {3}}


def test_what_a_command_printed_of_a_file_counts_as_a_read_of_it(past: Yesterday) -> None:
    (past.repo / "shown.py").write_text(BEFORE)
    past.commit()
    past.prompt("Change it")
    past.shell("cat shown.py")
    past.shell("sed -i 's/old_value = 2/new_value = 4/' shown.py && cat shown.py")
    past.prompt("And a new one")
    past.shell("printf 'a_new = file\\n' > new.py")
    past.shell("cat new.py")
    past.say()
    past.commit()
    past.imported()
    assert {(line[1], line[3], line[4]) for line in Told(past.repo).lines} == {("shown.py", 2, 1)}
