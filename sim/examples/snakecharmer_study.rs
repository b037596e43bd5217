//! The SnakeCharmer study: `cargo run --release -p l1forge-sim --example snakecharmer_study -- LOADS DIR`.

use l1forge_config::Settings;
use l1forge_sim::snakecharmer::report::{self, Size};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let loads = args.next().map_or(Ok(10_000), |a| a.parse())?;
    let folder = std::path::PathBuf::from(args.next().unwrap_or_else(|| "out/snakecharmer".into()));
    std::fs::create_dir_all(&folder)?;
    let study = report::study(&Settings::preset("paper")?, Size { loads, seed: 1 }, &|| eprint!("."))?;
    eprintln!();
    let mut text = String::new();
    for (what, holds) in report::verdicts(&study) {
        text += &format!("* {} {what}\n", if holds { "yes:" } else { "no:" });
    }
    text += &report::tables(&study);
    std::fs::write(folder.join("tables.md"), &text)?;
    for (name, svg) in report::plots(&study) {
        std::fs::write(folder.join(name), svg)?;
    }
    print!("{text}");
    Ok(())
}
