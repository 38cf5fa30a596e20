"""hOCR and ALTO: read again they have the document's text, in the document's places."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.any_document import documents
from tests.fakes.documents import document_with
from tests.fakes.pages_of_text import TEXTS, text_page
from tierocr.shared.document import Document, Failure, Page
from tierocr.shared.export.alto import NAMESPACE, to_alto
from tierocr.shared.export.hocr import to_hocr
from tierocr.shared.export.json import to_json
from tierocr.shared.export.parse import from_json

ALTO = f"{{{NAMESPACE}}}"
XHTML = "{http://www.w3.org/1999/xhtml}"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

SCHEMA = f"""\
<xsd:schema xmlns="{NAMESPACE}" xmlns:xsd="http://www.w3.org/2001/XMLSchema"
  targetNamespace="{NAMESPACE}" elementFormDefault="qualified">
 <xsd:attributeGroup name="box">
  <xsd:attribute name="HPOS" type="xsd:float"/><xsd:attribute name="VPOS" type="xsd:float"/>
  <xsd:attribute name="WIDTH" type="xsd:float"/><xsd:attribute name="HEIGHT" type="xsd:float"/>
 </xsd:attributeGroup>
 <xsd:element name="alto"><xsd:complexType><xsd:sequence>
  <xsd:element name="Description"><xsd:complexType><xsd:sequence>
   <xsd:element name="MeasurementUnit"><xsd:simpleType><xsd:restriction base="xsd:string">
    <xsd:enumeration value="pixel"/><xsd:enumeration value="mm10"/>
    <xsd:enumeration value="inch1200"/></xsd:restriction></xsd:simpleType></xsd:element>
   <xsd:element name="sourceImageInformation" minOccurs="0"><xsd:complexType><xsd:sequence>
    <xsd:element name="fileName" type="xsd:string" minOccurs="0"/>
   </xsd:sequence></xsd:complexType></xsd:element>
   <xsd:element name="Processing" minOccurs="0" maxOccurs="unbounded">
    <xsd:complexType><xsd:sequence>
     <xsd:element name="processingStepSettings" type="xsd:string" minOccurs="0"/>
     <xsd:element name="processingSoftware" minOccurs="0"><xsd:complexType><xsd:sequence>
      <xsd:element name="softwareCreator" type="xsd:string" minOccurs="0"/>
      <xsd:element name="softwareName" type="xsd:string" minOccurs="0"/>
      <xsd:element name="softwareVersion" type="xsd:string" minOccurs="0"/>
     </xsd:sequence></xsd:complexType></xsd:element></xsd:sequence>
     <xsd:attribute name="ID" type="xsd:ID" use="required"/></xsd:complexType></xsd:element>
  </xsd:sequence></xsd:complexType></xsd:element>
  <xsd:element name="Layout"><xsd:complexType><xsd:sequence>
   <xsd:element name="Page" minOccurs="0" maxOccurs="unbounded"><xsd:complexType><xsd:sequence>
    <xsd:element name="PrintSpace"><xsd:complexType><xsd:sequence>
     <xsd:element name="TextBlock" minOccurs="0" maxOccurs="unbounded">
      <xsd:complexType><xsd:sequence>
       <xsd:element name="TextLine" minOccurs="0" maxOccurs="unbounded">
        <xsd:complexType><xsd:sequence>
         <xsd:element name="Shape" minOccurs="0"><xsd:complexType><xsd:sequence>
          <xsd:element name="Polygon"><xsd:complexType>
           <xsd:attribute name="POINTS" type="xsd:string"/></xsd:complexType></xsd:element>
         </xsd:sequence></xsd:complexType></xsd:element>
         <xsd:choice maxOccurs="unbounded">
          <xsd:element name="String"><xsd:complexType>
           <xsd:attribute name="ID" type="xsd:ID"/><xsd:attributeGroup ref="box"/>
           <xsd:attribute name="CONTENT" type="xsd:string" use="required"/>
           <xsd:attribute name="WC"><xsd:simpleType><xsd:restriction base="xsd:float">
            <xsd:minInclusive value="0"/><xsd:maxInclusive value="1"/>
           </xsd:restriction></xsd:simpleType></xsd:attribute></xsd:complexType></xsd:element>
          <xsd:element name="SP"><xsd:complexType><xsd:attributeGroup ref="box"/>
          </xsd:complexType></xsd:element>
         </xsd:choice></xsd:sequence>
         <xsd:attribute name="ID" type="xsd:ID"/><xsd:attributeGroup ref="box"/>
        </xsd:complexType></xsd:element></xsd:sequence>
       <xsd:attribute name="ID" type="xsd:ID" use="required"/><xsd:attributeGroup ref="box"/>
      </xsd:complexType></xsd:element></xsd:sequence>
     <xsd:attributeGroup ref="box"/></xsd:complexType></xsd:element></xsd:sequence>
    <xsd:attribute name="ID" type="xsd:ID" use="required"/>
    <xsd:attribute name="PHYSICAL_IMG_NR" type="xsd:float" use="required"/>
    <xsd:attribute name="HEIGHT" type="xsd:float"/><xsd:attribute name="WIDTH" type="xsd:float"/>
   </xsd:complexType></xsd:element>
  </xsd:sequence></xsd:complexType></xsd:element>
 </xsd:sequence></xsd:complexType></xsd:element>
</xsd:schema>
"""
"""The part of ALTO 4.4 that is written, with the names, the order, the types and the bounds of the
official schema (www.loc.gov/standards/alto/v4/alto-4-4.xsd), which no package carries.
"""


def alto_lines(text: str) -> list[list[str]]:
    def spelled(part: ElementTree.Element) -> str:
        return part.get("CONTENT", "") if part.tag == f"{ALTO}String" else " "

    def line_text(line: ElementTree.Element) -> str:
        return "".join(spelled(part) for part in line if part.tag != f"{ALTO}Shape")

    root = ElementTree.fromstring(text)
    return [
        [line_text(line) for line in page.iter(f"{ALTO}TextLine")]
        for page in root.iter(f"{ALTO}Page")
    ]


def hocr_lines(text: str) -> list[list[str]]:
    root = ElementTree.fromstring(text)
    return [
        ["".join(e.itertext()) for e in page.iter() if e.get("class") == "ocr_line"]
        for page in root.iter(f"{XHTML}div")
        if page.get("class") == "ocr_page"
    ]


def lines_of(document: Document) -> list[list[str]]:
    return [[line.text for line in page.lines] for page in document.pages]


def safe(texts: list[list[str]]) -> list[list[str]]:
    """As XML can hold them."""
    return [[_NOT_XML.sub("\ufffd", t) for t in page] for page in texts]


@pytest.fixture(scope="module")
def document() -> Document:
    return document_with(text_page(), text_page(("第二页",), 1, dpi=None), name='a "b";c.png')


def test_the_text_comes_back(document: Document) -> None:
    again = from_json(to_json(document))
    assert hocr_lines(to_hocr(again)) == lines_of(document)
    assert alto_lines(to_alto(again)) == lines_of(document)


@settings(deadline=None, max_examples=50)
@given(documents)
def test_any_document_gives_xml_with_its_text(document: Document) -> None:
    numbered = replace(
        document, pages=tuple(replace(p, index=n) for n, p in enumerate(document.pages))
    )
    assert hocr_lines(to_hocr(numbered)) == safe(lines_of(numbered))
    assert alto_lines(to_alto(numbered)) == safe(lines_of(numbered))


def alto_schema() -> Any:
    etree = pytest.importorskip("lxml.etree")
    return etree.XMLSchema(etree.fromstring(SCHEMA.encode())), etree


@settings(deadline=None, max_examples=50)
@given(documents, st.just(None))
def test_alto_fits_the_schema(document: Document, _: None) -> None:
    schema, etree = alto_schema()
    numbered = replace(
        document, pages=tuple(replace(p, index=n) for n, p in enumerate(document.pages))
    )
    schema.assertValid(etree.fromstring(to_alto(numbered).encode()))


def test_the_schema_refuses_what_is_wrong(document: Document) -> None:
    schema, etree = alto_schema()
    right = to_alto(document)
    assert schema.validate(etree.fromstring(right.encode()))
    for wrong in (
        right.replace("CONTENT=", "TEXT="),
        right.replace(">pixel<", ">px<"),
        right.replace('WC="0.9"', 'WC="9"'),
        right.replace("PHYSICAL_IMG_NR", "NUMBER"),
        re.sub('ID="line_1_1"', 'ID="line_1_2"', right),
    ):
        assert wrong != right and not schema.validate(etree.fromstring(wrong.encode()))


def test_places_are_those_of_the_document(document: Document) -> None:
    alto = ElementTree.fromstring(to_alto(document))
    first = next(alto.iter(f"{ALTO}String"))
    assert (first.get("CONTENT"), first.get("HPOS"), first.get("VPOS")) == ("发票号码", "60", "80")
    assert (first.get("WIDTH"), first.get("HEIGHT"), first.get("WC")) == ("72", "30", "0.9")
    space = next(alto.iter(f"{ALTO}SP"))
    assert (space.get("HPOS"), space.get("WIDTH")) == ("132", "18")
    hocr = ElementTree.fromstring(to_hocr(document))
    (page, second) = (e for e in hocr.iter() if e.get("class") == "ocr_page")
    assert page.get("title") == (
        "image \"a 'b'_c.png\"; bbox 0 0 1000 700; ppageno 0; scan_res 150 150"
    )
    assert "scan_res" not in (second.get("title") or "")
    word = next(e for e in hocr.iter() if e.get("class") == "ocrx_word")
    assert word.get("title") == "bbox 60 80 132 110; x_wconf 90" and word.text == "发票号码"


def test_a_page_that_could_not_be_read_is_empty() -> None:
    failed = Page(index=0, width=0, height=0, error=Failure(code="bad_image", message="no"))
    document = document_with(failed, text_page(TEXTS[:1], 1))
    assert hocr_lines(to_hocr(document)) == alto_lines(to_alto(document)) == [[], [TEXTS[0]]]
