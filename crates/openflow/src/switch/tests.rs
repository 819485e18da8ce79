mod bundles;
mod controllers;
mod features;
mod flows;
mod groups;
mod packets;
mod pair;
mod queues;
