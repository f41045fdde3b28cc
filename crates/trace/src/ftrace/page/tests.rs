use super::*;
use proptest::prelude::*;

fn layout() -> Layout {
    let text = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
        \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
    Layout::parse(text).unwrap()
}

fn page(time: u64, flags: u64, words: &[u32]) -> Vec<u8> {
    let mut bytes = time.to_le_bytes().to_vec();
    bytes.extend(((words.len() as u64 * 4) | flags).to_le_bytes());
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    bytes
}

fn header(type_len: u32, delta: u32) -> u32 {
    delta << 5 | type_len
}

/// (time, first word of the payload, length of the payload) of each event.
fn events(bytes: &[u8]) -> Result<Vec<(u64, u32, usize)>, Error> {
    let record = |record: Result<Record<'_>, Error>| {
        let record = record?;
        let first = word(record.payload, 0, 4, Order::Little).unwrap_or(0) as u32;
        Ok((record.time, first, record.payload.len()))
    };
    Page::new(&layout(), bytes)?.map(record).collect()
}

#[test]
fn the_layout_comes_from_the_kernel() {
    let Layout { time, commit, data, size, .. } = layout();
    assert_eq!((time, commit.offset, commit.size, data, size), (0, 8, 8, 16, 4096));
    assert!(Layout::parse("field: u64 timestamp;").is_err());
}

/// One page with every type of entry.
#[test]
fn a_golden_page() {
    let mut words = vec![
        header(2, 5),
        11,
        12, // two words, at 1000 + 5
        header(30, 7),
        3, // what follows is 3·2^27 + 7 later
        header(1, 1),
        21, // one word, 1 after that
        header(0, 2),
        12,
        31,
        32, // a length of 12, itself included: two words, 2 after that
        header(29, 1),
        12,
        0,
        0, // discarded: 12 bytes after the header, and no time passes
        header(31, 9),
        100, // it is now 100·2^27 + 9
        header(28, 0),
        41, // 28 words
    ];
    words.extend([0; 27]);
    words.extend([header(29, 0), 99, 99]); // padding to the end
    let extended = 1005 + (3 << 27) + 7;
    let expected = [(1005, 11, 8), (extended + 1, 21, 4), (extended + 3, 31, 8), ((100 << 27) + 9, 41, 112)];
    assert_eq!(events(&page(1000, 0, &words)).unwrap(), expected);
}

#[test]
fn absolute_times_keep_the_high_bits() {
    let high = 1 << 60;
    assert_eq!(absolute_time(5, high | 3), high | 5);
    assert_eq!(absolute_time(5, high | 7), high + (1 << 59) + 5); // the 59 bits wrapped
    assert_eq!(absolute_time(5, 7), 5);
}

#[test]
fn lost_events_are_counted() {
    let missed = |bytes: &[u8]| Page::new(&layout(), bytes).unwrap().missed;
    let words = [header(1, 0), 1];
    assert_eq!(missed(&page(0, 0, &words)), Missed::None);
    assert_eq!(missed(&page(0, MISSED, &words)), Missed::Unknown);
    let mut stored = page(0, MISSED | MISSED_STORED, &words);
    assert_eq!(missed(&stored), Missed::Unknown, "the number is cut off");
    stored.extend(77u64.to_le_bytes());
    assert_eq!(missed(&stored), Missed::Count(77));
    assert_eq!(Page::used(&layout(), &stored), stored.len());
    stored.extend([0; 100]);
    assert_eq!(Page::used(&layout(), &stored), stored.len() - 100);
}

#[test]
fn damage_is_an_error() {
    assert_eq!(events(&[0; 15]), Err(Error::Short { length: 15 }));
    let mut overlong = page(0, 0, &[header(1, 0), 1]);
    overlong.truncate(20);
    assert_eq!(events(&overlong), Err(Error::Overlong { claimed: 8, room: 4 }));
    for words in [&[header(5, 0), 1][..], &[header(0, 0), 3], &[header(0, 0)], &[header(30, 1)]] {
        assert_eq!(events(&page(0, 0, words)), Err(Error::EventOverlong { offset: 0 }), "{words:?}");
    }
}

proptest! {
    /// No panic, no endless loop, and never more events than words.
    #[test]
    fn noise_is_survived(noise in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = events(&noise);
        let mut bytes = page(0, 0, &vec![0; noise.len() / 4]);
        let n = bytes.len();
        bytes[16..].copy_from_slice(&noise[..n - 16]);
        if let Ok(page) = Page::new(&layout(), &bytes) {
            prop_assert!(page.count() <= noise.len() / 4);
        }
    }

    /// Pages are decoded whatever the lengths and times of their events.
    #[test]
    fn events_come_out_as_they_went_in(entries in proptest::collection::vec((1u32..=28, 0u32..1 << 27), 0..20)) {
        let mut words = Vec::new();
        let mut expected = Vec::new();
        let mut time = 50;
        for (length, delta) in entries {
            words.push(header(length, delta));
            words.extend((0..length).map(|i| i + length));
            time += u64::from(delta);
            expected.push((time, length, length as usize * 4));
        }
        prop_assert_eq!(events(&page(50, 0, &words)).unwrap(), expected);
    }
}
