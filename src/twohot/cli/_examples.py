"""The lines that the help of each command ends with; together they are one session, and are tested.

`tickets.csv` has the columns text and label, `photos/` a sub-folder of images for each class.
"""

EXAMPLES = {
    "extract": (
        "twohot extract tickets.csv --backbone minilm -o tickets.features",
        "twohot extract photos/ --backbone efficientnet_lite0 -o photos.features",
    ),
    "describe": ("twohot describe tickets.features -o about/",),
    "forecast": ("twohot forecast tickets.features",),
    "explain": ("twohot explain overlap", "twohot explain"),
    "audit": (
        "twohot audit tickets.features -o audit/",
        "twohot audit tickets.features -o most_doubtful/ --budget 100",
    ),
    "apply": (
        "twohot apply decisions.csv --audit audit/ --to tickets.csv -o tickets_clean.csv",
        "twohot apply --accept-all 0.9 --audit audit/ -o labels.csv",
    ),
    "fit": (
        "twohot fit tickets.features -o probe.safetensors",
        "twohot fit tickets.features --labels tickets_clean.csv -o probe_of_clean.safetensors",
    ),
    "predict": ("twohot predict probe.safetensors new_tickets.csv -o predictions.csv",),
    "evaluate": ("twohot evaluate probe.safetensors trusted_tickets.csv",),
    "demo": ("twohot demo --noise 0.7 --kind symmetric",),
    "corrupt": (
        "twohot corrupt tickets.features --kind symmetric --rate 0.3 --seed 0 -o noisy.features",
    ),
    "reproduce": ("twohot reproduce list", "twohot reproduce fig:lambda_pq"),
}
