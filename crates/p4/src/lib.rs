//! P4: the language and its intermediate representation.
//!
//! A program goes one way: [`source`] text is preprocessed and parsed into the [`ast`], [`check`] finds what every name, type and
//! constant is and refuses invalid programs, and lowering gives the [`ir`], which engines run and other targets translate. Nothing here does
//! I/O, and nothing here knows an engine.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod ast;
mod cancel;
pub mod check;
pub mod compile;
pub mod diagnostic;
pub mod editor;
pub mod fmt;
pub mod graph;
pub mod info;
pub mod ir;
pub mod lex;
pub mod library;
pub mod lower;
pub mod p4_14;
pub mod parse;
pub mod passes;
pub mod preprocess;
pub mod print;
pub mod source;
pub mod token;
pub mod types;
pub mod value;
