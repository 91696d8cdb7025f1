"""Will it help here: what is to be expected of probes on a data set."""
