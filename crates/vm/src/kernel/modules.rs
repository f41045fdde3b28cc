//! The kernel modules that the guest needs to build its root, unless they are built in.

use crate::error::Error;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The modules that the guest's scripts need.
const WANTED: [&str; 4] = ["virtio_pci", "virtio_console", "virtiofs", "overlay"];

/// Reads and decompresses the wanted modules and their dependencies, in load order.
///
/// `folder` is the kernel's folder in `/lib/modules`. A module that is not there is assumed to be built in; if it
/// is missing, the guest reports an error.
pub fn load(folder: &Path) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let mut files = HashMap::new();
    find(&folder.join("kernel"), &mut files);
    let mut loaded = Vec::new();
    for name in WANTED {
        load_one(name, &files, &mut loaded)?;
    }
    Ok(loaded)
}

/// Finds all modules below a folder, by name.
fn find(folder: &Path, files: &mut HashMap<String, PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            find(&path, files);
        } else if let Some((name, _)) = entry.file_name().to_str().and_then(|name| name.split_once(".ko")) {
            files.insert(name.replace('-', "_"), path);
        }
    }
}

fn load_one(
    name: &str,
    files: &HashMap<String, PathBuf>,
    loaded: &mut Vec<(String, Vec<u8>)>,
) -> Result<(), Error> {
    let file_name = format!("{name}.ko");
    let Some(path) = files.get(name) else { return Ok(()) };
    if loaded.iter().any(|(loaded, _)| *loaded == file_name) {
        return Ok(());
    }
    let module = unpacked(path).map_err(Error::file("read", path))?;
    for dependency in dependencies(&module) {
        load_one(&dependency.replace('-', "_"), files, loaded)?;
    }
    loaded.push((file_name, module));
    Ok(())
}

fn unpacked(path: &Path) -> std::io::Result<Vec<u8>> {
    let packed = fs::read(path)?;
    let mut module = Vec::new();
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("xz") => lzma_rs::xz_decompress(&mut packed.as_slice(), &mut module)
            .map_err(|error| std::io::Error::other(format!("{error:?}")))?,
        Some("zst") => module = zstd::decode_all(packed.as_slice())?,
        _ => module = packed,
    }
    Ok(module)
}

/// The declared dependencies of a module.
fn dependencies(module: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(at) = module.windows(KEY.len()).position(|window| window == KEY) else { return Vec::new() };
    let value = module[at + KEY.len()..].split(|byte| *byte == 0).next().unwrap_or_default();
    let names = String::from_utf8_lossy(value);
    names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_come_first() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, content: &[u8]| {
            let path = folder.path().join("kernel").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        write("fs/fuse/virtiofs.ko", b"ELF\0license=GPL\0depends=fuse\0name=virtiofs\0");
        write("fs/fuse/fuse.ko", b"ELF\0depends=\0");
        let mut packed = Vec::new();
        lzma_rs::xz_compress(&mut &b"ELF\0depends=fuse,not-there\0"[..], &mut packed).unwrap();
        write("fs/overlayfs/overlay.ko.xz", &packed);
        write("net/unwanted.ko", b"ELF");
        let loaded = load(folder.path()).unwrap();
        let names: Vec<_> = loaded.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["fuse.ko", "virtiofs.ko", "overlay.ko"]);
        assert!(loaded[2].1.starts_with(b"ELF"));
        assert!(load(&folder.path().join("nowhere")).unwrap().is_empty());
    }
}
