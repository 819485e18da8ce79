//! An authority and whom it has signed for, made by openssl(1).

use crate::shell::{Place, has};

/// Makes `ca.pem`, and a key and a certificate for each of server, client and stranger, of whom another authority knows;
/// `false` where openssl is not there.
pub fn make(place: &Place, test: &str) -> bool {
    if !has("openssl", test) {
        return false;
    }
    let script = r#"
exec 2> openssl.log
new="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
printf 'basicConstraints=CA:FALSE\nsubjectAltName=IP:127.0.0.1\n' > end.ext
for authority in ca other; do
    openssl req -x509 $new -keyout $authority.key -out $authority.pem -days 9 -subj /CN=$authority || exit 1
done
for pair in server:ca client:ca stranger:other; do
    name=${pair%:*} authority=${pair#*:}
    openssl req $new -keyout $name.key -out $name.csr -subj /CN=$name || exit 1
    openssl x509 -req -in $name.csr -CA $authority.pem -CAkey $authority.key -CAcreateserial -days 9 -extfile end.ext \
        -out $name.pem || exit 1
done"#;
    let made = place.run(script);
    assert_eq!(
        made.code,
        Some(0),
        "{}",
        String::from_utf8_lossy(&place.read("openssl.log"))
    );
    true
}
