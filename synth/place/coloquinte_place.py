"""Places the cells of problem.txt with Coloquinte and writes solution.txt. Started by `l1forge place`.

problem.txt: `core WIDTH HEIGHT ROW`, `effort E STEPS`, a line `w h x y fixed port` per item after `items N`, a line of item numbers per net
after `nets N`. STEPS bounds the steps of global placement. solution.txt: a line `x y` per item after global placement and legalisation, then again after detailed placement.
"""

import sys

import coloquinte


def main():
    with open("problem.txt") as file:
        width, height, row = map(int, file.readline().split()[1:])
        effort, steps = map(int, file.readline().split()[1:])
        items = [tuple(map(int, file.readline().split())) for _ in range(int(file.readline().split()[1]))]
        nets = [list(map(int, file.readline().split())) for _ in range(int(file.readline().split()[1]))]
    circuit = coloquinte.Circuit(len(items))
    circuit.cell_width = [i[0] for i in items]
    circuit.cell_height = [i[1] for i in items]
    circuit.cell_x = [i[2] for i in items]
    circuit.cell_y = [i[3] for i in items]
    circuit.cell_is_fixed = [bool(i[4]) for i in items]
    circuit.cell_is_obstruction = [not i[5] for i in items]
    circuit.setup_rows(coloquinte.Rectangle(0, width, 0, height), row, True, True)
    for net in nets:
        circuit.add_net(net, [items[i][0] // 2 for i in net], [items[i][1] // 2 for i in net])
    circuit.check()
    params = coloquinte.ColoquinteParameters(effort)
    # A keyword of Python, so not to be had by a dot.
    outline = getattr(params, "global")
    outline.max_nb_steps = min(steps, outline.max_nb_steps)
    setattr(params, "global", outline)
    with open("solution.txt", "w") as out:
        circuit.place_global(params)
        circuit.legalize(params)
        for x, y in zip(circuit.cell_x, circuit.cell_y):
            out.write(f"{x} {y}\n")
        print("global placement:", circuit.hpwl(), flush=True)
        circuit.place_detailed(params)
        for x, y in zip(circuit.cell_x, circuit.cell_y):
            out.write(f"{x} {y}\n")
        print("detailed placement:", circuit.hpwl(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
