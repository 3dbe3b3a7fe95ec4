"""Robot files that are wrong are refused with the file and the line."""

import pytest

import linkwise as lw
from facts import names, raises
from robots import FREE, TEXTBOOK
from toml_files import ARM, GANTRY, changed, marked_line, read, refused

# each mistake on the line it stands on

IN_LOWER = [
    ("mass = 1.5", "mass = -1.5 # here", "mass | -1.5"),
    ("mass = 1.5", "mass = nan # here", "mass | nan | finite"),
    ("mass = 1.5", "mass = -inf # here", "mass | inf | finite"),
    ("mass = 1.5", 'mass = "1.5" # here', "mass | '1.5'"),
    ("mass = 1.5", "mass = \"__import__('os').getpid()\" # here", "mass"),
    ("mass = 1.5", "mass = true # here", "mass | True"),
    ("mass = 1.5", "mass = 2026-11-15 # here", "mass"),
    ("mass = 1.5", "mass = [1.5] # here", "mass"),
    ("mass = 1.5", "mass = { kg = 1.5 } # here", "mass"),
    ("mass = 1.5", "mass.kg = 1.5 # here", "mass"),
    ("mass = 1.5", f"mass = 1{'0' * 400} # here", "mass"),
    ("mass = 1.5", "mass = 1e999 # here", "mass | inf"),
    ("mass = 1.5", "   'mass'=-1.5 # here", "mass | -1.5"),
    ("mass = 1.5", '\t"mass"\t=\t-1.5 # here', "mass | -1.5"),
    ("mass = 1.5", "mass = 1.5\nmas = 1.5 # here", "mas | 'mass'"),
    ("mass = 1.5", 'mass = 1.5\n"odd [word]" = 1 # here', "odd [word]"),
    ("mass = 1.5", "mass = 1.5\nviscous_friction = -1 # here", "viscous_friction | -1.0"),
    ("alpha = 0.5", 'alpha = "90" # here', "alpha | '90' | 90"),
    ("alpha = 0.5", 'alpha = "1+1 deg" # here', "alpha | '1+1 deg'"),
    ("alpha = 0.5", "alpha = \"__import__('os').getpid() deg\" # here", "alpha"),
    ("theta = 0.75", 'theta = "ninety deg" # here', "theta | 'ninety deg'"),
    ("a = 0.25", 'a = "25 cm" # here', "a | '25 cm' | length"),
    ("a = 0.25", "a = 0.25\nd = 0.0 # here\nb = nan", "d | b"),
    ("a = 0.25", "a = 0.25\nd = nan # here", "b | nan"),
    ("a = 0.25", "a = 0.25\nb = nan # here", "b | nan"),
    ("com = [-0.1, 0.0, 0.0]", "com = [-0.1, 0.0] # here", "com"),
    ("com = [-0.1, 0.0, 0.0]", "com = [ # here\n-0.1,\n0.0,\nnan,\n]", "com[2] | nan"),
    ("inertia = [\n    [0.03", "inertia = [ # here\n    [nan", "inertia[0][0] | nan"),
    ("inertia = [\n    [0.03, 0.0", "inertia = [ # here\n    [0.03, 0.1", "inertia | symmetric"),
    ("inertia = [\n    [0.03", "inertia = [ # here\n    [-0.03", "inertia | semidefinite"),
    ("inertia = [\n    [0.03", "inertia = [ # here\n    [3.0", "inertia | triangle"),
    ("limits = [0.0, 1.0]", "limits = [1.0, 0.0] # here", "limits | first"),
    ('joint = "prismatic"', 'joint = "prismatc" # here', "joint | 'prismatc' | 'prismatic'"),
    ('name = "lower"', 'name = "upper" # here', "2 | name | 'upper' | 1"),
    ('name = "lower"', "name = 3 # here", "2 | name | 3"),
    ('name = "lower"', 'name = "two\\nlines" # here', "2 | name"),
    ('name = "lower"', 'name = "lower"\nparent = "uper" # here', "parent | 'uper' | 'upper'"),
    ('name = "lower"', 'name = "lower"\nparent = "lower" # here', "parent | closes | loop | lower -> lower"),
    ('name = "lower"', 'name = "lower"\nparent = "tool" # here', "parent | closes | loop | lower -> tool -> lower"),
    ('name = "lower"', 'name = "lower"\nparent = [1] # here', "parent | [1]"),
    ("b = 0.1\n", "b = 0.1\nrotor_inertia = 1 # here\n", "'tool' | rotor_inertia | fixed"),
]
AT_THE_TOP = [
    ("gravity = [0.0, 0.0, -9.81]", "gravity = [0.0, -9.81] # here", "gravity"),
    ("gravity = [0.0, 0.0, -9.81]", "gravity = [0.0, 0.0, nan] # here", "gravity[2] | nan"),
    ("gravity = [0.0, 0.0, -9.81]", "gravity = 9.81 # here", "gravity | 9.81"),
    ('convention = "standard"', 'convention = "standrd" # here', "convention | 'standrd' | 'standard'"),
    ('convention = "standard"', 'convention = ["standard"] # here', "convention"),
    ('convention = "standard"', "convention = {} # here", "convention"),
    ('name = "arm"', "name = 7 # here", "name | 7 | text"),
    ('about = "two links and a tool"', "about = [] # here", "about | text"),
    ('name = "arm"', 'nmae = "arm" # here', "nmae | 'name'"),
    ('about = "two links and a tool"', "colour.hue = 3 # here", "colour"),
    ("theta = 0.0", "theta = 0.0\n[mass] # here", "mass"),
    ("theta = 0.0", "theta = 0.0\n[[links]] # here", "links | 'link'"),
]


@pytest.mark.parametrize(("old", "new", "facts"), IN_LOWER + AT_THE_TOP)
def test_a_mistake_is_reported_on_its_own_line(tmp_path, old, new, facts):
    text = changed(ARM, old, new)
    line, message = refused(tmp_path, text)
    assert names(message, *facts.split(" | ")), message
    assert line == marked_line(text)
    if (old, new, facts) in IN_LOWER:
        assert names(message, "'arm'")
        assert any(names(message, place) for place in ("'lower'", "'tool'", "row 2"))


@pytest.mark.parametrize(
    ("old", "new", "facts"),
    [
        ("axis = [1.0, 0.0, 0.0]", "axis = [0, 0, 0] # here", "axis | length | 0"),
        ("axis = [1.0, 0.0, 0.0]", "axis = [1e200, 0, 0] # here", "axis | length | 1e+200"),
        ("rotation = [[1.0", "rotation = [ # here\n[1.1", "rotation | determinant | 1"),
        ("translation = [0.0, 0.0, 2.0]", "translation = 2.0 # here", "translation | 2.0"),
        ("axis = [1.0, 0.0, 0.0]", "a = 1.0 # here", "a | 'frames'"),
    ],
)
def test_a_mistake_among_frames_is_reported_on_its_own_line(tmp_path, old, new, facts):
    text = changed(GANTRY, old, new)
    line, message = refused(tmp_path, text)
    assert names(message, "'bad'", "'link1'", *facts.split(" | ")), message
    assert line == marked_line(text)


@pytest.mark.parametrize(
    "entry", ["mass = 1.5", "a = 0.25", "theta = 0.75", "com = [-0.1, 0.0, 0.0]", 'joint = "prismatic"']
)
def test_a_missing_entry_is_reported_on_the_line_where_its_link_begins(tmp_path, entry):
    text = changed(changed(ARM, entry + "\n", ""), '[[link]]\nname = "lower"', '[[link]] # here\nname = "lower"')
    line, message = refused(tmp_path, text)
    assert names(message, "'arm'", "'lower'", entry.split()[0]), message
    assert line == marked_line(text)


@pytest.mark.parametrize(
    ("missing", "facts"),
    [
        ('convention = "standard"\n', "convention | 'standard' | 'modified' | 'frames'"),
        ("gravity = [0.0, 0.0, -9.81]\n", "gravity"),
    ],
)
def test_what_the_whole_file_lacks_is_reported_on_its_first_line(tmp_path, missing, facts):
    line, message = refused(tmp_path, changed(ARM, missing, ""))
    assert names(message, *facts.split(" | ")), message
    assert line == 1


@pytest.mark.parametrize("links", ["", "[link] # here", "link = [] # here", "link = 3 # here", "link = [1, 2] # here"])
def test_a_file_without_rows_says_so_where_they_should_be(tmp_path, links):
    text = f'convention = "standard"\ngravity = [0, 0, 0]\n{links}'
    line, message = refused(tmp_path, text)
    assert names(message, "links", "[[link]]")
    assert line == (marked_line(text) if links else 1)


def test_a_robot_without_a_moving_joint_is_reported_at_its_first_joint(tmp_path):
    row = '[[link]]\njoint = "fixed"\na = 0\nb = 0\nalpha = 0\ntheta = 0\n'
    line, message = refused(tmp_path, f'convention = "modified"\ngravity = [0, 0, 0]\n\n{row}\n{row}')
    assert names(message, "joint", "moves")
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
    assert names(message, "TOML")
    assert line == marked_line(text)


@pytest.mark.parametrize("text", ["a = [1,", "a = [1,\n", "a = [1,\n\n\n"])
def test_a_file_that_breaks_off_is_reported_on_its_last_line(tmp_path, text):
    line, message = refused(tmp_path, "name = 'x'\n" + text)
    assert line == 2
    assert names(message, "TOML", "end")


def test_text_that_is_not_utf8_is_reported_on_its_line(tmp_path):
    line, message = refused(tmp_path, ARM.encode().replace(b'"tool"', b'"\xe9tool"'))
    assert names(message, "UTF-8")
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
    assert names(message, "mass", "-1.5")
    assert line == marked_line(text)


def test_rows_in_one_list_are_read_and_refused_on_the_line_of_the_list(tmp_path):
    row = "{ joint = 'revolute', a = 1, b = 0, alpha = 0, mass = %s, com = [0, 0, 0], inertia = [%s] }"
    tensor = "[1, 0, 0], [0, 1, 0], [0, 0, 1]"
    text = "convention = 'modified'\ngravity = [0, 0, 0]\nlink = [\n  %s,\n  %s,\n]\n"
    assert read(tmp_path, text % (row % (1, tensor), row % (2, tensor))).n == 2
    line, message = refused(tmp_path, text % (row % (1, tensor), row % (-2, tensor)))
    assert names(message, "'link2'", "mass", "-2.0")
    assert line == 3


@pytest.mark.parametrize("dress", [lambda t: t.replace("\n", "\r\n"), lambda t: "\ufeff" + t, lambda t: t.strip()])
def test_line_ends_and_byte_order_marks_change_nothing(tmp_path, dress):
    assert read(tmp_path, dress(ARM)) == read(tmp_path, ARM)


# which file


def test_a_library_name_has_its_nearest_suggested():
    with raises(lw.errors.FileError, "stanfrod", "stanford", "gantry", "planar3"):
        lw.load("stanfrod")
    with raises(lw.errors.FileError, "'Puma560'", "'puma560'"):
        lw.load("Puma560")


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("missing.toml", "lw.LIBRARY"),
        ("folder", "directory"),
        ("folder.toml", "directory"),
        ("arm.json", ".json | .toml"),
        ("arm", ".toml"),
    ],
)
def test_what_is_no_robot_file_is_refused_by_its_path(tmp_path, name, facts):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "arm").write_text(ARM)
    (tmp_path / "arm.json").write_text(ARM)
    with raises(lw.errors.FileError, tmp_path / name, *facts.split(" | ")):
        lw.load(tmp_path / name)


@pytest.mark.parametrize("name", ["arm.txt", "arm"])
def test_a_robot_is_saved_to_a_known_ending_only(tmp_path, name):
    with raises(lw.errors.FileError, ".toml"):
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
