//! PNA's functions that say what becomes of a packet.
//!
//! They write to slots of the main control, which its architecture reads when the control has
//! ended. So each engine sees plain
//! assignments.

use super::Lowerer;
use super::operators::choose;
use super::values::Value;
use crate::ir::{Architecture, Binary, Expr, LValue, SlotId, Ty, fold};
use crate::source::Span;
use crate::types::Type;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Where the main control says what becomes of its packet.
pub(super) struct Nic {
    port: SlotId,
    drop: SlotId,
    recirculate: Option<SlotId>,
    /// By mirror slot: whether there is a copy, and by which session.
    mirrors: BTreeMap<u32, (SlotId, SlotId)>,
}

impl Nic {
    pub(super) fn new(lowerer: &mut Lowerer<'_>) -> Self {
        Nic {
            port: lowerer.slot("$port", Ty::Bits(32)),
            drop: lowerer.slot("$drop", Ty::Bool),
            recirculate: None,
            mirrors: BTreeMap::new(),
        }
    }

    /// The slots by the names that the architecture knows them by.
    pub(super) fn fields(self) -> impl Iterator<Item = (Arc<str>, SlotId)> {
        let mirrors = self.mirrors.into_iter().flat_map(|(slot, (on, session))| {
            [
                (format!("$mirror.{slot}").into(), on),
                (format!("$session.{slot}").into(), session),
            ]
        });
        let recirculate = self.recirculate.map(|slot| ("$recirculate".into(), slot));
        [("$port".into(), self.port), ("$drop".into(), self.drop)]
            .into_iter()
            .chain(recirculate)
            .chain(mirrors)
    }
}

impl<'a> Lowerer<'a> {
    /// A call of one of these functions with its arguments, in the order of the parameters. None
    /// for all others.
    pub(super) fn call_nic(
        &mut self,
        name: &str,
        arguments: &[(Value, Type)],
        span: Span,
    ) -> Option<Value> {
        if self.program.architecture != Architecture::PnaNic {
            return None;
        }
        match (name, arguments) {
            ("SelectByDirection", [(Value::Scalar(direction, ty), _), (n2h, _), (h2n, _)]) => {
                let from_net = Expr::Constant(crate::value::Bits::zero(ty.width()), *ty);
                let test = fold::binary(Binary::Equal, direction.clone(), from_net, *ty, *ty);
                return Some(choose(&test, n2h.clone(), h2n.clone()));
            }
            ("drop_packet" | "recirculate", [])
            | ("send_to_port", [_])
            | ("mirror_packet", [_, _]) => {}
            _ => return None,
        }
        let Some(mut nic) = self.nic.take() else {
            self.error(
                "nic-function",
                span,
                format!(
                    "`{name}` is called outside of the main control, and PNA allows it only there"
                ),
            );
            return Some(Value::Nothing);
        };
        let mut writes = Vec::new();
        match (name, arguments) {
            ("drop_packet", _) => writes.push((nic.drop, fold::boolean(true))),
            ("recirculate", _) => {
                let slot = *nic
                    .recirculate
                    .get_or_insert_with(|| self.slot("$recirculate", Ty::Bool));
                writes.push((slot, fold::boolean(true)));
            }
            ("send_to_port", [(Value::Scalar(port, _), _)]) => {
                writes.push((nic.port, port.clone()));
                writes.push((nic.drop, fold::boolean(false)));
            }
            ("mirror_packet", [(Value::Scalar(slot, _), _), (Value::Scalar(session, _), _)]) => {
                match slot {
                    Expr::Constant(number, _) => {
                        let number = number.to_u64().unwrap_or(0) as u32;
                        let (on, by) = *nic.mirrors.entry(number).or_insert_with(|| {
                            (
                                self.slot(&format!("$mirror.{number}"), Ty::Bool),
                                self.slot(&format!("$session.{number}"), Ty::Bits(16)),
                            )
                        });
                        writes.push((by, session.clone()));
                        writes.push((on, fold::boolean(true)));
                    }
                    _ => self.error(
                        "mirror-slot",
                        span,
                        "the mirror slot is not a constant: write its number",
                    ),
                }
            }
            _ => {}
        }
        self.nic = Some(nic);
        for (slot, value) in writes {
            self.body.assign(LValue::Slot(slot), value);
        }
        Some(Value::Nothing)
    }
}
