"""`find_label_issues` and what else is odd about the rows; the folder of an audit."""

from twohot.audit.checked_rows import read_checked as read_checked
from twohot.audit.data_issues import DataIssues as DataIssues
from twohot.audit.data_issues import find_data_issues as find_data_issues
from twohot.audit.find_issues import check_flagging as check_flagging
from twohot.audit.find_issues import find_label_issues as find_label_issues
from twohot.audit.folder import FILES as FILES
from twohot.audit.folder import ISSUE_PARTS as ISSUE_PARTS
from twohot.audit.folder import begin_audit_parts as begin_audit_parts
from twohot.audit.folder import check_audit_folder as check_audit_folder
from twohot.audit.folder import check_audit_parts as check_audit_parts
from twohot.audit.folder import read_audit_folder as read_audit_folder
from twohot.audit.folder import read_summary as read_summary
from twohot.audit.folder import write_audit_folder as write_audit_folder
from twohot.audit.folder import write_parts_report as write_parts_report
from twohot.audit.issue_files import labels_digest as labels_digest
from twohot.audit.issue_files import write_issue_parts as write_issue_parts
from twohot.audit.issue_files import write_reviewed as write_reviewed
from twohot.audit.issues import LabelIssues as LabelIssues
from twohot.audit.report import review_rows as review_rows
from twohot.audit.report import review_summary as review_summary
from twohot.audit.report import row_counts as row_counts
from twohot.audit.report import rows_of_issues as rows_of_issues
from twohot.audit.why import Explanation as Explanation
from twohot.audit.why import explain_label as explain_label
