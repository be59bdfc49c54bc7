# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # A first look
#
# The paper's problem: nine jobs wait, and sending one is cheaper at some times than at others. On average at least eight must be
# sent. The oracle knows the world and says what the best is worth.

# %%
import noregret as nr

problem = nr.problems.load("job-scheduling")
best = nr.solve(problem)
print(f"best value {best.value:.4f}, price {best.dual[0]:.4f}, Slater gap {best.slater_gap:.4f}")
