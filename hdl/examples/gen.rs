//! Development helper: prints the files of a block to a folder.
use l1forge_config::Settings;
use l1forge_hdl::{c2p, rtl::Design};
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut s = Settings::preset("paper").unwrap();
    for a in &args[2..] { s.set(a).unwrap(); }
    let c = s.resolve().unwrap();
    let names: Vec<&str> = if args[0] == "all" { c2p::BLOCKS.iter().map(|b| b.0).collect() } else { vec![&args[0]] };
    for name in names {
        let t = std::time::Instant::now();
        match c2p::block(&c, name, 0).unwrap().and_then(Design::new) {
            Ok(d) => {
                let dir = std::path::Path::new(&args[1]).join(name);
                std::fs::create_dir_all(&dir).unwrap();
                d.write_to(&dir).unwrap();
                println!("{name}: {} modules, {} ff, {:?}", d.modules().len(), d.flip_flop_bits(), t.elapsed());
            }
            Err(e) => println!("{name}: {e}"),
        }
    }
}
