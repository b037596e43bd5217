//! What a command may end with, and the exit code of each.

use std::process::ExitCode;

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
