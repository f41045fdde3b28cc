//! Is a stored trace whole?

use super::{Error, Store, folder};
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

impl Store {
    /// Checks that no file of events is cut off or missing, by the end of each. An index hides that: the viewer
    /// reads events only for tiles that are not stored.
    pub fn check_files(&self) -> Result<(), Error> {
        let Some(last) = self.groups().len().checked_sub(1) else { return Ok(()) };
        let folder = self.path().join(folder::EVENTS);
        let reading = |path: &Path| {
            let path = path.to_owned();
            move |source| Error::File { action: "read", path, source }
        };
        let mut files = 0;
        for entry in fs::read_dir(&folder).map_err(reading(&folder))? {
            let name = entry.map_err(reading(&folder))?.file_name();
            files +=
                usize::from(Path::new(&name).extension().is_some_and(|extension| extension == "parquet"));
        }
        for number in 0..files {
            let path = folder.join(format!("{number:06}.parquet"));
            if !ends_as_parquet(&path).map_err(reading(&path))? {
                return Err(Error::Corrupt { path, what: "it is cut off: its end is missing".into() });
            }
        }
        // The last file may be missing altogether.
        self.read_group(last).map(drop)
    }
}

fn ends_as_parquet(path: &Path) -> io::Result<bool> {
    const MAGIC: &[u8; 4] = b"PAR1";
    let mut file = hearth_base::file::open(path)?;
    if file.metadata()?.len() < 2 * MAGIC.len() as u64 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-(MAGIC.len() as i64)))?;
    let mut end = [0; MAGIC.len()];
    file.read_exact(&mut end)?;
    Ok(end == *MAGIC)
}
