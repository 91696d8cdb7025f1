"""The paper's experiments: every figure and table, from runs that can be taken up again."""
