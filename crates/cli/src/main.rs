//! The command `wire`.

fn main() -> std::process::ExitCode {
    cli::main(lab::Registry::standard().with_kind(home::lab::kind()))
}
