//! Rules for units in arithmetic.

use crate::ir::{Arithmetic, Type};

/// Type of `left op right`, or `None` if the units are incompatible.
///
/// Sums and differences keep their unit, and so does a product or quotient with a plain number. The
/// quotient of two values of the same unit is a plain number. A plain number may be used as a load.
pub fn arithmetic(op: Arithmetic, left: Type, right: Type) -> Option<Type> {
    if !left.is_scalar() || !right.is_scalar() {
        return None;
    }
    match op {
        Arithmetic::Add | Arithmetic::Sub => common(left, right),
        Arithmetic::Mul if left == Type::INT => Some(right),
        Arithmetic::Mul if right == Type::INT => Some(left),
        Arithmetic::Mul => None,
        Arithmetic::Div if left == right => Some(Type::INT),
        Arithmetic::Div if right == Type::INT => Some(left),
        Arithmetic::Div => None,
        Arithmetic::Rem if left == right => Some(left),
        Arithmetic::Rem => None,
    }
}

/// Common type in which two numbers can be compared or added.
pub fn common(left: Type, right: Type) -> Option<Type> {
    match (left, right) {
        _ if !left.is_scalar() || !right.is_scalar() => None,
        _ if left == right => Some(left),
        (Type::LOAD, Type::INT) | (Type::INT, Type::LOAD) => Some(Type::LOAD),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Arithmetic::*;

    #[test]
    fn units_follow_the_arithmetic() {
        let (int, time, load, khz) = (Type::INT, Type::TIME, Type::LOAD, Type::FREQUENCY);
        assert_eq!(arithmetic(Add, time, time), Some(time));
        assert_eq!(arithmetic(Mul, time, int), Some(time));
        assert_eq!(arithmetic(Mul, int, time), Some(time));
        assert_eq!(arithmetic(Div, time, time), Some(int));
        assert_eq!(arithmetic(Div, time, int), Some(time));
        assert_eq!(arithmetic(Rem, time, time), Some(time));
        assert_eq!(arithmetic(Sub, int, load), Some(load));
        assert_eq!(arithmetic(Div, khz, khz), Some(int));
    }

    #[test]
    fn incompatible_units() {
        let (int, time, load, khz) = (Type::INT, Type::TIME, Type::LOAD, Type::FREQUENCY);
        assert_eq!(arithmetic(Add, time, int), None);
        assert_eq!(arithmetic(Mul, time, time), None);
        assert_eq!(arithmetic(Div, int, time), None);
        assert_eq!(arithmetic(Sub, time, load), None);
        assert_eq!(arithmetic(Add, khz, time), None);
        assert_eq!(arithmetic(Add, Type::BOOL, int), None);
        assert_eq!(arithmetic(Add, Type::CORE, Type::CORE), None);
    }
}
