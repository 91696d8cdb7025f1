"""Files of decisions that the page and `twohot apply` must both take, or both refuse.

They are decisions on `audit_rows(12)`: row 0 is given cat, suggested dog, second fox; row 2 dog,
fox, owl. In SPELLING_CASES the classes are those of `SPELLED`, in the place of these animals.
A file is bytes, in which REPORT stands for the name of the report.
"""

from dataclasses import dataclass, field

EXCLUDED = "(excluded)"
SPELLED = ("cat", "CAT", "fox", "fox ")
ALL = "report,id,given_label,suggested_label,decision,label,note"
FEW = "report,id,decision,label"


@dataclass(frozen=True, eq=False)
class Case:
    """One file, and what it says; nothing: it is refused."""

    name: str
    text: str | bytes
    labels: dict[str, str] | None = None  # by id; a label by name, or EXCLUDED
    notes: dict[str, str] = field(default_factory=dict)
    spellings: dict[str, str] = field(default_factory=dict)  # merged ones

    def content(self, report: str) -> bytes:
        text = self.text if isinstance(self.text, bytes) else self.text.encode()
        return text.replace(b"REPORT", report.encode())


def taken(name: str, text: str | bytes, labels: dict[str, str], **notes: str) -> Case:
    return Case(name, text, labels, {row.removeprefix("row_"): note for row, note in notes.items()})


CASES = (
    taken("all columns", f"{ALL}\nREPORT,0,cat,dog,accept,dog,\n", {"0": "dog"}),
    taken("few columns", f"{FEW}\nREPORT,0,reject,\n", {"0": "cat"}),
    taken("any order", "label,decision,id,report\n,second,0,REPORT\n", {"0": "fox"}),
    taken("mark of UTF-8", f"\ufeff{FEW}\nREPORT,0,accept,dog\n", {"0": "dog"}),
    taken("blank lines", f"{FEW}\n\nREPORT,0,accept,\n\n", {"0": "dog"}),
    taken(
        "ends of lines", f"{FEW}\r\nREPORT,0,accept,\r\nREPORT,2,reject,", {"0": "dog", "2": "dog"}
    ),
    taken(
        "semicolons",
        f"{FEW};note\nREPORT;0;accept;;a,b\n".replace(",id,", ";id;").replace(
            "id;decision,label", "id;decision;label"
        ),
        {"0": "dog"},
        row_0="a,b",
    ),
    taken("tabs", f"{FEW}\nREPORT,0,exclude,\n".replace(",", "\t"), {"0": EXCLUDED}),
    taken("quoted header", '"report";"id";"decision";"label"\nREPORT;0;accept;\n', {"0": "dog"}),
    taken("relabel", f"{FEW}\nREPORT,0,relabel,owl\n", {"0": "owl"}),
    taken("relabel to the given one", f"{FEW}\nREPORT,0,relabel,cat\n", {"0": "cat"}),
    taken("new class", f"{FEW}\nREPORT,0,new_class,  yak\t\n", {"0": "yak"}),
    taken("new class, Python's blanks", f"{FEW}\nREPORT,0,new_class,\x1c yak\x85\n", {"0": "yak"}),
    taken("new class, no blank", f"{FEW}\nREPORT,0,new_class,\ufeffyak\n", {"0": "\ufeffyak"}),
    taken("new class that is known", f"{FEW}\nREPORT,0,new_class,owl\n", {"0": "owl"}),
    taken("new class, guarded", f"{FEW}\nREPORT,0,new_class,'=yak\n", {"0": "=yak"}),
    taken("new class of two apostrophes", f"{FEW}\nREPORT,0,new_class,''=yak\n", {"0": "'=yak"}),
    taken("exclude", f"{FEW}\nREPORT,0,exclude,\n", {"0": EXCLUDED}),
    taken("open", f"{ALL}\nREPORT,0,cat,dog,open,,ask\n", {}, row_0="ask"),
    taken("twice the same", f"{FEW}\nREPORT,0,accept,\nREPORT,0,relabel,dog\n", {"0": "dog"}),
    taken(
        "two notes",
        f"{FEW},note\nREPORT,0,open,,one\nREPORT,0,accept,,two\nREPORT,0,open,,one\n",
        {"0": "dog"},
        row_0="one\ntwo",
    ),
    taken(
        "a note of lines", f'{FEW},note\nREPORT,0,open,,"a ""b""\r\nc"\n', {}, row_0='a "b"\r\nc'
    ),
    taken("nothing decided", f"{FEW}\n", {}),
    taken("a reviewer", f"{FEW},reviewer\nREPORT,0,accept,, Anna \n", {"0": "dog"}),
    taken("a reviewer of markup", f"{FEW},reviewer\nREPORT,0,accept,,<b>'=1\n", {"0": "dog"}),
    taken("a long name", f"{FEW},reviewer\nREPORT,0,accept,,{80 * '😀'}\n", {"0": "dog"}),
    taken(
        "two who agree",
        f"{FEW},reviewer\nREPORT,0,accept,,A\nREPORT,0,relabel,dog,B\n",
        {"0": "dog"},
    ),
    taken("settled", f"{FEW}\nREPORT-settled,0,reject,\n", {"0": "cat"}),
    Case("empty", ""),
    Case("a column is missing", "report,id,decision\nREPORT,0,accept\n"),
    Case("a column more", f"{FEW},mood\nREPORT,0,accept,,good\n"),
    Case("a column twice", f"{FEW},label\nREPORT,0,accept,,\n"),
    Case("a column of spreadsheets", f"{FEW},spreadsheet_safe\nREPORT,0,accept,,true\n"),
    Case("a field more", f"{FEW}\nREPORT,0,accept,dog,dog\n"),
    Case("a field less", f"{FEW}\nREPORT,0,accept\n"),
    Case("another report", f"{FEW}\nr0,0,accept,\n"),
    Case("another row", f"{FEW}\nREPORT,99,accept,\n"),
    Case("no decision", f"{FEW}\nREPORT,0,,dog\n"),
    Case("another decision", f"{FEW}\nREPORT,0,dance,\n"),
    Case("a decision like an attribute", f"{FEW}\nREPORT,0,constructor,\n"),
    Case("given label mixed up", f"{ALL}\nREPORT,0,owl,dog,accept,dog,\n"),
    Case("given label empty", f"{ALL}\nREPORT,0,,dog,accept,dog,\n"),
    Case("suggested label mixed up", f"{ALL}\nREPORT,0,cat,owl,reject,cat,\n"),
    Case("a note of another row", f"{ALL}\nREPORT,0,dog,fox,open,,ask\n"),
    Case("accept another label", f"{FEW}\nREPORT,0,accept,owl\n"),
    Case("accept no class", f"{FEW}\nREPORT,0,accept,yak\n"),
    Case("exclude with a label", f"{FEW}\nREPORT,0,exclude,dog\n"),
    Case("relabel without a label", f"{FEW}\nREPORT,0,relabel,\n"),
    Case("relabel to no class", f"{FEW}\nREPORT,0,relabel,yak\n"),
    Case("relabel with blanks", f"{FEW}\nREPORT,0,relabel, owl\n"),
    Case("new class without a name", f"{FEW}\nREPORT,0,new_class,\n"),
    Case("new class of blanks", f"{FEW}\nREPORT,0,new_class, \x85\n"),
    Case("decided twice", f"{FEW}\nREPORT,0,accept,\nREPORT,0,reject,\n"),
    Case("excluded and kept", f"{FEW}\nREPORT,0,exclude,\nREPORT,0,reject,\n"),
    Case("a quote that is not closed", f'{FEW}\nREPORT,0,new_class,"yak\n'),
    Case("text after a quote", f'{FEW}\nREPORT,0,new_class,"yak"s\n'),
    Case("two who disagree", f"{FEW},reviewer\nREPORT,0,accept,,A\nREPORT,0,reject,,B\n"),
    Case("a name that is too long", f"{FEW},reviewer\nREPORT,0,accept,,{81 * 'x'}\n"),
    Case("a name of two lines", f'{FEW},reviewer\nREPORT,0,accept,,"A\nB"\n'),
    Case("a name with a control character", f"{FEW},reviewer\nREPORT,0,accept,,A\x85B\n"),
    Case("settled of another report", f"{FEW}\nr0-settled,0,accept,\n"),
    Case("settled twice over", f"{FEW}\nREPORT-settled-settled,0,accept,\n"),
    Case("spellings of two classes", f"{ALL}\nREPORT,,cat,,spelling,dog,\n"),
    Case("not UTF-8", f"{FEW}\nREPORT,0,new_class,".encode() + b"\xe9t\xe9\n"),
)

MERGE = "REPORT,,CAT,,spelling,cat,\n"
SPELLING_CASES = (
    Case("merged", f"{ALL}\n{MERGE}", {}, spellings={"CAT": "cat"}),
    Case("merged twice alike", f"{ALL}\n{MERGE}{MERGE}", {}, spellings={"CAT": "cat"}),
    Case("the rarer one stays", f"{ALL}\nREPORT,,fox,,spelling,fox ,\n", {}, {}, {"fox": "fox "}),
    Case(
        "decided after merging",
        f"{ALL}\nREPORT,0,cat,CAT,accept,,\n{MERGE}REPORT,0,cat,CAT,reject,,\n",
        {"0": "cat"},
        {},
        {"CAT": "cat"},
    ),
    Case("merged into itself", f"{ALL}\nREPORT,,cat,,spelling,cat,\n"),
    Case("merged without a column", f"{FEW}\nREPORT,,spelling,cat\n"),
    Case("merged into another class", f"{ALL}\nREPORT,,cat,,spelling,fox,\n"),
    Case("merged into no class", f"{ALL}\nREPORT,,cat,,spelling,Cat,\n"),
    Case("merged in a circle", f"{ALL}\n{MERGE}REPORT,,cat,,spelling,CAT,\n"),
    Case("merged in another report", f"{ALL}\nr0,,CAT,,spelling,cat,\n"),
)
