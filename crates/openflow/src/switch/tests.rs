mod flows;
mod pair;
