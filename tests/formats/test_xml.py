"""XML as data: nothing is expanded or fetched, sizes are bounded, and every error names the line."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from facts import names, raises
from linkwise.errors import FileError
from linkwise.formats import xml

ROBOT = (
    '<?xml version="1.0"?>\n<robot name="two">\n  <link name="a"/>\n  <joint name="j" axis="1 0 -2.5e-1"/>\n</robot>\n'
)
BOMB = (
    '<?xml version="1.0"?>\n<!-- a\ncomment --><!DOCTYPE robot [\n <!ENTITY a0 "ha">\n'
    + "\n".join(f' <!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10))
    + '\n]>\n<robot name="&a9;">&a9;</robot>'
)
EXTERNAL = '<!DOCTYPE robot [<!ENTITY file SYSTEM "file:///etc/hostname">]><robot name="x">&file;</robot>'
OUTSIDE = '<!DOCTYPE robot SYSTEM "http://127.0.0.1:9/robot.dtd"><robot name="x"/>'
PARAMETER = '<!DOCTYPE robot [<!ENTITY % more SYSTEM "file:///etc/hostname"> %more;]><robot name="x"/>'


def parsed(content, tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return xml.read(path)


def error(content, tmp_path):
    with pytest.raises(FileError) as caught:
        parsed(content, tmp_path)
    message = str(caught.value)
    prefix = f"{tmp_path / 'robot.urdf'}:"
    assert message.startswith(prefix), message
    line, _, text = message.removeprefix(prefix).partition(": ")
    return int(line), text


def test_elements_have_their_line_attributes_and_children(tmp_path):
    root = parsed(ROBOT, tmp_path)
    assert (root.tag, root.line, root.attributes, root.label) == ("robot", 2, {"name": "two"}, '<robot name="two">')
    assert [(child.tag, child.line) for child in root.children] == [("link", 3), ("joint", 4)]
    assert root.find("joint").numbers("axis", 3) == (1.0, 0.0, -0.25)
    assert root.find("hand") is None
    assert root.all("link") == [root.children[0]]
    assert [element.tag for element in root.walk()] == ["robot", "link", "joint"]
    assert parsed("<a> x <b/>&amp;&#65;<![CDATA[<y>]]></a>", tmp_path).text == " x &A<y>"


@pytest.mark.parametrize("document", [BOMB, EXTERNAL, OUTSIDE, PARAMETER], ids=["bomb", "file", "network", "parameter"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_document_types_are_refused_in_every_encoding(document, encoding, tmp_path):
    line, text = error(document.encode(encoding), tmp_path)
    assert names(text, "DTD")
    assert line == (3 if document is BOMB else 1)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_nothing_is_read_through_an_entity(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)  # to read it would block
    error(f'<!DOCTYPE robot [<!ENTITY x SYSTEM "{pipe}">]><robot>&x;</robot>', tmp_path)


@pytest.mark.parametrize(
    ("document", "line", "facts"),
    [
        ("<a>\n<?php print?></a>", 2, "processing | <?php?>"),
        (f'<a\nxmlns:xi="{xml.XINCLUDE}"><xi:include href="b"/></a>', 1, "XInclude"),
        (f'<a>\n<include xmlns="{xml.XINCLUDE}" href="b"/></a>', 2, "XInclude"),
        ("<a>\n&other;</a>", 2, "XML | undefined | entity | <a> | 1 | open"),
        ('<a>\n<b x="&other;"/></a>', 2, "XML | undefined | entity"),
    ],
)
def test_what_would_bring_in_other_content_is_refused(document, line, facts, tmp_path):
    where, message = error(document, tmp_path)
    assert where == line
    assert names(message, *facts.split(" | ")), message


def test_instructions_for_editors_are_not_content(tmp_path):
    assert parsed('<?xml-model href="x.rng"?><a/>', tmp_path).tag == "a"


@pytest.mark.parametrize(
    ("content", "line", "facts"),
    [
        (b"", 1, "empty"),
        (b" \n\t\n", 1, "empty"),
        (b"\xef\xbb\xbf", 1, "XML"),
        (b"<robot>\n <link>\n  <mass", 3, "XML | <link> | 2 | open"),
        (b"<robot>\n <link>\n", 3, "XML | <link> | 2 | open"),
        (b"<robot>\n <link></robot>", 2, "XML | <link> | 2 | open"),
        (b"<robot/>\n<robot/>", 2, "XML"),
        (b"<robot>\n<link a='1' a='2'/></robot>", 2, "XML | attribute"),
        (b"solid ascii\n facet", 1, "XML"),
        (b"\x7fELF\x02\x01\x01\x00\xff\xfe", 1, "UTF-8 | text"),
        (bytes(range(256)), 2, "UTF-8 | text"),
        (b"<robot>\n<a x='\x00'/></robot>", 2, "XML"),
        ("<robot>\n<a x='é'/></robot>".encode("latin-1"), 2, "UTF-8 | text"),
        (b"<?xml version='1.0' encoding='shift-jis'?><a/>", 1, '"shift-jis"'),
        (b"<?xml version='1.0' encoding='UTF-16'?><a/>", 1, '"UTF-16"'),
        ("<a/>".encode("utf-32"), 1, "XML"),
        ("<a/>".encode("utf-16")[:-1], 1, "UTF-16"),
    ],
)
def test_files_that_are_not_xml_name_the_line(content, line, facts, tmp_path):
    where, message = error(content, tmp_path)
    assert where == line
    assert names(message, *facts.split(" | ")), message


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1", "cp1252"])
def test_encodings(encoding, tmp_path):
    declared = {"latin-1": "ISO-8859-1", "cp1252": "windows-1252"}.get(encoding, "utf-8")
    root = parsed(f'<?xml version="1.0" encoding="{declared}"?><robot name="Käse"/>'.encode(encoding), tmp_path)
    assert root.attributes["name"] == "Käse"


def test_sizes_are_bounded(tmp_path, monkeypatch):
    deep = xml.DEPTH
    assert parsed("<a>" * deep + "</a>" * deep, tmp_path).tag == "a"
    line, text = error("<a>\n" * (deep + 1), tmp_path)
    assert line == deep + 1
    assert names(text, "<a>", deep)
    monkeypatch.setattr(xml, "ELEMENTS", 3)
    assert error("<a>\n<b/>\n<b/>\n<b/></a>", tmp_path)[0] == 4
    monkeypatch.setattr(xml, "BYTES", 2**20)
    assert names(error(b"<a>" + b" " * 2**20 + b"</a>", tmp_path)[1], "1 MiB")


def test_long_comments_and_texts_end(tmp_path):  # in quadratic time they would take hours
    for content in (b"<!--" * 500_000, b"<!--x-->" * 300_000 + b"<a/>", b"<?" * 500_000, b" " * 4_000_000):
        error(content + b"<", tmp_path)
    parsed(b"<a>" + b"x<b/>" * 20_000 + b"</a>", tmp_path)


def test_a_folder_and_a_missing_file_are_errors(tmp_path):
    for path in (tmp_path, tmp_path / "none.urdf"):
        with raises(FileError, path):
            xml.read(path)


@pytest.mark.parametrize(("text", "value"), [("1", 1.0), (" -.5e+3\n", -500.0), ("+2.", 2.0), ("1e-400", 0.0)])
def test_numbers(text, value, tmp_path):
    assert parsed(f'<a x="{text}"/>', tmp_path).number("x") == value


@pytest.mark.parametrize(
    "text",
    ["", " ", "abc", "nan", "inf", "-Infinity", "1_000", "0x10", "1e999", "١٢", "1,5", "1 2", "--1", "1d3", "1" * 500],
)
def test_what_is_not_a_number(text, tmp_path):
    element = parsed(f'<r>\n<a name="n" x="{text}"/></r>', tmp_path).children[0]
    for ask in (lambda: element.number("x"), lambda: element.numbers("x", 1)):
        with raises(FileError, "robot.urdf:2:", '<a name="n">', "x"):
            ask()


def test_attributes_that_are_missing_or_unknown(tmp_path):
    element = parsed('<a name="n" xyz="1 2" type="revolut"/>', tmp_path)
    assert element.number("mass", 2.0) == 2.0
    assert element.numbers("rpy", 3, None) is None
    with raises(FileError, "urdf:1:", '<a name="n">', "xyz", '"1 2"', 3):
        element.numbers("xyz", 3)
    with raises(FileError, "mass"):
        element.number("mass")
    with raises(FileError, "typ", "'type'", "revolute, fixed"):
        element.word("typ", ("revolute", "fixed"))
    with raises(FileError, '"revolut"', "'revolute'", "revolute, fixed"):
        element.word("type", ("revolute", "fixed"))
    twice = parsed("<a>\n<b/>\n<b/></a>", tmp_path)
    with raises(FileError, "urdf:3:", "<b>", "<a>", "line 2"):
        twice.only("b")


def test_errors_name_the_element_around_one_without_a_name(tmp_path):
    mass = parsed('<robot name="r"><link name="arm"><inertial>\n<mass/></inertial></link></robot>', tmp_path)
    *_, last = mass.walk()
    with raises(FileError, "urdf:2:", "<mass>", '<link name="arm">', "value"):
        last.number("value")


def test_messages_are_one_short_line(tmp_path):
    with pytest.raises(FileError) as caught:
        parsed(f'<a name="{"x" * 5000}&#10;" y="&#10;"/>', tmp_path).number("y")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@examples(200)
@given(st.binary(max_size=80) | st.text(alphabet="<>/!?&;[]-'\"= ax\n\0é", max_size=60).map(str.encode))
def test_any_content_is_an_element_or_a_file_error(content):
    problem = ""
    try:
        xml.parse(content, "any.urdf")
    except FileError as caught:
        problem = str(caught)
    assert not problem or problem.startswith("any.urdf:")
