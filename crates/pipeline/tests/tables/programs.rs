//! Programs of one table, built by hand.

use p4::ir::{
    Action, ActionCall, ActionId, Body, Expr, Key, Program, Slot, SlotId, Table, TableAction, Ty,
};
use p4::value::Bits;

/// A table `t` of keys `k0`, `k1`, ... with the actions `forward(bit<16> port)` and `drop()`; a miss drops.
pub fn one_table(keys: &[(u32, &str)], size: u32) -> Program {
    let mut slots = vec![Slot {
        name: "forward.port".into(),
        ty: Ty::Bits(16),
        enumeration: None,
        annotations: vec![],
    }];
    let keys = keys
        .iter()
        .enumerate()
        .map(|(number, (width, kind))| {
            let name: std::sync::Arc<str> = format!("k{number}").into();
            slots.push(Slot {
                name: name.clone(),
                ty: Ty::Bits(*width),
                enumeration: None,
                annotations: vec![],
            });
            Key {
                name,
                value: Expr::Slot(SlotId(number as u32 + 1)),
                ty: Ty::Bits(*width),
                match_kind: (*kind).into(),
                annotations: vec![],
            }
        })
        .collect();
    let action = |name: &str, parameters| Action {
        name: name.into(),
        parameters,
        body: Body::default(),
        annotations: vec![],
    };
    let listed = |number| TableAction {
        action: ActionId(number),
        table_only: false,
        default_only: false,
        annotations: vec![],
    };
    Program {
        slots,
        actions: vec![
            action("forward", vec![("port".into(), SlotId(0), vec![])]),
            action("drop", vec![]),
        ],
        tables: vec![Table {
            name: "t".into(),
            keys,
            actions: vec![listed(0), listed(1)],
            default: drop_packet(),
            const_default: false,
            entries: vec![],
            const_entries: false,
            size: Some(size),
            implementation: None,
            empty_group: None,
            direct: vec![],
            idle_timeout: false,
            properties: vec![],
            hit: None,
            action_run: None,
            annotations: vec![],
        }],
        ..Program::default()
    }
}

/// `forward(port)`
pub fn forward(port: u16) -> ActionCall {
    ActionCall {
        action: 0,
        arguments: vec![Bits::new(16, port)],
    }
}

/// `drop()`
pub fn drop_packet() -> ActionCall {
    ActionCall {
        action: 1,
        arguments: vec![],
    }
}
