//! Descriptions of the device and of its service (UPnP Device Architecture 1.1 section 2, WANIPConnection:2).

use alloc::format;
use alloc::string::String;

pub(super) const DEVICE_PATH: &str = "/igd.xml";
pub(super) const SERVICE_PATH: &str = "/wanipc.xml";
pub(super) const CONTROL_PATH: &str = "/ctl/wanipc";
const EVENT_PATH: &str = "/evt/wanipc";

/// Actions, each with its arguments: name, whether it is an output, and the state variable.
type Arguments = &'static [(&'static str, bool, &'static str)];
const ENTRY: Arguments = &[
    ("NewInternalPort", true, "InternalPort"),
    ("NewInternalClient", true, "InternalClient"),
    ("NewEnabled", true, "PortMappingEnabled"),
    ("NewPortMappingDescription", true, "PortMappingDescription"),
    ("NewLeaseDuration", true, "PortMappingLeaseDuration"),
];
const PLACE: [(&str, bool, &str); 3] = [
    ("NewRemoteHost", false, "RemoteHost"),
    ("NewExternalPort", false, "ExternalPort"),
    ("NewProtocol", false, "PortMappingProtocol"),
];
const ADD: Arguments = &[
    PLACE[0],
    PLACE[1],
    PLACE[2],
    ("NewInternalPort", false, "InternalPort"),
    ("NewInternalClient", false, "InternalClient"),
    ("NewEnabled", false, "PortMappingEnabled"),
    ("NewPortMappingDescription", false, "PortMappingDescription"),
    ("NewLeaseDuration", false, "PortMappingLeaseDuration"),
];
const RANGE: Arguments = &[
    ("NewStartPort", false, "ExternalPort"),
    ("NewEndPort", false, "ExternalPort"),
    PLACE[2],
    ("NewManage", false, "A_ARG_TYPE_Manage"),
];
/// Parts of the arguments of each action.
const ACTIONS: [(&str, [Arguments; 2]); 11] = [
    (
        "AddAnyPortMapping",
        [ADD, &[("NewReservedPort", true, "ExternalPort")]],
    ),
    ("AddPortMapping", [ADD, &[]]),
    ("DeletePortMapping", [&PLACE, &[]]),
    ("DeletePortMappingRange", [RANGE, &[]]),
    (
        "GetConnectionTypeInfo",
        [
            &[
                ("NewConnectionType", true, "ConnectionType"),
                (
                    "NewPossibleConnectionTypes",
                    true,
                    "PossibleConnectionTypes",
                ),
            ],
            &[],
        ],
    ),
    (
        "GetExternalIPAddress",
        [&[("NewExternalIPAddress", true, "ExternalIPAddress")], &[]],
    ),
    (
        "GetGenericPortMappingEntry",
        [
            &[
                ("NewPortMappingIndex", false, "PortMappingNumberOfEntries"),
                ("NewRemoteHost", true, "RemoteHost"),
                ("NewExternalPort", true, "ExternalPort"),
                ("NewProtocol", true, "PortMappingProtocol"),
            ],
            ENTRY,
        ],
    ),
    (
        "GetListOfPortMappings",
        [
            RANGE,
            &[
                ("NewNumberOfPorts", false, "PortMappingNumberOfEntries"),
                ("NewPortListing", true, "A_ARG_TYPE_PortListing"),
            ],
        ],
    ),
    (
        "GetNATRSIPStatus",
        [
            &[
                ("NewRSIPAvailable", true, "RSIPAvailable"),
                ("NewNATEnabled", true, "NATEnabled"),
            ],
            &[],
        ],
    ),
    ("GetSpecificPortMappingEntry", [&PLACE, ENTRY]),
    (
        "GetStatusInfo",
        [
            &[
                ("NewConnectionStatus", true, "ConnectionStatus"),
                ("NewLastConnectionError", true, "LastConnectionError"),
                ("NewUptime", true, "Uptime"),
            ],
            &[],
        ],
    ),
];
const VARIABLES: [(&str, &str); 20] = [
    ("ConnectionType", "string"),
    ("PossibleConnectionTypes", "string"),
    ("ConnectionStatus", "string"),
    ("LastConnectionError", "string"),
    ("Uptime", "ui4"),
    ("RSIPAvailable", "boolean"),
    ("NATEnabled", "boolean"),
    ("ExternalIPAddress", "string"),
    ("PortMappingNumberOfEntries", "ui2"),
    ("PortMappingEnabled", "boolean"),
    ("PortMappingLeaseDuration", "ui4"),
    ("RemoteHost", "string"),
    ("ExternalPort", "ui2"),
    ("InternalPort", "ui2"),
    ("PortMappingProtocol", "string"),
    ("InternalClient", "string"),
    ("PortMappingDescription", "string"),
    ("SystemUpdateID", "ui4"),
    ("A_ARG_TYPE_Manage", "boolean"),
    ("A_ARG_TYPE_PortListing", "string"),
];

/// The device's unique name.
pub(super) fn uuid(id: u64) -> String {
    let (high, low) = ((id >> 32) as u32, id as u32);
    format!(
        "uuid:{high:08x}-{:04x}-4{:03x}-8000-{:012x}",
        low >> 16,
        low & 0xFFF,
        id & 0xFFFF_FFFF_FFFF
    )
}

/// The device, with a WAN device and a WAN connection device in it.
pub(super) fn device(id: u64) -> String {
    let about = |kind: &str, number: u64| {
        format!(
            "<deviceType>urn:schemas-upnp-org:device:{kind}:2</deviceType><friendlyName>Wireline router</friendlyName>\
             <manufacturer>Wireline</manufacturer><modelName>router</modelName><UDN>{}</UDN>",
            uuid(id.wrapping_add(number))
        )
    };
    format!(
        "<?xml version=\"1.0\"?>\r\n<root xmlns=\"urn:schemas-upnp-org:device-1-0\" configId=\"1\">\
         <specVersion><major>1</major><minor>1</minor></specVersion><device>{}<deviceList><device>{}\
         <deviceList><device>{}<serviceList><service>\
         <serviceType>urn:schemas-upnp-org:service:WANIPConnection:2</serviceType>\
         <serviceId>urn:upnp-org:serviceId:WANIPConn1</serviceId><SCPDURL>{SERVICE_PATH}</SCPDURL>\
         <controlURL>{CONTROL_PATH}</controlURL><eventSubURL>{EVENT_PATH}</eventSubURL>\
         </service></serviceList></device></deviceList></device></deviceList></device></root>\r\n",
        about("InternetGatewayDevice", 0),
        about("WANDevice", 1),
        about("WANConnectionDevice", 2)
    )
}

/// The service's actions and state variables.
pub(super) fn service() -> String {
    let mut text = String::from(
        "<?xml version=\"1.0\"?>\r\n<scpd xmlns=\"urn:schemas-upnp-org:service-1-0\">\
         <specVersion><major>1</major><minor>1</minor></specVersion><actionList>",
    );
    for (name, parts) in ACTIONS {
        text += &format!("<action><name>{name}</name><argumentList>");
        for (name, is_output, variable) in parts.iter().copied().flatten() {
            let direction = if *is_output { "out" } else { "in" };
            text += &format!(
                "<argument><name>{name}</name><direction>{direction}</direction>\
                 <relatedStateVariable>{variable}</relatedStateVariable></argument>"
            );
        }
        text += "</argumentList></action>";
    }
    text += "</actionList><serviceStateTable>";
    for (name, kind) in VARIABLES {
        text += &format!(
            "<stateVariable sendEvents=\"no\"><name>{name}</name><dataType>{kind}</dataType></stateVariable>"
        );
    }
    text + "</serviceStateTable></scpd>\r\n"
}
