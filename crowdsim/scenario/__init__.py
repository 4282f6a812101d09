"""What is asked? A YAML file becomes a frozen, fully resolved `Scenario`.

Reading order: `load` is the whole way in twenty lines. `files` and `yaml_reader` read text into a `tree` in
which everything knows where it stands; `overrides` changes values; `draft` checks the shape that `schema`
declares, in the words of `explain`; `resolve`, `geometry`, `recorded` and `parameters` turn shapes into the
objects of `model`; `check` holds them against the ground. `canonical` writes a scenario out again;
`json_schema` serves editors; `limits` are the limits. A world is made of it by `crowdsim.setup`.
"""
