"""What the library costs and how well it does; every folder measures one thing.

`solver`: passes, times and memory of fits. `audit`: AutoProbe and its audits against others on
noisy labels. `certificates`: lists and reviews with a guarantee, simulated. `extraction`:
throughput of extract(). `theory`: what the closed forms cost. `sgd`: the paper's SGD beside exact
solves.
"""
