"""The regret protocol: AutoProbe and find_label_issues against the best of their peers."""
