//! The digest of the protocol's messages.

use wellwritten_envelope::Digest;

/// Digest of every message, enumeration and bound of the protocol. Two programs that differ in it do not talk.
///
/// BLAKE3 of the canonical JSON of `testing::contract_declaration()`; a test says so, and what to write here when a message
/// has changed on purpose.
const CONTRACT: &str = "05922c2ccc9d973984aacb000d16d928bc798574443cf86f2d7ca2675b3f5324";

/// The digest of the messages this build reads and writes.
pub(crate) fn contract_digest() -> Digest {
    CONTRACT.parse().expect("64 hexadecimal digits")
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use wellwritten_envelope::digest_json;

    use super::contract_digest;
    use crate::testing::contract_declaration;

    #[test]
    fn the_digest_is_of_the_messages_as_they_are() {
        let found = digest_json(&contract_declaration()).unwrap();
        assert_eq!(
            contract_digest(),
            found,
            "the protocol's messages have changed; if they were meant to, CONTRACT is now {found}"
        );
    }

    #[test]
    fn canary_a_declaration_with_one_field_less_has_another_digest() {
        let mut declaration = contract_declaration();
        let params = &mut declaration["full"]["Agent.Prepare"]["params"];
        assert!(params.as_object_mut().unwrap().remove("interval").is_some());
        assert_ne!(contract_digest(), digest_json(&declaration).unwrap());
    }
}
