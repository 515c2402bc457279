"""How Often to Save: the small module that the book's text and its tests share.

Rooms, from the ground up: `data` (published facts) · `formulas` (SymPy, each written once) ·
`evaluation` (numbers from formulas) · `processes` (how failures come) ·
`replay` (what a job really did, without any formula) · `claims` (published statements recomputed) ·
`text` (numbers as words) · `figures` (pictures).
"""
