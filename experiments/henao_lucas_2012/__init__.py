"""The experiments of Henao & Lucas (2012), "Efficient hierarchical clustering for continuous data".

    python -m experiments.henao_lucas_2012                     all of them, as many replicates as in the paper
    python -m experiments.henao_lucas_2012 table1_structure    one of them

Every script writes a Markdown page (the paper's numbers beside ours), the numbers behind it as CSV, and figures.
"""
