"""Speed and quality, measured beside the peers; each program prints a table and writes JSON.

`python -m bench` is the whole field, as docs/benchmarks.md has it:

    measures/        a module for each: what is asked of whom, and its tables
    peers/           each peer as a player, and the requirement files of its environment
    turns, questions, contestants, environments, libraries     who takes part, and how
    texts, debian, known, vectors, contexts, rivals, paired    what it is measured on, and compared
    figures, page, plots, machine, running                     what comes out

The others are programs of their own, `python -m bench.NAME`, each told of in its docstring, with
what they are made of in brackets:

    recovery, fuzz, rescue, foreign_stores (damage)            texts back out of chunks
    chat, users (crowd)                                        a server and many who use it
    scale, cluster, cluster_query, chaos (storm, ledger, cpu)  more than one machine
    embed, memory                                              models, and large libraries
    full_documents                                             beginnings, middles, endings, summaries
"""
