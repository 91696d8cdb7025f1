"""The review page: flagged labels in a browser, to accept, reject or relabel."""
