mod bundles;
mod controllers;
mod flows;
mod groups;
mod packets;
mod pair;
