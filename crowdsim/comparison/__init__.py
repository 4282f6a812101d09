"""How do models compare? One scene under several avoidance models.

In: a scenario and names of models. Out: a row of numbers for each model, with traces for pictures.
`comparison` runs them, `counts` sums up what a run results in tick by tick where nothing is recorded.
"""
