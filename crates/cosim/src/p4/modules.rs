//! Verilog around programs, for those that are compiled when they run.

/// A file of `rtl/`.
macro_rules! file {
    ($folder:literal, $name:literal) => {
        (
            concat!($name, ".v"),
            include_str!(concat!("../../../../rtl/", $folder, "/rtl/", $name, ".v")),
        )
    };
}

/// `p4_switch4` and what is in it.
pub(crate) const SWITCH: [(&str, &str); 12] = [
    file!("p4_switch", "p4_switch4"),
    file!("p4_switch", "p4_switch"),
    file!("p4_switch", "p4_switch_port"),
    file!("p4_switch", "p4_switch_ingress"),
    file!("p4_switch", "p4_switch_merge"),
    file!("p4_switch", "p4_switch_buffer"),
    file!("p4_switch", "p4_switch_egress"),
    file!("timing_nic", "record_ring"),
    file!("mac10g", "mac10g_rx"),
    file!("mac10g", "mac10g_tx"),
    file!("mac10g", "crc32_word"),
    file!("mac10g", "crc32_back"),
];

/// `p4_host_device` and what is in it.
pub(crate) const HOST: [(&str, &str); 8] = [
    file!("p4_host", "p4_host_device"),
    file!("p4_host", "p4_host"),
    file!("p4_host", "p4_host_send"),
    file!("p4_host", "p4_host_receive"),
    file!("p4_switch", "p4_switch_ingress"),
    file!("p4_switch", "p4_switch_merge"),
    file!("p4_switch", "p4_switch_egress"),
    file!("timing_nic", "record_ring"),
];
