"""The paper's experiments: every figure and table as runs that can be stopped and taken up again."""
