#!/usr/bin/env python3
"""Runs one engine on one graph and writes the block of each vertex, one a line.

usage: peers.py ENGINE GRAPH HIERARCHY DISTANCES SEED OUT
GRAPH is a METIS file with vertex and edge weights. HIERARCHY and DISTANCES are innermost first, as
in 4:8:8 and 1:10:100. Prints the CPU seconds of the engine, without the time to read the graph if
the engine runs inside Python.
"""
import math
import os
import resource
import subprocess
import sys
import time


def read(path):
    xadj, adjncy, vwgt, ewgt = [0], [], [], []
    with open(path) as file:
        next(file)
        for line in file:
            numbers = list(map(int, line.split()))
            vwgt.append(numbers[0])
            adjncy.extend(u - 1 for u in numbers[1::2])
            ewgt.extend(numbers[2::2])
            xadj.append(len(adjncy))
    return xadj, adjncy, vwgt, ewgt


def run(command, **options):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{command[0]}: {done.stdout[-500:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def scotch(graph, hierarchy, distances, seed, out, threads):
    xadj, adjncy, vwgt, ewgt = read(graph)
    source, target, mapped = out + ".grf", out + ".tgt", out + ".map"
    with open(source, "w") as file:
        file.write(f"0\n{len(vwgt)} {len(adjncy)}\n0 011\n")
        for v in range(len(vwgt)):
            row = [f"{ewgt[i]} {adjncy[i]}" for i in range(xadj[v], xadj[v + 1])]
            file.write(f"{vwgt[v]} {len(row)} {' '.join(row)}\n")
    levels = " ".join(f"{a} {d}" for a, d in zip(reversed(hierarchy), reversed(distances)))
    with open(target, "w") as file:
        file.write(f"tleaf {len(hierarchy)} {levels}\n")
    environment = dict(os.environ, SCOTCH_RANDOM_FIXED_SEED="0")
    command = ["scotch_gmap", "-b0.03", "-vt", source, target, mapped]
    if threads:
        environment["SCOTCH_PTHREAD_NUMBER"] = str(threads)
    seconds, said = run(command, env=environment)
    if threads == 1:
        # Scotch reports the wall time of the mapping. With one thread, that is the CPU time if
        # nothing else runs on the core.
        seconds = next(float(line.split()[2]) for line in said.splitlines() if line.split()[1:2] == ["Mapping"])
    else:
        # The CPU time of the program minus the time of a run onto a single block, which reads and
        # writes the same files. The difference is noisy if the mapping is short.
        trivial = out + ".one"
        with open(trivial, "w") as file:
            file.write("cmplt 1\n")
        idle, _ = run(["scotch_gmap", source, trivial, mapped + ".one"], env=environment)
        seconds -= idle
        os.remove(trivial)
        os.remove(mapped + ".one")
    part = [0] * len(vwgt)
    with open(mapped) as file:
        next(file)
        for line in file:
            v, b = map(int, line.split())
            part[v] = b
    for path in (source, target, mapped):
        os.remove(path)
    return part, seconds


def kahip(graph, hierarchy, distances, seed, out, preset):
    import kahip as package

    tool = os.path.join(os.path.dirname(os.path.dirname(package.__file__)), "bin", "global_multisection")
    result = out + ".kahip"
    seconds, said = run([
        tool, graph, f"--seed={seed}", f"--preconfiguration={preset}", "--imbalance=3",
        "--hierarchy_parameter_string=" + ":".join(map(str, hierarchy)),
        "--distance_parameter_string=" + ":".join(map(str, distances)),
        f"--output_filename={result}",
    ])
    part = [int(line) for line in open(result)]
    os.remove(result)
    return part, seconds


def metis(graph, hierarchy, distances, seed, out, recursive):
    import pymetis

    xadj, adjncy, vwgt, ewgt = read(graph)
    options = pymetis.Options(seed=seed, ufactor=30)
    start = time.process_time()
    _, part = pymetis.part_graph(
        math.prod(hierarchy), xadj=xadj, adjncy=adjncy, vweights=vwgt, eweights=ewgt,
        recursive=recursive, options=options)
    return part, time.process_time() - start


def gpmetis(graph, hierarchy, distances, seed, out, kind):
    """Runs the program gpmetis, and uses the time that it reports, which excludes reading."""
    k = math.prod(hierarchy)
    _, said = run(["gpmetis", f"-ptype={kind}", f"-seed={seed}", "-ufactor=30", graph, str(k)])
    seconds = next(float(line.split()[1]) for line in said.splitlines() if "Partitioning:" in line)
    result = f"{graph}.part.{k}"
    part = [int(line) for line in open(result)]
    os.remove(result)
    return part, seconds


def mtkahypar(graph, hierarchy, distances, seed, out, preset):
    import mtkahypar as package

    xadj, adjncy, vwgt, ewgt = read(graph)
    k = math.prod(hierarchy)
    kahypar = package.initialize(1)
    context = kahypar.context_from_preset(getattr(package.PresetType, preset))
    context.set_partitioning_parameters(k, 0.03, package.Objective.CUT)
    package.set_seed(seed)
    context.logging = False
    edges, weights = [], []
    for v in range(len(vwgt)):
        for i in range(xadj[v], xadj[v + 1]):
            if v < adjncy[i]:
                edges.append((v, adjncy[i]))
                weights.append(ewgt[i])
    network = kahypar.create_graph(context, len(vwgt), len(edges), edges, vwgt, weights)
    links, lengths = tree_links(hierarchy, distances)
    target = kahypar.create_target_graph(context, k, len(links), links, lengths)
    start = time.process_time()
    mapped = network.map_onto_graph(target, context)
    seconds = time.process_time() - start
    return [mapped.block_id(v) for v in range(len(vwgt))], seconds


def tree_links(hierarchy, distances):
    """Returns all pairs of blocks and their distances: the metric itself as target graph."""
    k = math.prod(hierarchy)
    links, lengths = [], []
    for a in range(k):
        for b in range(a + 1, k):
            size = 1
            for arity, distance in zip(hierarchy, distances):
                size *= arity
                if a // size == b // size:
                    links.append((a, b))
                    lengths.append(distance)
                    break
    return links, lengths


def kaminpar(graph, hierarchy, distances, seed, out):
    import kaminpar as package

    package.reseed(seed)
    engine = package.KaMinPar(num_threads=1, ctx=package.default_context())
    loaded = package.load_graph(graph, package.GraphFileFormat.METIS)
    start = time.process_time()
    part = engine.compute_partition(loaded, math.prod(hierarchy), eps=0.03)
    return list(part), time.process_time() - start


def sharedmap(graph, hierarchy, distances, seed, out, mode):
    import chszlablib as package
    import numpy

    xadj, adjncy, vwgt, ewgt = read(graph)
    loaded = package.Graph.from_csr(
        numpy.array(xadj), numpy.array(adjncy), node_weights=numpy.array(vwgt), edge_weights=numpy.array(ewgt))
    start = time.process_time()
    mapped = package.Decomposition.process_map(
        loaded, hierarchy=hierarchy, distance=distances, mode=mode, imbalance=0.03, threads=1, seed=seed)
    seconds = time.process_time() - start
    return [int(b) for b in mapped.assignment], seconds


ENGINES = {
    "metis-k": lambda *a: metis(*a, False),
    "metis-r": lambda *a: metis(*a, True),
    "gpmetis": lambda *a: gpmetis(*a, "kway"),
    "gpmetis-r": lambda *a: gpmetis(*a, "rb"),
    "scotch": lambda *a: scotch(*a, 1),
    "scotch-threads": lambda *a: scotch(*a, None),
    "kahip-fast": lambda *a: kahip(*a, "fast"),
    "kahip-eco": lambda *a: kahip(*a, "eco"),
    "kahip-strong": lambda *a: kahip(*a, "strong"),
    "mtkahypar": lambda *a: mtkahypar(*a, "DEFAULT"),
    "mtkahypar-q": lambda *a: mtkahypar(*a, "QUALITY"),
    "kaminpar": kaminpar,
    "sharedmap-f": lambda *a: sharedmap(*a, "fast"),
    "sharedmap-e": lambda *a: sharedmap(*a, "eco"),
    "sharedmap-s": lambda *a: sharedmap(*a, "strong"),
}


def main():
    engine, graph, hierarchy, distances, seed, out = sys.argv[1:]
    levels = [int(x) for x in hierarchy.split(":")]
    lengths = [int(x) for x in distances.split(":")]
    part, seconds = ENGINES[engine](graph, levels, lengths, int(seed), out)
    with open(out, "w") as file:
        file.writelines(f"{b}\n" for b in part)
    print(f"SECONDS {seconds:.4f}")


main()
