//! Machine files compiled into the crate.

/// `("name", text of machines/name.toml)`.
macro_rules! machine {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../machines/", $name, ".toml")))
    };
}

/// Name and text of each built-in machine, in display order.
pub(crate) const MACHINES: &[(&str, &str)] = &[
    machine!("xeon-e7-8870v4"),
    machine!("xeon-6130-2s"),
    machine!("xeon-6130-4s"),
    machine!("xeon-5218"),
    machine!("xeon-5220"),
    machine!("xeon-e5645"),
    machine!("ryzen-3400g"),
    machine!("ryzen-4650g"),
];
