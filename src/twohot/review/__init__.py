"""A person decides: the review page, its decisions, and the corrected files."""

from twohot.review.corrected_file import CorrectedFile as CorrectedFile
from twohot.review.corrected_file import CorrectedParts as CorrectedParts
from twohot.review.corrected_file import write_corrected_file as write_corrected_file
from twohot.review.decisions import DECISIONS as DECISIONS
from twohot.review.decisions import OPEN as OPEN
from twohot.review.decisions import Applied as Applied
from twohot.review.decisions import Decision as Decision
from twohot.review.decisions import accept_above as accept_above
from twohot.review.decisions import apply_decisions as apply_decisions
from twohot.review.decisions import read_decisions as read_decisions
from twohot.review.own_file import BEFORE as BEFORE
from twohot.review.own_file import open_own_parts as open_own_parts
from twohot.review.page import write_review as write_review
from twohot.review.records import NO_ROW as NO_ROW
from twohot.review.records import AlikeClasses as AlikeClasses
from twohot.review.records import ChoiceCurve as ChoiceCurve
from twohot.review.records import Curve as Curve
from twohot.review.records import Evidence as Evidence
from twohot.review.records import Method as Method
from twohot.review.records import NearestRows as NearestRows
from twohot.review.records import ReviewRows as ReviewRows
from twohot.review.records import ReviewSummary as ReviewSummary
from twohot.review.records import RowCounts as RowCounts
from twohot.review.records import RowFinding as RowFinding
from twohot.review.sorted_folder import write_sorted_folder as write_sorted_folder
from twohot.review.widget import ReviewWidget as ReviewWidget
