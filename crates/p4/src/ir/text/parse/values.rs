//! Constants, places, expressions and types.

use super::super::lex::{Token, WIDEST};
use super::super::print::OPERATORS;
use super::{DEEPEST, Kind, Parser, Result};
use crate::ir::*;
use crate::value::Bits;
use alloc::boxed::Box;
use alloc::vec::Vec;

impl<'a> Parser<'a> {
    pub(super) fn constant(&mut self) -> Result<Constant> {
        self.deeper(|p| {
            Ok(match p.peek() {
                Token::Symbol("{") => Constant::List(p.braces(Self::constant)?),
                Token::Keyword("text") => {
                    p.at += 1;
                    Constant::Text(p.name()?)
                }
                Token::Keyword("object") => {
                    p.at += 1;
                    Constant::Object(ObjectId(p.reference(Kind::Object)?))
                }
                Token::Keyword("member") => {
                    p.at += 1;
                    let e = EnumId(p.reference(Kind::Enumeration)?);
                    Constant::Member(e, p.number()?)
                }
                _ => Constant::Bits(p.bits()?),
            })
        })
    }

    pub(super) fn place(&mut self) -> Result<Place> {
        if self.take_keyword("at") {
            let (slots, index) = self.element()?;
            let slice = if *self.peek() == Token::Symbol("[") {
                Some(self.slice()?)
            } else {
                None
            };
            return Ok(Place::Element {
                slots,
                index,
                slice,
            });
        }
        let slot = self.slot_id()?;
        Ok(if *self.peek() == Token::Symbol("[") {
            let (high, low) = self.slice()?;
            Place::Slice { slot, high, low }
        } else {
            Place::Slot(slot)
        })
    }

    pub(super) fn slice(&mut self) -> Result<(u32, u32)> {
        self.symbol("[")?;
        let start = self.at;
        let high = self.number()?;
        self.symbol(":")?;
        let low = self.number()?;
        if low > high || high >= WIDEST {
            self.at = start;
            return Err(self.here("a slice is [high:low]"));
        }
        self.symbol("]")?;
        Ok((high, low))
    }

    pub(super) fn element(&mut self) -> Result<(Vec<SlotId>, Expr)> {
        self.symbol("(")?;
        let index = self.expression()?;
        let mut slots = Vec::new();
        while self.take_symbol(",") {
            slots.push(self.slot_id()?);
        }
        self.symbol(")")?;
        Ok((slots, index))
    }

    pub(super) fn expression(&mut self) -> Result<Expr> {
        self.deeper(|p| {
            let mut value = p.primary()?;
            let mut slices = 0;
            while *p.peek() == Token::Symbol("[") {
                slices += 1;
                if p.depth + slices > DEEPEST {
                    return Err(p.here("nested too deep"));
                }
                let (high, low) = p.slice()?;
                value = Expr::Slice {
                    value: Box::new(value),
                    high,
                    low,
                };
            }
            Ok(value)
        })
    }

    pub(super) fn primary(&mut self) -> Result<Expr> {
        match self.peek().clone() {
            Token::Bits(value, signed) => {
                self.at += 1;
                let width = value.width();
                let ty = if signed {
                    Ty::Signed(width)
                } else {
                    Ty::Bits(width)
                };
                Ok(Expr::Constant(value, ty))
            }
            Token::Symbol(sign @ ("-" | "~" | "!")) => {
                self.at += 1;
                let operator = match sign {
                    "-" => Unary::Negate,
                    "~" => Unary::Complement,
                    _ => Unary::Not,
                };
                // A slice binds tighter.
                Ok(Expr::Unary(operator, Box::new(self.expression()?)))
            }
            Token::Symbol("(") => {
                self.at += 1;
                let left = self.expression()?;
                if self.take_symbol(")") {
                    return Ok(left);
                }
                let Token::Symbol(sign) = *self.peek() else {
                    return Err(self.expected("an operator"));
                };
                let Some((operator, _)) = OPERATORS.iter().find(|(_, s)| *s == sign) else {
                    return Err(self.expected("an operator"));
                };
                self.at += 1;
                let right = self.expression()?;
                self.symbol(")")?;
                Ok(Expr::Binary(*operator, Box::new(left), Box::new(right)))
            }
            Token::Keyword(word) => {
                self.at += 1;
                match word {
                    "true" => Ok(Expr::Constant(Bits::from(true), Ty::Bool)),
                    "false" => Ok(Expr::Constant(Bits::from(false), Ty::Bool)),
                    "at" => {
                        let (slots, index) = self.element()?;
                        Ok(Expr::Element {
                            slots,
                            index: Box::new(index),
                        })
                    }
                    "typed" => {
                        self.symbol("(")?;
                        let ty = self.ty()?;
                        self.symbol(",")?;
                        let value = self.bits()?;
                        self.symbol(")")?;
                        Ok(Expr::Constant(value, ty))
                    }
                    "cast" => {
                        self.symbol("(")?;
                        let ty = self.ty()?;
                        self.symbol(",")?;
                        let value = Box::new(self.expression()?);
                        self.symbol(")")?;
                        Ok(Expr::Cast { value, ty })
                    }
                    "if" => {
                        self.symbol("(")?;
                        let condition = Box::new(self.expression()?);
                        self.symbol(",")?;
                        let yes = Box::new(self.expression()?);
                        self.symbol(",")?;
                        let no = Box::new(self.expression()?);
                        self.symbol(")")?;
                        Ok(Expr::Conditional { condition, yes, no })
                    }
                    "varbit_length" => {
                        self.symbol("(")?;
                        let slot = self.slot_id()?;
                        self.symbol(")")?;
                        Ok(Expr::VarbitLength(slot))
                    }
                    _ => {
                        self.at -= 1;
                        Err(self.expected("an expression"))
                    }
                }
            }
            Token::Name(_) | Token::Symbol("#") => Ok(Expr::Slot(self.slot_id()?)),
            _ => Err(self.expected("an expression")),
        }
    }

    pub(super) fn ty(&mut self) -> Result<Ty> {
        let name = self.name()?;
        let width = |from: usize| {
            let width = name.get(from..)?.parse::<u32>().ok()?;
            (width <= WIDEST && !name[from..].starts_with('+')).then_some(width)
        };
        let ty = match name.as_bytes().first() {
            _ if &*name == "bool" => Some(Ty::Bool),
            Some(b'b') => width(1).map(Ty::Bits),
            Some(b'i') => width(1).map(Ty::Signed),
            Some(b'v') => width(1).map(Ty::Varbit),
            _ => None,
        };
        ty.ok_or_else(|| {
            self.at -= 1;
            self.expected("a type: bool, b16, i16 or v16")
        })
    }
}
