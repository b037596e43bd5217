use super::netlist::{self, Bit, Module};
use super::*;
use crate::flow::cache::Cache;
use crate::flow::{Source, Target};
use crate::library::Library;

/// Registers that are inverted in the netlist, constant, there twice, and a sub-module.
const VERILOG: &str = "module leaf (input clk_i, input [1:0] a_i, output reg y_o);
always @(posedge clk_i) y_o <= a_i[0] ^ a_i[1];
endmodule
module unit (input clk_i, input rst_i, input [3:0] a_i, input [3:0] b_i, output [3:0] y_o, output z_o, output never_o);
reg [3:0] sum_q; reg [3:0] copy_q; reg twin_q; reg never_q; reg [2:0] count_q; wire leaf;
wire [3:0] next = count_q == 3'd5 ? a_i : a_i & ~b_i;
always @(posedge clk_i) begin
  if (rst_i) begin sum_q <= 4'd0; count_q <= 3'd0; never_q <= 1'b0; twin_q <= 1'b0; end
  else begin sum_q <= next | {sum_q[2:0], leaf}; count_q <= count_q + {2'b0, a_i[0]}; never_q <= 1'b0; twin_q <= next[0] | leaf; end
  copy_q <= sum_q ^ b_i;
end
leaf u_leaf (.clk_i(clk_i), .a_i(copy_q[1:0]), .y_o(leaf));
assign y_o = copy_q ^ {4{twin_q}}; assign z_o = sum_q[0] & count_q[2]; assign never_o = never_q;
endmodule
";

fn flow<'a>(folder: &Path, library: &'a Library, progress: &'a (dyn Fn(usize, usize, &str) + Sync)) -> Flow<'a> {
    let yosys = std::env::var_os("YOSYS").filter(|y| !y.is_empty()).map_or_else(|| PathBuf::from("/usr/bin/yosys"), PathBuf::from);
    Flow { yosys, cache: Cache::at(folder), jobs: 1, library, progress }
}

fn source() -> Source {
    let (leaf, unit) = VERILOG.split_at(VERILOG.find("module unit").unwrap());
    let files = [("leaf.v", leaf), ("unit.v", unit)].map(|(n, t)| (n.to_string(), t.to_string()));
    Source { top: "unit".into(), files: files.into(), macros: Vec::new() }
}

/// The connections of two cells exchanged at a pin.
fn swap(module: &mut Module, cells: (&str, &str), pin: &str) {
    let [a, b] = [cells.0, cells.1].map(|c| module.cells[c].connections[pin].clone());
    module.cells.get_mut(cells.0).unwrap().connections.insert(pin.into(), b);
    module.cells.get_mut(cells.1).unwrap().connections.insert(pin.into(), a);
}

#[test]
fn netlists_are_proven_and_every_seeded_fault_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let library = Library::embedded().unwrap();
    let flow = flow(folder.path(), &library, &|_, _, _| {});
    if !flow.yosys.exists() {
        eprintln!("skipped: no Yosys here");
        return;
    }
    let design = flow.map(flow.elaborate(&source()).unwrap(), "unit", &Target::Area).unwrap();
    let proofs = prove(&flow, &design, 1000).unwrap();
    assert_eq!(proofs.iter().map(|p| (p.name.as_str(), p.reason.as_str())).collect::<Vec<_>>(), [("leaf", ""), ("unit", "")]);
    // Outputs, next states and clocks of 13 registers (the constant one has no clock), inputs of the sub-module.
    assert_eq!(proofs[1].outputs, 6 + 13 + 12 + 3);

    let (unit, mapped) = design.unit("unit").unwrap();
    let from = mapped.folder.join("netlist.json");
    let seeded = folder.path().join("seeded.json");
    let library_file = flow.library_file().unwrap();
    let prove_changed = |change: &dyn Fn(&mut Module)| {
        netlist::change(&from, &seeded, "unit", |m| {
            change(m);
            Ok(())
        })
        .unwrap();
        let work = tempfile::tempdir().unwrap();
        let task = Task { flow: &flow, unit, units: &design.units, library: &library_file, netlist: &seeded };
        task.run(work.path())
    };
    let faulty = |what: &str, change: &dyn Fn(&mut Module)| {
        let message = format!("{:#}", prove_changed(change).expect_err(what));
        assert!(message.contains("NOT EQUIVALENT"), "{what}: {message}");
        message
    };
    let good = netlist::read(&from, "unit").unwrap();
    let of_kind = |kind: &str| good.cells.iter().filter(|(_, c)| c.kind.starts_with(kind)).map(|(n, _)| n.as_str()).collect::<Vec<_>>();
    // Another gate of the same pins in the place of one.
    for (kind, other) in [("NAND2x", "NOR2xp33_ASAP7_75t_R"), ("NOR2x", "NAND2xp33_ASAP7_75t_R"), ("XNOR2x", "XOR2xp5_ASAP7_75t_R")] {
        for name in of_kind(kind) {
            faulty(name, &|m| m.cells.get_mut(name).unwrap().kind = other.into());
        }
    }
    let registers = of_kind("DFF");
    // Of the 13, the constant is gone and `twin_q` is `sum_q[0]`.
    assert_eq!(registers.len(), 11);
    for pair in registers.windows(2) {
        faulty("data of two flip-flops exchanged", &|m| swap(m, (pair[0], pair[1]), "D"));
        faulty("outputs of two flip-flops exchanged", &|m| swap(m, (pair[0], pair[1]), "QN"));
    }
    let message = faulty("a clock that is none", &|m| {
        let data = m.ports["rst_i"].bits.clone();
        m.cells.get_mut(registers[3]).unwrap().connections.insert("CLK".into(), data);
    });
    assert!(message.contains("clock "), "{message}");
    let message =
        faulty("inputs of the sub-module exchanged", &|m| m.cells.get_mut("u_leaf").unwrap().connections.get_mut("a_i").unwrap().reverse());
    assert!(message.contains("u_leaf (leaf).a_i[0]"), "{message}");
    // Diagrams see one wrong bit of a sum whose operands are added in another order.
    let sum = |order: &[usize], wrong: bool| {
        let (mut text, mut column) = (String::from(".model sum\n.inputs"), vec![Vec::new(); 4]);
        for i in order {
            column[0].push(format!("i{i}"));
        }
        for i in 0..order.len() {
            text += &format!(" i{i}");
        }
        text += "\n.outputs o0 o1 o2\n";
        for bit in 0..3 {
            for n in 0.. {
                let Some((a, b)) = column[bit].pop().zip(column[bit].pop()) else { unreachable!("two operands are left") };
                let (s, c) = (format!("s{bit}_{n}"), format!("c{bit}_{n}"));
                text += &format!(".names {a} {b} {s}\n01 1\n10 1\n.names {a} {b} {c}\n11 1\n");
                column[bit].insert(0, s);
                column[bit + 1].insert(0, c);
                if column[bit].len() == 1 {
                    break;
                }
            }
        }
        for (bit, sum) in column.iter().take(3).enumerate() {
            text += &format!(".names {} o{bit}\n{} 1\n", sum[0], if wrong && bit == 2 { 0 } else { 1 });
        }
        text + ".end\n"
    };
    let task = Task { flow: &flow, unit, units: &design.units, library: &library_file, netlist: &seeded };
    let work = tempfile::tempdir().unwrap();
    for (wrong, same) in [(false, true), (true, false)] {
        std::fs::write(work.path().join("gold.blif"), sum(&[0, 1, 2, 3, 4, 5], false)).unwrap();
        std::fs::write(work.path().join("gate.blif"), sum(&[4, 2, 5, 0, 3, 1], wrong)).unwrap();
        assert_eq!(task.same_diagrams(work.path(), "sum"), same);
    }
    std::fs::write(work.path().join("gate.blif"), "no circuit").unwrap();
    assert!(!task.same_diagrams(work.path(), "sum"));
    // A register that the netlist has lost is named.
    let lost = prove_changed(&|m| m.ports.get_mut("y_o").unwrap().bits[2] = Bit::Constant("0".into())).expect_err("a constant output");
    assert!(format!("{lost:#}").contains("1 register bits have no counterpart in the netlist, as copy_q[2]"), "{lost:#}");
}
