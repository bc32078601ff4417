"""The paper's evaluation, rerun and extended (§10): experiments as data, runs in processes of their own, figures.

``experiments`` says what is measured, ``runner`` runs it (each run by ``worker``, in a new process), ``results``
keeps it, ``claims`` checks what is promised, ``report`` draws it.
"""
