//! [`CanonicalWriter`]: a serializer that writes canonical JSON as it is told of a value.

use std::fmt::{self, Display, Write as _};

use serde::Serialize;
use serde::ser::{
    Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use crate::PlainError;
use crate::heap_sort::heap_sort_by;
use crate::json_spelling::{Whole, spelled_order, write_double, write_string, write_string_part};
use crate::plain_value::finite;
use crate::sort_few::sort_few_by;

/// Room for a message or a typed value, most of which are shorter.
const USUAL_BYTES: usize = 512;
/// Members up to which sorting by insertion takes the fewest steps.
const FEW_MEMBERS: usize = 16;

type Outcome = Result<(), PlainError>;

/// The text so far, and the members of the objects that are open.
///
/// What JSON cannot say is marked in the text by a control character, of which canonical text has none: of two members of
/// one name the later counts, so only the finished text tells whether such a number is in it.
pub(crate) struct CanonicalWriter {
    text: String,
    /// The members of every open object, the innermost last.
    members: Vec<Member>,
    /// Where the members of an object are put in order.
    ordered: String,
    /// What was written last, since only some values may be keys.
    last: Written,
    is_marked: bool,
}

/// Where a member of an open object is in the text.
#[derive(Clone, Copy)]
struct Member {
    /// Of its key, which stands in quotes.
    start: usize,
    /// Behind its key.
    key_end: usize,
    /// Behind its value.
    end: usize,
}

#[derive(Clone, Copy)]
enum Written {
    Text,
    Whole(Whole),
    Other,
}

/// The marks of numbers that JSON cannot write.
const MARKED_NUMBERS: [(char, f64); 3] = [
    ('\u{1}', f64::NAN),
    ('\u{2}', f64::INFINITY),
    ('\u{3}', f64::NEG_INFINITY),
];

impl CanonicalWriter {
    /// The canonical spelling of `value`.
    pub(crate) fn text_of<T: Serialize + ?Sized>(value: &T) -> Result<String, PlainError> {
        let mut writer = Self {
            text: String::with_capacity(USUAL_BYTES),
            members: Vec::new(),
            ordered: String::new(),
            last: Written::Other,
            is_marked: false,
        };
        value.serialize(&mut writer)?;
        writer.finish()
    }

    fn finish(self) -> Result<String, PlainError> {
        if self.is_marked {
            let mark = self.text.chars().find(char::is_ascii_control);
            for (_, number) in MARKED_NUMBERS.iter().filter(|(it, _)| Some(*it) == mark) {
                finite(*number)?;
            }
        }
        Ok(self.text)
    }

    fn word(&mut self, word: &str) {
        self.text.push_str(word);
        self.last = Written::Other;
    }

    fn whole(&mut self, is_negative: bool, magnitude: u64) {
        let whole = Whole {
            is_negative,
            magnitude,
        };
        whole.write_number(&mut self.text);
        self.last = Written::Whole(whole);
    }

    fn signed(&mut self, value: i64) {
        self.whole(value < 0, value.unsigned_abs());
    }

    fn unsigned(&mut self, value: u64) {
        self.whole(false, value);
    }

    fn double(&mut self, value: f64) {
        if value.is_finite() {
            write_double(&mut self.text, value);
        } else {
            let is_it = |number: f64| {
                number.total_cmp(&value).is_eq() || (number.is_nan() && value.is_nan())
            };
            let marks = MARKED_NUMBERS.iter().filter(|(_, number)| is_it(*number));
            self.text.extend(marks.map(|(mark, _)| mark));
            self.is_marked = true;
        }
        self.last = Written::Other;
    }

    fn string(&mut self, string: &str) {
        write_string(&mut self.text, string);
        self.last = Written::Text;
    }

    /// Opens the object that holds a variant.
    fn open_variant(&mut self, variant: Option<&'static str>) {
        if let Some(variant) = variant {
            self.text.push('{');
            write_string(&mut self.text, variant);
            self.text.push(':');
        }
    }

    fn close(&mut self, bracket: char, is_variant: bool) {
        self.text.push(bracket);
        if is_variant {
            self.text.push('}');
        }
        self.last = Written::Other;
    }

    fn list(&mut self, variant: Option<&'static str>) -> ListWriter<'_> {
        self.open_variant(variant);
        self.text.push('[');
        ListWriter {
            start: self.text.len(),
            is_variant: variant.is_some(),
            writer: self,
        }
    }

    fn object(&mut self, variant: Option<&'static str>) -> ObjectWriter<'_> {
        self.open_variant(variant);
        self.text.push('{');
        ObjectWriter {
            start: self.text.len(),
            first: self.members.len(),
            has_key: false,
            is_ascending: true,
            is_variant: variant.is_some(),
            writer: self,
        }
    }

    /// Writes a value; where it refuses, nothing of it is left.
    fn part<T: Serialize + ?Sized>(&mut self, value: &T) -> Outcome {
        let (text, members) = (self.text.len(), self.members.len());
        let outcome = value.serialize(&mut *self);
        if outcome.is_err() {
            self.text.truncate(text);
            self.members.truncate(members);
        }
        outcome
    }

    /// The key of a member, as it is spelled within its quotes.
    fn key(&self, member: Member) -> &str {
        spelled_key(&self.text, member)
    }

    /// Puts the members from `first` on, of the object whose first key is at `start`, into their order. Of two members of
    /// one name the later counts.
    fn order_members(&mut self, start: usize, first: usize) {
        let text = &self.text;
        let members = &mut self.members[first..];
        let order = |left: &Member, right: &Member| {
            let keys = spelled_order(spelled_key(text, *left), spelled_key(text, *right));
            keys.then(left.start.cmp(&right.start))
        };
        if members.len() <= FEW_MEMBERS {
            sort_few_by(members, order);
        } else {
            heap_sort_by(members, order);
        }
        self.ordered.clear();
        for (place, member) in members.iter().enumerate() {
            let next = members.get(place + 1);
            if next.is_some_and(|next| spelled_key(text, *next) == spelled_key(text, *member)) {
                continue;
            }
            if !self.ordered.is_empty() {
                self.ordered.push(',');
            }
            self.ordered.push_str(&text[member.start..member.end]);
        }
        self.text.truncate(start);
        self.text.push_str(&self.ordered);
    }
}

fn spelled_key(text: &str, member: Member) -> &str {
    &text[member.start + 1..member.key_end - 1]
}

/// A list under construction.
pub(crate) struct ListWriter<'a> {
    writer: &'a mut CanonicalWriter,
    start: usize,
    is_variant: bool,
}

impl ListWriter<'_> {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Outcome {
        let before = self.writer.text.len();
        if before > self.start {
            self.writer.text.push(',');
        }
        let outcome = self.writer.part(value);
        if outcome.is_err() {
            self.writer.text.truncate(before);
        }
        outcome
    }

    fn finish(self) {
        self.writer.close(']', self.is_variant);
    }
}

/// An object under construction.
pub(crate) struct ObjectWriter<'a> {
    writer: &'a mut CanonicalWriter,
    /// Where its members begin in the text.
    start: usize,
    /// Where they begin in [`CanonicalWriter::members`].
    first: usize,
    /// Whether the last member has no value yet.
    has_key: bool,
    is_ascending: bool,
    is_variant: bool,
}

impl ObjectWriter<'_> {
    /// Writes what separates the next member from the last; says where the next begins.
    fn separate(&mut self) -> usize {
        let text = &mut self.writer.text;
        if text.len() > self.start {
            text.push(',');
        }
        text.len()
    }

    /// The key that begins at `start` is written.
    fn note_key(&mut self, start: usize) {
        let key_end = self.writer.text.len();
        let member = Member {
            start,
            key_end,
            end: key_end,
        };
        if let Some(previous) = self.writer.members[self.first..].last() {
            let (previous, key) = (self.writer.key(*previous), self.writer.key(member));
            self.is_ascending = self.is_ascending && spelled_order(previous, key).is_lt();
        }
        self.writer.text.push(':');
        self.writer.members.push(member);
        self.has_key = true;
    }

    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Outcome {
        self.drop_key();
        let before = self.writer.text.len();
        let start = self.separate();
        let mut outcome = self.writer.part(key);
        if outcome.is_ok() {
            match self.writer.last {
                Written::Text => {}
                Written::Whole(whole) => {
                    let text = &mut self.writer.text;
                    text.truncate(start);
                    text.push('"');
                    whole.write_digits(text);
                    text.push('"');
                }
                Written::Other => outcome = Err(PlainError::Key),
            }
        }
        match outcome {
            Ok(()) => self.note_key(start),
            Err(_) => self.writer.text.truncate(before),
        }
        outcome
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Outcome {
        if !self.has_key {
            return Err(PlainError::Key);
        }
        let outcome = self.writer.part(value);
        if outcome.is_err() {
            self.drop_key();
            return outcome;
        }
        self.has_key = false;
        let end = self.writer.text.len();
        if let Some(member) = self.writer.members.last_mut() {
            member.end = end;
        }
        outcome
    }

    fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Outcome {
        let start = self.separate();
        write_string(&mut self.writer.text, key);
        self.note_key(start);
        self.value(value)
    }

    /// A key whose value never came.
    fn drop_key(&mut self) {
        if self.has_key
            && let Some(member) = self.writer.members.pop()
        {
            let is_only = member.start == self.start;
            self.writer
                .text
                .truncate(member.start - usize::from(!is_only));
            self.has_key = false;
        }
    }

    fn finish(mut self) {
        self.drop_key();
        if !self.is_ascending {
            self.writer.order_members(self.start, self.first);
        }
        self.writer.members.truncate(self.first);
        self.writer.close('}', self.is_variant);
    }
}

/// Integers of every width.
macro_rules! writes_integers {
    ($($method:ident($width:ty) as $how:ident),*) => {$(
        fn $method(self, value: $width) -> Outcome {
            self.$how(value.into());
            Ok(())
        }
    )*};
}

impl<'a> Serializer for &'a mut CanonicalWriter {
    type Ok = ();
    type Error = PlainError;
    type SerializeSeq = ListWriter<'a>;
    type SerializeTuple = ListWriter<'a>;
    type SerializeTupleStruct = ListWriter<'a>;
    type SerializeTupleVariant = ListWriter<'a>;
    type SerializeMap = ObjectWriter<'a>;
    type SerializeStruct = ObjectWriter<'a>;
    type SerializeStructVariant = ObjectWriter<'a>;

    writes_integers!(
        serialize_i8(i8) as signed,
        serialize_i16(i16) as signed,
        serialize_i32(i32) as signed,
        serialize_i64(i64) as signed,
        serialize_u8(u8) as unsigned,
        serialize_u16(u16) as unsigned,
        serialize_u32(u32) as unsigned,
        serialize_u64(u64) as unsigned,
        serialize_f32(f32) as double,
        serialize_f64(f64) as double
    );

    fn serialize_bool(self, value: bool) -> Outcome {
        self.word(if value { "true" } else { "false" });
        Ok(())
    }

    fn serialize_char(self, value: char) -> Outcome {
        self.string(value.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn serialize_str(self, value: &str) -> Outcome {
        self.string(value);
        Ok(())
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Outcome {
        self.text.push('"');
        write!(Quoted(&mut self.text), "{value}").map_err(PlainError::custom)?;
        self.text.push('"');
        self.last = Written::Text;
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Outcome {
        let mut list = self.list(None);
        for byte in value {
            list.push(byte)?;
        }
        list.finish();
        Ok(())
    }

    fn serialize_none(self) -> Outcome {
        self.word("null");
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Outcome {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Outcome {
        self.word("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Outcome {
        self.word("null");
        Ok(())
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Outcome {
        self.string(variant);
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Outcome {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Outcome {
        self.open_variant(Some(variant));
        value.serialize(&mut *self)?;
        self.close('}', false);
        Ok(())
    }

    fn serialize_seq(self, _length: Option<usize>) -> Result<ListWriter<'a>, PlainError> {
        Ok(self.list(None))
    }

    fn serialize_tuple(self, _length: usize) -> Result<ListWriter<'a>, PlainError> {
        Ok(self.list(None))
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        _length: usize,
    ) -> Result<ListWriter<'a>, PlainError> {
        Ok(self.list(None))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<ListWriter<'a>, PlainError> {
        Ok(self.list(Some(variant)))
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<ObjectWriter<'a>, PlainError> {
        Ok(self.object(None))
    }

    fn serialize_struct(
        self,
        _name: &'static str,
        _length: usize,
    ) -> Result<ObjectWriter<'a>, PlainError> {
        Ok(self.object(None))
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<ObjectWriter<'a>, PlainError> {
        Ok(self.object(Some(variant)))
    }
}

/// Text that is written piece by piece, within quotes.
struct Quoted<'a>(&'a mut String);

impl fmt::Write for Quoted<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        write_string_part(self.0, part);
        Ok(())
    }
}

/// Every kind of list takes its elements alike.
macro_rules! takes_elements {
    ($($kind:ident::$method:ident),*) => {$(
        impl $kind for ListWriter<'_> {
            type Ok = ();
            type Error = PlainError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Outcome {
                self.push(value)
            }

            fn end(self) -> Outcome {
                self.finish();
                Ok(())
            }
        }
    )*};
}

takes_elements!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

/// Structs and struct variants take their fields alike.
macro_rules! takes_fields {
    ($($kind:ident),*) => {$(
        impl $kind for ObjectWriter<'_> {
            type Ok = ();
            type Error = PlainError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Outcome {
                self.field(key, value)
            }

            fn end(self) -> Outcome {
                self.finish();
                Ok(())
            }
        }
    )*};
}

takes_fields!(SerializeStruct, SerializeStructVariant);

impl SerializeMap for ObjectWriter<'_> {
    type Ok = ();
    type Error = PlainError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Outcome {
        self.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Outcome {
        self.value(value)
    }

    fn end(self) -> Outcome {
        self.finish();
        Ok(())
    }
}
