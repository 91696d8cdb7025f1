"""A gate for continuous integration: an audit fails if too many labels are wrong.

A failed gate exits with code 3, and an error with code 1. On request, the result is also written
as JUnit XML, which most services show, or printed as a GitHub annotation.
"""

import math
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal
from xml.etree import ElementTree as ET

import typer
from typer import Option

from twohot.audit import (
    CERTIFICATE_FILES,
    CHECK_FILES,
    FILES,
    ISSUE_PARTS,
    REVIEW_FILE,
    LabelIssues,
    read_audit_folder,
    read_certificate,
    share_wrong_bounds,
)
from twohot.base import ArgumentError, check_output, whole_file
from twohot_command.terminal import say

FAILED = 3  # exit code
# Estimates that can be compared with the allowed fraction, and the words before them in messages.
COMPARED = {"estimate": "about", "lower": "at least", "upper": "up to"}
FRACTION = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*")
NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, kw_only=True)
class Gate:
    """Options for a condition that the labels must meet; without `fail_above`, there is none."""

    fail_above: Annotated[
        str | None,
        Option(
            metavar="<fraction>",
            help="Largest allowed fraction of wrong labels, such as 5%. If more labels are wrong, "
            "the exit code is 3.",
        ),
    ] = None
    fail_on: Annotated[
        Literal["estimate", "lower", "upper"] | None,
        Option(
            help="With --fail-above: number that is compared. estimate: the estimated fraction of "
            "wrong labels; lower (default), upper: the bounds of this fraction."
        ),
    ] = None
    junit: Annotated[
        Path | None, Option(help="With --fail-above: write the result to this file as JUnit XML.")
    ] = None
    annotations: Annotated[
        bool,
        Option("--annotations", help="With --fail-above: print the result as a GitHub annotation."),
    ] = False
    certificate: Annotated[
        Path | None,
        Option(
            help="With --fail-above: certificate.json of these labels, whose bounds replace those "
            "of the audit."
        ),
    ] = None

    def check(self, audit: Path, inputs: Iterable[Path | None], *, force: bool) -> None:
        """Raise if the options contradict each other, or if a file would be replaced."""
        if self.fail_above is None:
            for name in ("fail_on", "junit", "annotations", "certificate"):
                if value := getattr(self, name):
                    problem, advice = "needs a fraction to compare with", "pass {fail_above} too."
                    raise ArgumentError({name: value}, problem, advice, fail_above=...)
            return
        fraction_of("fail_above", self.fail_above)
        if self.certificate is not None:
            if self.fail_on == "estimate":
                problem = "does not work with --certificate, which has only bounds"
                advice = "pass --fail-on lower or --fail-on upper."
                raise ArgumentError({"fail_on": self.fail_on}, problem, advice)
            read_certificate(self.certificate)
        if self.junit is not None:
            names = (*FILES, ISSUE_PARTS, *CHECK_FILES, *CERTIFICATE_FILES, REVIEW_FILE)
            path = self.junit.resolve()
            if any(path.is_relative_to((audit / name).resolve()) for name in names):
                problem = "is a file of the audit"
                raise ArgumentError({"junit": self.junit}, problem, "choose another name.")
            check_output(self.junit, (*inputs, self.certificate), force=force, name="junit")

    @contextmanager
    def closing(self, issues: LabelIssues, source: str, audit: Path) -> Iterator[None]:
        """Print the result, run the body, then exit with code 3 if the gate failed.

        The exit code of a failed gate is 3 even if the body printed an error and exits with code 1.
        """
        if self.fail_above is None:
            yield
            return
        allowed, basis = fraction_of("fail_above", self.fail_above), ""
        low, high = issues.noise_interval
        if self.certificate is not None:
            low, high = share_wrong_bounds(self.certificate, read_audit_folder(audit))
            basis = f" (95% confidence, by {self.certificate})"
        compared = self.fail_on or "lower"
        wrong = {"estimate": issues.noise_rate, "lower": low, "upper": high}[compared]
        is_failed = wrong > allowed
        found = f"{COMPARED[compared]} {wrong:.2%} of the labels of {source} are wrong{basis}"
        line = f"{found}, {'more than' if is_failed else 'within'} the allowed {allowed:.2%}."
        kind: Literal["error", "warning", "notice"] = "error" if is_failed else "notice"
        if not is_failed and compared == "lower" and issues.noise_rate > allowed:
            kind, how = "warning", "" if self.certificate is None else ", without --certificate"
            line += f" The estimate is higher: {issues.noise_rate:.2%}."
            line += f" To compare the estimate, pass --fail-on estimate{how}."
        if self.junit is not None:
            with whole_file(self.junit) as file:
                file.write(junit_xml(source, line, is_failed=is_failed))
        if self.annotations:
            say(annotation(line, kind))
        say(f"{'Failed' if is_failed else 'Passed'}: {line}", stderr=is_failed)
        try:
            yield
        except typer.Exit as error:
            if not is_failed or error.exit_code != 1:
                raise
        if is_failed:
            raise typer.Exit(FAILED)


def fraction_of(name: str, text: str) -> float:
    """Return the value of an option that is a fraction, such as "5%" or "0.05".

    Examples
    --------
    >>> fraction_of("until", "2.9%"), fraction_of("until", "0.05")
    (0.029, 0.05)
    """
    found = FRACTION.fullmatch(text)
    # Exact: in floating point, 2.9 / 100 is less than 0.029.
    fraction = float(Fraction(found[1]) / (100 if found[2] else 1)) if found else math.inf
    if fraction > 1:
        advice = "pass a fraction of the labels, such as 5% or 0.05."
        raise ArgumentError({name: text}, "is not a fraction from 0 to 1", advice)
    return fraction


def junit_xml(source: str, line: str, *, is_failed: bool) -> bytes:
    """Return the result `line` as JUnit XML: one test suite with one test.

    Examples
    --------
    >>> print(junit_xml("a.csv", "about 7% are wrong.", is_failed=True).decode())
    <?xml version='1.0' encoding='UTF-8'?>
    <testsuites>
      <testsuite name="twohot audit" tests="1" failures="1">
        <testcase classname="twohot" name="labels of a.csv">
          <failure message="about 7% are wrong." />
        </testcase>
      </testsuite>
    </testsuites>
    """
    name, message = (NOT_IN_XML.sub("�", text) for text in (f"labels of {source}", line))
    suites = ET.Element("testsuites")
    about = {"name": "twohot audit", "tests": "1", "failures": str(int(is_failed))}
    suite = ET.SubElement(suites, "testsuite", about)
    case = ET.SubElement(suite, "testcase", {"classname": "twohot", "name": name})
    if is_failed:
        ET.SubElement(case, "failure", {"message": message})
    ET.indent(suites)
    content: bytes = ET.tostring(suites, encoding="UTF-8", xml_declaration=True)
    return content


def annotation(line: str, kind: Literal["error", "warning", "notice"]) -> str:
    """Return a line as an annotation of GitHub (a workflow command).

    Examples
    --------
    >>> annotation("about 7% are wrong.", "error")
    '::error title=twohot audit::about 7%25 are wrong.'
    """
    for mark, written in {"%": "%25", "\r": "%0D", "\n": "%0A"}.items():
        line = line.replace(mark, written)
    return f"::{kind} title=twohot audit::{line}"
