"""The warehouse from Python, cell by cell: open it in an editor that knows `# %%`, or run it whole.

It asks the home that `KERNELINDEX_HOME` names, or else `data`: run `make run` first.
"""

# %% A connection answers SQL. It can't change anything.
import warehouse

connection = warehouse.connect()
connection.sql("from standings limit 5").show()

# %% A whole table or view comes as Arrow, with its types; pandas takes it from there.
leaderboard = warehouse.table("leaderboard").to_pandas()
print(leaderboard[["kernel", "stack", "rank", "project", "latency_ms"]].head())

# %% What is in it? Each column of a table says so.
for field in warehouse.table("rankings").schema:
    print(f"{field.name:<16} {field.type!s:<8} {field.metadata[b'comment'].decode()}")

# %% Who leads, by family of operations and stack?
leaders = leaderboard[leaderboard["rank"] == 1]
print(leaders.groupby(["stack", "family"])["project"].agg(["count", "nunique"]))

# %% How much faster did each project become, from its first run in a group to its best?
runs = leaderboard.sort_values("observed_at")
latencies = runs.groupby(["project", "kernel", "stack"])["latency_ms"].agg(["first", "min", "count"])
several = latencies[latencies["count"] > 1]
print((several["first"] / several["min"]).sort_values(ascending=False).head())

# %% How near is each leader to the speed of light? ratio_to_bound says it: 1 is the speed of light.
newest = leaders[leaders["stack"] == "v1.1"]
print(newest.sort_values("ratio_to_bound")[["kernel", "project", "ratio_to_bound"]].head())
print(newest.groupby("family")["ratio_to_bound"].median().sort_values())

# %% The warehouse stays open to others meanwhile; a connection made later sees what was published since.
connection.close()
