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
    machine!("epyc-9654"),
    machine!("epyc-9755"),
    machine!("xeon-8480"),
    machine!("xeon-6980p"),
    machine!("i9-13900k"),
    machine!("ultra-9-285k"),
    machine!("ryzen-7950x"),
    machine!("graviton4"),
    machine!("ampere-altra"),
    machine!("apple-m2"),
    machine!("cloud-guest"),
];
