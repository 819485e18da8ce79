//! `--set`: keys of a configuration, each as a line of TOML.

/// Turns KEY=VALUE into a line of TOML: what is no number, flag, list or quoted text is quoted.
pub fn setting(text: &str) -> Result<String, String> {
    let (key, value) = text.split_once('=').ok_or("KEY=VALUE is wanted")?;
    let plain = value.parse::<f64>().is_ok()
        || matches!(value, "true" | "false")
        || value.starts_with(['[', '"', '\'', '{']);
    Ok(match plain {
        true => format!("{key} = {value}"),
        false => format!("{key} = {value:?}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_become_toml() {
        for (given, line) in [
            ("delay=20 ms", "delay = \"20 ms\""),
            ("count=5", "count = 5"),
            ("probe=false", "probe = false"),
            ("size=[64, 128]", "size = [64, 128]"),
            ("expression=udp port 53", "expression = \"udp port 53\""),
        ] {
            assert_eq!(setting(given).as_deref(), Ok(line));
        }
        assert!(setting("delay").is_err());
    }
}
