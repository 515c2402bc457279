"""How Often to Save: the module that the book's text and its tests share.

Rooms, from the ground up:

- `data` (published facts) and `text` (numbers as words);
- `formulas` (SymPy, each written once; `exact`, `rules` and `operations` extend it), `evaluation` (numbers from
  them), `claims` and `runs` (published statements and runs recomputed), `scale` (jobs of any size);
- `processes` (how failures come), `replay` and `levels` (what a job really did: no formula in them), `placement`
  and `spares` (copies and nodes in reserve), `stragglers`;
- `toy`, `layout`, `corruption`: a small training run, its state over ranks, and bits that flip;
- `log_files`, `logs`, `failures` (a log, and what it says), `cases`, `advice`, `report` (a report on it);
- `figures` (pictures) and `printing` (formulas as JavaScript for the workshop).
"""
