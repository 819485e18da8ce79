-- A file of version 1, with a device.
PRAGMA application_id = 0x77697265;
PRAGMA user_version = 1;
CREATE TABLE devices (
    mac TEXT PRIMARY KEY,
    slot INTEGER NOT NULL,
    admission TEXT NOT NULL DEFAULT 'waiting' CHECK (admission IN ('waiting', 'permitted', 'denied')),
    blacklisted INTEGER NOT NULL DEFAULT 0,
    paused INTEGER NOT NULL DEFAULT 0,
    others_denied INTEGER NOT NULL DEFAULT 0,
    name TEXT, person TEXT, host_name TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE domains (
    mac TEXT NOT NULL REFERENCES devices ON DELETE CASCADE,
    domain TEXT NOT NULL,
    permitted INTEGER NOT NULL,
    PRIMARY KEY (mac, domain)
) STRICT, WITHOUT ROWID;
CREATE TABLE history (
    number INTEGER PRIMARY KEY,
    mac TEXT NOT NULL REFERENCES devices ON DELETE CASCADE,
    at INTEGER NOT NULL,
    change TEXT NOT NULL
) STRICT;
CREATE INDEX history_of_device ON history (mac, number);
CREATE TABLE settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE sessions (
    hash BLOB PRIMARY KEY,
    address TEXT NOT NULL,
    created INTEGER NOT NULL,
    used INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO devices (mac, slot, admission, name) VALUES ('02:00:00:00:00:01', 3, 'permitted', 'Printer');
INSERT INTO domains VALUES ('02:00:00:00:00:01', 'ads.example', 0);
