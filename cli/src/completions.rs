//! `l1forge completions SHELL`.

/// Arguments of `l1forge completions`.
#[derive(clap::Args)]
pub struct Args {
    /// Shell to complete for.
    shell: clap_complete::Shell,
}

/// Prints the completion script.
pub fn run<C: clap::CommandFactory>(args: &Args) -> anyhow::Result<()> {
    clap_complete::generate(args.shell, &mut C::command(), "l1forge", &mut std::io::stdout());
    Ok(())
}
