//! Checks of a whole module.

use super::design::{Dir, Module, Param, Port};
use super::error::RtlError;
use super::module::ModuleBuilder;
use super::print::{Printer, port_dir};
use super::signal::SigKind;
use std::rc::Rc;

pub(crate) fn finish(b: ModuleBuilder) -> Result<Rc<Module>, RtlError> {
    let errors: Vec<String> = b.errors.iter().map(|e| format!("module {}: {e}", b.name)).collect();
    if !errors.is_empty() {
        return Err(RtlError::new(errors));
    }
    let ports: Vec<Port> = b
        .signals
        .iter()
        .filter_map(|s| {
            let dir = port_dir(s.kind)?;
            Some(Port { name: s.name.clone(), dir, width: s.width, doc: s.doc.borrow().clone() })
        })
        .collect();
    let params: Vec<Param> = b
        .signals
        .iter()
        .filter(|s| s.kind == SigKind::Param)
        .filter_map(|s| {
            let default = s.value.borrow().clone()?;
            Some(Param { name: s.name.clone(), width: s.width, default, doc: s.doc.borrow().clone() })
        })
        .collect();
    let flip_flop_bits = b.signals.iter().filter(|s| s.kind == SigKind::Reg).map(|s| u64::from(s.width)).sum();
    let outputs = ports.iter().filter(|p| p.dir == Dir::Output).count();
    let comb_deps = vec![vec![true; ports.len()]; outputs];
    let printed = Printer::new(&b).print();
    Ok(Rc::new(Module {
        name: b.name.clone(),
        ports,
        params,
        template: printed.template,
        subs: printed.subs,
        sub_counts: printed.sub_counts,
        comb_deps,
        flip_flop_bits,
        reset_style: b.reset.as_ref().map(|_| b.opts.reset),
    }))
}
