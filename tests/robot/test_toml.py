"""Robot files that are wrong are refused with the file and the line."""

import re

import pytest

import linkwise as lw
from facts import raises
from robots import FREE, TEXTBOOK
from toml_files import ARM, GANTRY, changed, marked_line, read, refused

# each mistake on the line it stands on

IN_LOWER = [
    ("mass = 1.5", "mass = -1.5 # here", r"mass is -1\.5 .*not negative"),
    ("mass = 1.5", "mass = nan # here", "mass is nan .*finite"),
    ("mass = 1.5", "mass = -inf # here", "mass is -inf .*finite"),
    ("mass = 1.5", 'mass = "1.5" # here', r"mass is '1\.5' .*number"),
    ("mass = 1.5", "mass = \"__import__('os').getpid()\" # here", "mass is .*expected a number"),
    ("mass = 1.5", "mass = true # here", "mass is True .*number"),
    ("mass = 1.5", "mass = 2026-11-15 # here", "mass is .*expected a number"),
    ("mass = 1.5", "mass = [1.5] # here", "mass is .*expected a number"),
    ("mass = 1.5", "mass = { kg = 1.5 } # here", "mass is .*expected a number"),
    ("mass = 1.5", "mass.kg = 1.5 # here", "mass is .*expected a number"),
    ("mass = 1.5", f"mass = 1{'0' * 400} # here", "mass is too large"),
    ("mass = 1.5", "mass = 1e999 # here", "mass is inf"),
    ("mass = 1.5", "   'mass'=-1.5 # here", "mass is -1"),
    ("mass = 1.5", '\t"mass"\t=\t-1.5 # here', "mass is -1"),
    ("mass = 1.5", "mass = 1.5\nmas = 1.5 # here", "mas is not a key .*did you mean 'mass'"),
    ("mass = 1.5", 'mass = 1.5\n"odd [word]" = 1 # here', "not a key"),
    ("mass = 1.5", "mass = 1.5\nviscous_friction = -1 # here", "viscous_friction is -1.0 .*not negative"),
    ("alpha = 0.5", 'alpha = "90" # here', "alpha is '90' .*90 deg"),
    ("alpha = 0.5", 'alpha = "1+1 deg" # here', r"alpha is '1\+1 deg'"),
    ("alpha = 0.5", "alpha = \"__import__('os').getpid() deg\" # here", "alpha is .*expected an angle"),
    ("theta = 0.75", 'theta = "ninety deg" # here', "theta is 'ninety deg'"),
    ("a = 0.25", 'a = "25 cm" # here', "a is '25 cm' .*length in m"),
    ("a = 0.25", "a = 0.25\nd = 0.0 # here\nb = nan", "d and b are both given"),
    ("a = 0.25", "a = 0.25\nd = nan # here", "b is nan"),
    ("a = 0.25", "a = 0.25\nb = nan # here", "b is nan"),
    ("com = [-0.1, 0.0, 0.0]", "com = [-0.1, 0.0] # here", "com is .*three numbers"),
    ("com = [-0.1, 0.0, 0.0]", "com = [ # here\n-0.1,\n0.0,\nnan,\n]", r"com\[2\] is nan"),
    ("inertia = [\n    [0.03", "inertia = [ # here\n    [nan", r"inertia\[0\]\[0\] is nan"),
    ("inertia = [\n    [0.03, 0.0", "inertia = [ # here\n    [0.03, 0.1", "inertia is not symmetric"),
    ("inertia = [\n    [0.03", "inertia = [ # here\n    [-0.03", "inertia is not positive semidefinite"),
    ("inertia = [\n    [0.03", "inertia = [ # here\n    [3.0", "inertia breaks the triangle inequality"),
    ("limits = [0.0, 1.0]", "limits = [1.0, 0.0] # here", "limits is .*lower first"),
    ('joint = "prismatic"', 'joint = "prismatc" # here', "joint is 'prismatc', did you mean 'prismatic'"),
    ('name = "lower"', 'name = "upper" # here', "row 2: the name 'upper' belongs to row 1"),
    ('name = "lower"', "name = 3 # here", "row 2: name is 3"),
    ('name = "lower"', 'name = "two\\nlines" # here', "row 2: name is"),
    ('name = "lower"', 'name = "lower"\nparent = "uper" # here', "parent is 'uper', .*did you mean 'upper'"),
    ('name = "lower"', 'name = "lower"\nparent = "lower" # here', "parent closes a loop: lower -> lower"),
    ('name = "lower"', 'name = "lower"\nparent = "tool" # here', "parent closes a loop: lower -> tool -> lower"),
    ('name = "lower"', 'name = "lower"\nparent = [1] # here', r"parent is \[1\]"),
    ("b = 0.1\n", "b = 0.1\nrotor_inertia = 1 # here\n", "link 'tool': rotor_inertia .*fixed joint"),
]
AT_THE_TOP = [
    ("gravity = [0.0, 0.0, -9.81]", "gravity = [0.0, -9.81] # here", "gravity is .*three numbers"),
    ("gravity = [0.0, 0.0, -9.81]", "gravity = [0.0, 0.0, nan] # here", r"gravity\[2\] is nan"),
    ("gravity = [0.0, 0.0, -9.81]", "gravity = 9.81 # here", "gravity is 9.81"),
    ('convention = "standard"', 'convention = "standrd" # here', "convention is 'standrd', did you mean 'standard'"),
    ('convention = "standard"', 'convention = ["standard"] # here', "convention is .*expected one of"),
    ('convention = "standard"', "convention = {} # here", "convention is .*expected one of"),
    ('name = "arm"', "name = 7 # here", "name is 7 .*text"),
    ('about = "two links and a tool"', "about = [] # here", "about is .*text"),
    ('name = "arm"', 'nmae = "arm" # here', "nmae is not a key .*did you mean 'name'"),
    ('about = "two links and a tool"', "colour.hue = 3 # here", "colour is not a key"),
    ("theta = 0.0", "theta = 0.0\n[mass] # here", "mass is not a key of a robot file"),
    ("theta = 0.0", "theta = 0.0\n[[links]] # here", "links is not a key .*did you mean 'link'"),
]


@pytest.mark.parametrize(("old", "new", "said"), IN_LOWER + AT_THE_TOP)
def test_a_mistake_is_reported_on_its_own_line(tmp_path, old, new, said):
    text = changed(ARM, old, new)
    line, message = refused(tmp_path, text)
    assert re.search(said, message)
    assert line == marked_line(text)
    if (old, new, said) in IN_LOWER:
        assert re.match("robot 'arm', (link '(lower|tool)'|row 2): ", message)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("axis = [1.0, 0.0, 0.0]", "axis = [0, 0, 0] # here", "axis is .*length 0"),
        ("axis = [1.0, 0.0, 0.0]", "axis = [1e200, 0, 0] # here", r"axis is .*length 1e\+200"),
        ("rotation = [[1.0", "rotation = [ # here\n[1.1", "rotation is .*determinant 1"),
        ("translation = [0.0, 0.0, 2.0]", "translation = 2.0 # here", "translation is 2.0 .*three numbers"),
        ("axis = [1.0, 0.0, 0.0]", "a = 1.0 # here", "a is not a key of a 'frames' row"),
    ],
)
def test_a_mistake_among_frames_is_reported_on_its_own_line(tmp_path, old, new, said):
    text = changed(GANTRY, old, new)
    line, message = refused(tmp_path, text)
    assert re.match(f"robot 'bad', link 'link1': {said}", message)
    assert line == marked_line(text)


@pytest.mark.parametrize(
    "entry", ["mass = 1.5", "a = 0.25", "theta = 0.75", "com = [-0.1, 0.0, 0.0]", 'joint = "prismatic"']
)
def test_a_missing_entry_is_reported_on_the_line_where_its_link_begins(tmp_path, entry):
    text = changed(changed(ARM, entry + "\n", ""), '[[link]]\nname = "lower"', '[[link]] # here\nname = "lower"')
    line, message = refused(tmp_path, text)
    assert re.match(f"robot 'arm', link 'lower': {entry.split()[0]} is (missing|None)", message)
    assert line == marked_line(text)


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ('convention = "standard"\n', "convention is missing .*'standard', 'modified', 'frames'"),
        ("gravity = [0.0, 0.0, -9.81]\n", "gravity is missing .*three numbers"),
    ],
)
def test_what_the_whole_file_lacks_is_reported_on_its_first_line(tmp_path, missing, said):
    line, message = refused(tmp_path, changed(ARM, missing, ""))
    assert re.match(said, message)
    assert line == 1


@pytest.mark.parametrize("links", ["", "[link] # here", "link = [] # here", "link = 3 # here", "link = [1, 2] # here"])
def test_a_file_without_rows_says_so_where_they_should_be(tmp_path, links):
    text = f'convention = "standard"\ngravity = [0, 0, 0]\n{links}'
    line, message = refused(tmp_path, text)
    assert "has no links (expected one [[link]]" in message
    assert line == (marked_line(text) if links else 1)


def test_a_robot_without_a_moving_joint_is_reported_at_its_first_joint(tmp_path):
    row = '[[link]]\njoint = "fixed"\na = 0\nb = 0\nalpha = 0\ntheta = 0\n'
    line, message = refused(tmp_path, f'convention = "modified"\ngravity = [0, 0, 0]\n\n{row}\n{row}')
    assert "no joint that moves" in message
    assert line == 5


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("mass = 1.5", "mass = # here"),
        ("mass = 1.5", "mass = 1.5\nmass = 1.6 # here"),
        ("mass = 1.5", 'mass = "1.5 # here'),
        ("mass = 1.5", "mass = 1,5 # here"),
        ("mass = 1.5", "mass = 1.5 kg # here"),
        ("mass = 1.5", "mass: 1.5 # here"),
        ("mass = 1.5", "mass = 0.1 + 1.4 # here"),
        ('[[link]]\nname = "lower"', '[[link] # here\nname = "lower"'),
    ],
)
def test_broken_toml_is_reported_on_its_line(tmp_path, old, new):
    text = changed(ARM, old, new)
    line, message = refused(tmp_path, text)
    assert message.startswith("is not TOML: ")
    assert line == marked_line(text)


@pytest.mark.parametrize("text", ["a = [1,", "a = [1,\n", "a = [1,\n\n\n"])
def test_a_file_that_breaks_off_is_reported_on_its_last_line(tmp_path, text):
    line, message = refused(tmp_path, "name = 'x'\n" + text)
    assert line == 2
    assert "end of document" in message


def test_text_that_is_not_utf8_is_reported_on_its_line(tmp_path):
    line, message = refused(tmp_path, ARM.encode().replace(b'"tool"', b'"\xe9tool"'))
    assert message == "is not UTF-8 text"
    assert line == ARM[: ARM.index('"tool"')].count("\n") + 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (changed(ARM, "mass = 1.5", f"mass = 1{'0' * 5000}"), "digits"),
        ("gravity = " + "[" * 50_000, ""),
        (changed(ARM, "alpha = 0.5", f'alpha = "{"1" * 50_000}"'), "alpha"),
    ],
    ids=["long number", "deep list", "long text"],
)
def test_absurd_files_are_refused_like_others(tmp_path, text, said):
    assert said in refused(tmp_path, text)[1]


# what must not mislead the search for the line

BAD_LOWER = changed(ARM, "mass = 1.5", "mass = -1.5 # here")


@pytest.mark.parametrize(
    "text",
    [
        changed(
            BAD_LOWER, '\n[[link]]\nname = "lower"', '\n# [[link]]\n# mass = 0\n[[link]]\n#mass = 0\nname = "lower"'
        ),
        changed(BAD_LOWER, '"two links and a tool"', '"""\n[[link]]\nmass = 3\n"quoted"\n\\""""'),
        changed(BAD_LOWER, '"two links and a tool"', "'''\n[[link]]\nmass = 3 \\'''\n#'''"),
        changed(BAD_LOWER, '"two links and a tool"', '"it\'s \\"\\"\\" # \'\'\' not a comment"'),
        changed(BAD_LOWER, '"two links and a tool"', '"tool" # """ opens nothing'),
        changed(BAD_LOWER, '"two links and a tool"', '"a\u2028b\x85c\u2029d" # e\u2028f\x85'),
        changed(BAD_LOWER, '[[link]]\nname = "lower"', "[[ link ]]\t# third\nname = 'lower'"),
        changed(BAD_LOWER, '[[link]]\nname = "lower"', '  [[ "link" ]]\nname = "mass = 7"'),
        BAD_LOWER.replace("\n", "\r\n"),
        "\ufeff" + BAD_LOWER,
    ],
    ids=[
        "comments",
        "long text",
        "long literal",
        "quotes",
        "quotes in a comment",
        "odd line ends",
        "spaces",
        "quoted header",
        "CRLF",
        "byte order mark",
    ],
)
def test_lines_are_counted_as_an_editor_counts_them(tmp_path, text):
    line, message = refused(tmp_path, text)
    assert "mass is -1.5" in message
    assert line == marked_line(text)


def test_rows_in_one_list_are_read_and_refused_on_the_line_of_the_list(tmp_path):
    row = "{ joint = 'revolute', a = 1, b = 0, alpha = 0, mass = %s, com = [0, 0, 0], inertia = [%s] }"
    tensor = "[1, 0, 0], [0, 1, 0], [0, 0, 1]"
    text = "convention = 'modified'\ngravity = [0, 0, 0]\nlink = [\n  %s,\n  %s,\n]\n"
    assert read(tmp_path, text % (row % (1, tensor), row % (2, tensor))).n == 2
    line, message = refused(tmp_path, text % (row % (1, tensor), row % (-2, tensor)))
    assert "link 'link2': mass is -2.0" in message
    assert line == 3


@pytest.mark.parametrize("dress", [lambda t: t.replace("\n", "\r\n"), lambda t: "\ufeff" + t, lambda t: t.strip()])
def test_line_ends_and_byte_order_marks_change_nothing(tmp_path, dress):
    assert read(tmp_path, dress(ARM)) == read(tmp_path, ARM)


# which file


def test_a_library_name_has_its_nearest_suggested():
    with pytest.raises(
        lw.errors.FileError, match=r"'stanfrod' is not a robot .*did you mean 'stanford'.*gantry, .*planar3"
    ):
        lw.load("stanfrod")
    with raises(lw.errors.FileError, "'Puma560'", "'puma560'"):
        lw.load("Puma560")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("missing.toml", r"no such file \(lw\.LIBRARY lists"),
        ("folder", "is a directory .*toml"),
        ("folder.toml", "is a directory .*toml"),
        ("arm.json", r"cannot read \.json \(expected .*\.toml"),
        ("arm", r"cannot read files without an ending \(expected .*\.toml"),
    ],
)
def test_what_is_no_robot_file_is_refused_by_its_path(tmp_path, name, said):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "arm").write_text(ARM)
    (tmp_path / "arm.json").write_text(ARM)
    with pytest.raises(lw.errors.FileError, match=re.escape(str(tmp_path / name)) + ": " + said):
        lw.load(tmp_path / name)


@pytest.mark.parametrize("name", ["arm.txt", "arm"])
def test_a_robot_is_saved_to_a_known_ending_only(tmp_path, name):
    with pytest.raises(lw.errors.FileError, match=r"cannot write .*expected \.toml"):
        lw.save(lw.chain(2), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_paths_are_text_or_paths_with_any_case_of_ending(tmp_path):
    path = tmp_path / "Arm.TOML"
    path.write_text(changed(ARM, 'name = "arm"\n', ""))
    assert lw.load(path) == lw.load(str(path))
    assert lw.load(path).name == "Arm"


def test_every_library_robot_loads_under_its_own_name():
    assert set(lw.LIBRARY) > {robot.name for robot in [*TEXTBOOK, *FREE]}
    for name in lw.LIBRARY:
        assert lw.load(name).name == name
        assert lw.load(name).about
