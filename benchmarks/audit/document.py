def render(records): return ""
