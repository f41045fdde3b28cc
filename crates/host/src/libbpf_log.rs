//! Log of libbpf: the process's only print callback.
//!
//! libbpf calls it on the thread that loads an object, so each thread has its own log.

use libbpf_rs::PrintLevel;
use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    static LOG: RefCell<String> = const { RefCell::new(String::new()) };
}

fn append(_: PrintLevel, message: String) {
    LOG.with_borrow_mut(|log| log.push_str(&message));
}

/// Begins a new log of libbpf's warnings on this thread.
pub fn begin() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        libbpf_rs::set_print(Some((PrintLevel::Warn, append)));
    });
    take();
}

/// Ends the log of this thread and returns its content.
pub fn take() -> String {
    LOG.take()
}

#[cfg(test)]
mod tests {
    use super::*;
    use libbpf_rs::ObjectBuilder;

    #[test]
    fn each_thread_has_its_own_log() {
        let fail = || {
            begin();
            assert!(ObjectBuilder::default().open_memory(b"no object").is_err());
            take()
        };
        begin();
        let other = std::thread::spawn(fail).join().unwrap();
        assert!(other.contains("libbpf"), "{other:?}");
        assert_eq!(take(), "");
        assert!(fail().contains("libbpf"));
    }
}
