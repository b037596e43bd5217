//! What a command may end with, and the exit code of each.

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// A check that the user asked for did not pass: exit code 1.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct CheckFailed(pub String);

/// Prints one message and chooses the exit code: 1 for a failed check, 2 for bad input or a missing tool.
pub fn report(error: &anyhow::Error) -> ExitCode {
    if let Some(e) = error.downcast_ref::<std::io::Error>()
        && e.kind() == std::io::ErrorKind::BrokenPipe
    {
        return ExitCode::SUCCESS; // the reader of our output went away
    }
    // Some errors of libraries repeat their cause.
    let mut message: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        if !message.last().is_some_and(|said| said.ends_with(&cause)) {
            message.push(cause);
        }
    }
    eprintln!("error: {}", message.join(": "));
    ExitCode::from(if error.is::<CheckFailed>() { 1 } else { 2 })
}

/// Runs a command. A panic, a mistake of ours that no message foresaw, becomes one message and exit code 2.
pub fn guard(command: impl FnOnce() -> ExitCode) -> ExitCode {
    std::panic::set_hook(Box::new(internal));
    catch_unwind(AssertUnwindSafe(command)).unwrap_or(ExitCode::from(2))
}

/// Says what is known of the first panic; others follow from it.
fn internal(panic: &PanicHookInfo<'_>) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if SAID.swap(true, Ordering::SeqCst) {
        return;
    }
    let what = panic.payload_as_str().unwrap_or("no reason given");
    let place = panic.location().map(|at| format!(" ({at})")).unwrap_or_default();
    let trace = std::backtrace::Backtrace::capture(); // empty unless RUST_BACKTRACE asks for it
    let trace = if trace.status() == std::backtrace::BacktraceStatus::Captured { format!("\n{trace}") } else { String::new() };
    let repository = env!("CARGO_PKG_REPOSITORY");
    // Not `eprintln`, which panics when standard error is closed.
    let _ = writeln!(
        std::io::stderr(),
        "error: internal: {what}{place}; this is a mistake in l1forge, please report it with the command line: {repository}/issues{trace}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_are_one_message_and_exit_code_2() {
        const CHILD: &str = "L1FORGE_TEST_PANICS";
        if std::env::var_os(CHILD).is_some() {
            let code = guard(|| {
                std::thread::scope(|scope| {
                    scope.spawn(|| panic!("first of two"));
                });
                ExitCode::SUCCESS
            });
            // The harness would say more, and end with its own code.
            std::process::exit(if code == ExitCode::from(2) { 2 } else { 0 });
        }
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "failure::tests::panics_are_one_message_and_exit_code_2", "--nocapture"]);
        let output = child.env(CHILD, "1").env("RUST_BACKTRACE", "0").output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.starts_with("error: internal: first of two (cli/src/failure.rs:"), "{text}");
        assert!(text.ends_with("/issues\n") && text.lines().count() == 1, "{text}");
    }
}
